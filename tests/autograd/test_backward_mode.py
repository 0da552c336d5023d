"""``backward(train_mode=False)``: numbers of MXNet 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd

OF_TRAINING = [[0.35777, 0.0], [-0.178885, -0.670817], [-0.715541, 1.341635], [0.536656, -0.67082]]
OF_PREDICTION = [[0.707105, 2.309386], [0.0, 1.154693], [-0.707105, 3.464079], [1.41421, 0.577346]]
GAMMA_OF_TRAINING, GAMMA_OF_PREDICTION = [0.89443, 1.11803], [4.94973, -9.81489]


def _network(hybridize: bool) -> gluon.nn.BatchNorm:
    network = gluon.nn.BatchNorm(in_channels=2)
    network.initialize()
    network.running_mean.set_data(nd.array([0.5, -0.5]))
    network.running_var.set_data(nd.array([2, 0.75]))
    if hybridize:
        network.hybridize()
    return network


def _data() -> nd.NDArray:
    x = nd.array([[0, -0.5], [2, -1.5], [4, -2.5], [6, -3.5]])
    x.attach_grad()
    return x


WEIGHTS = [[1, 2], [0, 1], [-1, 3], [2, 0.5]]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("recorded_in_training", [False, True])
def test_statistics_are_constants_in_prediction(
    hybridize: bool, recorded_in_training: bool
) -> None:
    network, x = _network(hybridize), _data()
    for _ in range(2):  # the second time, a plan of the first is not taken
        with autograd.record(train_mode=recorded_in_training):
            y = network(x) * nd.array(WEIGHTS)
        y.backward(train_mode=False)
        np.testing.assert_allclose(x.grad.asnumpy(), OF_PREDICTION, rtol=1e-5, atol=1e-5)
        gamma = network.gamma.grad().asnumpy()
        np.testing.assert_allclose(gamma, GAMMA_OF_PREDICTION, rtol=1e-5)
        np.testing.assert_array_equal(network.running_mean.data().asnumpy(), [0.5, -0.5])


@pytest.mark.parametrize("hybridize", [False, True])
def test_both_modes_in_turns(hybridize: bool) -> None:
    network, x = _network(hybridize), _data()
    for moved in ([0.75, -0.65], [0.975, -0.785]):
        with autograd.record():
            y = network(x) * nd.array(WEIGHTS)
        y.backward(retain_graph=True, train_mode=False)
        assert not np.allclose(x.grad.asnumpy(), OF_TRAINING, atol=0.01)
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), OF_TRAINING, atol=1e-5)
        np.testing.assert_allclose(network.gamma.grad().asnumpy(), GAMMA_OF_TRAINING, rtol=1e-5)
        np.testing.assert_allclose(network.running_mean.data().asnumpy(), moved, rtol=1e-5)


def test_gradients_as_new_arrays() -> None:
    network, x = _network(False), _data()
    with autograd.record():
        y = network(x) * nd.array(WEIGHTS)
    (gradient,) = autograd.grad(y, [x], retain_graph=True, train_mode=False)
    np.testing.assert_allclose(gradient.asnumpy(), OF_PREDICTION, rtol=1e-5, atol=1e-5)
    (gradient,) = autograd.grad(y, [x])
    np.testing.assert_allclose(gradient.asnumpy(), OF_TRAINING, atol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_dropout_keeps_its_mask(hybridize: bool) -> None:
    network = gluon.nn.Dropout(0.5)
    if hybridize:
        network.hybridize()
    mx.random.seed(1)
    x = nd.ones((2000,))
    x.attach_grad()
    with autograd.record():
        y = network(x)
    y.backward(train_mode=False)
    assert y.sum().asscalar() == 2080
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def test_executors() -> None:
    symbol = mx.sym.BatchNorm(mx.sym.var("x"), name="bn", fix_gamma=False, eps=1e-5)
    executor = symbol.simple_bind(mx.cpu(), x=(4, 2))
    executor.arg_dict["x"][:] = _data()
    executor.arg_dict["bn_gamma"][:] = 1
    executor.aux_dict["bn_moving_mean"][:] = nd.array([0.5, -0.5])
    executor.aux_dict["bn_moving_var"][:] = nd.array([2, 0.75])
    for is_train, gradient in ((False, OF_PREDICTION), (True, OF_TRAINING)):
        executor.forward(is_train=True)
        executor.backward(nd.array(WEIGHTS), is_train=is_train)
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), gradient, atol=1e-5)
