"""Keywords that an operator does not have; what is expected was printed by MXNet 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym

x = nd.array([1.0, 2.0])


def test_an_operator_without_attributes_ignores_them() -> None:
    zeros = nd.zeros_like(x, dtype="int64")
    assert zeros.dtype == np.float32 and zeros.asnumpy().tolist() == [0, 0]
    assert nd.broadcast_add(x, x, axis=3).asnumpy().tolist() == [2, 4]
    assert x.ones_like(dtype="int32").dtype == np.float32


def test_a_symbol_stores_them() -> None:
    ones = sym.ones_like(sym.var("a"), dtype="int64", axis=1)
    assert ones.list_attr() == {"dtype": "int64", "axis": "1"}
    loaded = sym.load_json(ones.tojson())
    assert loaded.list_attr() == ones.list_attr()
    assert loaded.eval(a=x)[0].asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("call", [lambda: nd.sum(x, foo=1), lambda: nd.add_n(x, x, foo=1)])
def test_others_refuse_them(call) -> None:
    with pytest.raises(mx.MXNetError, match="foo"):
        call()
    with pytest.raises(TypeError, match="foo"):
        mx.np.negative(mx.np.ones(2), foo=1)
