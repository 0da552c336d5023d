"""Playground: train a network step by step, inspect its values, and change it during training."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixnet import autograd
from mixnet.base import AttributeTypeError, AttributeValueError, MXNetError
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.loss import SoftmaxCrossEntropyLoss
from mixnet.gluon.trainer import Trainer
from mixnet.ndarray import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.units import digits, how_many
from mixnet.widgets.failure import error_line
from mixnet.widgets.graph.picture import NOT_FINITE
from mixnet.widgets.look.run import Run
from mixnet.widgets.look.subject import Subject, subject_of
from mixnet.widgets.look.view import Look, payload_of_subject
from mixnet.widgets.playground.layers import ACTIVATIONS, Layers
from mixnet.widgets.view import View
from mixnet.widgets.why.question import same_questions

same_questions("mixnet.playground/1", "mixnet.look/1")
MOST_LOSSES = 2000  # that are kept for the curve
MOST_STEPS = 1000  # of one click


class Playground(Look):
    """``mx.look`` of a network in training, with the numbers of the last step and buttons that
    change the network.

    Each box of the graph shows the mean and the standard deviation of its values: activations,
    gradients and, if parameters are shown, weights; boxes with values that are not finite are
    marked. The pane of numbers has the histogram of the selected box. The view is live in a
    notebook; a saved page shows the last state. Unlike other views, it changes the network: it
    trains it, and layers can be switched off. :meth:`restore` puts layers back, but not weights.

    ::

        playground = mx.widgets.Playground(net, x, y, learning_rate=0.1)
        playground.step(10)
        playground.off("conv2")
        playground.poison()

    Args:
        net: a ``HybridBlock``.
        inputs: a batch: the arguments of the network, then the labels.
        loss: called on the network's output and the labels; by default ``SoftmaxCrossEntropyLoss``.
        optimizer, learning_rate: of the trainer.
        trainer: an existing trainer, in place of the two above.
        title: shown; by default the network's name.

    Raises:
        AttributeTypeError: this is not a network with a batch of arrays.

    Source: the payload ``mixnet.playground/1`` is that of ``Look``; its graph has the fact
    ``values`` (the texts of the boxes), and ``play`` has ``steps``, ``losses`` (None if not
    finite), ``rate``, ``layers``, their ``changes``, ``first`` (the first operation with values
    that are not finite) and ``said`` (the last action).
    """

    schema = "mixnet.playground/1"
    sight = (
        "Each box shows the mean and standard deviation of its values: train some steps and look "
        "for a [node] that is almost constant, or a [gradient] that is 0 or marked ✗."
    )
    _net: HybridBlock | None = None  # of a stored view

    def __init__(
        self,
        net: HybridBlock,
        *inputs: Any,
        loss: Callable[..., Any] | None = None,
        optimizer: str = "sgd",
        learning_rate: float = 0.1,
        trainer: Trainer | None = None,
        title: str | None = None,
    ):
        if (
            not isinstance(net, HybridBlock)
            or len(inputs) < 2
            or not all(isinstance(each, NDArray) for each in inputs)
        ):
            kinds = ", ".join(type(each).__name__ for each in (net, *inputs))
            raise AttributeTypeError(
                f"Playground: expected a HybridBlock and a batch of arrays with the labels last, such as "
                f"Playground(net, x, y), got {kinds}."
            )
        self._net, self._batch = net, tuple(inputs)
        self._loss = SoftmaxCrossEntropyLoss() if loss is None else loss
        self._title, self._losses, self._steps = title, [], 0
        subject = self._looked()
        self._layers = Layers(net)
        self._trainer = trainer or Trainer(
            net.collect_params(), optimizer, {"learning_rate": learning_rate}
        )
        self._use(subject)
        payload = self._whole()
        View.__init__(self, payload, {"at": None, "node": None})

    _losses: list[float]

    # ---- actions ----------------------------------------------------------------------------------

    def step(self, n: int = 1, *batch: NDArray) -> float:
        """Train for some steps, then show the numbers.

        Args:
            n: how many.
            batch: a new batch, of the same shapes.

        Returns:
            The mean loss of the last step.

        Raises:
            AttributeValueError: ``n`` is below 1, or the batch has other shapes.
        """
        net = self._live_net()
        if n < 1:
            raise AttributeValueError(f"step: expected at least 1 step, got {n}.")
        if batch:
            self._take(batch)
        for _ in range(n):
            with autograd.record():
                losses = self._loss(net(*self._batch[:-1]), self._batch[-1])
            losses.backward()
            # A layer that is off has no gradient.
            self._trainer.step(self._batch[0].shape[0], ignore_stale_grad=True)
            self._losses.append(float(losses.mean().asscalar()))
            self._steps += 1
        del self._losses[:-MOST_LOSSES]
        self._refresh(f"trained {how_many(n, 'step')}")
        return self._losses[-1]

    @property
    def learning_rate(self) -> float:
        """The trainer's learning rate; assign to change it."""
        return float(self.payload["play"]["rate"])

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._live_net()
        if not rate >= 0:
            raise AttributeValueError(
                f"learning_rate: expected a number of at least 0, got {rate}."
            )
        self._trainer.set_learning_rate(rate)
        self._refresh(f"learning rate {rate:g}")

    @property
    def layers(self) -> list[str]:
        """Layers that can be switched off, as named in the graph: ``conv1``, ``body.Dense 0``
        (``body.0`` means the same).
        """
        return self._layers.names

    def off(self, layer: str) -> None:
        """Replace a layer by the identity.

        Raises:
            AttributeValueError: there is no such layer, or the next layer does not take its input.
        """
        self._changed(layer, lambda: self._layers.off(layer), f"{layer} is off")

    def on(self, layer: str) -> None:
        """Put a layer back, with its weights.

        Raises:
            AttributeValueError: there is no such layer.
        """
        self._changed(layer, lambda: self._layers.on(layer), f"{layer} is on")

    def activate(self, layer: str, activation: str) -> None:
        """Replace an activation by another one: ``relu``, ``sigmoid``, ``tanh``, ``softrelu``, ``softsign``.

        Raises:
            AttributeValueError: the layer is not an activation, or there is none of this name.
        """
        self._changed(
            layer, lambda: self._layers.activate(layer, activation), f"{layer} is {activation}"
        )

    def restore(self) -> None:
        """Put all layers back; weights are unchanged."""
        self._live_net()
        self._layers.restore()
        self._use(self._looked())
        self.payload = self._whole("all layers are restored")

    def poison(self, value: float = float("nan")) -> str | None:
        """Show the effect of a value in the input, without training on it: the first number of
        the batch is set to it.

        Args:
            value: NaN by default; an infinity, or a large number.

        Returns:
            The first operation of forward with values that are not
            finite; None if there is none.
        """
        self._live_net()
        first, *rest = self._batch
        poisoned = first.asnumpy().copy()
        with np.errstate(over="ignore"):
            poisoned.ravel()[0] = value
        bad = array(poisoned, ctx=first.context, dtype=poisoned.dtype)
        text = "NaN" if np.isnan(value) else f"{value:g}"
        self._refresh(f"poisoned with {text}", (bad, *rest))
        first_bad: str | None = self.payload["play"]["first"]
        if first_bad is not None:
            self.select(first_bad)
        return first_bad

    # ---- what is shown ------------------------------------------------------------------------------

    def summary(self) -> str:
        play = self.payload["play"]
        last = play["losses"][-1] if play["losses"] else None
        loss = (
            f", loss {digits(last)}"
            if last is not None
            else ", loss not finite"
            if play["losses"]
            else ""
        )
        bad = f", first not finite: {play['first']}" if play["first"] else ""
        return f"after {how_many(play['steps'], 'step')}{loss}{bad}; {super().summary()}"

    def message(self, content: dict[str, Any]) -> None:
        """Handle a button of the page."""
        actions: dict[str, Callable[[], Any]] = {
            "step": lambda: self.step(min(int(content["n"]), MOST_STEPS)),
            "rate": lambda: setattr(self, "learning_rate", float(content["rate"])),
            "off": lambda: self.off(content["layer"]),
            "on": lambda: self.on(content["layer"]),
            "activate": lambda: self.activate(content["layer"], content["name"]),
            "restore": self.restore,
            "poison": self.poison,
        }
        act = actions.get(content.get("do", ""))
        if act is None:
            return
        try:
            act()
        except MXNetError as error:
            self._say(error_line(error))

    def _live_net(self) -> HybridBlock:
        if self._net is None:
            raise MXNetError(
                "This playground was loaded from a file and shows the last state. To continue, "
                "create a new one: Playground(net, x, y)."
            )
        return self._net

    def _looked(self) -> Subject:
        return subject_of(self._live_net(), self._batch, True, self._loss, {}, sys._getframe())

    def _use(self, subject: Subject) -> None:
        """Record the graph of the network in its current state.

        Raises:
            AttributeValueError: its shapes do not match.
        """
        if subject.rerun is None or subject.pictured.error is not None:
            reason = (
                (subject.pictured.error or {}).get("text")
                or "; ".join(subject.notes)
                or "its graph is unknown"
            )
            raise AttributeValueError(f"Playground: {str(reason).splitlines()[0]}")
        self._subject = subject

    def _changed(self, layer: str, change: Callable[[], None], message: str) -> None:
        self._live_net()
        before = dict(self._layers.changes)
        change()
        try:
            self._use(self._looked())
            self._live_net()(*self._batch[:-1]).wait_to_read()
        except Exception as error:  # the code of a network may raise anything
            self._layers.set(before)
            self._use(self._looked())
            raise AttributeValueError(
                f"{layer} was not changed, because the network would not run: {error_line(error)}"
            ) from error
        self.payload = self._whole(message)

    def _take(self, batch: Sequence[NDArray]) -> None:
        shapes, expected = [each.shape for each in batch], [each.shape for each in self._batch]
        if shapes != expected:
            raise AttributeValueError(
                f"step: expected a batch of shapes {expected}, got {shapes}; for other shapes, "
                "create another Playground."
            )
        self._batch = tuple(batch)

    def _whole(self, message: str = "") -> dict[str, Any]:
        subject = self._subject
        subject.runs = (
            "The playground runs operator by operator; mx.look(net, x, y) shows what is compiled."
        )
        subject.values = self._values(self._batch)
        payload = payload_of_subject(subject, self._title, self._net, run=True, compile=True)
        return self._with_play(payload, message)

    def _values(self, batch: Sequence[NDArray]) -> Any:
        assert self._subject.rerun is not None
        return self._subject.rerun(batch)

    def _refresh(self, message: str, batch: Sequence[NDArray] | None = None) -> None:
        ran = Run(self._subject.pictured, self._values(batch or self._batch))
        payload = {**self.payload, "numbers": ran.numbers, "engine": ran.timeline}
        payload.pop("why", None)
        self.payload = self._with_play(payload, message)

    def _say(self, message: str) -> None:
        self.payload = {**self.payload, "play": {**self.payload["play"], "said": message}}

    def _with_play(self, payload: dict[str, Any], message: str) -> dict[str, Any]:
        numbers = payload["numbers"] or []
        graph = {**payload["graph"], "facts": {"values": [_in_short(each) for each in numbers]}}
        payload = {**payload, "graph": graph}
        play = {
            "steps": self._steps,
            "losses": [each if math.isfinite(each) else None for each in self._losses],
            "rate": float(self._trainer.learning_rate),
            "layers": self._layers.names,
            "activations": self._layers.activations,
            "choices": list(ACTIVATIONS),
            "changes": dict(self._layers.changes),
            "first": _first_bad(payload),
            "said": message,
        }
        return {**payload, "play": play}


def _in_short(rows: list[Any] | None) -> str | None:
    """The text of a box about the values of an operation."""
    if not rows:
        return None
    _, _, mean, deviation, _, nans, infinities, *_ = rows[0]
    bad = [f"{nans} NaN"] * bool(nans) + [f"{infinities} infinite"] * bool(infinities)
    return f"{NOT_FINITE} {', '.join(bad)}" if bad else f"{mean:.3g} ± {deviation:.2g}"


def _first_bad(payload: dict[str, Any]) -> str | None:
    """The first forward operation with values that are not finite, by its name in the program."""
    graph = payload["graph"]
    for row, rows in enumerate(payload["numbers"] or ()):
        if graph["nodes"]["op"][row] >= 0 and rows and any(each[5] or each[6] for each in rows):
            name = graph["names"][row]
            return str(payload["labels"].get(name, name))
    return None
