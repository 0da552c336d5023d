"""``python -m mixnet program.py``: run a program written for MXNet, unchanged."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

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
            _run(code, "<string>")
        case [program, *rest]:
            if not Path(program).exists():
                print(f"mixnet: there is no program {program!r}\n{USAGE}", file=sys.stderr)
                return 2
            sys.path[0] = str(Path(program).resolve().parent)  # as Python itself has it
            _prepare([program, *rest])
            if Path(program).is_dir() or program.endswith((".zip", ".pyz", ".pyc")):
                runpy.run_path(program, run_name="__main__")
            else:
                file = os.path.join(os.getcwd(), program)
                with io.open_code(file) as opened:
                    source = opened.read()
                loader = SourceFileLoader("__main__", file)
                _run(source, file, __file__=file, __cached__=None, __loader__=loader)
    return None


def _run(code: str | bytes, file: str, **names: Any) -> None:
    """Run a program in a module ``__main__`` of its own, as Python itself does."""
    program = ModuleType("__main__")
    vars(program).update(__builtins__=builtins, __annotations__={}, **names)
    sys.modules["__main__"] = program
    sys.excepthook = _print_error
    exec(compile(code, file, "exec"), vars(program))


def _print_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an error of the program without the frames of starting it."""
    frame = trace
    while frame is not None and frame.tb_frame.f_code is not _run.__code__:
        frame = frame.tb_next
    if frame is not None:
        error = error.with_traceback(frame.tb_next)
    sys.__excepthook__(kind, error, error.__traceback__)


def _prepare(arguments: list[str]) -> None:
    """The name ``mxnet`` here and in processes that are started, and the program's command line."""
    as_mxnet()
    paths = [STAND_IN, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    sys.argv = arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
