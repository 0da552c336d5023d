"""The directive ``files``: the files of a folder of ``mixnet``, each with the first line of its docstring."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import mixnet

PACKAGE = Path(mixnet.__file__).parent
sys.path.insert(0, str(Path(__file__).parent / "reference"))

from docstrings import summary  # noqa: E402


class Files(SphinxDirective):
    """``{files} engine`` is a table of ``mixnet/engine``; folders in it show their own first line."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table."""
        folder = PACKAGE / self.arguments[0]
        rows = ["| file | what it holds |", "| --- | --- |"]
        for path in sorted(folder.iterdir()):
            source = path / "__init__.py" if path.is_dir() else path
            if path.name == "__init__.py" or source.suffix != ".py" or not source.is_file():
                continue
            self.env.note_dependency(str(source))
            text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
            rows.append(f"| `{path.name}{'/' if path.is_dir() else ''}` | {summary(text)} |")
        parent = nodes.Element()
        self.state.nested_parse(StringList(rows), self.content_offset, parent)
        return parent.children


def setup(app: object) -> dict[str, bool]:
    """Declare the directive."""
    app.add_directive("files", Files)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
