"""The operator of a node is asked for facts, not probed for attributes: the base class has them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent


def probes(text: str) -> Iterator[int]:
    """Lines with ``getattr(node.op, ...)`` or ``hasattr(node.op, ...)``."""
    for node in nodes(text):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            probed = node.args[0]
            if isinstance(probed, ast.Attribute) and probed.attr == "op":
                yield node.lineno


def test_operators_are_not_probed() -> None:
    lines = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        for line in probes(path.read_text(encoding="utf-8"))
    ]
    assert not lines, f"{lines}: declare the fact in mixnet/ops/operator.py with its default"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x = getattr(node.op, "graph", None)', [1]),
        ('\nif hasattr(entry.node.op, "graph"): pass', [2]),
        ('getattr(node, "source", None)', []),
    ],
)
def test_a_probe(text: str, expected: list[int]) -> None:
    assert list(probes(text)) == expected
