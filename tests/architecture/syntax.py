"""The parts of a program's text, for the tests that look through all files of the package."""

from __future__ import annotations

import ast
import functools


@functools.cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a text, parsed once for all tests of this folder."""
    return tuple(ast.walk(ast.parse(text)))
