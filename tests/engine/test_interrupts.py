"""The tests of ``interrupts.py``, apart: what a profile function raises upsets Python 3.11's
count of its recursion.
"""

from __future__ import annotations

from pathlib import Path

from tests.interrupts import run_in_own_process


def test_interrupts_leave_the_engine_consistent() -> None:
    run_in_own_process(Path(__file__).with_name("interrupts.py"))
