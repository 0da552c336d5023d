"""The end of the process: daemon threads of the user compute no more while Python ends.

Python ends a daemon thread where it next asks for the global lock. Inside of a compiled program that
aborts the process: its C++ code lets no thread end.
"""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType

_MOST_SECONDS = 2.0
_QUIET_LOOKS = 20  # one a millisecond: a thread that sleeps may be woken to run a program
_ending: int | None = None  # number of the thread that runs the exit handlers


def stop_if_ending() -> None:
    """Stop this thread for good if the process is ending; its exit handlers go on.

    Called where a thread holds no lock and runs nothing that others wait for.
    """
    if _ending is not None and threading.get_ident() != _ending:
        threading.Event().wait()


def stop_other_threads() -> None:
    """Let the programs that threads of the user run end, and no others begin."""
    global _ending
    _ending = threading.get_ident()
    end = time.monotonic() + _MOST_SECONDS
    quiet = 0
    while quiet < _QUIET_LOOKS and time.monotonic() < end and _are_there_others():
        quiet = 0 if _is_any_computing() else quiet + 1
        time.sleep(0.001)


def _are_there_others() -> bool:
    others = [each for each in threading.enumerate() if each.ident != _ending]
    return any(not each.name.startswith("mixnet") for each in others)


def _is_any_computing() -> bool:
    frames = sys._current_frames().items()
    return any(_is_computing(frame) for number, frame in frames if number != _ending)


def _is_computing(frame: FrameType | None) -> bool:
    """Whether a thread is about to run a program, or runs one, and does not sleep."""
    if frame is None or frame.f_globals.get("__name__") == "threading":
        return False
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        is_handing_over = frame.f_code.co_name == "finish" and module.startswith("mixnet.runtime")
        if is_handing_over or module.startswith("jax"):
            return True
        frame = frame.f_back
    return False
