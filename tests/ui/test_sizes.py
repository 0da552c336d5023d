"""Every view in narrow and wide places, light and dark: all of it can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, Watched
from tests.ui.reading import NOTE_TEXTS, unreadable
from tests.widgets.examples import EXAMPLES

WIDTHS = (600, 1000, 1600)
PICTURES = ROOT / "build" / "ui" / "sizes"  # to be looked at


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_all_text_can_be_read(watched: Watched, tmp_path: Path, name: str) -> None:
    EXAMPLES[name]().to_html(tmp_path / "a.html")
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = watched.page
    page.add_init_script(NOTE_TEXTS)
    found = {}
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    page.goto((tmp_path / "a.html").as_uri())
    page.locator(".mx-static[data-ready] > div > .mx").wait_for(timeout=20_000)
    for width in reversed(WIDTHS):  # shrinking refits
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(250)
        found[width] = unreadable(page, ".mx")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(120)
            page.screenshot(path=str(PICTURES / f"{name}-{width}-{theme}.png"), full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert {width: each for width, each in found.items() if each} == {}
    assert watched.errors == []
