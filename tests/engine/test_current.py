"""Scopes that choose the engine end in any order, and also after Ctrl-C."""

from __future__ import annotations

import pytest

from mixnet.engine import ThreadedEngine
from mixnet.engine.current import current, using


def test_scopes_of_two_threads_may_end_in_any_order() -> None:
    before = current.kind, current.engine, current.naive
    first, second = using("NaiveEngine"), using("ThreadedEngine")
    with first:
        engine = second.__enter__()
    assert (current.kind, current.engine, current.naive) == ("ThreadedEngine", engine, False)
    second.__exit__(None, None, None)
    assert (current.kind, current.engine, current.naive) == before


def test_an_interrupt_while_an_engine_stops_does_not_leave_it_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(engine: ThreadedEngine) -> None:
        raise KeyboardInterrupt

    before = current.engine
    with pytest.raises(KeyboardInterrupt), using("ThreadedEngine"):
        monkeypatch.setattr(ThreadedEngine, "stop", stop)
    assert current.engine is before
