"""The Sphinx configuration: views become interactive, notebooks are included, nothing is fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.widgets import ArrayView
from mixnet.widgets.sphinx import add_scripts
from tests import processes
from tests.each_record import each_record

ROOT = Path(mx.__file__).parents[1]
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def test_a_page_with_a_view_gets_its_script_once() -> None:
    view = ArrayView(mx.nd.arange(4) + 0).html()
    context = {"body": f"<p>x</p>{view}{view}"}
    add_scripts(None, "page", "page.html", context, None)
    assert context["body"].count('id="mx-bundles"') == 1
    assert context["body"].startswith("<p>x</p>")


def test_a_page_without_views_stays_as_it_is() -> None:
    for context in ({"body": "<p>text</p>"}, {}):
        before = dict(context)
        add_scripts(None, "page", "page.html", context, None)
        assert context == before


def test_notebooks_are_brought_in_frozen_with_their_links(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]'")
    from bring_notebooks import bring

    source, target = tmp_path / "notebooks", tmp_path / "docs"
    source.mkdir()
    target.mkdir()
    (target / "99_gone.ipynb").write_text("{}")
    cell = nbformat.v4.new_code_cell("view")
    live = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "1"},
        "text/html": "<b>view</b>",
    }
    cell.outputs = [nbformat.v4.new_output("display_data", live)]
    text = nbformat.v4.new_markdown_cell("[more](../docs/concepts/lazy.md), [all](.)")
    nbformat.write(nbformat.v4.new_notebook(cells=[text, cell]), source / "01_a.ipynb")
    assert bring(source, target) == ["01_a"]
    page = nbformat.read(target / "01_a.ipynb", as_version=4)
    assert page.cells[0].source == "[more](../concepts/lazy.md), [all](index.md)"
    assert set(page.cells[1].outputs[0].data) == {"text/html"}
    assert "01_a" in (target / "index.md").read_text()
    assert not (target / "99_gone.ipynb").exists()


def test_pages_of_notebooks_are_in_reading_order(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]'")
    from bring_notebooks import bring

    source, target = tmp_path / "notebooks", tmp_path / "docs"
    source.mkdir()
    for name in ("00_a", "01_b", "02_c", "03_d"):
        text = "[c](02_c.ipynb) [gone](09_gone.ipynb) [b](01_b.ipynb)" if name == "00_a" else name
        cells = [nbformat.v4.new_markdown_cell(text)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), source / f"{name}.ipynb")
    assert bring(source, target) == ["00_a", "02_c", "01_b", "03_d"]
    assert "00_a\n02_c\n01_b\n03_d\n" in (target / "index.md").read_text()


@pytest.mark.parametrize(
    ("html", "bad"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<img alt="" src="//example/x.png">', True),
        ('<link rel="stylesheet" href="http://example/x.css">', True),
        ('<a href="https://example.org">read</a>', False),
        ('<script src="_static/x.js"></script><img src="data:image/png;base64,AA==">', False),
    ],
)
def test_urls_that_a_page_would_load_are_detected(html: str, bad: bool) -> None:
    pytest.importorskip("sphinx", reason="pip install '.[docs]'")
    from check_offline import fetches

    assert bool(fetches(html)) == bad


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "widgets" / "README.md",
    *(page for page in (ROOT / "docs").glob("*.md")),
    *(
        page
        for folder in ("concepts", "howto", "decisions", "examples")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
]
MADE = ["reference/api/index.md"]  # by the build of the site


@each_record("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_point_to_files_of_the_checkout(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in _LINK.findall(text) if link not in MADE]
    assert [link for link in links if not page.parent.joinpath(link).exists()] == []


def test_links_to_notebooks_become_links_to_their_pages() -> None:
    pytest.importorskip("nbformat", reason="pip install '.[lab]'")
    from bring_notebooks import with_pages

    text = "[all](../notebooks), [one](../notebooks/00_tour.ipynb)"
    assert with_pages(text) == "[all](notebooks/index.md), [one](notebooks/00_tour.ipynb)"


def test_views_that_pages_ask_for_are_there() -> None:
    import views
    from live_views import asked_in

    known = {make.__name__ for make in (*views.VIEWS, *views.MORE)}
    requested = {
        name: page.name
        for page in (ROOT / "docs").rglob("*.md")
        for name in asked_in(page.read_text(encoding="utf-8"))
    }
    assert requested and {name: page for name, page in requested.items() if name not in known} == {}


def test_a_missing_view_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="pip install '.[docs]'")
    from live_views import make
    from sphinx.errors import ExtensionError

    monkeypatch.setattr("live_views.subprocess.run", processes.run)  # need not import mixnet again
    with pytest.raises(ExtensionError, match="no view chess; there are look, "):
        make(["chess"], tmp_path)
