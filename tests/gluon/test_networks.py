"""Networks that people write: a small ResNet, and an LSTM made of cells."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn


class Residual(nn.HybridBlock):
    def __init__(self, channels, stride=1, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(),
                nn.Activation("relu"), nn.Conv2D(channels, 3, 1, 1, use_bias=False),
                nn.BatchNorm(),
            )  # fmt: skip
            self.shortcut = nn.Conv2D(channels, 1, stride) if stride > 1 else None

    def hybrid_forward(self, F, x):
        side = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.body(x) + side)


class LSTM(nn.HybridBlock):
    """A cell of four gates, stepped by hand over ``(time, batch, features)``."""

    def __init__(self, units, outputs, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        with self.name_scope():
            self.from_data = nn.Dense(4 * units, flatten=False)
            self.from_state = nn.Dense(4 * units, use_bias=False, in_units=units)
            self.out = nn.Dense(outputs)

    def forward(self, x):
        h = c = nd.zeros((x.shape[1], self.units))
        for step in self.from_data(x):
            i, f, g, o = nd.split(step + self.from_state(h), num_outputs=4, axis=1)
            c = nd.sigmoid(f + 1) * c + nd.sigmoid(i) * nd.tanh(g)
            h = nd.sigmoid(o) * nd.tanh(c)
        return self.out(h)


def resnet() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, 1, 1), Residual(8), Residual(16, 2), nn.GlobalAvgPool2D(), nn.Dense(2))
    return net


def halves(rng):
    """Pictures that are brighter in the upper or in the lower half."""
    y = rng.integers(0, 2, 64)
    x = rng.random((64, 1, 8, 8)).astype("float32")
    x[y == 0, :, :4] += 1
    x[y == 1, :, 4:] += 1
    return x, y


def sums(rng):
    """Sequences whose sum is above or below zero."""
    x = rng.normal(size=(6, 64, 3)).astype("float32")
    return x, (x.sum((0, 2)) > 0).astype("int64")


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(("make", "data"), [(resnet, halves), (lambda: LSTM(16, 2), sums)])
def test_it_learns(make, data, hybridize: bool) -> None:
    x, y = (nd.array(each) for each in data(np.random.default_rng(0)))
    net = make()
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(25):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(64)
        losses.append(loss.mean())
    assert losses[-1].asscalar() < 0.5 * losses[0].asscalar()
