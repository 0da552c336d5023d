"""Errors while a view is open."""

from __future__ import annotations

from typing import Any

import pytest

from mixnet import nd
from mixnet.base import MXNetError
from mixnet.widgets import ArrayView
from mixnet.widgets.failure import error_line


@pytest.mark.parametrize(
    "error, line",
    [
        (MXNetError("shape (2, 3) is wrong.\nPass another."), "shape (2, 3) is wrong."),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (RuntimeError("Traceback\n  x = 1 / 0\nRuntimeError: größe"), "RuntimeError: größe"),
        (KeyError("conv1"), "KeyError: 'conv1'"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_an_error_in_one_line(error: Exception, line: str) -> None:
    assert error_line(error) == line


class Failing(ArrayView):
    def message(self, content: dict[str, Any]) -> None:
        raise ZeroDivisionError("division by zero")


def test_the_page_gets_the_error_of_its_event(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    view = Failing(nd.ones((2,)))
    events: list[Any] = []
    monkeypatch.setattr(type(view.widget), "send", lambda self, content: events.append(content))
    with pytest.raises(ZeroDivisionError):
        view._receive({"do": "anything"})
    assert events == [{"failed": "ZeroDivisionError: division by zero"}]
