"""The tests of ``interrupts.py``, apart: what a profile function raises upsets Python 3.11's count of its recursion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_interrupts() -> None:
    options = [
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "--assert=plain",
    ]
    tests = str(Path(__file__).with_name("interrupts.py"))
    command = [sys.executable, "-m", "pytest", *options, tests]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout and "skipped" not in run.stdout
