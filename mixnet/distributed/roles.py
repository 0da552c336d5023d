"""``import mixnet`` in a process that is a scheduler or server: it serves, and ends with the job."""

from __future__ import annotations

import os
import signal
import sys

from mixnet.distributed.job import JobError, find_job


def serve_if_asked() -> None:
    """Serve if ``DMLC_ROLE`` says so, then end the process; else nothing.

    Raises:
        SystemExit: the job has ended.
    """
    if os.environ.get("DMLC_ROLE") not in ("scheduler", "server"):
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        code = _serve()
    except JobError as error:
        print(f"mixnet {os.environ['DMLC_ROLE']}: {error}", file=sys.stderr, flush=True)
        code = error.exit_code
    sys.stdout.flush()
    os._exit(code)  # no program of workers runs here


def _serve() -> int:
    job = find_job()
    assert job is not None
    if job.role == "scheduler":
        from mixnet.distributed.scheduler import run_scheduler

        return run_scheduler(job)
    from mixnet.distributed.member import Member

    return 0 if Member(job).wait_for_end() else 1
