"""Docstrings of operators, and of the functions made from them, describe every argument."""

from __future__ import annotations

import inspect
import re

import pytest

import mixnet as mx
from mixnet.ops.registry import OPERATORS
from mixnet.ops.schema.docstrings import about_arrays, with_arguments


def described(text: str | None) -> set[str]:
    """Names that a docstring has entries for."""
    heads = re.findall(r"^ +((?:\*{0,2}\w+, )*\*{0,2}\w+): ", text or "", re.MULTILINE)
    return {name for head in heads for name in re.findall(r"\w+", head)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sum.", "Sum.\n\nArgs:\n    x: a number.\n    y: two."),
        ("Sum.\n\nArgs:\n    x: mine.", "Sum.\n\nArgs:\n    x: mine.\n    y: two."),
        ("Sum.\n\nArgs:\n    x, y: ours.", "Sum.\n\nArgs:\n    x, y: ours."),
        (
            "Sum.\n\nReturns:\n    x: it.",
            "Sum.\n\nArgs:\n    x: a number.\n    y: two.\n\nReturns:\n    x: it.",
        ),
        (
            "Sum.\n\nArgs:\n    x: a text\n        with y: in it.\n\nSource: a book.",
            "Sum.\n\nArgs:\n    x: a text\n        with y: in it.\n    y: two.\n\nSource: a book.",
        ),
    ],
)
def test_arguments_are_added_to_a_docstring(text: str, expected: str) -> None:
    assert with_arguments(text, {"x": "a number.", "y": "two."}) == expected


def test_names_and_roles_say_what_arrays_are() -> None:
    arrays = ["lhs", "min_lhs", "rhs_max", "mean", "anything"]
    assert about_arrays(arrays, None, ["mean"]) == {
        "lhs": "the array on the left.",
        "min_lhs": "the smallest number of the range of ``lhs``, ``(1,)``.",
        "rhs_max": "the largest number of the range of ``rhs``, ``(1,)``.",
        "mean": "state, which is written.",
    }
    assert about_arrays([], "data", []) == {"data": "arrays."}


@pytest.mark.parametrize("module", [mx.nd, mx.sym, mx.nd.contrib, mx.sym.contrib, mx.nd.linalg])
def test_functions_of_operators_describe_what_every_call_takes(module: object) -> None:
    count = 0
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if name in OPERATORS and OPERATORS[name].function.__module__.startswith("mixnet."):
            parameters = set(inspect.signature(function).parameters)
            missing = parameters & {"out", "name", "attr", "kwargs"} - described(function.__doc__)
            assert not missing, f"{name}: {missing}"
            count += 1
    assert count or module in (mx.nd.contrib, mx.sym.contrib, mx.nd.linalg)


def test_methods_describe_their_free_arguments() -> None:
    for method in (mx.nd.NDArray.sum, mx.nd.NDArray.clip, mx.sym.Symbol.sum, mx.sym.Symbol.dot):
        assert {"args", "kwargs"} <= described(method.__doc__), method.__name__


def test_a_derived_operator_lists_its_own_attributes_alone() -> None:
    for name, operator in OPERATORS.items():
        assert (operator.__doc__ or "").count("Attributes:") <= 1, name
    text = OPERATORS["multi_mp_sgd_mom_update"].__doc__ or ""
    assert "    lrs: a tuple of numbers; required." in text
    assert "    lr: a number" not in text
