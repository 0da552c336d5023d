"""Whole programs, as people wrote them for MXNet 1.x: python -m tests.benchmarks.whole_programs [names...]

Every program of ``tests/benchmarks/programs`` runs in a fresh process without compiled programs from before,
under mixnet and, where the environment variable MIXNET_ORACLE (or ``--mxnet``) is a launcher of
a Python that has it, under the real MXNet 1.9.1. The table gives processor seconds (user and
system, all threads and children), once with the import of the library and once without. Names that end in
``.py`` are files of your own. With ``--second-start``, mixnet's figures are those of a second process,
which finds what a first one compiled; MXNet keeps nothing from one process to the next. What a program
prints is compared with what the real MXNet printed; ``--store`` writes that.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"

START = """
import importlib, runpy, sys, time
begin = time.process_time()
library = importlib.import_module(sys.argv[1])
if library.__name__ == "mixnet":
    library.as_mxnet()
with open(sys.argv[3], "w") as file:
    file.write(str(time.process_time() - begin))
path = sys.argv[2]
sys.argv = [path]
runpy.run_path(path, run_name="__main__")
"""

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")


@dataclass(frozen=True)
class Outcome:
    """What a program printed, and the processor seconds that it took: all of it, and without the import."""

    printed: str
    errors: str
    code: int
    processor: float
    without_import: float


def names() -> list[str]:
    """Of all programs, without ``.py``."""
    return sorted(each.stem for each in PROGRAMS.glob("*.py") if each.stem != "__init__")


def file_of(name: str) -> Path:
    """Of a program: one of these, or any file."""
    return Path(name).absolute() if name.endswith(".py") else PROGRAMS / f"{name}.py"


def run(
    launcher: str, library: str, name: str, limit: float = 500, compiled: str = "off"
) -> Outcome:
    """Run the program in a process and in a folder of its own.

    ``compiled`` is the folder of compiled programs.
    """
    with tempfile.TemporaryDirectory() as folder:
        import_seconds = Path(folder, "seconds-of-the-import")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                [launcher, "-c", START, library, str(file_of(name)), str(import_seconds)],
                cwd=folder,
                env={**os.environ, "MIXNET_CACHE_DIR": compiled},
                capture_output=True,
                text=True,
                timeout=limit,
            )
            printed, errors, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            printed, errors, code = "", f"no end after {error.timeout} s", 124
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        importing = float(import_seconds.read_text()) if import_seconds.exists() else 0.0
    return Outcome(printed, errors, code, processor, processor - importing)


def first_start(name: str) -> Outcome:
    """Of the program, without compiled programs from before."""
    return run(sys.executable, "mixnet", name)


def second_start(name: str) -> Outcome:
    """Of the program, after a first one that left what it compiled."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "mixnet", name, compiled=folder)
        return run(sys.executable, "mixnet", name, compiled=folder)


def stored(name: str) -> str | None:
    """What the real MXNet printed, or None if it is not stored."""
    path = PROGRAMS / "printed" / f"{name}.txt"
    return path.read_text() if path.exists() else None


def differences(
    actual: str, expected: str, relative: float = 2e-3, absolute: float = 2e-4
) -> list[str]:
    """Lines that differ: words by a letter, numbers by more than the tolerance."""
    ours, theirs = actual.splitlines(), expected.splitlines()
    lines = [
        f"line {number}: {a!r} for {b!r}"
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False), start=1)
        if not _alike(a, b, relative, absolute)
    ]
    if len(ours) != len(theirs):
        lines.append(f"{len(ours)} lines for {len(theirs)}")
    return lines


def _alike(a: str, b: str, relative: float, absolute: float) -> bool:
    """Whether two lines are the same but for the last digits of their numbers, and for white space."""
    if "".join(NUMBER.sub("0", a).split()) != "".join(NUMBER.sub("0", b).split()):
        return False
    for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True):
        x, y = float(x), float(y)
        if not (x == y or (x != x and y != y) or abs(x - y) <= absolute + relative * abs(y)):
            return False
    return True


def _median(outcomes: list[Outcome]) -> tuple[float, float]:
    return (
        statistics.median(each.processor for each in outcomes),
        statistics.median(each.without_import for each in outcomes),
    )


def _agreement(ours: Outcome, expected: str | None) -> str:
    if ours.code:
        return f"fails: {ours.errors.strip().splitlines()[-1][:150] if ours.errors.strip() else ours.code}"
    if expected is None:
        return "nothing to compare with"
    lines = differences(ours.printed, expected)
    return "same" if not lines else f"{len(lines)} lines differ, {lines[0]}"


def main() -> None:
    """Print the table, and how far the mean ratio is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mxnet", default=os.environ.get("MIXNET_ORACLE"))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument(
        "--second-start",
        action="store_true",
        help="measure mixnet with what a first start compiled",
    )
    parser.add_argument(
        "--store", action="store_true", help="write down what the real MXNet prints"
    )
    parser.add_argument("--errors", action="store_true", help="print what was written to stderr")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(
        "| program | mixnet | MXNet 1.9.1 | ratio | without import | MXNet 1.9.1 | ratio | printed |"
    )
    print("|---" * 8 + "|")
    ratios: list[tuple[float, float]] = []
    start = second_start if options.second_start else first_start
    for name in options.names or names():
        ours = [start(name) for _ in range(options.runs)]
        (all_ours, rest_ours), expected = _median(ours), stored(name)
        columns = ["", "", f"{rest_ours:.2f}", "", ""]
        if options.mxnet:
            theirs = [run(options.mxnet, "mxnet", name) for _ in range(options.runs)]
            all_theirs, rest_theirs = _median(theirs)
            if theirs[-1].code:
                print(f"{name} fails under MXNet: {theirs[-1].errors[-1500:]}", file=sys.stderr)
            expected = theirs[-1].printed
            if options.store and not theirs[-1].code and not name.endswith(".py"):
                (PROGRAMS / "printed").mkdir(exist_ok=True)
                (PROGRAMS / "printed" / f"{name}.txt").write_text(expected)
            ratios.append((all_ours / all_theirs, rest_ours / rest_theirs))
            columns = [f"{all_theirs:.2f}", f"{ratios[-1][0]:.2f}", f"{rest_ours:.2f}",
                       f"{rest_theirs:.2f}", f"{ratios[-1][1]:.2f}"]  # fmt: skip
        if options.errors:
            print(ours[-1].errors, file=sys.stderr)
        row = " | ".join([name, f"{all_ours:.2f}", *columns, _agreement(ours[-1], expected)])
        print(f"| {row} |", flush=True)
    if ratios:
        first, second = zip(*ratios, strict=True)
        print(f"\nratios: median {statistics.median(first):.2f}, largest {max(first):.2f};"
              f" without import {statistics.median(second):.2f}, {max(second):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
