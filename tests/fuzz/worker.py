"""python -m tests.fuzz.worker: loads mutations, and writes a line of JSON for each finding.

The driver starts it: what ends this process, or never returns, is a finding as well.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from mixnet.base import MXNetError
from tests.fuzz.formats import Format, find
from tests.fuzz.mutate import mutated

# What may be taken on top of 10 times the file: images up to 2048 x 2048 are decoded whatever their
# files say, once more red first; the rest is Python's own.
BASE = 64 << 20
_AT_ONCE = 1 << 30  # bytes that a single file may reserve


class Loader:
    """Loads mutations of the files of a format.

    Args:
        kind: the format.
        folder: for its files.
    """

    def __init__(self, kind: Format, folder: Path):
        self.kind = kind
        self.files = kind.corpus(folder)
        self.contents = [path.read_bytes() for path in self.files]
        for path in self.files:  # a valid file loads, and warms everything up
            for _ in range(2):
                kind.load(path)

    def mutation(self, seed: int, number: int) -> tuple[Path, bytes]:
        """A file of the corpus, and the content that replaces its own."""
        draw = random.Random(f"{seed} {self.kind.name} {number}")
        which = draw.randrange(len(self.files))
        content = self.contents[which]
        packing = self.kind.packing(self.files[which])
        if packing is not None and draw.random() < 0.7:  # damage below the checksums
            unpack, pack = packing
            inner = unpack(content)
            return self.files[which], pack(mutated(inner, [inner], draw))
        return self.files[which], mutated(content, self.contents, draw)

    def load(self, path: Path, content: bytes) -> str | None:
        """Load a file with this content; returns what is wrong, or None."""
        before = path.read_bytes()
        path.write_bytes(content)
        try:
            _forget_peak()
            peak = _peak()
            self.kind.load(path)
        except MXNetError:
            pass
        except Exception as error:
            return "".join(traceback.format_exception(error)[-12:])
        finally:
            path.write_bytes(before)
        grown = _peak() - peak
        if grown > BASE + 10 * len(content):
            return f"{grown >> 20} MiB for a file of {len(content)} bytes"
        return None


def _forget_peak() -> None:
    """Reset the peak of memory to the current use, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The peak of memory so far, in bytes."""
    # Not getrusage, whose peak includes the memory of the process that started this one.
    match = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(match[1]) << 10 if match else 0


def limit_memory() -> None:
    """Let one file reserve a GiB at most beyond what the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _AT_ONCE
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def main() -> None:
    """Load mutations; the argument is JSON: seed, work, and the files for progress and findings."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        with (
            open(options["progress"], "r+b", 0) as progress,
            open(options["findings"], "a") as findings,
        ):
            for step, (name, begin, end) in enumerate(options["work"]):
                (folder / name).mkdir()
                loader = Loader(find(name), folder / name)
                if not step:
                    limit_memory()
                for number in range(begin, end):
                    progress.seek(0)
                    progress.write(b"%4d %12d" % (step, number))
                    problem = loader.load(*loader.mutation(options["seed"], number))
                    if problem is not None:
                        row = {"format": name, "number": number, "problem": problem}
                        print(json.dumps(row), file=findings, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
