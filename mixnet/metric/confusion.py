"""PCC: Matthews' correlation for any number of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError
from mixnet.metric.evaluation import Batch, EvalMetric, pairs
from mixnet.metric.registry import register
from mixnet.metric.totals import Totals, as_classes, classes_on_host, measure, measured


@measure
def confusion_matrix(label, pred, *, classes: int):
    """``[i, j]``: how often class ``i`` was predicted where it was ``j``; one row more for others."""
    if pred.shape != label.shape:
        pred = jnp.argmax(pred, 1)
    places = []
    for each in (pred, label):
        place = as_classes(each).reshape(-1)
        places.append(jnp.minimum(jnp.where(place < 0, place + classes, place), classes))
    table = jnp.zeros((classes + 1, classes + 1), jnp.float64)
    return table.at[tuple(places)].add(1)


@register
class PCC(EvalMetric):
    """Correlation of predicted and true classes, from the table of all of them.

    For two classes it is ``MCC`` with ``average='micro'``. Source: Gorodkin, 2004.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        has_global_stats: keep the table over all time.
    """

    _mx_zero = 0.0
    _local: np.ndarray
    _all: np.ndarray

    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ):
        self._k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of class numbers, and of probabilities ``(samples, classes)`` or classes.

        Raises:
            ValueError: there are more labels than predictions, or fewer; or a label beyond the
                columns of the predictions, which ``get`` raises if it is still being computed.
        """
        for label, pred in pairs(labels, preds):
            if pred.shape != label.shape and pred.ndim < 2:
                raise np.exceptions.AxisError(1, pred.ndim)
            by_column = pred.shape != label.shape
            classes = pred.shape[1] if by_column else 0
            # How many classes there are depends on values only where no columns tell it.
            for each in (label,) if by_column else (label, pred):
                known = classes_on_host(each) if by_column else each.asnumpy()
                if known is not None and known.size:
                    classes = max(classes, int(known.max()) + 1)
            self._mx_add(
                measured(confusion_matrix, [label, pred], classes=max(classes, self._k)), [pred]
            )
        self._mx_num += 1
        self._mx_global_num += 1

    def _mx_absorb(self, confusion: np.ndarray, local: bool) -> None:
        if confusion[-1].any() or confusion[:, -1].any():
            raise AttributeValueError(
                f"PCC: a label is beyond the {len(confusion) - 1} columns of the predictions."
            )
        occupied = np.nonzero(confusion)
        self._k = (
            max(self._k, *(int(each.max()) + 1 for each in occupied))
            if len(occupied[0])
            else self._k
        )
        self._all = _sum_of(self._all, confusion[: self._k, : self._k], self._k)
        self._local = _sum_of(self._local, confusion[: self._k, : self._k] * local, self._k)

    @property
    def k(self) -> int:
        """Number of classes that there were, at least 2."""
        self._mx_settle()
        return self._k

    @property
    def lcm(self) -> np.ndarray:
        """The table since the last ``reset_local``: predicted class, true class."""
        self._mx_settle()
        return self._local

    @property
    def gcm(self) -> np.ndarray:
        """The table since the last ``reset``."""
        self._mx_settle()
        return self._all

    @property
    def sum_metric(self) -> float:
        """The correlation times the number of updates."""
        total: float = _correlation(self.lcm) * self._mx_num
        return total

    @property
    def global_sum_metric(self) -> float:
        """The correlation since the last ``reset`` times the number of updates."""
        total: float = _correlation(self.gcm) * self._mx_global_num
        return total

    def reset(self) -> None:
        """Start again."""
        self._mx_pending, self._mx_earlier = Totals(), None
        self._mx_num = self._mx_global_num = 0.0
        self._local = self._all = np.zeros((self._k, self._k))

    def reset_local(self) -> None:
        """Reset what ``get`` returns; ``get_global`` keeps counting."""
        self._mx_settle()
        self._mx_num = 0.0
        self._local = np.zeros((self._k, self._k))


def _sum_of(table: np.ndarray, more: np.ndarray, size: int) -> np.ndarray:
    total = np.zeros((size, size))
    for each in (table, more):
        total[: len(each), : len(each)] += each
    return total


def _correlation(table: np.ndarray) -> float:
    n = table.sum()
    predicted, known = table.sum(1), table.sum(0)
    variances = [float(np.sum(each * (n - each))) for each in (predicted, known)]
    if 0 in variances:
        return float("nan")
    covariance = float(np.sum(table.diagonal() * n - predicted * known))
    return covariance / math.sqrt(variances[0] * variances[1])
