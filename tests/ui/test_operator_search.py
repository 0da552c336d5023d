"""The search box above the operators from A to Z, on the page as Sphinx builds it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.ui.conftest import Watched, counts, says


def test_rows_with_all_search_words_remain(watched: Watched, site: Path) -> None:
    look = watched.page
    look.goto((site / "operators.html").as_uri())
    box, rows = look.get_by_label("search operators"), look.locator("tbody tr:visible")
    every = rows.count()
    assert every > 500
    box.fill("np softmax")
    says(look.locator("#operator-count"), re.compile(r"^[1-9] of"))
    assert 0 < rows.count() < 10
    for i in range(rows.count()):
        text = rows.nth(i).inner_text().lower()
        assert "np" in text and "softmax" in text
    says(look.locator("#operator-count"), f"{rows.count()} of {every}")
    assert look.locator("section > h2:visible").count() <= rows.count(), "empty letters are hidden"
    address = look.url
    assert "find=np+softmax" in address
    box.fill("")
    counts(rows, every)
    look.goto(address)
    says(look.locator("#operator-count"), re.compile(r"^[1-9] of"))
    assert 0 < rows.count() < 10, "a link finds the same again"
    box.fill("no such operator")
    counts(rows, 0)
    assert watched.outside == []
    assert watched.errors == []
    assert watched.axe(".operator-search") == []


def test_all_columns_are_in_sight_on_a_narrow_page(watched: Watched, site: Path) -> None:
    watched.page.set_viewport_size({"width": 600, "height": 900})
    watched.page.goto((site / "operators.html").as_uri())
    wide = (
        "[...document.querySelectorAll('.table-wrapper')].filter((each) => each.scrollWidth > "
        "each.clientWidth).length"
    )
    assert watched.page.locator(".table-wrapper").count() > 20
    assert watched.page.evaluate(wide) == 0
