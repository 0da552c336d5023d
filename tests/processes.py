"""Starting Python processes that need not import mixnet again: a server that has imported it forks them.

Importing takes longer than most programs of tests. :func:`run` and :class:`Popen` are those of
``subprocess``. They start a process of its own where a fork would differ: outside Linux, for options of
Python, for functions that run before the program, and for other values of environment variables that were
read when the server imported. Tests of imports, of the memory of a process and of its limits use
``subprocess``.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# A process with settings of its own imports mixnet itself, and only that.
IMPORTS = (("numpy", "jax", "mixnet"), ("numpy", "jax"))
# Libraries and Python itself read these when they start.
READ_AT_START = ("PYTHON", "LD_", "MALLOC_", "OMP_", "OPENBLAS_", "MKL_")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux
# Tests put the one below in its place.
_UsualPopen = subprocess.Popen


# Settings that do not change what mixnet imports, or that a child applies itself.
SAME = {
    "DMLC_ROLE": ("worker",),
    "PYTHONUNBUFFERED": ("1",),
    "TERM": ("xterm-color",),  # what a kernel sets for the programs that it starts
    # What scikit-learn sets on import: in a server after its environment was noted, and in tests.
    "KMP_DUPLICATE_LIB_OK": ("True",),
    "KMP_INIT_AT_FORK": ("FALSE",),
}


class _Server:
    """A process of ``tests/process_server.py``."""

    def __init__(
        self,
        connection: socket.socket,
        names: set[str],
        environment: dict[str, str],
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self._connection, self._process = connection, process
        self._names, self._environment = names, environment
        self._connection.settimeout(120)

    @classmethod
    def start(cls, modules: tuple[str, ...], variables: Mapping[str, str]) -> _Server:
        """One that has imported these modules, with these variables besides the usual ones."""
        connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {**(_initial_environment or os.environ), **variables}
        command = [sys.executable, "-m", "tests.process_server", str(other.fileno()), *modules]
        with other:
            process = _UsualPopen(
                command, cwd=ROOT, env=environment, pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        connection.settimeout(120)
        return cls(connection, set(json.loads(connection.recv(1 << 20))), environment, process)

    def serves(self, environment: Mapping[str, str]) -> bool:
        """Whether a process with this environment would have imported the same."""
        names = self._names | {
            name
            for name in (*environment, *self._environment)
            if name.startswith(READ_AT_START) and name != "PYTHONPATH"
        }
        return all(
            environment.get(name) in (self._environment.get(name), *SAME.get(name, ()))
            for name in names
        )

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """The number of a new process, which is a child of this one."""
        libc = ctypes.CDLL(None)
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._connection, [json.dumps(request).encode()], files)
            answer = self._connection.recv(64)
        finally:
            libc.prctl(_SUBREAPER, 0, 0, 0, 0)
        if not answer:
            raise ChildProcessError("the server of processes ended")
        return int(answer)

    def end(self) -> None:
        """End it, and wait until it has, if this process started it."""
        self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)


# In which servers start: a test, whose own settings must not be theirs, is the first that needs one.
_initial_environment: dict[str, str] | None = None


def start_servers_in(environment: Mapping[str, str]) -> None:
    """Let servers import in this environment, whatever it has become when one is first needed."""
    global _initial_environment
    _initial_environment = dict(environment)


_lock = threading.Lock()
_starts: Counter[tuple[str, ...]] = Counter()
_servers: dict[tuple[str, ...], _Server] = {}


@atexit.register
def _end_servers() -> None:
    while _servers:
        _servers.popitem()[1].end()


def _server(
    choices: tuple[tuple[str, ...], ...],
    variables: Mapping[str, str],
    environment: Mapping[str, str],
    starts_others: bool,
) -> _Server | None:
    """A server that has imported one of these lists of modules.

    A process alone needs none; the first one that starts others does: each of them would import.
    """
    for modules in choices:
        _starts[modules] += 1
        if modules not in _servers:
            if _starts[modules] == 1 and not starts_others:
                continue
            _servers[modules] = _Server.start(modules, variables)
        if _servers[modules].serves(environment):
            return _servers[modules]
    return None


def start_server(modules: tuple[str, ...], variables: Mapping[str, str]) -> None:
    """Let a server import these modules now, not when it is first needed."""
    with _lock:
        _server((modules,), variables, os.environ, starts_others=True)


def fork_from(
    connection: socket.socket, names: set[str], environment: dict[str, str], launchers_only: bool
) -> None:
    """Let ``subprocess`` start what it can from a server that this process was given.

    Args:
        connection: to the server.
        names: of the variables that its modules read.
        environment: in which it imported them.
        launchers_only: other programs may look whether mixnet was imported.
    """
    _servers[IMPORTS[0]] = _Server(connection, names, environment)
    Popen.imports, Popen.launchers_only = IMPORTS[:1], launchers_only
    subprocess.Popen = Popen  # type: ignore[misc]


def _can_be_forked(args: Any, options: tuple[Any, ...]) -> bool:
    """Whether a command is ``python -c``, ``-m`` or a file, without anything that a fork would leave out."""
    if sys.platform != "linux" or not isinstance(args, list | tuple) or len(args) < 2:
        return False
    if os.fspath(args[0]) != sys.executable or any(options):
        return False
    first = os.fspath(args[1])
    return (first in ("-c", "-m") and len(args) > 2) or first.endswith(".py")


def program(arguments: Sequence[Any]) -> str:
    """The module or the file that a Python process runs, by its arguments."""
    return os.fspath(arguments[arguments[0] == "-m"])


class Popen(subprocess.Popen[Any]):
    """``subprocess.Popen``; Python processes are forked where that makes no difference to the program."""

    imports = IMPORTS  # the lists of modules that a server may have imported, the first that serves
    # Programs that start others, which are forked too; a view of the documentation measures jobs.
    starting = ("mixnet.tools.launch", "sphinx", str(ROOT / "docs" / "pictures" / "views.py"))
    launchers_only = False

    def variables(self) -> dict[str, str]:
        """What a server imports with, besides the environment of the run."""
        return {}

    def _execute_child(self, *arguments: Any) -> None:
        """What ``subprocess`` calls to start a process, with CPython's arguments since 3.11."""
        (args, executable, before, _close, pass_fds, folder, env, startup, flags, shell, *ends,
         _restore, gid, gids, uid, umask, new_session, group) = arguments  # fmt: skip
        others = executable, before, pass_fds, startup, flags, shell, umask >= 0, group >= 0
        user = [each is not None for each in (gid, gids, uid)]
        environment = dict(os.environ if env is None else env)
        with _lock:
            forkable = _can_be_forked(args, (*others, *user))
            starts_others = forkable and program(args[1:]) in self.starting
            forkable = forkable and (starts_others or not self.launchers_only)
            server = None
            if forkable:
                server = _server(self.imports, self.variables(), environment, starts_others)
            if server is None:
                super()._execute_child(*arguments)  # type: ignore[misc]
                return
            request = {
                "arguments": [os.fspath(each) for each in args[1:]],
                "environment": environment,
                "folder": os.path.abspath(folder or "."),
                "new_session": bool(new_session),
                "starts_others": starts_others,
            }
            files = [end if end != -1 else usual for usual, end in enumerate(ends[:1] + ends[3::2])]
            self.pid = server.fork(request, files)
            self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


def run(
    args: Any,
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """``subprocess.run`` with :class:`Popen`."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done
