"""Weights with a folded normalization are computed once and again when a parameter changes."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn
from mixnet.runtime.programs import executable_cache

pytestmark = pytest.mark.usefixtures("compiling_at_once")

X = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype("float32")


def all_folded() -> list:
    """The folded weights that programs keep."""
    return [
        each
        for preparation in executable_cache._preparations.values()
        for each in preparation.cached.values()
    ]


@pytest.fixture(autouse=True)
def _empty_cache():
    executable_cache.clear()


def network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, in_channels=3, padding=1), nn.BatchNorm(in_channels=4), nn.Activation("relu"),
        nn.Conv2D(5, 3, in_channels=4, use_bias=False), nn.BatchNorm(in_channels=5),
    )  # fmt: skip
    net.initialize(mx.init.Xavier())
    draw = np.random.default_rng(1)
    for name, each in net.collect_params().items():
        if "running" in name or "gamma" in name:
            each.set_data(nd.array(draw.uniform(0.5, 2, each.shape)))
    return net


def unfolded(net: nn.HybridSequential) -> np.ndarray:
    """The network's result without folding, its statistics used as scale and shift."""
    x = nd.array(X)
    for layer in net:
        if isinstance(layer, nn.BatchNorm):
            mean, var, gamma, beta = (
                p.data().asnumpy().reshape(1, -1, 1, 1)
                for p in (layer.running_mean, layer.running_var, layer.gamma, layer.beta)
            )
            x = nd.array((x.asnumpy() - mean) / np.sqrt(var + 1e-5) * gamma + beta)
        else:
            x = nd.array(layer(x).asnumpy())
    return x.asnumpy()


@pytest.mark.parametrize("hybridized", [True, False])
def test_weights_are_folded_once_for_all_batches(hybridized: bool) -> None:
    net = network()
    if hybridized:
        net.hybridize()
    expected = unfolded(net)
    executable_cache.clear()
    for batch in (2, 2, 1, 2):
        actual = net(nd.array(X[:batch])).asnumpy()
        np.testing.assert_allclose(actual, expected[:batch], rtol=1e-4, atol=1e-5)
    (stored,) = all_folded()
    assert [each.shape for each in stored.results] == [(4, 3, 3, 3), (4,), (5, 4, 3, 3), (5,)]


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net[0].weight.set_data(nd.ones((4, 3, 3, 3))),
        lambda net: net[1].running_var.set_data(nd.array([4, 1, 1, 1])),
        lambda net: net[3].weight.data().__setitem__(slice(1, 2), 3.0),
        lambda net: net[4].gamma.data().__imul__(2),
    ],
)
def test_a_changed_parameter_is_folded_again(change) -> None:
    net = network()
    net.hybridize()
    before = net(nd.array(X)).asnumpy()
    change(net)
    actual = net(nd.array(X)).asnumpy()
    assert not np.allclose(actual, before)
    np.testing.assert_allclose(actual, unfolded(net), rtol=1e-4, atol=1e-5)


def test_training_releases_the_folded_weights() -> None:
    net = network()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    net(nd.array(X)).wait_to_read()
    assert len(all_folded()) == 1
    with autograd.record():
        loss = (net(nd.array(X)) ** 2).sum()
    loss.backward()
    trainer.step(2)
    nd.waitall()
    gc.collect()
    assert not all_folded(), "unused folded weights are still in memory"
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), unfolded(net), rtol=1e-4, atol=1e-5)


def test_a_symbol_for_prediction_folds_weights_as_well() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.BatchNorm(
        mx.sym.Convolution(data, num_filter=4, kernel=(3, 3), name="c"), name="b"
    )
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=X.shape)
    executor.arg_dict["c_weight"][:] = nd.random.normal(shape=(4, 3, 3, 3))
    executor.aux_dict["b_moving_var"][:] = 2.0
    nd.waitall()  # otherwise the program that reads them computes them
    first = executor.forward(data=nd.array(X))[0].asnumpy()
    assert len(all_folded()) == 1
    executor.aux_dict["b_moving_var"][:] = 8.0
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), first / 2, rtol=1e-3, atol=1e-5)


def test_a_prediction_leaves_the_statistics_alone() -> None:
    net = network()
    statistics = [net[1].running_mean.data(), net[4].running_var.data()]
    values = [each._value for each in statistics]
    for hybridized in (False, True):
        net.hybridize(hybridized)
        net(nd.array(X)).wait_to_read()
        assert [each._value for each in statistics] == values, "nothing was written"
    with autograd.record():
        result = net(nd.array(X))
    result.backward()
    assert all(each._value is not value for each, value in zip(statistics, values, strict=True))


def test_compiling_may_make_room_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_program = executable_cache._program

    def make_room_first(*arguments, **options):
        executable_cache._clear_preparations()
        return compile_program(*arguments, **options)

    monkeypatch.setattr(executable_cache, "_program", make_room_first)
    net = network()
    net.hybridize()
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), unfolded(net), rtol=1e-3, atol=1e-4)
