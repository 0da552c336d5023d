"""Runs ``interrupts.py`` in another process: errors that a profile function raises corrupt Python 3.11's
recursion count.
"""

from __future__ import annotations

from pathlib import Path

from tests.interrupts import run_in_own_process


def test_interrupts_leave_the_engine_consistent() -> None:
    run_in_own_process(Path(__file__).with_name("interrupts.py"))
