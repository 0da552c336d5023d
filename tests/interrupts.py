"""Pressing Ctrl-C at another process."""

from __future__ import annotations

import signal
import subprocess


def press(process: subprocess.Popen[str]) -> str:
    """Interrupt a process until it ends, and kill it if it does not; what it wrote since.

    Once is not always enough: it may come while Python is in a place that drops what is raised.
    """
    try:
        for _ in range(12):
            process.send_signal(signal.SIGINT)
            try:
                return process.communicate(timeout=5)[0]
            except subprocess.TimeoutExpired:
                continue
        return ""
    finally:
        process.kill()
