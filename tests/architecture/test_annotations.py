"""The share of parameters that are annotated ``Any`` may only fall."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent
# Lower a limit when the share has fallen; what remains is what is passed on as it comes, keyword
# arguments of a base class for example.
BARE, WITHIN = 0.096, 0.163
ANY_VARIABLE = re.compile(r":\s*(\w+\.)*Any\s*=")
"""What a file with such a variable contains: the trees of the others need not be looked through."""


def annotations(text: str) -> Iterator[ast.expr]:
    """The annotations of all parameters of the functions in a text."""
    for node in nodes(text):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            of = node.args
            every = [*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg]
            yield from (each.annotation for each in every if each and each.annotation)


def any_locals(text: str) -> Iterator[int]:
    """Lines of functions that give a value to a variable and annotate it ``Any``."""
    for function in nodes(text) if ANY_VARIABLE.search(text) else ():
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.AnnAssign)
                    and isinstance(node.target, ast.Name)
                    and node.value is not None
                    and is_any(node.annotation)
                ):
                    yield node.lineno


def is_any(node: ast.AST) -> bool:
    """Whether it is ``Any`` or ``typing.Any``."""
    return getattr(node, "id", getattr(node, "attr", "")) == "Any"


def shares(texts: list[str]) -> tuple[float, float]:
    """Of all annotations, those that are ``Any`` and those that are it or have it inside."""
    every = [each for text in texts for each in annotations(text)]
    bare = sum(is_any(each) for each in every)
    within = sum(any(is_any(part) for part in ast.walk(each)) for each in every)
    return bare / len(every), within / len(every)


def test_few_parameters_are_annotated_any() -> None:
    bare, within = shares([path.read_text() for path in PACKAGE.rglob("*.py")])
    assert bare <= BARE, f"{bare:.2%} of the annotated parameters are Any; name what they take"
    assert within <= WITHIN, f"{within:.2%} of the annotated parameters have Any inside"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(a: Any, b: int): ...", (0.5, 0.5)),
        ("def f(a: dict[str, Any], *b: int): ...", (0.0, 0.5)),
        ("def f(a: typing.Any, *, b: int, **c: Any): ...", (2 / 3, 2 / 3)),
        ("class A:\n    async def f(self, a: Any) -> Any: ...", (1.0, 1.0)),
    ],
)
def test_shares_count_any_and_types_that_contain_it(
    text: str, expected: tuple[float, float]
) -> None:
    assert shares([text]) == expected


def test_no_variable_is_annotated_any() -> None:
    lines = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        for line in any_locals(path.read_text(encoding="utf-8"))
    ]
    assert not lines, f"{lines}: leave the annotation out, or name the type"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    a: Any = 1", [2]),
        ("def f():\n    a: int = 1\n    b: dict[str, Any] = {}\n    c: Any", []),
        ("a: Any = 1\nclass A:\n    def f(self):\n        self.a: Any = 1", []),
    ],
)
def test_variables_annotated_any_are_detected(text: str, expected: list[int]) -> None:
    assert list(any_locals(text)) == expected
