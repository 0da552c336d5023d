"""Fixtures of several files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mixnet.engine import timeline


@pytest.fixture
def recorded_timeline() -> Iterator[None]:
    """The timeline is recorded during the test, and empty before and after it."""
    timeline.clear()
    timeline.start()
    yield
    timeline.stop()
    timeline.clear()
