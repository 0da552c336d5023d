"""Files that are hard to read have comments, which say why the code does something."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent
HARD = ("runtime", "engine")
LEAST = 0.04
"""Comments for each line of code, in files of more than ``LONG`` lines of code."""
LONG = 120

_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count(text: str) -> tuple[int, int]:
    """Lines with comments and lines with code, docstrings left out; words for tools are no comments."""
    comments: set[int] = set()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            if not any(word in token.string for word in ("type: ignore", "noqa", "fmt:")):
                comments.update(lines)
        elif token.type not in _LAYOUT:
            code.update(lines)
    for node in nodes(text):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            code.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(comments), len(code)


def test_hard_files_have_comments() -> None:
    counts = {
        path.relative_to(PACKAGE).as_posix(): count(path.read_text(encoding="utf-8"))
        for folder in HARD
        for path in (PACKAGE / folder).rglob("*.py")
    }
    assert sum(lines > LONG for _, lines in counts.values()) > 10
    bare = {
        name: f"{comments} in {lines} lines"
        for name, (comments, lines) in counts.items()
        if lines > LONG and comments < LEAST * lines
    }
    assert not bare, f"{bare}: say why, where a reader of the code alone would have to guess"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1  # why\n# and how\n", (2, 1)),
        ('"""A file."""\n\ndef f():\n    """It."""\n    return (1,\n        2)\n', (0, 3)),
        ("a = b  # type: ignore\n", (0, 1)),
    ],
)
def test_comments_are_counted(text: str, expected: tuple[int, int]) -> None:
    assert count(text) == expected
