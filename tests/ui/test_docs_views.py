"""Every view in the documentation, in the theme of its pages: all of it can be read, by everybody.

``make docs`` has made the views in ``.ci/run``; elsewhere the first test waits until they are made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import THEMES, Watched, counts, settle, shown
from tests.ui.reading import FIND
from tests.ui.site import VIEWS
from tests.ui.test_sizes import WIDTHS

SECONDS = 360  # the first test waits for the views


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_a_page_are_readable(noting: Watched, site: Path, name: str) -> None:
    page, expected = noting.page, VIEWS[name]
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    shown(page)
    counts(page.locator(".mx-static[data-ready] > div > .mx"), len(expected))
    views = page.locator(".mx-static > div > .mx")
    actual = {}
    for width in reversed(WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        for view, each in zip(views.all(), expected, strict=True):
            actual[each, width] = view.evaluate(FIND)
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), width
    assert {place: faults for place, faults in actual.items() if faults} == {}
    assert noting.outside == []
    assert noting.errors == []
    for theme, rules in THEMES.items():  # last: axe reads style sheets, which files may not
        page.evaluate("(theme) => { document.body.dataset.theme = theme }", theme)
        settle(page)
        assert noting.axe(".mx-static", rules) == [], theme


@pytest.mark.parametrize("name", ["index", "operators", next(iter(VIEWS))])
def test_no_page_is_wider_than_its_window(watched: Watched, site: Path, name: str) -> None:
    """Between the widths at which the theme leaves out a side of the page, too."""
    page = watched.page
    page.goto((site / f"{name}.html").as_uri())
    wider = []
    for width in range(600, 1601, 50):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wider.append(width)
    assert wider == []
