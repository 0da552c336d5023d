"""Waiting for other threads and processes with a time limit; the error names what did not end."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, Any

SECONDS = 120.0


def join(*threads: threading.Thread, seconds: float = SECONDS) -> None:
    """Wait until these threads have ended."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    running = [thread.name for thread in threads if thread.is_alive()]
    assert not running, f"did not end in {seconds:.0f} s: {', '.join(running)}"


def next_line(process: subprocess.Popen[Any], seconds: float = SECONDS) -> Any:
    """The next line that a process writes; it is killed if it writes none in time."""
    stream: IO[Any] | None = process.stdout
    assert stream is not None
    ended = threading.Event()

    def kill() -> None:
        ended.set()
        process.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        line = stream.readline()
    finally:
        timer.cancel()
    assert not ended.is_set(), f"{process.args} wrote no line in {seconds:.0f} s"
    return line


def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Check a condition repeatedly until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{condition} did not hold in {seconds:.0f} s"
        time.sleep(0.005)
