"""The directive ``view``: a live view in a page, made anew in each build by the functions in
``pictures/views.py``.

A page contains ``{view} memory`` and a caption. Views run networks, and Sphinx forks; so all
views that pages contain are made before any page is read, by ``python docs/pictures/views.py
--html FOLDER NAME …`` in a separate process.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
_ASKED = re.compile(r"^`{3,}\{view\} (\w+)", re.MULTILINE)


def asked_in(text: str) -> list[str]:
    """Names of the views that a page contains."""
    return _ASKED.findall(text)


def make(names: list[str], folder: Path) -> None:
    """Write ``NAME.html`` of each view into a folder.

    Raises:
        ExtensionError: a view could not be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    script = HERE / "pictures" / "views.py"
    command = [sys.executable, str(script), "--html", str(folder), *names]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise ExtensionError(f"live views: {found.stdout}{found.stderr}")


class LiveView(SphinxDirective):
    """``{view} memory`` is the view that ``memory()`` of ``pictures/views.py`` makes; the
    content is its caption.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The view and its caption."""
        path = folder_of(self.env.app) / f"{self.arguments[0]}.html"
        if not path.is_file():
            raise self.error(f"no view {self.arguments[0]!r} in docs/pictures/views.py")
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        return [
            *caption.children,
            nodes.raw("", path.read_text(encoding="utf-8"), format="html"),
        ]


def folder_of(app: object) -> Path:
    """The folder that holds the views of a build."""
    return Path(app.doctreedir) / "live_views"  # type: ignore[attr-defined]


def make_all(app: object) -> None:
    """Make the views that the pages contain, except those left by an earlier build."""
    folder = folder_of(app)
    pages = Path(app.srcdir).rglob("*.md")  # type: ignore[attr-defined]
    names = sorted({name for page in pages for name in asked_in(page.read_text(encoding="utf-8"))})
    missing = [name for name in names if not (folder / f"{name}.html").is_file()]
    if missing:
        make(missing, folder)


def setup(app: object) -> dict[str, bool]:
    """Declare the directive."""
    app.connect("builder-inited", make_all)  # type: ignore[attr-defined]
    app.add_directive("view", LiveView)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
