"""The display of an array in a notebook: a live view if there is more to see than the numbers."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import numpy as np
import pytest

from mixnet import nd
from mixnet.ndarray import display
from mixnet.widgets import ArrayView, View, array, live
from tests import processes

LIVE = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_in_notebook", lambda: True)


needs_anywidget = pytest.mark.skipif(
    not live.available(), reason="live views need anywidget: pip install 'mixnet[widgets]'"
)


def ready(x: Any) -> Any:
    x.wait_to_read()
    return x


@needs_anywidget
@pytest.mark.usefixtures("notebook")
def test_arrays_with_more_to_see_are_live() -> None:
    for shape in ((2, 3, 4), (40, 3), (100,)):
        data = ready(nd.ones(shape))._repr_mimebundle_()
        assert set(data) == {"text/plain", "text/html", LIVE}
        assert 'class="mx-static"' in data["text/html"], "the picture of the live view is stored"
    for shape in ((1,), (3,), (16, 16)):
        assert set(ready(nd.ones(shape))._repr_mimebundle_()) == {"text/plain", "text/html"}


@pytest.mark.usefixtures("notebook")
def test_pending_arrays_are_not_run() -> None:
    x = nd.ones((40, 40)) + 1
    assert LIVE not in x._repr_mimebundle_() and x.to_dict()["state"] == "pending"


def test_other_sessions_show_text_as_before() -> None:
    x = ready(nd.ones((2, 3, 4)))
    assert set(x._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert repr(x).endswith("<NDArray 2x3x4 @cpu(0)>")


@pytest.mark.usefixtures("notebook")
def test_cards_remain_without_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "available", lambda: False)
    assert set(ready(nd.ones((40, 40)))._repr_mimebundle_()) == {"text/plain", "text/html"}


@pytest.mark.usefixtures("notebook")
def test_a_failing_display_form_does_not_break_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(display, "FORMS", [broken])
    with pytest.warns(UserWarning, match="shown without its broken: oh"):
        assert "text/html" in ready(nd.ones((2,)))._repr_mimebundle_()


def test_a_large_array_costs_what_is_shown() -> None:
    data = np.arange(300 * 400 * 50, dtype=np.float32).reshape(50, 300, 400)
    view = ArrayView(data, side=24, slices=8)
    assert len(view.to_json()) < 65_000
    cells = np.array(view.payload["cells"])
    assert cells.shape == (8, 24, 24) and view.payload["of"] == 50
    rows, columns = view.payload["axes"]
    assert (rows[0], rows[-1], columns[-1]) == (0, 299, 399)
    low, high = view.payload["low"], view.payload["high"]
    shown = low + (high - low) * cells[3] / 254
    np.testing.assert_allclose(shown, data[3][np.ix_(rows, columns)], atol=(high - low) / 254)
    values = np.array(view.payload["values"])
    np.testing.assert_allclose(values[3], data[3][np.ix_(rows, columns)], rtol=5e-3)
    assert View.of(json.loads(view.to_json())).svg() == view.svg()
    wide = ArrayView(data)
    assert "values" not in wide.payload and wide.table()[1][0][2].startswith("≈ ")


def test_numbers_between_the_extremes_are_shown_exactly() -> None:
    header, rows = ArrayView(np.array([[1000, 1, 2, 0.5]])).table()
    assert header == ["", "0", "1", "2", "3"] and rows == [[0, "1000", "1", "2", "0.5"]]
    rows = ArrayView(np.arange(12, dtype=np.int8).reshape(3, 4)).table()[1]
    assert rows[1] == [1, "4", "5", "6", "7"]


@pytest.mark.parametrize(
    ("values", "text", "cells"),
    [
        ([np.nan, np.inf], "ready, not finite", [255, 255]),
        ([np.nan, 1, 3], "ready, 1 … 3, some not finite", [255, 0, 254]),
        ([1e308, -1e308], "ready, -1e+308 … 1e+308", [254, 0]),
        ([3, 3], "ready, 3 … 3", [127, 127]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_infinite_and_huge_numbers_are_shown(values: Any, text: str, cells: list[int]) -> None:
    view = ArrayView(np.array(values))
    assert view.summary().endswith(text)
    assert view.payload["cells"] == [[cells]]


def test_white_is_zero_where_both_signs_occur() -> None:
    """As in array.test.mjs; the card and the view have the same colours."""
    blue, white, red = (33, 102, 172), (247, 247, 247), (178, 24, 43)
    for low, high, numbers in (
        (-1, 3, (-3, 0, 3)),
        (2, 4, (2, 3, 4)),
        (-1e308, 1e308, (-1e308, 0, 1e308)),
    ):
        results = [display.colour(display.warmth(number, low, high)) for number in numbers]
        assert results == [blue, white, red]
    assert display.warmth(5, 5, 5) == 0
    values = np.array([[-1.0, 0.0, 3.0]])
    shown = ready(nd.array(values))
    assert 'fill="#f7f7f7"><title>[0, 1] 0<' in shown._repr_html_()
    fills = re.findall(r"fill=\"rgb(\(.*?\))\"", ArrayView(values).svg())
    assert {"(247, 247, 247)", "(178, 24, 43)"} < set(fills)


def test_the_display_hook_is_installed_once_and_only_with_views() -> None:
    assert display.FORMS.count(array.live_form) == 1
    code = (
        "from mixnet.ndarray import display; print(len(display.FORMS)); import mixnet.widgets; "
        "print(len(display.FORMS))"
    )
    process = processes.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert process.stdout.split() == ["0", "1"]


def test_a_pending_array_is_computed_when_the_reader_asks() -> None:
    view = ArrayView(nd.ones((2, 3)) + 1)
    assert view.payload["state"] == "pending" and view.payload["cells"] == []
    view.message({"do": "compute"})
    assert view.payload["state"] == "ready" and view.payload["low"] == 2
    View.of(view.payload).message({"do": "compute"})  # a stored view has no array: nothing happens
