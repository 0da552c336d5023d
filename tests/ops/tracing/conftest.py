"""Fixtures shared by the tests of tracing."""

from __future__ import annotations

from typing import Any

import pytest

from mixnet.ops.tracing import traced


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that are traced from now on, by name."""
    names: list[str] = []
    trace = traced._traced

    def noted(op: Any, *others: Any) -> Any:
        names.append(op.name)
        return trace(op, *others)

    monkeypatch.setattr(traced, "_traced", noted)
    return names
