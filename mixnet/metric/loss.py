"""Metrics that average the loss outputs of a network."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from mixnet.metric.evaluation import Batch, EvalMetric
from mixnet.metric.registry import register
from mixnet.metric.totals import as_array, measure, measured
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find


@measure
def total_loss(pred):
    """Sum of all elements, and their number."""
    total = find("sum").function(pred)
    return jnp.stack([total.reshape(()).astype(jnp.float64), jnp.float64(pred.size)])


@register
class Loss(EvalMetric):
    """Mean of all elements of the outputs; labels do not matter.

    Args:
        name: shown beside the value.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: object, preds: Batch) -> None:
        """Add the outputs of a batch."""
        if isinstance(preds, (NDArray, np.ndarray)):
            preds = [preds]
        for pred in preds:
            self._mx_add(measured(total_loss, [as_array(pred)]), [pred])


@register
class Torch(Loss):
    """``Loss`` by another name.

    Args:
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        name: str = "torch",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """``Loss`` by another name.

    Args:
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        name: str = "caffe",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        super().__init__(name, output_names, label_names)
