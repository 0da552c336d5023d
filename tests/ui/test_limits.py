"""A page that does not answer ends its test, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import Watched, limited, value_within, within


def test_a_promise_that_never_ends_fails_its_test(watched: Watched) -> None:
    from playwright.sync_api import Error

    with pytest.raises(Error, match=r"no answer in 0\.2 s: \(\) => new Promise"):
        within(watched.page, "() => new Promise(() => {})", seconds=0.2)


def test_an_error_of_a_script_is_raised_before_the_limit(watched: Watched) -> None:
    from playwright.sync_api import Error

    with pytest.raises(Error, match="no such thing"):
        within(watched.page, "async () => { throw new Error('no such thing') }", seconds=20)


def test_a_script_that_never_ends_fails_its_test(
    browser: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    from playwright.sync_api import Error

    page = browser.new_context().new_page()
    with limited("a loop", seconds=2), pytest.raises(Error, match="crash"):
        page.evaluate("() => { for (;;); }")
    page.context.close()
    assert "a loop did not end in 2 s: its page is ended" in capfd.readouterr().err


# Two pictures of other machines, by name and by address, and a program's request.
ASK = """async () => {
  const load = (url) => new Promise((done) => {
    const picture = new Image();
    picture.onload = () => done('loaded');
    picture.onerror = () => done('failed');
    picture.src = url;
  });
  const program = fetch('https://c.example/x.json').then(() => 'loaded', () => 'failed');
  return Promise.all([load('https://a.example/x.png'), load('http://192.0.2.1/x.png'), program]);
}"""


def test_requests_of_a_page_to_other_hosts_are_logged_and_refused(watched: Watched) -> None:
    page = watched.page
    page.goto("data:text/html,<title>a page</title>")
    assert value_within(page, ASK, seconds=20) == ["failed"] * 3
    assert sorted(watched.outside) == [
        "http://192.0.2.1/x.png", "https://a.example/x.png", "https://c.example/x.json",
    ]  # fmt: skip
    assert any("ERR_NAME_NOT_RESOLVED" in each for each in watched.errors)


def test_the_next_test_has_a_new_page(watched: Watched) -> None:
    assert watched.page.evaluate("1 + 1") == 2
