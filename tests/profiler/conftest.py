"""Every test begins and ends with a profiler that is off, empty and has default settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mixnet import engine, profiler
from mixnet.profiler.session import session


@pytest.fixture
def config(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Settings that write to a temporary file, for ``set_config(**config, ...)``."""
    engine.wait_for_all()
    engine.timeline.clear()
    session.events.clear()
    session.finished = True
    yield {"filename": str(tmp_path / "profile.json"), "continuous_dump": False,
           "aggregate_stats": True}  # fmt: skip
    profiler.set_state("stop")
    profiler.resume()
    profiler.set_config()
    engine.timeline.clear()
    session.events.clear()
    session.finished = True
