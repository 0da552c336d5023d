"""Moving statistics change in backward, as in MXNet 1.9.1, which gave the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd

START = [0, 0, 0, 1, 1, 1]
ONE = [0.45, 0.55, 0.65, 2.025, 2.025, 2.025]  # after the first batch
SECOND = [1.0, 1.2, 1.4, 5.4, 5.4, 5.4]  # after the second batch alone


@pytest.fixture(params=[None, {}, {"static_alloc": True, "static_shape": True}])
def layer(request: pytest.FixtureRequest) -> Iterator[gluon.nn.BatchNorm]:
    normalization = gluon.nn.BatchNorm(in_channels=3)
    normalization.initialize()
    if request.param is not None:
        normalization.hybridize(**request.param)
    yield normalization


def batch(factor: float = 1, shift: float = 0) -> nd.NDArray:
    return nd.array(np.arange(12).reshape(4, 3)) * factor + shift


def moving(layer: gluon.nn.BatchNorm) -> Any:
    parts = [layer.running_mean.data(), layer.running_var.data()]
    return pytest.approx(nd.concat(*parts, dim=0).asnumpy().tolist(), abs=1e-4)


def test_moving_statistics_change_in_backward(layer: gluon.nn.BatchNorm) -> None:
    with autograd.record():
        y = layer(batch())
        assert moving(layer) == START
    assert moving(layer) == START
    y.backward()
    assert moving(layer) == ONE


def test_moving_statistics_stay_unless_backward_runs(layer: gluon.nn.BatchNorm) -> None:
    with autograd.record():
        layer(batch())
        detached = layer(batch()).detach()
        z = layer(batch(2, 1)) + detached
    z.backward()
    assert moving(layer) == SECOND


def test_moving_statistics_stay_without_a_tape(layer: gluon.nn.BatchNorm) -> None:
    with autograd.train_mode():
        layer(batch()).asnumpy()
    with autograd.record(train_mode=False):
        y = layer(batch())
    y.backward()
    assert moving(layer) == START


def test_both_of_two_calls_count(layer: gluon.nn.BatchNorm) -> None:
    with autograd.record():
        y, z = layer(batch()), layer(batch(2, 1))
    autograd.backward([y, z])
    assert moving(layer) == [1.35, 1.63, 1.91, 5.985, 5.985, 5.985]


def test_every_backward_moves_them(layer: gluon.nn.BatchNorm) -> None:
    with autograd.record():
        y = layer(batch())
    y.backward(retain_graph=True)
    y.backward()
    assert moving(layer) == [0.855, 1.045, 1.235, 2.9475, 2.9475, 2.9475]


def test_grad_moves_them(layer: gluon.nn.BatchNorm) -> None:
    x = batch()
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    autograd.grad(y, x)
    assert moving(layer) == ONE


def test_a_frozen_layer_stays_unless_its_data_learns(layer: gluon.nn.BatchNorm) -> None:
    layer.collect_params().setattr("grad_req", "null")
    dense = gluon.nn.Dense(1, in_units=3)
    dense.initialize()
    with autograd.record():
        y = dense(layer(batch()))
    y.backward()
    assert moving(layer) == START
    x = batch()
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    assert moving(layer) == ONE


@pytest.mark.parametrize("hybridize", [False, True])
def test_statistics_of_a_frozen_part_stay(hybridize: bool) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.BatchNorm(in_channels=3, beta_initializer="ones"))
    net.add(gluon.nn.BatchNorm(in_channels=3))
    net.initialize()
    net[0].collect_params().setattr("grad_req", "null")
    if hybridize:
        net.hybridize()
    with autograd.record():
        y = net(batch())
    y.backward()
    assert moving(net[0]) == START and moving(net[1]) == [0.1, 0.1, 0.1, 1, 1, 1]


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_layer_used_twice_in_one_network_moves_twice(hybridize: bool) -> None:
    class Twice(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.norm = gluon.nn.BatchNorm(in_channels=3)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.norm(x) + self.norm(x * 2 + 1)

    net = Twice()
    net.initialize()
    if hybridize:
        net.hybridize()
    for _ in range(2):  # two calls before one backward
        with autograd.record():
            y, z = net(batch()), net(batch())
        autograd.backward([y, z])
    means = np.array([4.5, 5.5, 6.5]), np.array([10, 12, 14])
    expected = np.zeros(3)
    # A graph moves its states as a whole; single operations move them in the order of backward.
    for mean in means * 4 if hybridize else means[::-1] * 4:
        expected = expected * 0.9 + mean * 0.1
    assert net.norm.running_mean.data().asnumpy() == pytest.approx(expected, rel=1e-5)


def test_statistics_of_an_executor_change_in_backward() -> None:
    symbol = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    executor = symbol.simple_bind(mx.cpu(), data=(4, 3))
    executor.arg_dict["data"][:] = batch()
    means = executor.aux_arrays[0]
    executor.forward(is_train=True)
    executor.forward(is_train=True)
    assert means.asnumpy().tolist() == [0, 0, 0]
    for expected in ([0.45, 0.55, 0.65], [0.855, 1.045, 1.235]):
        executor.backward(nd.ones((4, 3)))
        assert means.asnumpy() == pytest.approx(expected)
    frozen = symbol.simple_bind(mx.cpu(), grad_req="null", data=(4, 3))
    frozen.arg_dict["data"][:] = batch()
    frozen.forward(is_train=True)
    assert frozen.aux_arrays[0].asnumpy().tolist() == [0, 0, 0]


def test_states_of_other_operators_change_in_backward() -> None:
    for name in ("BatchNorm_v1", "contrib.BatchNormWithReLU"):
        function: Any = nd
        for part in name.split("."):
            function = getattr(function, part)
        ones, beta, mean, var = nd.ones((3,)), nd.zeros((3,)), nd.zeros((3,)), nd.ones((3,))
        beta.attach_grad()
        x = batch().reshape((4, 3, 1, 1))
        with autograd.record():
            y = function(x, ones, beta, mean, var)
        assert mean.asnumpy().tolist() == [0, 0, 0], name
        y.backward()
        assert mean.asnumpy() == pytest.approx([0.45, 0.55, 0.65]), name


def test_statistics_below_a_blocked_gradient_stay(layer: gluon.nn.BatchNorm) -> None:
    with autograd.record():
        y = nd.BlockGrad(layer(batch())).sum()
    y.backward()
    assert moving(layer) == ONE
