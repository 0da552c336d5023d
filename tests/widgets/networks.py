"""Networks that tests of views and their fixtures show."""

from __future__ import annotations

import mixnet as mx


def lenet() -> mx.sym.Symbol:
    """LeNet, as a symbol."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x, name="flatten"), num_hidden=500, name="fc0")
    x = mx.sym.Activation(x, act_type="tanh", name="tanh2")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=10, name="fc1"), name="softmax")


class TwoLayers(mx.gluon.HybridBlock):
    """Layers whose attributes have other names than the layers themselves."""

    def __init__(self):
        super().__init__()
        self.first = mx.gluon.nn.Dense(8, activation="relu", in_units=3)
        self.second = mx.gluon.nn.Dense(2, in_units=8)

    def hybrid_forward(self, F, x):
        x = self.first(x)
        return self.second(x)
