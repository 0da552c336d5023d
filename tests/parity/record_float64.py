"""Train networks of the model zoo for a step in float64 with MXNet 1.9.1, and store the results.

Run it with an interpreter that has mxnet 1.9.1::

    python tests/parity/record_float64.py

In float32, rounding alone changes gradients of the first layers by 0.5% and more, in MXNet as in mixnet. In
float64 two implementations of the same network agree in eight digits, and any other difference shows.
MXNet rounds most attributes to float32, so those here are powers of two, or sums of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parent / "fixtures" / "float64_networks.json"
NETWORKS = ("resnet18_v1", "resnet18_v2", "mobilenet_v2_0_25")


def trained(mx: Any, name: str) -> dict[str, list[float]]:
    """The losses, and for every parameter numbers that depend on all its elements.

    Args:
        mx: mxnet or mixnet.
        name: of the network in the model zoo.
    """
    data = np.random.RandomState(0)
    images = mx.nd.array(data.rand(4, 3, 32, 32), dtype="float64")
    labels = mx.nd.array(data.randint(0, 5, 4), dtype="float64")
    net = getattr(mx.gluon.model_zoo.vision, name)(classes=5, prefix="net_")
    net.apply(_with_exact_momentum)
    net.initialize()
    net.cast("float64")
    net(images)  # infers shapes
    parameters = net.collect_params()
    for key in sorted(parameters):
        parameters[key].set_data(mx.nd.array(_values(data, key, parameters[key]), dtype="float64"))
    trainer = mx.gluon.Trainer(
        parameters, "sgd", {"learning_rate": 2**-6, "momentum": 0.875, "wd": 2**-10}
    )
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    results: dict[str, list[float]] = {}
    with mx.autograd.record():
        loss = loss_of(net(images), labels)
    loss.backward()
    trainer.step(4)
    results["loss"] = loss.asnumpy().tolist()
    results["prediction"] = net(images).asnumpy().ravel().tolist()
    for key in sorted(parameters):
        values = parameters[key].data().asnumpy().ravel()
        weights = np.cos(np.arange(values.size))
        results[key] = [float(values @ weights), float(np.abs(values).sum())]
    return results


def _with_exact_momentum(block: Any) -> None:
    if type(block).__name__ == "BatchNorm":
        block._kwargs["momentum"] = 0.875


def _values(data: np.random.RandomState, key: str, parameter: Any) -> Any:
    shape = parameter.shape
    if key.endswith("gamma") and parameter.grad_req == "null":  # MXNet sets it to 1
        return np.ones(shape)
    if key.endswith(("gamma", "running_var")):
        return 1 + 0.1 * data.rand(*shape)
    scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.05
    return data.randn(*shape) * scale


if __name__ == "__main__":
    import mxnet  # type: ignore[import-not-found, unused-ignore]

    FIXTURE.write_text(json.dumps({name: trained(mxnet, name) for name in NETWORKS}, indent=1))
