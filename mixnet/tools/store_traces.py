"""Write what common operators do into the package: ``python -m mixnet.tools.store_traces PROGRAM...``

Runs each program in a process of its own and stores what its operators turned out to do for all shapes.
"""

from __future__ import annotations

import argparse
import atexit
import os
import pickle
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from mixnet.ops.tracing import shape_free, stored, traced

_TO = "MIXNET_STORE_TRACES"  # the file to which a process of a program writes


def collected() -> dict[bytes, bytes]:
    """The entries of this process, by key."""
    entries: dict[bytes, bytes] = {}
    for key, form in shape_free.sure_forms():
        op, *rest = key
        part = stored.parts(shape_free.KIND, op, rest, (form,))
        if part is not None:
            entries[part[0]] = part[1]
    for key, family in traced.families():
        op, *rest = key
        templates = family.templates()
        part = stored.parts(traced.KIND, op, rest, templates) if templates else None
        if part is not None:
            entries[part[0]] = part[1]
    return entries


def _run(program: str) -> None:
    """Run a program in this process, and write its entries at its end."""
    path = Path(os.environ[_TO])
    atexit.register(lambda: path.write_bytes(pickle.dumps(collected())))
    import mixnet

    mixnet.as_mxnet()
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")


def main() -> None:
    """Run the programs and write the file of this version of JAX."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="Python files that use mxnet or mixnet")
    options = parser.parse_args()
    if _TO in os.environ:
        _run(options.programs[0])
        return
    entries: dict[bytes, bytes] = {}
    for program in options.programs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "traces")
            command = [sys.executable, "-m", "mixnet.tools.store_traces", os.path.abspath(program)]
            environment = {**os.environ, _TO: str(path), "MIXNET_CACHE_DIR": "off"}
            done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            own = pickle.loads(path.read_bytes()) if path.exists() else {}
        print(f"{program}: {len(own)} entries, exit code {done.returncode}")
        entries.update(own)
    path = stored.write(entries)
    print(f"{path}: {len(entries)} entries, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
