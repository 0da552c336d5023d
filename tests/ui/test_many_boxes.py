"""Memory with 50,000 boxes: all exist, few are drawn separately, and zooming makes them sharp."""

from __future__ import annotations

import random
from pathlib import Path

from mixnet.runtime.value.memory import Allocation, MemoryLog
from mixnet.widgets import MemoryView
from tests.ui.conftest import Watched, says, shown

COUNT = 50_000


def log_of_many() -> MemoryLog:
    """Arrays of 1 kB to 4 MB that live from 0.1 ms to 50 ms, ten in a millisecond."""
    random.seed(1)
    log, now = MemoryLog(), 0.0
    for number in range(COUNT):
        now += random.expovariate(1e4)
        life = random.expovariate(1 / random.choice([1e-4, 1e-3, 0.05]))
        size = random.choice([1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22])
        log.allocations.append(
            Allocation(
                number,
                f"op{number % 37}",
                (size // 4,),
                "float32",
                size,
                "cpu(0)",
                None,
                now,
                now + life,
            )
        )
    return log


def test_fifty_thousand_boxes_are_drawn_and_zoomed(watched: Watched, tmp_path: Path) -> None:
    MemoryView.live(log_of_many()).to_html(tmp_path / "a.html")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    view = shown(page)
    canvas = view.locator("canvas.mx-canvas")
    page.wait_for_function("() => document.querySelector('canvas.mx-canvas').dataset.frames > 0")
    number = view.locator(".mx-bar > .mx-right").first
    says(number, "50,000 of 50,000 boxes, the largest 1,500 sharp")
    view.get_by_label("from").fill("100")
    to = view.get_by_label("to", exact=True)
    to.fill("150")
    to.press("Enter")
    page.wait_for_function(
        "() => !document.querySelector('.mx-bar > .mx-right').textContent.includes('sharp')"
    )
    count = int(number.inner_text().split(" of ")[0].replace(",", ""))
    assert 300 < count < 1500, "about ten a millisecond"
    canvas.focus()
    page.keyboard.press("]")
    says(view.locator(".mx-side"), "unknown")
    assert watched.errors == []
    print("milliseconds to draw:", canvas.get_attribute("data-draw-time"))
