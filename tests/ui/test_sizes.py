"""Every view in narrow and wide places: all of it can be read.

With ``MIXNET_TEST_PICTURES=1``, pictures of all of them, light and dark, are stored in ``build/ui/sizes``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet.widgets import EngineTimeline, GraphView, TrainingBoard
from tests.ui.conftest import ROOT, Watched, settle, shown
from tests.ui.reading import unreadable
from tests.widgets.examples import EXAMPLES

WIDTHS = (600, 1000, 1600)
ANSWERED: dict[str, dict[str, Any]] = {
    "memory": {"plan": "both", "selected": 1},
    "live_memory": {"selected": 0},
    "timeline": {"selected": [0, 2]},
    "stepper": {"things": [0, 1]},
    "look": {},
    "laboratory": {},
    "board": {"at": 30},
    "puzzle": {"selected": 1},
    "puzzle_tasks": {"selected": 10},
    "graph": {"selected": "net_part0_dense0_fwd"},
}
"""Views with something selected: their answers are opened."""
OPEN = "() => document.querySelectorAll('details.mx-why, details').forEach((each) => (each.open = true))"
SEEN = """() => {
  const canvas = document.querySelector('canvas.mx-canvas');
  return textsOf(canvas).filter((t) => t.left >= 0 && t.right <= canvas.clientWidth && t.top >= 0)
    .map((t) => t.text);
}"""
"""Texts inside of the picture."""
PICTURES = ROOT / "build" / "ui" / "sizes"


def draw(page: Any, name: str) -> None:
    """Pictures of the whole page, to be looked at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        settle(page)
        page.screenshot(path=str(PICTURES / f"{name}-{theme}.png"), full_page=True)


@pytest.mark.parametrize("answered", [False, True], ids=["as shown", "answered"])
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_all_text_can_be_read(
    noting: Watched, example: Callable[[str], Path], tmp_path: Path, name: str, answered: bool
) -> None:
    if answered and name not in ANSWERED:
        pytest.skip("it has nothing to open")
    if answered:
        path = tmp_path / "a.html"
        view = EXAMPLES[name]()
        view.choose(**ANSWERED[name])
        view.to_html(path)
        name = f"{name}-answered"
    else:
        path = example(name)
    page = noting.page
    actual = {}
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    page.goto(path.as_uri())
    shown(page)
    for width in reversed(WIDTHS):  # shrinking refits
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        if answered:
            page.evaluate(OPEN)
            settle(page)
        actual[width] = unreadable(page, ".mx")
        if os.environ.get("MIXNET_TEST_PICTURES"):
            draw(page, f"{name}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert noting.axe_in_both_themes("body") == {}
    assert {width: each for width, each in actual.items() if each} == {}
    assert noting.errors == []


@pytest.mark.parametrize("stage", ["your code", "memory plan"])
def test_sentences_of_a_stage_wrap(
    noting: Watched, example: Callable[[str], Path], stage: str
) -> None:
    page = noting.page
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(example("stepper").as_uri())
    view = shown(page)
    view.get_by_text(stage, exact=True).first.click()
    settle(page)
    assert view.locator(".mx-lines.mx-wraps .mx-note").count()
    assert unreadable(page, ".mx") == []


def test_long_names_stay_in_their_view(noting: Watched, tmp_path: Path) -> None:
    board = TrainingBoard("net")
    board.log(**{"loss_" * 20: 0.5, "short": 1.0})
    board.to_html(tmp_path / "a.html")
    page = noting.page
    page.set_viewport_size({"width": 500, "height": 900})
    page.goto((tmp_path / "a.html").as_uri())
    shown(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert unreadable(page, ".mx") == []


def test_a_wide_graph_starts_at_its_first_box(noting: Watched, tmp_path: Path) -> None:
    """Of what is too wide to be read at once, the reader sees where it begins."""
    first = mx.sym.relu(mx.sym.var("data"), name="begin")
    wide = [mx.sym.relu(first, name=f"a_branch_with_a_name_{n}") for n in range(16)]
    GraphView(mx.sym.add_n(*wide, name="sum"), data=(2, 3)).to_html(tmp_path / "a.html")
    aside = [mx.sym.relu(mx.sym.var(f"input{n}"), name=f"a_long_name_{n}") for n in range(16)]
    GraphView(mx.sym.add_n(*aside, name="sum")).to_html(tmp_path / "b.html")
    page = noting.page
    page.set_viewport_size({"width": 600, "height": 900})
    for name, expected in (("a", "data"), ("b", "input0")):
        page.goto((tmp_path / f"{name}.html").as_uri())
        shown(page)
        drawn = page.evaluate(SEEN)
        assert expected in drawn, drawn


@pytest.mark.parametrize("at_end", [False, True], ids=["first", "last"])
def test_a_name_between_operations_at_an_edge(
    noting: Watched, tmp_path: Path, at_end: bool
) -> None:
    """The variable that joins two short operations at an edge of the picture is named inside it."""
    spans = [("write", "first", 0), ("between", "second", 4_000), ("read", "first", 8_000)]
    shift = 10_000_000 if at_end else 1_000
    rows = [{"number": number, "name": name, "resource": thread, "thread": thread, "priority": 0,
             "source": "", "error": None, "pushed": begin + shift, "ready": begin + shift,
             "started": begin + shift, "ended": begin + shift + 2_000,
             "reads": [["a variable with a long name", 1]] * (number % 2),
             "writes": [["a variable with a long name", 1]] * (number == 0)}
            for number, (name, thread, begin) in enumerate(spans)]  # fmt: skip
    whole = {**rows[0], "number": 9, "name": "whole", "thread": "third", "pushed": 0, "ready": 0,
             "started": 0, "ended": 10_010_000, "writes": []}  # fmt: skip
    view = EngineTimeline([*rows, whole])
    view.choose(selected=[0, 1])
    view.to_html(tmp_path / "a.html")
    page = noting.page
    page.set_viewport_size({"width": 600, "height": 900})
    page.goto((tmp_path / "a.html").as_uri())
    shown(page)
    drawn = page.evaluate(
        "[...document.querySelectorAll('canvas')].flatMap(textsOf).map((t) => t.text)"
    )
    assert any("variable" in text for text in drawn), drawn
    assert unreadable(page, ".mx") == []
