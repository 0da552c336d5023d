"""Operators at the edges of numbers, shapes and dtypes, against results of MXNet 1.9.1.

Errors, dtypes and shapes are known when a call is recorded, so nothing is computed for them; the values
for NaN, infinities and very large and small numbers are computed in one program for each kind of question.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.ndarray.invoke import invoke_any
from mixnet.ops import OPERATORS
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from tests.each_record import each_record
from tests.parity.record_edges import (
    FIXTURE,
    arrays_of,
    described,
    head_of,
    is_numpys,
    questions,
    text,
)

QUESTIONS = json.loads(FIXTURE.read_text())
SPECIAL = ("special", "special first", "half", "half special")
SAYS = json.loads(FIXTURE.with_name("edges_differ.json").read_text())
"""Questions on which mixnet differs: ``{reason: [[operator, kind], ...]}``."""
DIFFERS = {(name, kind) for pairs in SAYS.values() for name, kind in pairs}


def attributes_of(op: Op, question: dict[str, Any]) -> dict[str, str]:
    """The attributes of a call, without the number of its inputs, which mixnet counts itself."""
    values = question["attributes"].items()
    return {key: text(value) for key, value in values if not (op.variadic and key == op.num_args)}


def ask(question: dict[str, Any]) -> list[Any]:
    """The outputs of a call, which is recorded and not computed."""
    numpys = is_numpys(question["op"])
    op = OPERATORS[question["op"]]
    attributes = attributes_of(op, question)
    with mx.util.np_shape(numpys or question["kind"] in ("empty", "no axes")):
        arrays = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
        if numpys:
            arrays = [each.as_np_ndarray() for each in arrays]
        with mx.autograd.train_mode():
            result = invoke_any(op, arrays, attributes, cls=type(arrays[0]))
    return list(result) if isinstance(result, (list, tuple)) else [result]


def difference(question: dict[str, Any]) -> str | None:
    """What differs from MXNet's answer before anything is computed; None if nothing does."""
    says = question["says"]
    try:
        outputs = ask(question)
    except mx.MXNetError as error:
        return None if isinstance(says, list) else f"refused: {error}"
    if isinstance(says, list):
        return f"computed where MXNet says: {says[2]}"
    actual = [[np.dtype(each.dtype).name, list(each.shape)] for each in outputs]
    expected = [each[:2] for each in says["outputs"]]
    return None if actual == expected else f"{actual} in place of {expected}"


def test_recording_again_asks_of_the_same_operators() -> None:
    assert {find(each["op"]) for each in QUESTIONS} <= {find(each["op"]) for each in questions()}


KINDS = sorted({each["kind"].partition("=")[0] for each in QUESTIONS})


@pytest.mark.parametrize("kind", KINDS)
def test_errors_dtypes_and_shapes_are_mxnets(kind: str) -> None:
    questions = [each for each in QUESTIONS if each["kind"].partition("=")[0] == kind]
    actual = {(each["op"], each["kind"]): difference(each) for each in questions}
    wrong = {key: error for key, error in actual.items() if error and key not in DIFFERS}
    assert not wrong, "\n".join(f"{key}: {error}" for key, error in wrong.items())


@pytest.mark.parametrize("kind", SPECIAL)
def test_values_are_mxnets(kind: str) -> None:
    questions = [
        each for each in QUESTIONS if each["kind"] == kind and isinstance(each["says"], dict)
    ]
    questions = [each for each in questions if (each["op"], kind) not in DIFFERS]
    outputs = [(each, ask(each)) for each in questions]
    wrong = []
    for question, arrays in outputs:
        for array, expected in zip(arrays, question["says"]["outputs"], strict=True):
            actual = described(array.asnumpy())[2]
            if not np.allclose(actual, expected[2], rtol=2e-3, atol=1e-5, equal_nan=True):
                wrong.append(f"{question['op']}: {actual} in place of {expected[2]}")
    assert not wrong, "\n".join(wrong)


GRADIENTS_DIFFER = {
    name
    for names in json.loads(FIXTURE.with_name("edge_gradients_differ.json").read_text()).values()
    for name in names
}


def gradients(question: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Gradients of a call, still to be computed, and what MXNet says of them."""
    op = OPERATORS[question["op"]]
    numpys = is_numpys(question["op"])
    attributes = attributes_of(op, question)
    with mx.util.np_shape(numpys or question["kind"] in ("empty", "no axes")):
        arrays = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
        if numpys:
            arrays = [each.as_np_ndarray() for each in arrays]
        learn = [each for each in arrays if np.dtype(each.dtype).kind == "f"]
        for each in learn:
            each.attach_grad()
        with mx.autograd.record():
            outputs = invoke_any(op, arrays, attributes, cls=type(arrays[0]))
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        heads = [
            mx.nd.array(head_of(i, each.shape, each.dtype), dtype=each.dtype)
            for i, each in enumerate(outputs)
        ]
        if numpys:
            heads = [each.as_np_ndarray() for each in heads]
        mx.autograd.backward(outputs, heads)
        return [each.grad for each in learn], question["says"]["gradients"]


@each_record("part", range(6))
@each_record("kind", [*SPECIAL, "float16", "no axes"])
def test_gradients_are_mxnets(kind: str, part: int) -> None:
    """Where MXNet raises an error, mixnet computes the gradient."""
    questions = [
        each
        for each in QUESTIONS
        if each["kind"] == kind
        and isinstance(each["says"], dict)
        and isinstance(each["says"].get("gradients"), list)
        and (each["op"], kind) not in DIFFERS
        and each["op"] not in GRADIENTS_DIFFER
    ]
    wrong = []
    close = {"float16": {"rtol": 1e-2, "atol": 1e-3}}
    for question, pairs in [(each, gradients(each)) for each in questions[part::6]]:
        for array, expected in zip(*pairs, strict=True):
            actual = described(array.asnumpy())
            near = close.get(actual[0], {"rtol": 2e-3, "atol": 1e-5})
            if actual[:2] != expected[:2] or not np.allclose(
                actual[2], expected[2], equal_nan=True, **near
            ):
                wrong.append(f"{question['op']}: {actual} in place of {expected}")
    assert not wrong, "\n".join(wrong)
