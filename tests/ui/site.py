"""A small site that Sphinx builds: a notebook with a view, pages that ask for views, the operators."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import nbformat

import mixnet as mx
from mixnet.widgets import ArrayView
from tests import processes

ROOT = Path(__file__).parents[2]
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs")!r})
extensions = ["myst_nb", "mixnet.widgets.sphinx", "live_views"]
source_suffix = {{".md": "myst-nb", ".ipynb": "myst-nb"}}
nb_execution_mode = "off"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["operators.js", "scrolling.js"]
suppress_warnings = ["myst.xref_missing"]
"""
WIDE = f"{'a_module_with_a_long_name.' * 4}a_function_with_a_long_name"
ASKED = sorted(
    {
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"^`{3,}\{view\} (\w+)", page.read_text(encoding="utf-8"), re.M)
    }
)
"""The views in the pages of the documentation."""
EACH = 6
VIEWS = {f"views{n // EACH}": ASKED[n : n + EACH] for n in range(0, len(ASKED), EACH)}
"""The same, a few on a page."""
MADE = ROOT / "build" / "docs" / ".doctrees" / "live_views"
TOC = "\n".join(VIEWS)
INDEX = f"""# A site

```text
{WIDE} {WIDE}
```

```{{toctree}}
notebook
puzzle
operators
{TOC}
```

```{{eval-rst}}
.. py:function:: {WIDE}
.. py:function:: short
```
"""
PUZZLE = "# A page\n\n```{view} puzzle_memory_to_solve\nTry [it](https://example.org).\n```\n"


def notebook() -> str:
    """A stored notebook with one view."""
    array = mx.nd.arange(24).reshape((2, 3, 4))
    array.wait_to_read()
    data = {"text/html": ArrayView(array).html(), "text/plain": "x"}
    cell = nbformat.v4.new_code_cell("view")
    cell.outputs = [nbformat.v4.new_output("display_data", data)]
    title = nbformat.v4.new_markdown_cell("# A notebook")
    about = {"language_info": {"name": "python"}}
    return nbformat.writes(nbformat.v4.new_notebook(cells=[title, cell], metadata=about))


def build(folder: Path) -> Path:
    """Write the pages and build them; the folder with ``notebook.html`` and the others."""
    operators = ROOT / "docs" / "reference" / "operators" / "a-to-z.md"
    pages = {
        "conf.py": CONF,
        "index.md": INDEX,
        "notebook.ipynb": notebook(),
        "puzzle.md": PUZZLE,
        "operators.md": operators.read_text(encoding="utf-8"),
    }
    for name, views in VIEWS.items():
        parts = "\n".join(f"## {each}\n\n```{{view}} {each}\n```\n" for each in views)
        pages[f"{name}.md"] = f"# Views\n\n{parts}"
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "_static").symlink_to(ROOT / "docs" / "_static")
    out = folder / "out"
    if MADE.is_dir():  # by `make docs`, as .ci/run does before the tests
        shutil.copytree(MADE, out / ".doctrees" / "live_views")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(folder), str(out)]
    process = processes.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=360
    )
    assert process.returncode == 0, process.stderr
    return out
