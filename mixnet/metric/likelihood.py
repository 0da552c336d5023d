"""Metrics of the predicted probability of the true class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from mixnet.base import CheckError, IndexingError
from mixnet.metric.evaluation import Batch, EvalMetric, pairs
from mixnet.metric.registry import alias, register
from mixnet.metric.totals import as_classes, classes_on_host, measure, measured
from mixnet.ops.registry import find


@measure
def cross_entropy(label, pred, *, eps: float):
    """Sum of ``-log(probability + eps)``, number of samples, and labels beyond the classes."""
    places = as_classes(label).reshape(-1)
    classes = pred.shape[1]
    beyond = (places < -classes) | (places >= classes)
    probabilities = pred[jnp.arange(len(places)), jnp.where(beyond, 0, places)]
    total = jnp.sum(-jnp.log(probabilities + eps), dtype=jnp.float64).astype(pred.dtype)
    return jnp.stack(
        [total.astype(jnp.float64), jnp.float64(len(places)), jnp.sum(beyond, dtype=jnp.float64)]
    )


def _beyond(subject: str) -> IndexingError:
    return IndexingError(
        f"{subject} out of bounds: labels must be numbers of columns of the predictions."
    )


class _CrossEntropy(EvalMetric):
    """The mean over samples of ``-log(probability of the label + eps)``.

    Args:
        eps: keeps the logarithm away from 0.
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        eps: float,
        name: str,
        output_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
    ):
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of class numbers and of probabilities ``(samples, classes)``.

        Raises:
            AssertionError: there is not one label for each row of predictions.
            IndexError: a label beyond the classes, which ``get`` raises if it is still being
                computed.
            ValueError: there are more label arrays than predictions, or fewer.
        """
        for label, pred in pairs(labels, preds):
            if pred.ndim < 2:
                raise IndexingError(
                    f"{type(self).__name__}: predictions of shape {pred.shape} have no axis of classes; give "
                    f"(samples, classes)."
                )
            if label.size != pred.shape[0]:
                raise CheckError(
                    f"{type(self).__name__}: labels {label.shape} do not give one class for each of "
                    f"the {pred.shape[0]} rows of predictions {pred.shape}."
                )
            known = classes_on_host(label)
            if known is not None and known.size and pred.ndim > 1:
                low, high = int(known.min()), int(known.max())
                if high >= pred.shape[1] or low < -pred.shape[1]:
                    wrong = high if high >= pred.shape[1] else low
                    raise _beyond(f"index {wrong} for axis 1 with size {pred.shape[1]} is")
            self._mx_add(measured(cross_entropy, [label, pred], eps=self.eps), [pred])

    def _mx_absorb(self, sums: np.ndarray, local: bool) -> None:
        if sums[2]:
            raise _beyond(f"{int(sums[2])} labels are")
        super()._mx_absorb(sums, local)


@register
@alias("ce")
class CrossEntropy(_CrossEntropy):
    """Mean of ``-log(probability of the label + eps)``.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_CrossEntropy):
    """Mean of ``-log(probability of the label + eps)``, by another name.

    Args:
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(eps, name, output_names, label_names)


@measure
def log_probabilities(label, pred, *, axis: int, ignore_label: float | None):
    """Sum of ``-log(probability)``, and how many labels are not to be ignored."""
    label = label.reshape(-1)
    if pred.ndim > 2 and axis in (-1, pred.ndim - 1):
        pred = pred.reshape(-1, pred.shape[-1])
        axis = -1
    probabilities = find("pick").function(pred, label.astype(jnp.int32), axis=axis)
    count = jnp.float64(probabilities.size)
    if ignore_label is not None:
        ignored = (label == ignore_label).astype(pred.dtype)
        probabilities = probabilities * (1 - ignored) + ignored
        count = count - jnp.sum(ignored, dtype=jnp.float64)
    total = jnp.sum(-jnp.log(jnp.maximum(1e-10, probabilities)), dtype=jnp.float64).astype(
        pred.dtype
    )
    return jnp.stack([total.astype(jnp.float64), count])


@register
class Perplexity(EvalMetric):
    """``exp`` of the mean of ``-log(probability of the label)``.

    Args:
        ignore_label: a label that does not count, such as that of padding; None if all count.
        axis: axis of the classes.
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        ignore_label: float | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(
            name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True
        )
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add lists of arrays: of class numbers, and of probabilities ``(samples, classes)``.

        An array in place of a list is taken as the list of its rows, as in MXNet.

        Raises:
            AssertionError: there is not one label for each row of predictions.
        """
        if len(labels) != len(preds):
            raise CheckError(f"{len(labels)} labels for {len(preds)} predictions.")
        for label, pred in pairs(list(labels), list(preds)):
            if label.size != pred.size / pred.shape[-1]:
                raise CheckError(
                    f"Perplexity: shape mismatch: labels {label.shape} do not give one class for each "
                    f"row of predictions {pred.shape}."
                )
            numbers = measured(
                log_probabilities, [label, pred], axis=self.axis, ignore_label=self.ignore_label
            )
            self._mx_add(numbers, [pred])

    def _mx_absorb(self, sums: np.ndarray, local: bool) -> None:
        if self.ignore_label is not None and isinstance(self._mx_global_num, int):
            self._mx_num, self._mx_global_num = float(self._mx_num), float(self._mx_global_num)
        super()._mx_absorb(sums, local)

    def get(self) -> tuple[str, float]:
        """Name and perplexity; NaN before the first batch."""
        name, mean = super().get()
        return name, math.exp(mean)

    def get_global(self) -> tuple[str, float]:
        """Name and perplexity over all time."""
        name, mean = super().get_global()
        return name, math.exp(mean)
