"""Every view as a page from a file: no kernel, no network, and still a view."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import Watched
from tests.ui.steps import STEPS
from tests.widgets.examples import EXAMPLES


def test_every_view_has_steps() -> None:
    optional = {"torch_look"}  # needs torch
    assert set(STEPS) - optional == set(EXAMPLES) - optional and optional <= set(STEPS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_page(watched: Watched, tmp_path: Path, name: str) -> None:
    EXAMPLES[name]().to_html(tmp_path / "a.html")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    view = page.locator(".mx-static[data-ready] > div > .mx")
    view.wait_for(timeout=20_000)
    STEPS[name](page, view)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    assert watched.axe("body") == []
    assert watched.outside == [] and watched.errors == []


def test_without_scripts_the_picture_stays(browser, tmp_path: Path) -> None:
    EXAMPLES["array"]().to_html(tmp_path / "a.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "a.html").as_uri())
    assert page.locator("figure img").bounding_box()["height"] > 50
    assert page.locator("details summary").inner_text() == "Table"
    context.close()
