"""Short programs run in the thread that pushes them; a worker runs the others."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from mixnet import nd
from mixnet.engine.current import current
from mixnet.engine.timeline import timeline
from mixnet.runtime.programs import brief
from mixnet.runtime.record import segment
from mixnet.runtime.record.record import flush


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How programs came to the engine: ``push``ed for a worker, or ``claim``ed by this thread."""
    ways: list[str] = []
    for way in ("push", "claim"):
        method = getattr(current.engine, way)

        def watched(*args: Any, way: str = way, method: Any = method, **settings: Any) -> Any:
            ways.append(way)
            return method(*args, **settings)

        monkeypatch.setattr(current.engine, way, watched)
    monkeypatch.setattr(brief, "_brief", set())
    monkeypatch.setattr(segment, "is_brief", lambda structure: structure in brief._brief)
    return ways


def limits(monkeypatch: pytest.MonkeyPatch, shortest: float, longest: float) -> None:
    for module in (segment, brief):
        monkeypatch.setattr(module, "BRIEF", shortest)
        monkeypatch.setattr(module, "LONG", longest)


def push() -> nd.NDArray:
    y = (nd.ones((3, 3)) + 1) * 2
    flush()
    np.testing.assert_array_equal(y.asnumpy(), np.full((3, 3), 4))
    return y


def test_a_program_that_was_brief_once_runs_where_it_is_pushed_until_it_is_long(
    ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits(monkeypatch, 0.0, 60.0)  # every call takes longer than the lower limit
    push()
    push()
    assert ways == ["push", "push"]
    limits(monkeypatch, 30.0, 60.0)  # every call is shorter than the lower limit
    push()
    push()
    assert ways == ["push", "push", "push", "claim"]
    limits(monkeypatch, 0.0, 0.0)  # every call is longer than the upper limit
    push()
    push()
    assert ways == ["push", "push", "push", "claim", "claim", "push"]


def test_a_brief_program_with_pending_inputs_is_pushed(
    ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(segment, "is_brief", lambda structure: False)
    y = nd.ones((3, 3)) + 1
    run = y._value.segment._run
    with monkeypatch.context() as context:
        context.setattr(segment.Segment, "_run", lambda _, *rest: (gate.wait(30), run(*rest)))
        flush()
    monkeypatch.setattr(segment, "is_brief", lambda structure: True)
    z = y * 2
    flush()
    gate.set()
    np.testing.assert_array_equal(z.asnumpy(), np.full((3, 3), 4))
    assert ways == ["push", "push"]


def test_workers_run_programs_while_a_timeline_is_recorded(
    ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "is_brief", lambda structure: True)
    push()
    timeline.start()
    try:
        push()
    finally:
        timeline.stop()
        timeline.clear()
    assert ways == ["claim", "push"]
