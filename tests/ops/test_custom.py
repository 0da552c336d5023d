"""Operators written in Python: forward, gradient, in arrays, symbols and hybridized blocks."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd


class Scaled(mx.operator.CustomOp):
    """Sigmoid times a factor, half in NumPy and half in arrays."""

    def __init__(self, factor: float):
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1 / (1 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], nd.array(y) * self.factor)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0] / self.factor
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor * y * (1 - y))


@mx.operator.register("test_scaled")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1"):
        super().__init__()
        self.factor = float(factor)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Scaled(self.factor)


X = np.array([[-1.0, 0.0], [0.5, 2.0]], "float32")
Y = 3 / (1 + np.exp(-X))
SLOPE = Y * (1 - Y / 3)


def test_on_arrays() -> None:
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_scaled", factor=3)
        loss = (y * 2).sum()
    loss.backward()
    np.testing.assert_allclose(y.asnumpy(), Y, rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * SLOPE, rtol=1e-5)


def test_in_a_symbol_and_its_file() -> None:
    symbol = mx.sym.Custom(data=mx.sym.Variable("x"), op_type="test_scaled", factor=3, name="c")
    for each in (symbol, mx.sym.load_json(symbol.tojson())):
        gradient = nd.zeros(X.shape)
        executor = each.bind(mx.cpu(), {"x": nd.array(X)}, {"x": gradient})
        np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), Y, rtol=1e-5)
        executor.backward(nd.ones(X.shape))
        np.testing.assert_allclose(gradient.asnumpy(), SLOPE, rtol=1e-5)


def test_hybridized_and_on_large_arrays() -> None:
    net = mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_scaled", factor=2) + 1)
    net.hybridize()
    x = np.random.rand(300, 300).astype("float32")
    for _ in range(3):
        found = net(nd.array(x)).asnumpy()
    np.testing.assert_allclose(found, 1 + 2 / (1 + np.exp(-x)), rtol=1e-5)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(mx.MXNetError, match="op_type='nothing' is not registered"):
        nd.Custom(nd.ones((1,)), op_type="nothing")
