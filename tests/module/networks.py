"""Small networks and data whose numbers MXNet 1.9.1 was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

import mixnet as mx


def mlp() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def samples() -> tuple[Any, Any, dict[str, Any]]:
    """22 samples, their labels, and first parameters of ``mlp()``."""
    draw = np.random.RandomState(0)
    data = draw.rand(22, 5).astype("float32")
    labels = draw.randint(0, 3, 22).astype("float32")
    first, second = draw.rand(4, 5) * 0.3, draw.rand(3, 4) * 0.3 - 0.1
    arrays = {
        "fc1_weight": first, "fc1_bias": np.zeros(4), "fc2_weight": second, "fc2_bias": np.zeros(3),
    }  # fmt: skip
    return data, labels, {name: mx.nd.array(each) for name, each in arrays.items()}


def norm() -> tuple[Any, dict[str, Any], dict[str, Any], Any]:
    """A network with BatchNorm, its parameters and states, and an iterator of 12 samples."""
    draw = np.random.RandomState(0)
    weight = mx.nd.array(draw.rand(3, 5) * 0.3)
    data = draw.rand(12, 5).astype("float32")
    labels = draw.randint(0, 3, 12).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    params = {
        "fc_weight": weight, "fc_bias": mx.nd.zeros(3), "bn_gamma": mx.nd.ones(3),
        "bn_beta": mx.nd.zeros(3),
    }  # fmt: skip
    states = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    return net, params, states, mx.io.NDArrayIter(data, labels, 4)


def bound(inputs_need_grad: bool = False) -> tuple[Any, Any]:
    """A module of ``mlp()`` that is ready, and a batch of 4."""
    data, labels, params = samples()
    module = mx.mod.Module(mlp())
    shapes = [("data", (4, 5))], [("softmax_label", (4,))]
    module.bind(*shapes, inputs_need_grad=inputs_need_grad)
    module.init_params(arg_params=params)
    batch = mx.io.DataBatch([mx.nd.array(data[:4])], [mx.nd.array(labels[:4])])
    return module, batch
