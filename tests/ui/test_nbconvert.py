"""A notebook as nbconvert prints it, from VS Code or Colab and without the state of widgets: pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from mixnet.widgets import live
from tests.ui.conftest import PICTURES_ARE_DRAWN, Watched, counts, says
from tests.widgets.examples import EXAMPLES


def notebook_of_frames(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A notebook as a program stores it that shows outputs in frames."""
    monkeypatch.setattr(live, "finds_its_place", lambda: False)
    cells = []
    for name, make in sorted(EXAMPLES.items()):
        data, metadata = make()._repr_mimebundle_()
        output = nbformat.v4.new_output("display_data", data, metadata=metadata)
        cells.append(nbformat.v4.new_code_cell(name, outputs=[output]))
    return nbformat.v4.new_notebook(cells=cells)


def test_nbconvert_shows_every_picture(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbconvert = pytest.importorskip("nbconvert", reason="pip install nbconvert")
    notebook = notebook_of_frames(monkeypatch)
    assert all(live.MIME in cell.outputs[0].data for cell in notebook.cells)
    text, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri(), wait_until="domcontentloaded")
    pictures = page.locator(".jp-OutputArea figure img")
    counts(pictures, len(EXAMPLES))
    page.wait_for_function(PICTURES_ARE_DRAWN)
    widths = pictures.evaluate_all("(all) => all.map((img) => img.naturalWidth)")
    assert all(width > 50 for width in widths), widths
    shown = page.locator("body").inner_text()
    assert "Error displaying widget" not in shown and "Table" in shown
    answers = page.locator("summary", has_text="Why is it still in memory?").first
    answers.click()
    says(answers.locator(".."), "It was alive when the view was made")
