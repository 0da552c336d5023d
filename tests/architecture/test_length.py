"""Functions are short enough to be read at a glance, and files have one idea each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent
MOST = 60
"""Lines of a function with its signature, without its docstring."""

OF_A_FILE = 700
"""Lines of a file, with everything."""


def functions() -> Iterator[tuple[str, int]]:
    """File and name of every function of the package, and how many lines it has."""
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                documented = ast.get_docstring(node) is not None
                of_docstring = first.end_lineno - first.lineno + 1 if documented else 0  # type: ignore[operator]
                lines = node.end_lineno - node.lineno + 1 - of_docstring  # type: ignore[operator]
                yield f"{path.relative_to(PACKAGE).as_posix()} {node.name}", lines


def test_functions_are_short() -> None:
    long = {name: lines for name, lines in functions() if lines > MOST}
    assert not long, f"Longer than {MOST} lines: {long}. Split them into parts with names."


def test_files_are_short() -> None:
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    long = {name: count for name, count in lines.items() if count > OF_A_FILE}
    assert not long, f"Longer than {OF_A_FILE} lines: {long}. Divide them by idea, not by size."
