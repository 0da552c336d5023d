"""Equal calls are inferred once, and cached results are never used for other calls."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet.passes import infer_shape
from mixnet.passes.infer_shape import Inference, infer


def _chain(count: int) -> mx.sym.Symbol:
    symbol = mx.sym.Variable("data")
    for _ in range(count):
        symbol = mx.sym.tanh(symbol * 2)
    return symbol


@pytest.fixture
def calls(monkeypatch):
    """The nodes of which nothing was remembered, as they are inferred."""
    infer_shape._results.clear()
    infer_shape._follows.clear()
    inferred = []
    real = Inference._infer_call
    monkeypatch.setattr(
        Inference, "_infer_call", lambda self, node: inferred.append(node) or real(self, node)
    )
    return inferred


def test_equal_calls_are_inferred_once(calls):
    shapes = {"data": (2, 3)}
    dtypes = {"data": np.dtype("float32")}
    result = infer(_chain(50).graph, shapes, dtypes)
    assert len(calls) == 2  # a product and a tanh
    assert set(result.shapes.values()) == {(2, 3)}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_dtypes_are_distinguished(dtype):
    graph = _chain(2).graph
    for each in (dtype, "float32", dtype):
        result = infer(graph, {"data": (2, 3)}, {"data": np.dtype(each)})
        assert result.dtypes[graph.heads[0]] == np.dtype(each)


def test_attributes_that_compare_equal_are_one_call_and_others_are_not():
    data = mx.sym.Variable("data")
    for axis, expected in ((0, (3,)), (1, (2,)), ((0, 1), (1,)), (0, (3,))):
        _, (shape,), _ = mx.sym.sum(data, axis=axis).infer_shape(data=(2, 3))
        assert shape == expected


def test_an_output_that_is_known_to_be_another_is_an_error():
    data, label = mx.sym.Variable("data"), mx.sym.Variable("label")
    fits = mx.sym.elemwise_add(mx.sym.relu(data), label)
    assert fits.infer_shape(data=(2, 3), label=(2, 3))[1] == [(2, 3)]
    with pytest.raises(mx.MXNetError):
        fits.infer_shape(data=(2, 3), label=(3, 2))
    assert fits.infer_shape(data=(2, 3), label=(2, 3))[1] == [(2, 3)]


def test_a_custom_operator_infers_its_shape_each_time():
    calls = []

    @mx.operator.register("asked_each_time")
    class Prop(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            calls.append(in_shape)
            return in_shape, [in_shape[0]], []

    symbol = mx.sym.Custom(mx.sym.Variable("data"), op_type="asked_each_time")
    symbol.infer_shape(data=(2, 3))
    before = len(calls)
    symbol.infer_shape(data=(2, 3))
    assert len(calls) > before


def test_equal_calls_on_open_shapes_are_inferred_once(calls):
    graph = _chain(50).graph
    for _ in range(2):
        result = infer(graph, {"data": (0, 3)}, {"data": np.dtype("float32")})
        assert result.shapes[graph.heads[0]] == (0, 3)
        # A product and a tanh, each before its output is known and, in another turn, after.
        assert len(calls) == 4


def test_shapes_inferred_backwards_are_remembered():
    graph = (mx.sym.Variable("a") + mx.sym.Variable("b")).graph
    for rows in (4, 5, 4):
        result = infer(graph, {"a": (rows, 0), "b": (0, 3)})
        assert set(result.shapes.values()) == {(rows, 3)}


def test_one_array_twice_is_another_call_than_two():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    for _ in range(2):
        assert mx.sym.dot(a, a).infer_shape_partial(a=(0, 3))[:2] == ([(3, 3)], [(3, 3)])
        assert mx.sym.dot(a, b).infer_shape_partial(a=(0, 3), b=(0, 3))[1] == [(0, 3)]
        assert mx.sym.dot(a, b).infer_shape_partial(a=(0, 3), b=(3, 0))[1] == [(0, 0)]
        assert mx.sym.dot(a, b).infer_shape_partial(a=(2, 3), b=(3, 0))[1] == [(2, 0)]


def test_an_extent_that_several_values_fit_stays_open():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    arguments, outputs, _ = mx.sym.broadcast_add(a, b).infer_shape_partial(a=(0, 3), b=(2, 3))
    assert arguments == [(0, 3), (2, 3)] and outputs == [(2, 3)]
    # 7 rows and 14 fit a matrix of 7 rows.
    one = mx.sym.reshape(a, shape=(7, -1))
    assert one.infer_shape_partial(a=(0, 1))[0] == [(0, 1)]
