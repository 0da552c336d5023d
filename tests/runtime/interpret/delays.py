"""Compilations that wait for an event of a test."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mixnet.runtime.programs import executable_cache


def delayed_compilation(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Make all compilations wait for the event that is returned."""
    ready = threading.Event()
    compiled = executable_cache._compiled

    def compiled_when_ready(*arguments: Any) -> Any:
        assert ready.wait(60)
        return compiled(*arguments)

    monkeypatch.setattr(executable_cache, "_compiled", compiled_when_ready)
    return ready
