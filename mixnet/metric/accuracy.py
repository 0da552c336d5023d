"""Classification accuracy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import AttributeValueError, CheckError, OperatorTypeError, ShapeError, SizeError
from mixnet.metric.evaluation import Batch, EvalMetric, check_label_shapes, pairs
from mixnet.metric.registry import alias, register
from mixnet.metric.totals import as_classes, counted, measure


def share(hits: Any, size: int) -> Any:
    """A sum, of what is true or of numbers, and a count."""
    return jnp.stack([jnp.sum(hits, dtype=jnp.float64), jnp.float64(size)])


@measure
def right_classes(label, pred, *, axis: int):
    """How many classes are right, of how many."""
    if pred.shape != label.shape:
        pred = jnp.argmax(pred, axis)
    predicted, known = (as_classes(each).reshape(-1) for each in (pred, label))
    return share(predicted == known, pred.size)


@register
@alias("acc")
class Accuracy(EvalMetric):
    """Share of samples whose predicted class is the label.

    Args:
        axis: axis of the classes, where predictions have one more than labels.
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of class numbers, and of probabilities or class numbers.

        Args:
            labels: an array of class numbers, or a list of such arrays.
            preds: class numbers of the same shape, or probabilities with one more axis, ``axis``; a list if
                ``labels`` is one.

        Raises:
            ValueError: there are more labels than predictions, or fewer.
        """
        for label, pred in pairs(labels, preds):
            self._mx_check(label.shape, pred.shape)
            self._mx_add(counted(right_classes, [label, pred], axis=self.axis), [pred])

    def _mx_check(self, label: tuple[int, ...], pred: tuple[int, ...]) -> None:
        """Raise unless there is one class number for each label."""
        sizes = math.prod(label), math.prod(pred)
        if label != pred:
            if type(self.axis) is not int and not isinstance(self.axis, numbers.Integral):
                raise OperatorTypeError(
                    f"Accuracy: axis={self.axis!r} is not a whole number. A name is given as name=..."
                )
            if not -len(pred) <= self.axis < len(pred):
                raise ShapeError(
                    f"Accuracy: labels have shape {label}, and predictions {pred} have no axis {self.axis} "
                    f"of classes. Labels come first: update(labels, preds)."
                )
            sizes = sizes[0], sizes[1] // max(pred[self.axis], 1)
        if sizes[0] != sizes[1]:
            raise SizeError(
                f"Shape of labels {sizes[0]} does not match shape of predictions {sizes[1]}: labels have "
                f"shape {label} and predictions {pred}, with classes on axis {self.axis}."
            )


@measure
def right_among(label, pred, *, top_k: int):
    """How many labels are among the ``top_k`` most probable classes, of how many."""
    pred = pred.astype(jnp.float32)
    label = as_classes(label).reshape(-1)
    if pred.ndim == 1:
        return share(jnp.argsort(pred).astype(jnp.int32) == label, pred.size)
    _, best = jax.lax.top_k(pred, top_k)
    return share(best.astype(jnp.int32) == label[:, None], pred.shape[0])


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """Share of samples whose label is among the ``top_k`` most probable classes.

    Args:
        top_k: how many, above 1.
        name: shown beside the value, with ``_`` and ``top_k``.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.

    Raises:
        AssertionError: ``top_k`` is 1 or less.
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        if self.top_k <= 1:
            raise CheckError(f"Please use Accuracy if top_k is no more than 1; top_k={top_k}.")
        self.name += f"_{self.top_k}"

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of class numbers and of probabilities ``(samples, classes)``.

        Args:
            labels: an array of class numbers ``(samples,)``, or a list of such arrays.
            preds: probabilities or scores ``(samples, classes)``; a list if ``labels`` is one.

        Raises:
            AssertionError: predictions have more than two axes.
            ValueError: there are more labels than predictions or fewer, or fewer classes than
                ``top_k``.
        """
        for label, pred in pairs(labels, preds):
            if pred.ndim > 2:
                raise CheckError(
                    f"Predictions should be no more than 2 dims, (samples, classes), not {pred.shape}."
                )
            check_label_shapes(label, pred)
            if self.top_k > pred.shape[-1]:
                raise AttributeValueError(
                    f"TopKAccuracy: top_k={self.top_k} is out of bounds for {pred.shape[-1]} classes."
                )
            self._mx_add(counted(right_among, [label, pred], top_k=self.top_k), [pred])
