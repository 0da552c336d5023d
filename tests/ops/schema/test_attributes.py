"""Attributes: a NumPy scalar is as good as a Python number, in arrays, symbols and their files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import numbers
from tests.each_record import each_record

X = np.arange(24, dtype="float32").reshape(2, 3, 4)

# a call with NumPy scalars, the same with Python's
CALLS = [
    (lambda F, x: F.sum(x, axis=np.int64(1)), lambda F, x: F.sum(x, axis=1)),
    (lambda F, x: F.sum(x, axis=(np.int64(0), np.int32(2))), lambda F, x: F.sum(x, axis=(0, 2))),
    (lambda F, x: F.reshape(x, shape=np.array([6, 4])), lambda F, x: F.reshape(x, shape=(6, 4))),
    (lambda F, x: F.clip(x, np.float32(1), np.float64(2.5)), lambda F, x: F.clip(x, 1.0, 2.5)),
    (lambda F, x: F.topk(x, k=np.int64(2), axis=np.int64(-1)), lambda F, x: F.topk(x, k=2)),
    (lambda F, x: x * np.float32(2.5), lambda F, x: x * 2.5),
    (lambda F, x: np.float64(2) * x, lambda F, x: 2.0 * x),
    (
        lambda F, x: F.transpose(x, axes=(np.int64(2), np.int8(0), 1)),
        lambda F, x: F.transpose(x, axes=(2, 0, 1)),
    ),
    (
        lambda F, x: F.softmax(x, axis=np.int64(0), temperature=np.float64(2)),
        lambda F, x: F.softmax(x, axis=0, temperature=2.0),
    ),
]


@each_record("number", range(len(CALLS)))
def test_attributes_may_be_numpy_scalars(number: int) -> None:
    ours, plain = CALLS[number]
    expected = plain(nd, nd.array(X)).asnumpy()
    np.testing.assert_array_equal(ours(nd, nd.array(X)).asnumpy(), expected)
    symbol = ours(sym, sym.var("x"))
    text = symbol.tojson()
    assert "np." not in text and "numpy" not in text and "array" not in text
    executor = sym.load_json(text).bind(mx.cpu(), {"x": nd.array(X)})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), expected)


def test_shapes_of_numpy_numbers() -> None:
    assert nd.zeros((np.int64(2), np.int32(3))).shape == (2, 3)
    assert nd.zeros(np.int64(3)).shape == (3,)
    assert nd.ones(np.array([2, 3])).shape == (2, 3)
    assert mx.np.zeros(np.array([2, 3])).shape == (2, 3)
    assert nd.random.uniform(np.float32(0), np.float64(1), shape=(np.int64(2),)).shape == (2,)


@pytest.mark.parametrize(
    ("read", "match"),
    [
        (lambda: mx.base._LIB.MXGetLastError, "no C library"),
        (lambda: nd.contrib.dgl_subgraph, "DGL graph sampling is left out"),
        (lambda: nd.contrib.intgemm_prepare_data, "intgemm is left out"),
    ],
)
def test_missing_names_are_attribute_errors(read: Any, match: str) -> None:
    with pytest.raises(AttributeError, match=match):
        read()


def test_operators_list_their_arguments() -> None:
    actual = mx.operator.get_operator_arguments("Activation")
    assert actual.names == ["data", "act_type"]
    assert actual.types[1] == "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required"
    names = mx.operator.get_all_registered_operators()
    assert {"Convolution", "_npi_add", "_contrib_box_nms"} <= set(names)
    json.dumps(names)


@each_record(("text", "value"), [
    ("(2, 3)", (2, 3)), ("[2L, 3L]", (2, 3)), ("(2,)", (2,)), ("2", (2,)), ("2,3", (2, 3)), ("", ()),
    ("()", ()), (" ( 2 ,3 ) ", (2, 3)), ("(None, -1)", (None, -1)), ("(1.5, 1e3)", (1.5, 1000.0)),
    ("((0, 1), (2, 3))", ((0, 1), (2, 3))), ("(True, False)", (True, False)), ("((0, 1),)", ((0, 1),)),
])  # fmt: skip
def test_numbers_are_parsed_from_text(text: str, value: tuple) -> None:
    assert numbers(text) == value


@each_record("text", [
    "(2", "2)", "(2]", "(2 3)", "(,)", "(2,,3)", "x", "(x,)", "((((((((((1))))))))))", "(" * 10_000,
    "1+1", "__import__", "9" * 5000 + "x",
])  # fmt: skip
def test_text_that_is_not_numeric_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        numbers(text)
    with pytest.raises(mx.base.AttributeValueError, match="attribute kernel"):
        mx.sym.Pooling(mx.sym.var("a"), kernel=text)


def test_numbers_that_are_inputs_are_bound_the_same_the_second_time() -> None:
    op = find("sgd_update")
    first = op.bind({"lr": 0.5, "wd": 2, "lazy_update": True})
    assert op.bind({"lr": 0.25, "wd": 3.0, "lazy_update": True}) == (first[0], (0.25, 3.0, 1.0))
    assert op.bind({"lr": "0.25", "wd": np.float32(3), "lazy_update": "1"})[1] == (0.25, 3.0, 1.0)
    assert op.bind({"lr": 0.25})[0] == first[0]
    assert op.bind({"lr": 0.25, "clip_gradient": 1.0})[0] != first[0]
    with pytest.raises(mx.MXNetError, match="lr"):
        op.bind({"wd": 0.0})
    with pytest.raises(mx.MXNetError, match="rate"):
        op.bind({"lr": 0.25, "rate": 1.0})
    for wrong in ([1.0], "much", 10**400):
        with pytest.raises(mx.MXNetError, match="lr="):
            op.bind({"lr": wrong})


def test_limits_of_numbers_that_are_inputs_hold_the_second_time() -> None:
    for _ in range(2):
        assert nd.random.normal(0, 1.5, shape=(3,)).shape == (3,)
        with pytest.raises(mx.MXNetError, match="out of range"):
            nd.random.normal(0, -1.5, shape=(3,))
        with pytest.raises(mx.MXNetError, match="out of range"):
            nd.random.normal(0, float("nan"), shape=(3,))


def test_operators_without_attributes_ignore_unknown_attributes() -> None:
    x = mx.nd.array([1, 4])
    assert mx.nd.sqrt(x, axis=1).asnumpy().tolist() == [1, 2]
    assert mx.nd.broadcast_mul(x, x, axis=0).asnumpy().tolist() == [1, 16]
    symbol = mx.sym.sqrt(mx.sym.var("x"), axis=1, name="root")
    assert symbol.attr_dict() == {"root": {"axis": "1"}}
    assert mx.sym.load_json(symbol.tojson()).eval(x=x)[0].asnumpy().tolist() == [1, 2]
    with pytest.raises(mx.MXNetError, match="no argument 'axis'"):
        mx.sym.sqrt(mx.sym.var("x"), axis=mx.sym.var("y"))
    with pytest.raises(mx.MXNetError, match="no argument 'axes'"):
        mx.nd.softmax(x, axes=1)
