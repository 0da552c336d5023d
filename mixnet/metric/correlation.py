"""Pearson's correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from mixnet.metric.evaluation import Batch, EvalMetric, check_label_shapes, pairs
from mixnet.metric.registry import alias, register
from mixnet.metric.totals import as_array, measure, measured
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@measure
def correlation(label, pred):
    """Pearson's correlation of all elements; one batch."""
    x, y = (each.reshape(-1).astype(jnp.float64) for each in (pred, label))
    x, y = x - jnp.mean(x), y - jnp.mean(y)
    # In the order of numpy.corrcoef, so that what is exactly 1 there is exactly 1 here.
    share = 1 / jnp.float64(x.size - 1)
    covariance = jnp.sum(x * y) * share
    for each in (x, y):
        covariance = covariance / jnp.sqrt(jnp.sum(each * each) * share)
    return jnp.stack([jnp.clip(covariance, -1, 1), jnp.float64(1)])


def _spread(values: Any, moments: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """Count, mean and sum of squared differences with further values. Source: Welford, 1962."""
    count, mean, squares = moments
    count = count + len(values)
    before = values - mean
    mean = mean + numbers.sum(before / count)
    return count, mean, squares + numbers.sum(before * (values - mean))


@measure
def further(label, pred, state):
    """The state with a batch: number, mean and squares of labels, of predictions, and products."""
    x, y = (each.reshape(-1).astype(jnp.float64) for each in (label, pred))
    labels = _spread(x, state[:3], jnp)
    preds = _spread(y, state[3:6], jnp)
    # The mean of the labels after, of the predictions before: the sum of products is then exact.
    products = state[6] + jnp.sum((x - labels[1]) * (y - state[4]))
    return jnp.stack([*labels, *preds, products])


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation: the mean over batches, or that of all samples.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
        average: ``'macro'`` for the mean over batches, ``'micro'`` for all samples; the latter goes
            on until ``reset``, and its ``get_global`` is of no use, as in MXNet.
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ):
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)
        if self.average == "micro":
            self.reset_micro()

    def reset_micro(self) -> None:
        """Discard all samples."""
        self._state: Any = np.zeros(7)

    def reset(self) -> None:
        """Start again."""
        super().reset()
        if self.average == "micro":
            self.reset_micro()

    def update_variance(self, new_values: Any, *aggregate: Any) -> tuple[Any, Any, Any]:
        """Count, mean and sum of squared differences, after further values.

        Args:
            new_values: a vector.
            aggregate: the three before.
        """
        count, mean, squares = aggregate
        return _spread(new_values, (count, mean, squares), np)

    def update_cov(self, label: ArrayLike, pred: ArrayLike) -> None:
        """Add the products of differences from the means of labels and predictions.

        Args:
            label: numbers, of any shape.
            pred: as many numbers.
        """
        state = self._on_host()
        state[6] += np.sum((label - state[1]) * (pred - state[4]))
        self._state = state

    def _on_host(self) -> np.ndarray:
        state = self._state
        return state.asnumpy() if isinstance(state, NDArray) else state

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of labels and predictions of the same shape.

        Raises:
            ValueError: the shapes differ, or there are more labels than predictions, or fewer.
        """
        for label, pred in pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            if self.average == "macro":
                self._mx_add(measured(correlation, [label, pred]), [pred])
                continue
            self._mx_num += 1
            self._mx_global_num += 1
            self._state = measured(further, [label, pred, as_array(self._state)])

    def get(self) -> tuple[str, Any]:
        """Name and correlation; NaN before the first batch."""
        if self.average == "macro" or self.num_inst == 0:
            return super().get()
        count, _, of_labels, _, _, of_preds, products = self._on_host().tolist()
        if count < 2 or not of_labels or not of_preds:
            return self.name, float("nan")
        rest = count - 1
        below = rest * math.sqrt(of_preds / rest) * math.sqrt(of_labels / rest)
        return self.name, products / below
