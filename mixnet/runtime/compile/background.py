"""A background thread that compiles programs before they are needed.

Jobs run one after another, in the order of submission. At the end of the process, the running job is waited
for, since a thread inside XLA cannot be stopped; queued jobs are dropped.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mixnet.process.interpreter import prompt_turns
from mixnet.runtime.compile.blas import on_one_thread

_jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
_working = threading.Lock()  # held while a job runs
_thread: threading.Thread | None = None
_ended = False


def submit(job: Callable[[], Any]) -> Future[Any]:
    """Run a job on the background thread; returns a future."""
    global _thread
    future: Future[Any] = Future()
    _jobs.put((job, future))
    if _thread is None:
        # Started before it is stored: an interrupt in between costs a second thread, not a job that
        # never runs.
        thread = threading.Thread(target=_work, name="mixnet background", daemon=True)
        thread.start()
        _thread = thread
    return future


def waiting() -> int:
    """The number of jobs that have not started."""
    return _jobs.qsize()


def _work() -> None:
    while True:
        job, future = _jobs.get()
        with _working:
            if _ended or not future.set_running_or_notify_cancel():
                continue
            try:
                with on_one_thread(), prompt_turns():
                    result = job()
            except BaseException as error:  # raised where the result is requested
                future.set_exception(error)
            else:
                future.set_result(result)
        del job, future  # otherwise the last program would live until the next job


@atexit.register
def _end() -> None:
    global _ended
    _ended = True
    with _working:
        pass


def _start_anew() -> None:
    """Reset the state in a forked process, which has no background thread."""
    global _jobs, _working, _thread
    _jobs, _working, _thread = queue.SimpleQueue(), threading.Lock(), None


os.register_at_fork(after_in_child=_start_anew)
