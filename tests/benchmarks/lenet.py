"""LeNet's training step, batch 64: imperative, hybridized, and hand-written under one jax.jit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import mixnet as mx
from mixnet import autograd, gluon
from mixnet.gluon import nn
from tests.benchmarks.networks.convolutional import lenet
from tests.benchmarks.timing import interleaved

BATCH, RATE = 64, 0.01


def make() -> nn.HybridSequential:
    """LeNet for 28x28 pictures."""
    net = lenet(mx, (1, 28, 28), 10)
    net.initialize(mx.init.Xavier())
    return net


def jax_step(params, x, y):
    """The same step, written by hand."""

    def forward(params, x):
        for i in (0, 1):
            w, b = params[i]
            x = jax.lax.conv_general_dilated(
                x, w, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW")
            )
            x = jax.nn.relu(x + b.reshape(1, -1, 1, 1))
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = x.reshape(x.shape[0], -1)
        (w1, b1), (w2, b2) = params[2:]
        return jax.nn.relu(x @ w1.T + b1) @ w2.T + b2

    def loss(params):
        logs = jax.nn.log_softmax(forward(params, x))
        return -jnp.take_along_axis(logs, y[:, None], 1).sum()

    value, grads = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - RATE / BATCH * g, params, grads)


def main() -> None:
    """Print milliseconds a step and the ratios to the hand-written step."""
    rng = np.random.default_rng(0)
    pictures = rng.random((BATCH, 1, 28, 28), np.float32)
    labels = rng.integers(0, 10, BATCH)
    x, y = mx.nd.array(pictures), mx.nd.array(labels)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def contender(hybridize: bool):
        net = make()
        if hybridize:
            net.hybridize(static_alloc=True, static_shape=True)
        net(x).wait_to_read()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

        def step() -> None:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(BATCH)
            loss.wait_to_read()

        return net, step

    net, imperative = contender(False)
    _, hybridized = contender(True)
    values = [p.data().asnumpy() for p in net.collect_params().values()]
    params = [(jnp.asarray(values[i]), jnp.asarray(values[i + 1])) for i in range(0, 8, 2)]
    compiled = jax.jit(jax_step, donate_argnums=0)
    state = {"params": params}
    jx, jy = jnp.asarray(pictures), jnp.asarray(labels)

    def by_hand() -> None:
        value, state["params"] = compiled(state["params"], jx, jy)
        value.block_until_ready()

    result = interleaved(
        {"jax.jit by hand": by_hand, "imperative": imperative, "hybridized": hybridized}, 60, 5
    )
    for name, seconds in result.items():
        ratio = seconds / result["jax.jit by hand"]
        print(f"LeNet step: {name:16} {seconds * 1e3:7.2f} ms   ratio to by hand {ratio:.3f}")


if __name__ == "__main__":
    main()
