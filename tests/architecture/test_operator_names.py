"""Facts about operators are declared on them: no other collection lists operators by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.ops.registry import OPERATORS
from tests.architecture.syntax import nodes
from tests.each_record import each_record

PACKAGE = Path(mx.__file__).parent
MOST = 2  # names of operators in one collection
DECLARED = {name for name, op in OPERATORS.items() if op.function.__module__.startswith("mixnet.")}

# Folders that are about all operators, one by one.
FOLDERS = {
    "ops": "declares them",
    "onnx": "has a conversion for each",
    "runtime/interpret/on_numpy": "has rules for JAX's primitives, of which some have the same names",
}
EXCEPTIONS = {
    "contrib/amp/lists/symbol_fp16.py": "names that MXNet lists apart from the operator that they stand for",
    "graph/symbol_json.py": "outputs that MXNet's files count and only MXNet has: masks, workspaces",
    "ndarray/sparse_array.py": "methods that sparse arrays do not have",
    "numpy/elementwise.py": "declares functions of mx.np, each with its text",
    "numpy/ndarray.py": "methods of mx.np arrays that are functions of mx.np",
    "stages/program.py": "primitives of JAX",
    "symbol/input_names.py": "names that MXNet's monitors show, which say nothing about the operator",
    "symbol/numpy/symbol.py": "methods of mx.np symbols",
    "symbol/operators.py": "Python's operators, with the names that MXNet gives their nodes",
    "visualization/network.py": "the words that MXNet's pictures have on layers",
    "visualization/summary.py": "the layers whose parameters MXNet's table counts, and no others",
    "widgets/playground/layers.py": "the order of a menu",
}
WAY_OUT = (
    "lists names of operators. What is to be known of an operator is declared beside its "
    "function: add a field "
    "to Facts in mixnet/ops/op.py, declare it on each of these operators, and ask node.op for it; "
    "an operator of a user's own can then have it too."
)


def names(node: ast.AST) -> list[str]:
    """The strings of a collection: a literal, a text that is split into words, or the cases of a match."""
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        parts = [*node.elts]
    elif isinstance(node, ast.Dict):
        keys, values = strings(node.keys), strings(node.values)
        return max(keys, values, key=lambda each: sum(name in DECLARED for name in each))
    elif isinstance(node, ast.Match):
        patterns = [each for case in node.cases for each in ast.walk(case.pattern)]
        parts = [each.value for each in patterns if isinstance(each, ast.MatchValue)]
    elif isinstance(node, ast.BoolOp):  # name == "a" or name == "b"
        compared = [each for each in node.values if isinstance(each, ast.Compare)]
        parts = [each for compare in compared for each in compare.comparators]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = node.func.value
        if node.func.attr == "split" and isinstance(text, ast.Constant):
            return str(text.value).split()
    return strings(parts)


def strings(parts: list) -> list[str]:
    return [
        each.value
        for each in parts
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def collections(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line and names of every collection that is one of operators: more than two, and half of
    all it holds.
    """
    for node in nodes(text):
        result = names(node)
        known = [name for name in result if name in DECLARED]
        if len(set(known)) > MOST and 2 * len(known) >= len(result):
            yield getattr(node, "lineno", 0), known


def is_free(path: str) -> bool:
    return path in EXCEPTIONS or any(path.startswith(f"{folder}/") for folder in FOLDERS)


PATHS = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_no_collection_of_operator_names() -> None:
    listed = [
        f"mixnet/{path}:{line} {WAY_OUT} Names: {', '.join(known)}."
        for path in PATHS
        if not is_free(path)
        for line, known in collections((PACKAGE / path).read_text())
    ]
    assert listed == []


@each_record("path", EXCEPTIONS)
def test_exceptions_are_needed(path: str) -> None:
    assert list(collections((PACKAGE / path).read_text())), f"{path} lists no operators any more"


@pytest.mark.parametrize(
    "text",
    [
        "KEEPS = {'Activation', 'Dropout', 'relu'}",
        "KEEPS = ('Activation', 'Dropout', 'relu')",
        "COLOURS = {'Convolution': 1, 'Pooling': 2, 'Concat': 3}",
        "BY_KIND = {'a': 'Convolution', 'b': 'Pooling', 'c': 'Concat'}",
        "KEEPS = 'Activation Dropout relu'.split()",
        "def f(op):\n  match op.name:\n    case 'relu' | 'tanh': return 1\n    case 'Pooling': return 2",
        "is_one = op.name == 'relu' or op.name == 'tanh' or op.name == 'sigmoid'",
    ],
)
def test_collections_of_operator_names_are_detected(text: str) -> None:
    assert len(list(collections(text))) == 1


def test_other_collections_are_not_detected() -> None:
    assert not list(collections("PAIR = ('Convolution', 'Deconvolution')"))
    assert not list(
        collections(
            "SLIDER = {'id': 1, 'min': 2, 'max': 3, 'step': 4, 'log': 5, 'value': 6, 'off': 7}"
        )
    )
