"""Keywords that an operator does not have; MXNet 1.9.1 printed the expected results."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global x
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


def test_notes_are_ignored() -> None:
    # A function that makes states is given all that a cell says about them.
    mx.random.seed(1)
    state = nd.random.normal(shape=(2,), __layout__="NC")
    mx.random.seed(1)
    assert state.asnumpy().tolist() == nd.random.normal(shape=(2,)).asnumpy().tolist()
    assert nd.sum(x, __note__="1").asscalar() == 3
    for name in ("__note", "note__", "____"):
        with pytest.raises(mx.MXNetError, match="has no argument"):
            nd.sum(x, **{name: 1})


def test_states_are_drawn() -> None:
    layer = mx.gluon.rnn.LSTM(3)
    states = layer.begin_state(2, func=nd.random.uniform)
    assert [each.shape for each in states] == [(1, 2, 3), (1, 2, 3)]
    cell = mx.gluon.rnn.GRUCell(3)
    assert cell.begin_state(2, func=nd.random.uniform)[0].shape == (2, 3)
