"""Fixtures of several files."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mixnet.engine import timeline
from tests.traced_memory import nothing_compiles


@pytest.fixture
def recorded_timeline() -> Iterator[None]:
    """The timeline is recorded during the test, and empty before and after it."""
    timeline.clear()
    timeline.start()
    yield
    timeline.stop()
    timeline.clear()


@pytest.fixture
def only_own_arrays() -> Iterator[None]:
    """For tests that count the live arrays: those that earlier tests left are freed before."""
    nothing_compiles()
    gc.collect()
    gc.disable()
    yield
    gc.enable()
