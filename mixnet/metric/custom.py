"""Metrics from functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError, NotDefinedError
from mixnet.metric.evaluation import Batch, EvalMetric, check_label_shapes
from mixnet.metric.registry import register
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@register
class CustomMetric(EvalMetric):
    """A metric from a function; each update waits for the values, since the function sees them.

    Args:
        feval: ``feval(label, pred)`` with NumPy arrays gives a number, or sum and count.
        name: shown beside the value; the function's by default.
        allow_extra_outputs: there may be more predictions than labels.
        output_names: which outputs ``update_dict`` takes; all by default.
        label_names: which labels ``update_dict`` takes; all by default.
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        if not callable(feval):
            raise AttributeTypeError(
                f"A metric is created from a function of labels and predictions, not from "
                f"{feval!r:.60}."
            )
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Batch, preds: Batch) -> None:
        """Call the function with each label and prediction of a batch."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for pred, label in zip(preds, labels, strict=False):
            value = self._feval(_on_host(label), _on_host(pred))
            total, count = value if isinstance(value, tuple) else (value, 1)
            self.sum_metric += total
            self.num_inst += count
            self.global_sum_metric += total
            self.global_num_inst += count

    def get_config(self) -> dict[str, Any]:
        """Not available: a function cannot be serialized.

        Raises:
            NotImplementedError: always.
        """
        raise NotDefinedError(
            "CustomMetric cannot be serialized, because its function cannot. Derive a metric from "
            "EvalMetric."
        )


def _on_host(array: ArrayLike) -> Any:
    return array.asnumpy() if isinstance(array, NDArray) else array


def np(
    numpy_feval: Callable[[Any, Any], Any],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """A metric from a function of NumPy arrays.

    Args:
        numpy_feval: ``numpy_feval(label, pred)`` gives a number, or sum and count.
        name: shown beside the value; the function's by default.
        allow_extra_outputs: there may be more predictions than labels.
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
