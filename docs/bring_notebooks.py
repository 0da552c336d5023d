"""The notebooks as pages: frozen copies in ``docs/notebooks``, whose links point to pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from mixnet.widgets.freeze import freeze

INDEX = """# Notebooks

Each runs from top to bottom in a few minutes: `make lab` opens them. On these pages they are as they
were run, and the figures
still answer to clicks and keys. They are listed in reading order; the numbers are those of the files.

```{toctree}
:maxdepth: 1

NAMES
```
"""


def reading_order(pages: dict[str, Any]) -> list[str]:
    """Names of the notebooks, in the order in which the last cell of the first one links to them.

    Args:
        pages: notebooks by file name.

    Returns:
        all names: the first, those that it links to, then any others.
    """
    if not pages:
        return []
    first = min(pages)
    listed = re.findall(r"\]\((\w+\.ipynb)\)", pages[first].cells[-1].source)
    return list(dict.fromkeys([first, *(name for name in listed if name in pages), *sorted(pages)]))


def with_pages(text: str) -> str:
    """A page whose links to notebooks of the checkout point to their pages."""
    return text.replace("](../notebooks)", "](notebooks/index.md)").replace(
        "](../notebooks/", "](notebooks/"
    )


def bring(source: Path, target: Path) -> list[str]:
    """Copy what is new and remove what is gone; returns the names of the pages."""
    target.mkdir(exist_ok=True)
    made, pages = {}, {}
    for path in sorted(source.glob("[0-9]*.ipynb")):
        notebook = freeze(nbformat.read(path, as_version=4))
        notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = cell.source.replace("](../docs/", "](../").replace(
                    "](.)", "](index.md)"
                )
        pages[path.name] = notebook
        made[path.name] = nbformat.writes(notebook)
    names = [name.removesuffix(".ipynb") for name in reading_order(pages)]
    made["index.md"] = INDEX.replace("NAMES", "\n".join(names))
    for path in target.iterdir():
        if path.is_file() and path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = target / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return names
