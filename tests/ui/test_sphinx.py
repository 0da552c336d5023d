"""A notebook and a page in Sphinx: their views answer, from a file, and follow the page's theme."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import Watched, counts, says, settle, shown


def test_a_view_in_a_sphinx_page_answers(watched: Watched, site: Path) -> None:
    view = watched.page
    view.goto((site / "notebook.html").as_uri())
    shown(view)
    slider = view.locator('.mx input[type="range"]')
    slider.focus()
    slider.press("ArrowRight")
    says(view.locator(".mx-bar"), "[1]")
    background = "getComputedStyle(document.querySelector('.mx')).backgroundColor"
    view.evaluate("document.body.dataset.theme = 'light'")
    light = view.evaluate(background)
    view.evaluate("document.body.dataset.theme = 'dark'")
    view.wait_for_function(f"(light) => {background} !== light", arg=light)
    assert watched.outside == []
    assert watched.errors == []
    assert watched.axe(".mx") == []  # last: it reads style sheets, which files may not


def test_a_page_asks_for_a_view_and_it_is_live(watched: Watched, site: Path) -> None:
    page = watched.page
    page.goto((site / "puzzle.html").as_uri())
    shown(page)
    assert page.get_by_role("link", name="it", exact=True).count() == 1, (
        "its caption is text of the page"
    )
    page.locator("[data-item]").nth(7).press("Home")
    says(page.locator(".mx-line"), "last at 0 B")
    assert watched.outside == []
    assert watched.errors == []
    assert watched.axe(".mx") == []  # last: it reads style sheets, which files may not


@pytest.mark.parametrize("name", ["index", "genindex"])
def test_a_narrow_page_has_what_is_wide(watched: Watched, site: Path, name: str) -> None:
    """Nothing is out of sight at the right, and code that scrolls can have the focus."""
    page = watched.page
    page.set_viewport_size({"width": 600, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    settle(page)
    outside = "document.scrollingElement.scrollWidth - innerWidth"
    assert page.evaluate(outside) <= 0
    counts(page.locator("pre[tabindex='0']"), int(name == "index"))
    assert [each for each in watched.axe("body") if each.startswith("scrollable")] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "notebook", "puzzle"])
def test_pages_have_contrast(watched: Watched, site: Path, name: str, theme: str) -> None:
    watched.page.emulate_media(color_scheme=theme)
    watched.page.goto((site / f"{name}.html").as_uri())
    settle(watched.page)
    assert [each for each in watched.axe("body") if each.startswith("color-contrast")] == []
