"""A notebook that VS Code saved: a widget without its state, and the picture to fall back on.

VS Code's extension *Jupyter* asks the kernel for the model of a widget; where none has it, it lets the
program show the next richest form of the output. That extension is in no package registry: this does the
same with each output (``test_vscode_web.py`` runs VS Code itself, without it). JupyterLab does so only for a
notebook that it does not trust.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from mixnet.widgets import live
from mixnet.widgets.freeze import freeze
from tests.ui.conftest import PICTURES_ARE_DRAWN, Server, Watched, counts
from tests.ui.notebooks import open_whole
from tests.ui.test_nbconvert import notebook_of_frames
from tests.widgets.examples import EXAMPLES

# The richest first, as VS Code orders them.
ORDER = (
    live.MIME,
    "application/javascript",
    "text/html",
    "image/svg+xml",
    "text/markdown",
    "image/png",
    "text/plain",
)
# One web view for all outputs; scripts of an output are inserted again, so that they run.
SHOW = """(outputs) => {
  for (const [name, html] of outputs) {
    const place = document.createElement('div');
    place.className = 'output'; place.dataset.name = name; place.innerHTML = html;
    for (const old of place.querySelectorAll('script')) {
      const made = document.createElement('script');
      for (const { name, value } of old.attributes) made.setAttribute(name, value);
      made.textContent = old.textContent;
      old.replaceWith(made);
    }
    document.body.append(place);
  }
}"""


def saved(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook as it is saved: without the state of widgets."""
    notebook = notebook_of_frames(monkeypatch)
    notebook.metadata.pop("widgets", None)
    return nbformat.reads(nbformat.writes(notebook), as_version=4)


def fallback(data: dict[str, str]) -> tuple[str, str]:
    """What is shown of an output whose widget is unknown."""
    kinds = [kind for kind in ORDER if kind in data]
    assert kinds[0] == live.MIME, "VS Code shows the widget first, while there is one"
    return kinds[1], data[kinds[1]]


def trust(server: Server, notebook: Any) -> None:
    """Sign a notebook, as ``jupyter trust`` or running it in this JupyterLab would."""
    NotebookNotary(data_dir=str(server.base / "data")).sign(notebook)


def test_jupyterlab_shows_its_pictures_unless_it_trusts_it(
    lab: Server, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = saved(monkeypatch)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    page = watched.page
    missing = page.locator(".jp-OutputArea", has_text="Error displaying widget")
    pictures = page.locator(".jp-OutputArea figure img")

    def show(name: str, trusted: bool) -> None:
        nbformat.write(notebook, lab.folder / name)
        if trusted:
            trust(lab, notebook)
        open_whole(page, lab, name)
        (missing if name == "trusted.ipynb" else pictures).nth(len(EXAMPLES) - 1).wait_for()

    show("untrusted.ipynb", trusted=False)
    assert missing.count() == 0
    show("trusted.ipynb", trusted=True)
    assert pictures.count() == 0
    freeze(notebook)
    show("frozen.ipynb", trusted=True)
    assert missing.count() == 0


def test_every_view_falls_back_to_its_picture(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for cell in saved(monkeypatch).cells:
        kind, text = fallback(cell.outputs[0].data)
        assert kind == "text/html", cell.source
        outputs.append([cell.source, text])
    assert [name for name, _ in outputs] == sorted(EXAMPLES)
    (tmp_path / "a.html").write_text("<!DOCTYPE html><title>web view</title><body></body>")
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    page.evaluate(SHOW, outputs)
    pictures = page.locator(".output figure img")
    counts(pictures, len(EXAMPLES))
    page.wait_for_function(PICTURES_ARE_DRAWN)
    sizes = pictures.evaluate_all("(all) => all.map((img) => [img.clientWidth, img.clientHeight])")
    assert all(width > 50 and height > 20 for width, height in sizes), sizes
    assert watched.outside == []
    assert watched.errors == []
