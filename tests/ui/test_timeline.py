"""The timeline scrolls to a selection made elsewhere."""

from __future__ import annotations

from pathlib import Path

import mixnet as mx
from mixnet.widgets import EngineTimeline
from tests.ui.conftest import Watched
from tests.ui.reading import NOTE_TEXTS
from tests.ui.test_extremes import operation

SHOWN = """([pane, text]) => {
  const canvas = document.querySelector(`${pane} canvas.mx-canvas`);
  return canvas && textsOf(canvas).some((each) => each.text.includes(text));
}"""


def test_a_stored_selection_is_in_sight_from_the_start(watched: Watched, tmp_path: Path) -> None:
    """Forty threads are higher than the picture; the last one is not seen without scrolling."""
    page = watched.page
    page.add_init_script(NOTE_TEXTS)
    rows = [operation(i, f"task {i}", f"thread {i}", 1000 * i, 40_000, "v") for i in range(40)]
    for selected, thread in ((None, "thread 0"), ([0, 39], "thread 39")):
        view = EngineTimeline(rows)
        view.choose(selected=selected)
        view.to_html(tmp_path / "a.html")
        page.goto((tmp_path / "a.html").as_uri())
        page.wait_for_function(SHOWN, arg=[".mx-static[data-ready]", thread], timeout=20_000)
    assert not page.evaluate(SHOWN, [".mx", "thread 1 "]) and watched.errors == []


def test_a_task_selected_in_another_pane_scrolls_into_view(
    watched: Watched, tmp_path: Path
) -> None:
    net = mx.gluon.nn.HybridSequential()
    for _ in range(6):
        net.add(mx.gluon.nn.Dense(64, in_units=64))
    net.initialize()
    view = mx.look(net, mx.nd.ones((64, 64)))
    run = view.payload["engine"]["runs"][0]
    count = len(run["ops"]["ran"])
    # Whatever the machine took: equal times, one after the other, so that all names fit into their bars.
    run["ops"] |= {
        "pushed": [1_000_000 * i for i in range(count)],
        "queued": [0] * count,
        "waited": [0] * count,
        "ran": [900_000] * count,
    }
    run["span"] = 1_000_000 * count
    view.to_html(tmp_path / "a.html")
    page = watched.page
    page.add_init_script(NOTE_TEXTS)
    page.goto((tmp_path / "a.html").as_uri())
    pane = '.mx-static[data-ready] [data-pane="engine"]'
    page.locator(f"{pane} canvas.mx-canvas").focus()
    for _ in range(18):
        page.keyboard.press("+")
    for number in (0, 5):
        page.get_by_label("step of the schedule").fill(str(number))
        page.wait_for_function(SHOWN, arg=[pane, f"Dense {number}"], timeout=20_000)
    assert watched.errors == []
