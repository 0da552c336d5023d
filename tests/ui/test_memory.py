"""The memory pane scrolls to a selection made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mixnet as mx
from tests.ui.conftest import Watched

PANE = '.mx-static[data-ready] [data-pane="memory"]'
SHOWN = """([pane, step]) => {
  const shown = (end) => Number(document.querySelector(`${pane} [aria-label=${end}]`).value);
  return shown("from") <= step && step <= shown("to");
}"""


def look_at_layers(page: Any, folder: Path) -> None:
    net = mx.gluon.nn.HybridSequential()
    for _ in range(12):
        net.add(mx.gluon.nn.Dense(64, in_units=64))
    net.initialize()
    mx.look(net, mx.nd.ones((64, 64)), run=False).to_html(folder / "a.html")
    page.goto((folder / "a.html").as_uri())
    page.locator(PANE).wait_for()


def test_an_array_selected_in_another_pane_scrolls_into_view(
    watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    look_at_layers(page, tmp_path)
    page.locator('[data-pane="memory"] h2 button').click()
    page.locator(f"{PANE} canvas.mx-canvas").focus()
    for _ in range(8):
        page.keyboard.press("+")
    for number in (0, 11, 3):
        page.get_by_label("step of the schedule").fill(str(number))
        page.wait_for_function(SHOWN, arg=[PANE, number + 1], timeout=20_000)
    assert not page.evaluate(SHOWN, [PANE, 12]), "it shows more than a part"
    assert watched.errors == []
