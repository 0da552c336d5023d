"""Pressing Ctrl-C in another process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests import processes


def press(process: subprocess.Popen[str]) -> str:
    """Interrupt a process until it ends, and kill it if it does not; returns its output since then.

    One interrupt may not be enough, since Python drops exceptions in some places, such as finalizers.
    """
    try:
        for _ in range(4):
            process.send_signal(signal.SIGINT)
            try:
                return process.communicate(timeout=20)[0]  # a second one may interrupt its end
            except subprocess.TimeoutExpired:
                continue
        return ""
    finally:
        process.kill()


def run_in_own_process(tests: Path) -> None:
    """Run a file of tests in another process, without plugins that would interfere."""
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    command = [sys.executable, "-m", "pytest", *options, "--assert=plain", str(tests)]
    root = Path(__file__).parents[1]
    run = processes.run(command, cwd=root, capture_output=True, text=True, timeout=400)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout and "skipped" not in run.stdout
