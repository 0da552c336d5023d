"""Dtypes of custom operators, by ``infer_type`` and of arrays, as in MXNet 1.9.1."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym


class _Half(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0].astype(out_data[0].dtype) / 2)


@mx.operator.register("half_of_float32")
class _OfFloat32(mx.operator.CustomOpProp):
    def infer_type(self, in_type: list[Any]) -> Any:
        return [np.float32], [np.float64], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> _Half:
        return _Half()


@mx.operator.register("half_without_outputs")
class _WithoutOutputs(_OfFloat32):
    def infer_type(self, in_type: list[Any]) -> Any:
        return in_type, [], []


def test_an_array_of_another_dtype() -> None:
    with pytest.raises(TypeError, match="gives 'data' the dtype float32, but it is float16"):
        nd.Custom(nd.ones((2,), dtype="float16"), op_type="half_of_float32")
    assert nd.Custom(nd.ones((2,)), op_type="half_of_float32").dtype == np.float64


def test_too_few_dtypes() -> None:
    with pytest.raises(mx.MXNetError, match="gives dtypes of 0 outputs, not of 1"):
        nd.Custom(nd.ones((2,)), op_type="half_without_outputs")


def test_a_custom_operator_decides_dtypes_that_are_unknown_otherwise() -> None:
    net = sym.Custom(sym.var("x"), op_type="half_of_float32", name="c")
    assert net.infer_type() == ([np.float32], [np.float64], [])
    with pytest.raises(mx.MXNetError):
        net.infer_type(x="float16")
    with pytest.raises(RuntimeError):
        net.simple_bind(mx.cpu(), x=(2,), type_dict={"x": "float16"})


def test_simple_bind_with_a_custom_operator_in_the_middle() -> None:
    net = sym.Custom(
        sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc"), op_type="half_of_float32"
    )
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    assert {each.dtype for each in executor.arg_arrays} == {np.float32}
    assert executor.forward()[0].dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_constant_says_the_dtype_of_the_rest(dtype: str) -> None:
    net = sym.zeros((2,), dtype=dtype) + sym.var("x")
    assert net.infer_type() == ([np.dtype(dtype).type], [np.dtype(dtype).type], [])


class _ByName(mx.operator.CustomOp):
    def forward(self, in_data: Any, out_data: Any, **rest: Any) -> None:
        self.assign(out_data[0], rest["req"][0], in_data[0] * 2)

    def backward(self, in_grad: Any, out_grad: Any, **rest: Any) -> None:
        self.assign(in_grad[0], rest["req"][0], out_grad[0] * 5)


@mx.operator.register("called_by_name")
class _CalledByName(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> _ByName:
        return _ByName()


def test_operators_are_called_by_the_names_of_parameters() -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="called_by_name")
    y.backward()
    assert y.asnumpy().tolist() == [2, 2]
    assert x.grad.asnumpy().tolist() == [5, 5]


@mx.operator.register("half_of_unknown")
class _Strict(_OfFloat32):
    """An operator that cannot say dtypes without knowing one."""

    calls: ClassVar[list[Any]] = []

    def infer_type(self, in_type: list[Any]) -> Any:
        self.calls.append(in_type)
        if in_type[0] is None:
            raise ValueError("a dtype is needed")
        return in_type, in_type, []


@pytest.mark.parametrize("method", ["infer_type", "infer_type_partial"])
def test_infer_type_raises_without_any_dtype(method: str) -> None:
    net = sym.Custom(sym.var("x"), op_type="half_of_unknown", name="c")
    for each in (net, net + 1, sym.Custom(sym.var("x") * 2, op_type="half_of_unknown")):
        with pytest.raises(mx.MXNetError, match="a dtype is needed"):
            getattr(each, method)()
    assert getattr(net, method)(x="float16") == ([np.float16], [np.float16], [])


def test_shapes_are_inferred_without_infer_type() -> None:
    for x in (sym.var("x"), sym.var("x", dtype="float16")):
        net = sym.Custom(x, op_type="half_of_unknown", name="c") * 2
        _Strict.calls.clear()
        assert net.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])
        assert net.infer_shape_partial(x=(2, 0)) == ([(2, 0)], [(2, 0)], [])
        assert not _Strict.calls


def test_binding_calls_infer_type_with_known_dtypes() -> None:
    net = sym.Custom(sym.var("x"), op_type="half_of_unknown", name="c")
    _Strict.calls.clear()
    assert net.simple_bind(mx.cpu(), x=(2,)).forward()[0].dtype == np.float32
    assert {each for (each,) in _Strict.calls} == {np.float32}
