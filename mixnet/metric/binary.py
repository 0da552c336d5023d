"""Metrics for binary classification: F1 and Matthews' correlation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError
from mixnet.metric.evaluation import Batch, EvalMetric, check_label_shapes, pairs
from mixnet.metric.registry import register
from mixnet.metric.totals import as_classes, classes_on_host, measure, measured

_MORE_CLASSES = "_BinaryClassificationMetrics currently only supports binary classification."


@measure
def confusion(label, pred):
    """True and false positives, true and false negatives, and labels of a third class."""
    label, predicted = as_classes(label), jnp.argmax(pred, 1)
    third = (label != jnp.min(label)) & (label != jnp.max(label))
    positive, known = predicted == 1, label == 1
    counts = (
        positive & known, positive & ~known, ~positive & ~known, ~positive & known, third,
    )  # fmt: skip
    return jnp.stack([jnp.sum(each, dtype=jnp.float64) for each in counts])


def _ratio(above: Any, below: Any) -> Any:
    return jnp.where(below > 0, above / jnp.where(below > 0, below, 1), 0.0)


def f1_score(counts: Any) -> Any:
    """Harmonic mean of precision and recall; 0 where one of them is not defined."""
    true_positives, false_positives, _, false_negatives = counts[:4]
    precision = _ratio(true_positives, true_positives + false_positives)
    recall = _ratio(true_positives, true_positives + false_negatives)
    return _ratio(2 * precision * recall, precision + recall)


def mcc_score(counts: Any) -> Any:
    """Matthews' correlation; sums of the table that are 0 are left out of the divisor."""
    tp, fp, tn, fn = counts[:4]
    sums = (tp + fp, tp + fn, tn + fp, tn + fn)
    below = math.prod(jnp.where(each == 0, 1.0, each) for each in sums)
    return (tp * tn - fp * fn) / jnp.sqrt(below)


@measure
def f1_of_batch(counts):
    """The score, one batch, and labels of a third class."""
    return jnp.stack([f1_score(counts), jnp.float64(1), counts[4]])


@measure
def mcc_of_batch(counts):
    """The score, one batch, and labels of a third class."""
    return jnp.stack([mcc_score(counts), jnp.float64(1), counts[4]])


class _Binary(EvalMetric):
    """A score of the table of two classes: the mean over batches, or that of all samples.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        average: ``'macro'`` for the mean over batches, else over samples.
    """

    _of_batch: Any
    _score: Callable[[Any], float]
    _counts: np.ndarray
    _all_counts: np.ndarray

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
        average: str,
    ):
        self._macro = average == "macro"
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of labels, 0 and 1, and of probabilities ``(samples, 2)``.

        Raises:
            ValueError: there are more labels than predictions or fewer, or labels of a third class;
                that is raised by ``get`` if the labels are still being computed.
        """
        labelled = pairs(labels, preds)
        counts = None
        for label, pred in labelled:
            if pred.ndim < 2:
                raise np.exceptions.AxisError(1, pred.ndim)
            check_label_shapes(label, pred)
            known = classes_on_host(label)
            if known is not None and len(np.unique(known)) > 2:
                raise AttributeValueError(_MORE_CLASSES)
            each = measured(confusion, [label, pred])
            counts = each if counts is None else counts + each.as_in_context(counts.context)
        if counts is None:
            if self._macro:  # a batch of nothing is a batch, of score 0
                super()._mx_absorb(np.array([0.0, 1.0]), local=True)
        else:
            numbers = measured(self._of_batch, [counts]) if self._macro else counts
            self._mx_add(numbers, [pred for _, pred in labelled])

    def _mx_absorb(self, counts: np.ndarray, local: bool) -> None:
        if counts[-1]:
            raise AttributeValueError(_MORE_CLASSES)
        if self._macro:
            super()._mx_absorb(counts, local)
            return
        self._all_counts = self._all_counts + counts[:4]
        self._mx_global_sum, self._mx_global_num = self._of_samples(self._all_counts)
        if local:
            self._counts = self._counts + counts[:4]
            self._mx_sum, self._mx_num = self._of_samples(self._counts)

    def _table(self) -> BinaryCounts:
        self._mx_settle()
        return BinaryCounts(self._counts.tolist(), self._all_counts.tolist())

    def _of_samples(self, counts: np.ndarray) -> tuple[float, int]:
        count = int(counts.sum())
        return type(self)._score(counts.tolist()) * count, count

    def reset(self) -> None:
        """Start again."""
        self._counts = self._all_counts = np.zeros(4)
        super().reset()

    def reset_local(self) -> None:
        """Reset what ``get`` returns; ``get_global`` keeps counting."""
        self._counts = np.zeros(4)
        super().reset_local()


def _f1(counts: list[float]) -> float:
    tp, fp, _, fn = counts
    precision = tp / (tp + fp) if tp + fp > 0 else 0.0
    recall = tp / (tp + fn) if tp + fn > 0 else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _mcc(counts: list[float]) -> float:
    tp, fp, tn, fn = counts
    below = math.prod(term for term in (tp + fp, tp + fn, tn + fp, tn + fn) if term)
    return (tp * tn - fp * fn) / math.sqrt(below)


class BinaryCounts:
    """The table of two classes that a metric has counted, and what follows from it.

    Names that start with ``global_`` count from the last ``reset``, the others from the last
    ``reset_local``. A metric with ``average='macro'`` forgets each table after its batch.
    """

    def __init__(self, local: list[float], total: list[float]):
        for prefix, counts in (("", local), ("global_", total)):
            names = ("true_positives", "false_positives", "true_negatives", "false_negatives")
            for name, count in zip(names, counts, strict=True):
                setattr(self, prefix + name, int(count))
            tp, fp, _, fn = counts
            setattr(self, prefix + "total_examples", int(sum(counts)))
            setattr(self, prefix + "precision", tp / (tp + fp) if tp + fp > 0 else 0.0)
            setattr(self, prefix + "recall", tp / (tp + fn) if tp + fn > 0 else 0.0)
            setattr(self, prefix + "fscore", _f1(counts))
        self._tables = local, total

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def matthewscc(self, use_global: bool = False) -> float:
        """Matthews' correlation; 0 where nothing was counted."""
        counts = self._tables[use_global]
        return _mcc(counts) if sum(counts) else 0.0


@register
class F1(_Binary):
    """Harmonic mean of precision and recall of class 1.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        average: ``'macro'`` for the mean over batches, ``'micro'`` for the score of all samples.
    """

    _of_batch = f1_of_batch
    _score = staticmethod(_f1)

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ):
        self.average = average
        super().__init__(name, output_names, label_names, average)

    @property
    def metrics(self) -> BinaryCounts:
        """Precision, recall and the counts below the score."""
        return self._table()


@register
class MCC(_Binary):
    """Matthews' correlation of two classes.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        average: ``'macro'`` for the mean over batches, ``'micro'`` for the score of all samples.
    """

    _of_batch = mcc_of_batch
    _score = staticmethod(_mcc)
    _mx_zero = 0.0

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ):
        super().__init__(name, output_names, label_names, average)
