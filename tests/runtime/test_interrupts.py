"""The tests of ``interrupts.py``, in a separate process: tracers and signals disturb a test runner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interrupts import run_in_own_process


@pytest.mark.spread
def test_interrupts_leave_the_runtime_consistent() -> None:
    run_in_own_process(Path(__file__).with_name("interrupts.py"))
