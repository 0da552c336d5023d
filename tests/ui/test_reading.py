"""The search for unreadable text finds each kind of it, and nothing on a good page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import Watched
from tests.ui.reading import unreadable

LONG = "a rather long line of text that has no room"
BOX = "width:90px;white-space:nowrap;"
ROW = "width:90px;height:20px"
STYLE = "width:400px;overflow:hidden"
PAGE = (
    f"<!DOCTYPE html><body style='font:14px sans-serif'><div class='mx' style='{STYLE}'>{{}}</div>"
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (f"<p style='{BOX}overflow:hidden'>{LONG}</p>", "cut:"),
        (f"<p style='{BOX}overflow:auto'>{LONG}</p>", "sideways:"),
        (f"<p title='t'>x</p><table style='{BOX}'><tr><td>{LONG * 4}</td></tr></table>", "cut at"),
        (f"<input placeholder='{LONG}' style='width:90px'>", "cut: placeholder"),
        (f"<p>{LONG}</p><p style='margin-top:-32px'>another one</p>", "over:"),
        (f"<div class='mx-lines'><p class='mx-row1' style='{ROW}'>{LONG * 3}</p></div>", "over:"),
        (
            f"<p style='display:flex'><span title='t' style='{BOX}overflow:hidden'>{LONG}</span>"
            "<span>27%</span></p>",
            None,
        ),
        ("<p>1.82e-09 ns</p>", "exponent: 1.82e-09 ns"),
        (f"<p>{LONG}</p><p style='{BOX}overflow:hidden' title='{LONG}'>{LONG}</p>", None),
    ],
)  # fmt: skip
def test_unreadable_text_is_detected(
    noting: Watched, tmp_path: Path, content: str, kind: str | None
) -> None:
    (tmp_path / "a.html").write_text(PAGE.format(content), encoding="utf-8")
    noting.page.goto((tmp_path / "a.html").as_uri())
    actual = unreadable(noting.page, ".mx")
    assert any(each.startswith(kind) for each in actual) if kind else actual == [], actual


PAGE_OF_THEMES = """<!DOCTYPE html><html lang='en'><title>a</title><style>
p { color: %s; background: %s }
@media (prefers-color-scheme: dark) { p { color: %s; background: %s } }
</style><main><h1>a</h1><p>some text</p>%s</main>"""


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (("#000", "#fff", "#fff", "#000", ""), {}),
        (("#000", "#fff", "#444", "#000", ""), {"dark": "color-contrast"}),
        (("#bbb", "#fff", "#fff", "#000", ""), {"light": "color-contrast"}),
        (("#000", "#fff", "#fff", "#000", "<input>"), {"light": "label"}),
    ],
)
def test_contrast_faults_are_detected_in_each_theme(
    noting: Watched, tmp_path: Path, page: tuple[str, ...], expected: dict[str, str]
) -> None:
    (tmp_path / "a.html").write_text(PAGE_OF_THEMES % page, encoding="utf-8")
    noting.page.goto((tmp_path / "a.html").as_uri())
    findings = noting.axe_in_both_themes("body")
    assert {theme: each.partition(":")[0] for theme, (each, *_) in findings.items()} == expected
