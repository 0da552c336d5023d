"""Puzzles in a slide (an iframe) and under a finger."""

from __future__ import annotations

from pathlib import Path

from mixnet.widgets import Puzzle
from tests.ui.conftest import CHROMIUM, Watched, says, shown
from tests.ui.steps import drag


def test_a_puzzle_works_in_an_iframe(watched: Watched, tmp_path: Path) -> None:
    Puzzle("memory").to_html(tmp_path / "puzzle.html")
    slide = '<iframe src="puzzle.html" width="960" height="640" title="a puzzle"></iframe>'
    (tmp_path / "slide.html").write_text(f"<!DOCTYPE html><title>slide</title>{slide}")
    watched.page.goto((tmp_path / "slide.html").as_uri())
    inside = watched.page.frame_locator("iframe")
    inside.locator(".mx-static[data-ready]").wait_for(timeout=60_000)
    drag(watched.page, inside.locator("[data-item]").nth(7), 0, 400)
    says(inside.locator(".mx-line"), "last at 0 B")
    assert watched.outside == []
    assert watched.errors == []


def test_a_puzzle_works_with_a_finger(browser, tmp_path: Path) -> None:
    assert CHROMIUM
    Puzzle("tasks").to_html(tmp_path / "puzzle.html")
    context = browser.new_context(has_touch=True, viewport={"width": 800, "height": 700})
    page = context.new_page()
    page.goto((tmp_path / "puzzle.html").as_uri())
    shown(page)
    box = page.locator("[data-item]").nth(5).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = context.new_cdp_session(page)
    for kind, down in (("touchStart", 0), ("touchMove", 30), ("touchMove", 64), ("touchEnd", None)):
        points = [] if down is None else [{"x": x, "y": y + down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    says(page.locator(".mx-line"), "read 2 on thread 2")
    context.close()
