"""A page that does not answer ends its test, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import Watched, limited, within


def test_a_promise_that_never_ends(watched: Watched) -> None:
    from playwright.sync_api import Error

    with pytest.raises(Error, match=r"no answer in 0\.2 s: \(\) => new Promise"):
        within(watched.page, "() => new Promise(() => {})", seconds=0.2)


def test_a_script_that_never_ends(browser: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from playwright.sync_api import Error

    page = browser.new_context().new_page()
    with limited("a loop", seconds=2), pytest.raises(Error, match="crash"):
        page.evaluate("() => { for (;;); }")
    page.context.close()
    assert "a loop did not end in 2 s: its page is ended" in capfd.readouterr().err


def test_the_next_test_has_a_page(watched: Watched) -> None:
    assert watched.page.evaluate("1 + 1") == 2
