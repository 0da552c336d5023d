"""A small perceptron for 28×28 pictures: with mixnet, and a training step by hand in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixnet import gluon
from tests.benchmarks import lenet


def make() -> gluon.nn.HybridSequential:
    """128 hidden units, 10 classes."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(128, activation="relu"), gluon.nn.Dense(10))
    return net


def jax_step(params, x, y):
    """Loss and new parameters."""

    def loss(params):
        (w1, b1), (w2, b2) = params
        hidden = jax.nn.relu(x.reshape(x.shape[0], -1) @ w1.T + b1)
        logs = jax.nn.log_softmax(hidden @ w2.T + b2)
        return -jnp.take_along_axis(logs, y[:, None], 1).sum()

    value, grads = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - lenet.RATE / lenet.BATCH * g, params, grads)
