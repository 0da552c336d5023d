"""A notebook in Sphinx: its views answer, from a file, and follow the page's theme."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.widgets import ArrayView
from tests.ui.conftest import ROOT, Watched

CONF = 'extensions = ["myst_nb", "mixnet.widgets.sphinx"]\nhtml_theme = "furo"\nnb_execution_mode = "off"\n'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A built page with one view."""
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module, reason="pip install 'mixnet[docs]'")
    import nbformat

    cell = nbformat.v4.new_code_cell("view")
    array = mx.nd.arange(24).reshape((2, 3, 4))
    array.wait_to_read()
    html = ArrayView(array).html()
    cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": "x"})]
    title = nbformat.v4.new_markdown_cell("# A page")
    about = {"language_info": {"name": "python"}}
    nbformat.write(
        nbformat.v4.new_notebook(cells=[title, cell], metadata=about), tmp_path / "index.ipynb"
    )
    (tmp_path / "conf.py").write_text(CONF)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(tmp_path), str(out)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return out / "index.html"


def test_a_view_in_a_sphinx_page(watched: Watched, page: Path) -> None:
    view = watched.page
    view.goto(page.as_uri())
    view.wait_for_selector('.mx-static[data-ready="true"]')
    slider = view.locator('.mx input[type="range"]')
    slider.focus()
    slider.press("ArrowRight")
    assert "[1]" in view.locator(".mx-bar").inner_text()
    background = "getComputedStyle(document.querySelector('.mx')).backgroundColor"
    view.evaluate("document.body.dataset.theme = 'light'")
    light = view.evaluate(background)
    view.evaluate("document.body.dataset.theme = 'dark'")
    assert view.evaluate(background) != light
    assert watched.outside == []
    assert watched.errors == []
    assert watched.axe(".mx") == []  # last: it reads style sheets, which files may not


@pytest.fixture
def puzzle(tmp_path: Path) -> Path:
    """A built page that asks for a live view."""
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module, reason="pip install 'mixnet[docs]'")
    text = "# A page\n\n```{view} puzzle_memory_to_solve\nTry [it](https://example.org).\n```\n"
    (tmp_path / "index.md").write_text(text)
    conf = CONF.replace('"]\n', '", "live_views"]\nsource_suffix = {".md": "myst-nb"}\n', 1)
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'docs')!r})\n{conf}"
    )
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        str(tmp_path),
        str(tmp_path / "out"),
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return tmp_path / "out" / "index.html"


def test_a_page_asks_for_a_view_and_it_is_live(watched: Watched, puzzle: Path) -> None:
    page = watched.page
    page.goto(puzzle.as_uri())
    page.wait_for_selector('.mx-static[data-ready="true"]')
    assert page.get_by_role("link", name="it", exact=True).count() == 1, (
        "its caption is text of the page"
    )
    page.locator("[data-item]").nth(7).press("Home")
    assert "last at 0 B" in page.locator(".mx-line").inner_text()
    assert watched.outside == [] and watched.errors == []
    assert watched.axe(".mx") == []  # last: it reads style sheets, which files may not
