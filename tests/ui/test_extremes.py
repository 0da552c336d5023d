"""Views of extreme data: times at one end, sizes of many magnitudes, very long and wide names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.runtime.value.memory import Allocation, MemoryLog
from mixnet.widgets import (
    EngineTimeline,
    GraphView,
    MemoryView,
    OpExplorer,
    ScalingView,
    TrainingBoard,
    View,
)
from tests.ui.conftest import Watched, settle, shown
from tests.ui.reading import unreadable

LONG = ("a_rather_long_name_" * 11)[:200]
WIDE = "W" * 200
CHINESE = "卷积层的权重与偏置" * 8

# Texts of an SVG file that leave the picture or meet.
FIND_IN_PICTURE = """() => {
  const found = [], edge = document.documentElement.getBoundingClientRect();
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6.5;
  const texts = [...document.querySelectorAll('text')]
    .map((e) => ({ text: e.textContent.slice(0, 40), box: e.getBoundingClientRect() }));
  texts.forEach((a, i) => {
    if (a.box.left < edge.left - 1.5 || a.box.right > edge.right + 1.5) found.push(`beyond: ${a.text}`);
    for (const b of texts.slice(i + 1)) if (over(a.box, b.box)) found.push(`over: ${a.text} | ${b.text}`);
  });
  return found;
}"""


def operation(number: int, name: str, thread: str, begin: int, ran: int, var: str) -> Any:
    """A row of a timeline; it reads and writes one variable."""
    times = {"pushed": begin, "ready": begin, "started": begin, "ended": begin + ran}
    fixed = {"resource": "compute:cpu(0)", "priority": 0, "source": "", "error": None}
    uses = {"reads": [[var, number]] if number else [], "writes": [[var, number + 1]]}
    return {"number": number, "name": name, "thread": thread, **times, **fixed, **uses}


def timeline_of_names() -> View:
    """Names of threads, operations and variables that are wider than the picture."""
    names = [LONG, WIDE, CHINESE]
    rows = [
        operation(i, names[(i + 1) % 3], names[i % 3], 2_000 * i, 1_900, CHINESE) for i in range(6)
    ]
    view = EngineTimeline(rows)
    view.payload = {"runs": [{**view.payload["runs"][0], "name": WIDE}]}
    view.choose(selected=[0, 2], hops=3)
    return view


def timeline_at_the_end() -> View:
    """All but one in the last thousandth, some without duration."""
    rows = [operation(i, "short", f"t{i % 3}", 10**8 + 10_000 * i, 9_000 * (i % 2), LONG)
            for i in range(6)]  # fmt: skip
    view = EngineTimeline([operation(9, "whole", "t4", 0, 10**8, "other"), *rows])
    view.choose(selected=[0, 3], hops=3)
    return view


def board_of_names() -> View:
    boards = []
    for name, factor in ((LONG, 1.0), (WIDE, 1e20), (CHINESE, 1e-20)):
        boards.append(TrainingBoard(name))
        for step in range(1, 10):
            boards[-1].log(**{"loss": factor / step, name: factor * 1e270})
        boards[-1].histogram(name, [1.0, float("nan")])
        boards[-1].image(name, [[0.5]])
    return boards[0].compare(*boards[1:])


def memory_of_sizes() -> View:
    log = MemoryLog()
    rows = [("tiny", 1, 0.0, 1.0), (CHINESE, 10**13, 0.2, 0.8), (WIDE, 0, 0.3, 0.3)]
    for number, (name, size, born, died) in enumerate(rows):
        log.allocations.append(
            Allocation(number, name, (size,), "float32", size, "cpu(0)", None, born, died)
        )
    return MemoryView.live(log)


def graph_of_names() -> View:
    x = mx.sym.var(CHINESE)
    parts = [mx.sym.relu(x, name=name) for name in (LONG, WIDE, CHINESE + "2")]
    return GraphView(mx.sym.add_n(*parts, name="sum"), **{CHINESE: (2, 3)})


def scaling_of_magnitudes() -> View:
    points = [{"n": n, "thr": 10.0**e, "lo": 10.0 ** (e - 1), "hi": 10.0 ** (e + 1), "repeat": 3}
              for n, e in ((1, -3), (1024, 9))]  # fmt: skip
    run = {"origin": "real devices", "batch": 32, "bytes": 1e6, "points": points}
    return ScalingView([{**run, "label": label} for label in (LONG, WIDE, CHINESE)])


def explorer_of_names() -> View:
    data = np.arange(384).reshape(12, 32) * -1e3
    return OpExplorer("attention", data=data, words=[LONG, WIDE, CHINESE] * 4)


VIEWS: tuple[Callable[[], View], ...] = (
    timeline_of_names, timeline_at_the_end, board_of_names, memory_of_sizes, graph_of_names,
    scaling_of_magnitudes, explorer_of_names,
)  # fmt: skip


@pytest.mark.parametrize("make", VIEWS, ids=lambda make: make.__name__)
def test_extremes_can_be_read(noting: Watched, tmp_path: Path, make: Callable[[], View]) -> None:
    view, page = make(), noting.page
    (tmp_path / "a.svg").write_text(view.svg(), encoding="utf-8")
    page.goto((tmp_path / "a.svg").as_uri())
    assert page.evaluate(FIND_IN_PICTURE) == []
    view.to_html(tmp_path / "a.html")
    for width in (1000, 600):
        page.set_viewport_size({"width": width, "height": 900})
        if width == 1000:
            page.goto((tmp_path / "a.html").as_uri())
            shown(page)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert unreadable(page, ".mx") == [], width
    assert noting.errors == []
