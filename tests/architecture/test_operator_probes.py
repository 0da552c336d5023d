"""Nodes, operators and ``self`` are not probed for attributes: their classes declare them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent


def probes(text: str) -> Iterator[int]:
    """Lines with ``getattr`` or ``hasattr`` of a ``node`` or of a ``node.op``."""
    for node in nodes(text):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            probed = node.args[0]
            if getattr(probed, "attr", "") in ("op", "node") or getattr(probed, "id", "") == "node":
                yield node.lineno


def test_nodes_and_operators_are_not_probed() -> None:
    lines = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        for line in probes(path.read_text(encoding="utf-8"))
    ]
    assert not lines, (
        f"{lines}: declare the fact with its default in mixnet/graph/node.py or mixnet/ops/operator.py"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x = getattr(node.op, "graph", None)', [1]),
        ('\nif hasattr(entry.node.op, "graph"): pass', [2]),
        ('getattr(node, "source", None)', [1]),
        ('getattr(entry.node, "source", None)', [1]),
        ('getattr(note, "source", None)', []),
    ],
)
def test_an_attribute_probe_is_detected(text: str, expected: list[int]) -> None:
    assert list(probes(text)) == expected


def probes_of_self(text: str) -> Iterator[int]:
    """Lines that probe ``self`` for an attribute by its name, outside of ``__del__``, which may get an
    object whose constructor has failed.
    """
    for function in nodes(text) if "attr(self" in text else ():
        if isinstance(function, ast.FunctionDef) and function.name != "__del__":
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") in ("getattr", "hasattr")
                    and getattr(node.args[0], "id", "") == "self"
                    and isinstance(node.args[1], ast.Constant)
                ):
                    yield node.lineno


def test_objects_do_not_probe_their_own_attributes() -> None:
    lines = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        for line in probes_of_self(path.read_text(encoding="utf-8"))
    ]
    assert not lines, f"{lines}: declare the attribute in the class, with its default"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('class A:\n    def f(self):\n        return getattr(self, "x", None)', [3]),
        ('class A:\n    def f(self):\n        return hasattr(self, "x")', [3]),
        ("class A:\n    def f(self, name):\n        return getattr(self, name)", []),
        ('class A:\n    def __del__(self):\n        return getattr(self, "x", None)', []),
    ],
)
def test_a_probe_of_self_is_detected(text: str, expected: list[int]) -> None:
    assert list(probes_of_self(text)) == expected
