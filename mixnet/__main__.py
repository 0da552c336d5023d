"""``python -m mixnet program.py``: run a program written for MXNet, unchanged."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import mixnet
from mixnet.legacy.as_mxnet import STAND_IN, as_mxnet

USAGE = """\
usage: python -m mixnet program.py [argument ...]
       python -m mixnet -m module [argument ...]
       python -m mixnet -c code [argument ...]
       python -m mixnet --path

Runs a program in which `import mxnet` imports mixnet, also in the processes that it starts.
--path prints a folder that does the same when it is in PYTHONPATH:
PYTHONPATH=$(python -m mixnet --path) python program.py"""


def main(arguments: list[str]) -> int | None:
    """Run what the command line names.

    Returns:
        An exit code where nothing was run.
    """
    match arguments:
        case ["--path"]:
            print(STAND_IN)
            return 0
        case ["--version"]:
            print(f"mixnet {mixnet.libinfo._PACKAGE_VERSION}, as MXNet {mixnet.__version__}")
            return 0
        case [] | ["-h" | "--help", *_]:
            print(USAGE)
            return 0 if arguments else 2
        case ["-m" | "-c" as option]:
            print(f"mixnet: {option} needs a module or code after it\n{USAGE}", file=sys.stderr)
            return 2
    match arguments:
        case ["-m", name, *rest]:
            _prepare([name, *rest])
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            _prepare(["-c", *rest])
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        case [program, *rest]:
            if not Path(program).exists():
                print(f"mixnet: there is no program {program!r}\n{USAGE}", file=sys.stderr)
                return 2
            sys.path[0] = str(Path(program).resolve().parent)  # as Python itself has it
            _prepare([program, *rest])
            runpy.run_path(program, run_name="__main__")
    return None


def _prepare(arguments: list[str]) -> None:
    """The name ``mxnet`` here and in processes that are started, and the program's command line."""
    as_mxnet()
    paths = [STAND_IN, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    sys.argv = arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
