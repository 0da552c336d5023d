"""Regression metrics: distances between predictions and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError, SizeError
from mixnet.metric.evaluation import Batch, EvalMetric, pairs
from mixnet.metric.registry import register
from mixnet.metric.totals import measure, measured
from mixnet.util import with_defaults


def _differences(label: Any, pred: Any) -> Any:
    """Label minus prediction in the dtype that NumPy gives; vectors are columns."""
    dtype = np.result_type(label.dtype, pred.dtype)
    label, pred = (
        (each.reshape(-1, 1) if each.ndim == 1 else each).astype(dtype) for each in (label, pred)
    )
    return label - pred


def _squares(label: Any, pred: Any) -> Any:
    """Squares of the differences; those of integers are float64 and do not overflow."""
    differences = _differences(label, pred)
    if not jnp.issubdtype(differences.dtype, jnp.floating):
        differences = differences.astype(jnp.float64)
    return jnp.square(differences)


def _mean(array: Any) -> Any:
    """The mean, added up in float64; of floats it is rounded to their dtype."""
    mean = jnp.sum(array, dtype=jnp.float64) / array.size
    return mean.astype(array.dtype) if jnp.issubdtype(array.dtype, jnp.floating) else mean


def _with_count(value: Any) -> Any:
    return jnp.stack([value.astype(jnp.float64), jnp.float64(1)])


@measure
def absolute_error(label, pred):
    """Mean absolute difference; one batch."""
    return _with_count(_mean(jnp.abs(_differences(label, pred))))


@measure
def squared_error(label, pred):
    """Mean squared difference; one batch."""
    return _with_count(_mean(_squares(label, pred)))


@measure
def root_of_squared_error(label, pred):
    """Root of the mean squared difference; one batch."""
    return _with_count(jnp.sqrt(_mean(_squares(label, pred))))


class _Error(EvalMetric):
    """The mean over batches of a distance.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    _rule: Any

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch of labels and predictions of shapes that broadcast; vectors are columns.

        Raises:
            ValueError: the shapes do not fit, or there are more labels than predictions, or fewer.
        """
        for label, pred in pairs(labels, preds):
            try:
                totals = measured(self._rule, [label, pred])
            except ShapeError as error:
                raise SizeError(str(error)) from None
            self._mx_add(totals, [pred])


@register
class MAE(_Error):
    """Mean over batches of the mean absolute error.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    _rule = absolute_error

    __init__ = with_defaults(_Error.__init__, name="mae")


@register
class MSE(_Error):
    """Mean over batches of the mean squared error.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    _rule = squared_error

    __init__ = with_defaults(_Error.__init__, name="mse")


@register
class RMSE(_Error):
    """Mean over batches of the root of the mean squared error.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    _rule = root_of_squared_error

    __init__ = with_defaults(_Error.__init__, name="rmse")
