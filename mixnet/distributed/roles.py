"""``import mixnet`` in a scheduler, server or launcher process: it does its work, then exits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from mixnet.distributed.job import Job

_IS_SERVER = "MIXNET_IS_SERVER"
_LAUNCHER = "mixnet.tools.launch"


def serve_if_asked() -> None:
    """If ``DMLC_ROLE`` is a scheduler or server, serve and then end the process; otherwise do nothing.

    Raises:
        SystemExit: the job has ended.
    """
    if os.environ.get("DMLC_ROLE") == "server" and _IS_SERVER not in os.environ:
        # A separate program, since its threads need all of mixnet and would wait for this import to end.
        command = [sys.executable, "-m", "mixnet.kvstore.serving"]
        os.execve(sys.executable, command, {**os.environ, _IS_SERVER: "1", "JAX_PLATFORMS": "cpu"})
    if os.environ.get("DMLC_ROLE") != "scheduler":
        return

    def schedule(job: Job) -> int:
        from mixnet.distributed.scheduler import run_scheduler

        return run_scheduler(job)

    run_and_exit("scheduler", schedule)


def run_and_exit(role: str, run: Callable[[Job], int]) -> NoReturn:
    """Run the work of a scheduler or server, and end the process with the exit code that it returns.

    Args:
        role: for messages.
        run: from the job to the exit code.
    """
    from mixnet.base import MXNetError
    from mixnet.distributed.job import find_job
    from mixnet.distributed.lines import flush_output

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        job = find_job()
        assert job is not None
        code = run(job)
    except MXNetError as error:
        print(f"mixnet {role}: {error}", file=sys.stderr, flush=True)
        code = 1 if error.exit_code is None else error.exit_code
    flush_output()
    os._exit(code)  # no program of workers runs here


def is_launcher() -> bool:
    """Whether the program of this process is ``mixnet-launch`` or ``python -m mixnet.tools.launch``."""
    if sys.argv[:1] == ["-m"]:  # while Python looks for the module
        module = sys.orig_argv[-len(sys.argv)]
        return module.removeprefix("-m") == _LAUNCHER
    return os.path.basename(sys.argv[0] if sys.argv else "") == "mixnet-launch"
