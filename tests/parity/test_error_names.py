"""``type(error).__name__``, which programs print, is that of the class MXNet 1.9.1 raises."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import gluon, nd, np
from mixnet.gluon import nn


def parameter(**settings: Any) -> gluon.Parameter:
    weight = gluon.Parameter("w", shape=(2, 3), **settings)
    weight.initialize()
    return weight


def array() -> nd.NDArray:
    return nd.arange(12).reshape((3, 4))


def bound() -> mx.mod.Module:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=[])
    module.bind([("data", (1, 3))])
    return module


def exported() -> Any:
    network = nn.HybridSequential()
    network.add(nn.Dense(2))
    return network.export("net")


SPARSE = {"stype": "row_sparse", "grad_stype": "row_sparse"}
STATES: list[Callable[[], Any]] = [
    lambda: parameter(grad_req="null").grad(),
    lambda: parameter(grad_req="null").list_grad(),
    lambda: parameter(**SPARSE).data(),
    lambda: parameter(**SPARSE).list_data(),
    lambda: parameter(**SPARSE).row_sparse_data(nd.array([0])),
    lambda: parameter().row_sparse_data(nd.array([0])),
    exported,
    lambda: bound().init_params(arg_params={}),
    lambda: bound().set_params({}, {}),
]
KINDS: list[Callable[[], Any]] = [
    lambda: array()["a"],
    lambda: array()[1.5],
    lambda: array()[:, ::0],
    lambda: array().__setitem__("a", 1),
]
SIZES: list[Callable[[], Any]] = [
    lambda: array().__setitem__(0, nd.ones(3)),
    lambda: array().__setitem__(0, onp.ones(9)),
]
SOURCES: list[Callable[[], Any]] = [
    lambda: nd.array([[1, 2], [3]]),
    lambda: nd.array("a"),
    lambda: gluon.Constant("c", [[1, 2], [3]]),
]


def lstm_step(states: int) -> Any:
    cell = gluon.rnn.LSTMCell(3, input_size=3)
    cell.initialize()
    return cell(nd.ones((2, 3)), [nd.ones((2, 3))] * states)


KEYS: list[Callable[[], Any]] = [
    lambda: list(gluon.data.DataLoader([{"a": 1}, {"a": 2}], 2)),
    lambda: list(gluon.data.DataLoader(["ab", "cd"], 2)),
    lambda: list(gluon.data.DataLoader([None, None], 2)),
]
CALLS = [
    *[(call, "RuntimeError") for call in STATES],
    *[(call, "ValueError") for call in KINDS + SIZES],
    *[(call, "TypeError") for call in SOURCES],
    *[(call, "KeyError") for call in KEYS],
    (lambda: lstm_step(1), "IndexError"),
    (lambda: lstm_step(0), "IndexError"),
]


OPERATORS: list[Callable[[], Any]] = [
    lambda: np.zeros(3).__setitem__(slice(0, 2), np.ones(5)),
    lambda: np.zeros((2, 3)).__setitem__(0, [1, 2]),
    lambda: np.zeros((2, 3)).__setitem__([0, 1], np.ones(5)),
    lambda: np.zeros((2, 3)).__setitem__(slice(None), np.ones(5)),
    lambda: np.random.randint(5, 3),
    lambda: np.random.choice(3, 5, replace=False),
]


@pytest.mark.parametrize("call", OPERATORS)
def test_errors_of_operators_have_mxnets_name(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError) as raised:
        call()
    assert type(raised.value).__name__ == "MXNetError"


@pytest.mark.parametrize("call, name", CALLS)
def test_names_of_errors(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(mx.MXNetError) as raised:
        call()
    assert type(raised.value).__name__ == name
    assert isinstance(raised.value, getattr(builtins, name))
