"""What Sphinx is told: views become interactive, notebooks are brought in, nothing is fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.widgets import ArrayView
from mixnet.widgets.sphinx import add_scripts

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
    made = nbformat.read(target / "01_a.ipynb", as_version=4)
    assert made.cells[0].source == "[more](../concepts/lazy.md), [all](index.md)"
    assert set(made.cells[1].outputs[0].data) == {"text/html"}
    assert "01_a" in (target / "index.md").read_text()
    assert not (target / "99_gone.ipynb").exists()


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
def test_what_would_be_fetched_is_found(html: str, bad: bool) -> None:
    pytest.importorskip("sphinx", reason="pip install '.[docs]'")
    from check_offline import fetches

    assert bool(fetches(html)) == bad


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "widgets/README.md"]
)
def test_links_outside_of_the_site_point_to_files(name: str) -> None:
    links = _LINK.findall((ROOT / name).read_text())
    assert [link for link in links if not (ROOT / name).parent.joinpath(link).exists()] == []
