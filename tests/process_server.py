"""A process that has imported everything tests need, and forks the processes that they start.

``tests/processes.py`` starts it and sends requests. It has computed nothing, so its children can compute.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import time
import types
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any


def main() -> None:
    """Answer requests until the tests' process ends; in a child, run its program.

    A program that starts others gets a server of its own, since it is the one that waits for them.
    """
    connection = socket.socket(fileno=int(sys.argv[1]))
    environment = dict(os.environ)
    with _names_read() as names:
        for name in sys.argv[2:]:
            importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the tests' process
    filters = list(warnings.filters)
    # JAX's of threads that do not exist yet, Python's of OpenBLAS's, which starts them again.
    warnings.filterwarnings("ignore", ".*fork", RuntimeWarning)
    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
    added = _path_entries(os.environ)
    base = [each for each in sys.path[1:] if each not in added]
    gc.collect()
    gc.freeze()  # children do not copy the memory of these objects when they look for garbage
    connection.sendall(json.dumps(sorted(names)).encode())
    request, files, server = _request(connection)
    _become(request, files, base, keep=server)
    if server is not None:
        from tests import processes

        is_launcher = processes.program(request["arguments"]) == "mixnet.tools.launch"
        processes.fork_from(server, names, environment, launchers_only=not is_launcher)
    warnings.filters[:] = filters  # type: ignore[index]
    _run(request["arguments"])


def _request(
    connection: socket.socket,
) -> tuple[dict[str, Any], list[int], socket.socket | None]:
    """What a child is asked to run, its files, and the connection to a server of its own."""
    request, files = _serve(connection)
    if not request["starts_others"]:
        return request, files, None
    server, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        other.close()
        return request, files, server
    os.setsid()  # signals for the program and what it started are not for its server
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.close()
    for each in files:
        os.close(each)
    return _request(other)


def _serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a process for each request, and return in it; end with the process that asks."""
    while True:
        message, files, _flags, _address = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            os._exit(0)
        request = json.loads(message)
        pid = _fork_orphan(request["new_session"])
        if pid == 0:
            connection.close()
            return request, files
        for each in files:
            os.close(each)
        connection.sendall(b"%d" % pid)


@contextlib.contextmanager
def _names_read() -> Iterator[set[str]]:
    """The environment variables that Python code reads: children have their values from here."""
    names: set[str] = set()
    kind: Any = type(os.environ)
    usual = kind.__getitem__

    def read(environment: Any, name: str) -> str:
        names.add(name)
        return usual(environment, name)

    kind.__getitem__ = read
    try:
        yield names
    finally:
        kind.__getitem__ = usual


def _path_entries(environment: Any) -> list[str]:
    return [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]


def _fork_orphan(new_session: bool) -> int:
    """Fork a process whose parent has ended: it becomes a child of the tests' process, which waits for it."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        parent = os.getpid()
        if os.fork():
            os._exit(0)
        os.close(reading)
        while os.getppid() == parent:  # a program may ask whose child it is
            time.sleep(0.0005)
        if new_session:
            # Before its number is known: who asks for its group then, to interrupt it, must not be told that
            # of the tests and of `make`.
            os.setsid()
        os.write(writing, b"%d" % os.getpid())
        os.close(writing)
        return 0
    os.close(writing)
    os.waitpid(between, 0)
    with os.fdopen(reading, "rb") as pipe:
        return int(pipe.read())


def _become(
    request: dict[str, Any], files: list[int], base: list[str], keep: socket.socket | None
) -> None:
    """Take over what a new process gets from the one that starts it."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    preserved = 3 if keep is None else keep.fileno()
    os.closerange(3, preserved)
    os.closerange(preserved + (keep is not None), 1024)
    os.environ.clear()
    os.environ.update(request["environment"])
    if os.environ.get("PYTHONUNBUFFERED"):
        _write_at_once()
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = request["arguments"]
    first = "" if arguments[0] == "-c" else os.getcwd()
    if not arguments[0].startswith("-"):
        first = os.path.dirname(os.path.realpath(arguments[0]))
    sys.path[:] = [first, *_path_entries(os.environ), *base]
    sys.path_importer_cache.clear()
    sys.orig_argv = [sys.executable, *arguments]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _write_at_once() -> None:
    for number, name in (1, "stdout"), (2, "stderr"):
        usual = getattr(sys, name)
        raw = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
        text = io.TextIOWrapper(raw, usual.encoding, usual.errors, write_through=True)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _run(arguments: list[str]) -> None:
    """Run ``-c code``, ``-m module`` or a file as Python itself does."""
    sys.excepthook = _print_without_server
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    kind, rest = arguments[0], arguments[1:]
    if kind == "-m":
        sys.argv[:] = rest
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        code = compile(rest[0], "<string>", "exec")
    else:
        sys.argv[:] = arguments
        main.__file__ = kind
        with io.open_code(os.path.abspath(kind)) as file:
            code = compile(file.read(), kind, "exec")
    exec(code, main.__dict__)


def _print_without_server(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """A traceback begins with the program, as it does in a process of its own."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (
        __file__,
        "<frozen runpy>",
        runpy.__file__,
    ):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


if __name__ == "__main__":
    main()
