"""mixnet's and the real MXNet's contenders: the same Gluon program."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.networks import convolutional, sequence
from tests.benchmarks.networks.case import RATE, Case


def network(mx: Any, case: Case) -> Any:
    """The case's network, initialized."""
    rooms = vars(convolutional) | vars(sequence)
    net = rooms[case.network](mx, case.shape, case.classes, **case.arguments)
    net.initialize(mx.init.Xavier())
    return net


class Contender:
    """One network that predicts and trains.

    Args:
        mx: mixnet or mxnet.
        case: network and data.
        variant: "hybridized", or "imperative".
        parameters: file of ``save_parameters`` to begin with, None for random ones.
    """

    def __init__(self, mx: Any, case: Case, variant: str, parameters: str | None):
        self._mx, self._labels = mx, case.labels
        x, y = case.data()
        self._x, self._y = mx.nd.array(x), mx.nd.array(y)
        self.net = network(mx, case)
        self.net(self._x).wait_to_read()  # completes shapes
        if parameters is not None:
            self.net.load_parameters(parameters + ".params")
        if variant == "hybridized":
            self.net.hybridize(static_alloc=True, static_shape=True)
        self._loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        self._trainer = mx.gluon.Trainer(
            self.net.collect_params(), "sgd", {"learning_rate": RATE}, kvstore=None
        )

    def save(self, path: str) -> None:
        """Write the parameters as ``save_parameters`` does, and as arrays in order."""
        self.net.save_parameters(path + ".params")
        values = self.net.collect_params().values()
        np.savez(path + ".npz", *[each.data().asnumpy() for each in values])

    def predict(self) -> Any:
        """The outputs, computed."""
        out = self.net(self._x)
        out.wait_to_read()
        return out

    def train(self) -> Any:
        """One step of training; the losses, computed."""
        with self._mx.autograd.record():
            loss = self._loss(self.net(self._x), self._y)
        loss.backward()
        self._trainer.step(self._labels)
        loss.wait_to_read()
        return loss

    def finish(self) -> None:
        """Wait for what still runs."""
        self._mx.nd.waitall()

    @staticmethod
    def numpy(value: Any) -> np.ndarray:
        """The array."""
        return value.asnumpy()
