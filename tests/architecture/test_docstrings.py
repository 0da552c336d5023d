"""Docstrings are read as paragraphs: a line indented in the middle of one makes a quotation of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def paragraphs() -> Iterator[tuple[str, list[str]]]:
    """File and name of everything documented, and the lines of each paragraph."""
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                name = f"{path.relative_to(PACKAGE)} {getattr(node, 'name', 'module')}"
                for has_text, lines in groupby(text.splitlines(), lambda line: bool(line.strip())):
                    if has_text:
                        yield name, list(lines)


def is_broken(lines: list[str]) -> bool:
    """Whether a line is indented although the one before it does not introduce anything, and the
    paragraph goes on after it.
    """
    starts = [len(line) - len(line.lstrip()) for line in lines]
    plain = starts[0] == 0 and not lines[0].endswith(":")
    return plain and any(
        starts[i] == 4 and starts[i + 1] == 0 and not lines[i - 1].endswith((":", "::"))
        for i in range(1, len(lines) - 1)
    )


def test_no_paragraph_is_broken() -> None:
    assert is_broken(["A box is as wide as its", "    life. The plans", "are these."])
    assert not is_broken(["Args:", "    x: a number", "Returns:", "    y"])
    assert [(name, lines[0]) for name, lines in paragraphs() if is_broken(lines)] == []
