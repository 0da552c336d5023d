"""The search box above the operators from A to Z, on the page as Sphinx builds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, Watched

CONF = """
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["operators.js"]
suppress_warnings = ["myst.xref_missing"]
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason="pip install 'mixnet[docs]'")
    text = (ROOT / "docs" / "reference" / "operators" / "a-to-z.md").read_text(encoding="utf-8")
    (tmp_path / "index.md").write_text(text, encoding="utf-8")
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "_static").symlink_to(ROOT / "docs" / "_static")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), str(out)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return out / "index.html"


def test_rows_with_all_the_words_stay(watched: Watched, page: Path) -> None:
    look = watched.page
    look.goto(page.as_uri())
    box, rows = look.get_by_label("search operators"), look.locator("tbody tr:visible")
    every = rows.count()
    assert every > 500
    box.fill("np softmax")
    assert 0 < rows.count() < 10
    for i in range(rows.count()):
        text = rows.nth(i).inner_text().lower()
        assert "np" in text and "softmax" in text
    assert look.locator("#operator-count").inner_text() == f"{rows.count()} of {every}"
    assert look.locator("section > h2:visible").count() <= rows.count(), "empty letters are hidden"
    address = look.url
    assert "find=np+softmax" in address
    box.fill("")
    assert rows.count() == every
    look.goto(address)
    assert 0 < rows.count() < 10, "a link finds the same again"
    box.fill("no such operator")
    assert rows.count() == 0
    assert watched.outside == [] and watched.errors == []
    assert watched.axe(".operator-search") == []
