"""Frozen notebooks and pages: views that need no kernel, for version control and any viewer."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.files.whole_file import write_whole
from mixnet.widgets import live, page
from mixnet.widgets.view import View

_SAVED = "application/vnd.jupyter.widget-state+json"
_PLACE = re.compile(r'(<div class="mx-static" data-bundle="\w+") data-place="(\w+)"')


def freeze(notebook: Any) -> Any:
    """Take the live widgets out of a notebook; pictures, tables and data stay, as they were when
    it was saved.

    Views get their last saved state. Widgets of others keep their text. The notebook is changed in place.

    Args:
        notebook: a notebook of version 4, as ``nbformat.read`` gives it.

    Returns:
        the same notebook.
    """
    saved = notebook.metadata.pop("widgets", {}).get(_SAVED, {}).get("state", {})
    models = {name: model.get("state", {}) for name, model in saved.items()}
    places = {model["place"]: model for model in models.values() if model.get("place")}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            output.get("metadata", {}).pop(live.MIME, None)
            values = models.get(data.pop(live.MIME, {}).get("model_id"), {})
            hrefs = [place for _, place in _PLACE.findall(data.get("text/html", ""))]
            if hrefs:
                data["text/html"] = _PLACE.sub(r"\1", data["text/html"])
            if len(hrefs) == 1:  # several views in one output stay as they were shown
                values = places.get(hrefs[0], values)
            if str(values.get("payload", {}).get("schema", "")).startswith("mixnet."):
                view = View.of(values["payload"], values.get("state"))
                data["text/html"], data["text/plain"] = view.html(), view.summary()
    return notebook


def freeze_file(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Freeze a notebook's file; in place unless ``out`` names another. Nothing is left half written.

    Raises:
        AttributeValueError: the file is no notebook of version 4.
    """
    import nbformat

    target = Path(out or path)
    written = nbformat.writes(freeze(read(path)))
    write_whole(target, written.encode())
    return target


def read(path: str | os.PathLike[str]) -> Any:
    """A notebook's file.

    Raises:
        AttributeValueError: it is no notebook of version 4.
    """
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        raise AttributeValueError(
            f"{path}: expected a notebook (.ipynb, version 4): {error}"
        ) from None


# Cells whose source JupyterLab folds (``source_hidden``) are folded in pages too.
_FOLD = """<script>
for (const cell of document.querySelectorAll(".celltag_hide-input > .jp-Cell-inputWrapper")) {
  const fold = document.createElement("details"), line = document.createElement("summary");
  line.textContent = cell.parentElement.matches(".celltag_solution") ? "A solution" : "Folded code";
  cell.before(fold);
  fold.append(line, cell);
}
</script>"""

# nbconvert's prompts are pale, its code is pale on grey, and its links differ by their colour alone.
_READABLE = """<style>
:root { --jp-cell-prompt-not-active-opacity: 1; --jp-cell-editor-background: #fff; }
.jp-Cell .jp-InputPrompt, .jp-Cell .jp-OutputPrompt { color: #616161; opacity: 1; }
.jp-RenderedHTMLCommon a:link { text-decoration: underline; }
</style>"""


@functools.cache
def _exporter() -> Any:
    """nbconvert's exporter, which reads its templates only once, without addresses to load from."""
    from nbconvert import HTMLExporter

    return HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", mermaid_js_url="")


def notebook_page(notebook: object) -> str:
    """A notebook as one HTML page, its views interactive, without a request to anywhere.

    The source of cells with the tag ``hide-input`` is folded.
    """
    html, _ = _exporter().from_notebook_node(freeze(notebook))
    # With empty addresses some templates still leave empty script elements, which ask for the page itself.
    html = re.sub(r'<script src="">\s*</script>', "", html)
    end = html.rindex("</body>")
    fold = _FOLD if "celltag_hide-input" in html else ""
    return html[:end] + _READABLE + fold + page.scripts(page.bundles_in(html)) + html[end:]
