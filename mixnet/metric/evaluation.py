"""What metrics share: a sum, a count, a name."""

from __future__ import annotations

from typing import Any

from mixnet.base import MXNetError, ShapeError

_METRICS: dict[str, type[EvalMetric]] = {}


def register(*names: str) -> Any:
    """Decorator: make a metric class known by these names."""

    def add(klass: type[EvalMetric]) -> type[EvalMetric]:
        for name in (klass.__name__.lower(), *names):
            _METRICS[name] = klass
        return klass

    return add


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from itself or its name.

    Raises:
        MXNetError: no metric has that name.
    """
    if isinstance(metric, EvalMetric):
        return metric
    if not isinstance(metric, str) or metric.lower() not in _METRICS:
        raise MXNetError(f"{metric!r} is no metric; take one of {', '.join(sorted(_METRICS))}.")
    return _METRICS[metric.lower()](*args, **kwargs)


class EvalMetric:
    """Base of metrics: ``update`` with batches, then ``get``.

    Args:
        name: shown beside the value.
        output_names: kept for MXNet programs.
        label_names: kept for MXNet programs.
    """

    def __init__(
        self,
        name: str,
        output_names: Any = None,
        label_names: Any = None,
        **kwargs: Any,
    ):
        self.name = name
        self.output_names, self.label_names = output_names, label_names
        self.reset()

    def reset(self) -> None:
        """Start anew."""
        self.num_inst = 0
        self.sum_metric: float = 0.0

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: labels and predictions, arrays or lists of arrays."""
        raise MXNetError(f"{type(self).__name__} does not define update(labels, preds).")

    def get(self) -> tuple[str, float]:
        """Name and mean value; NaN before the first batch."""
        value = self.sum_metric / self.num_inst if self.num_inst else float("nan")
        return self.name, value

    def get_name_value(self) -> list[tuple[str, float]]:
        """Pairs of name and value."""
        name, value = self.get()
        return [(name, value)]

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"


def as_pairs(labels: Any, preds: Any) -> list[tuple[Any, Any]]:
    """Labels and predictions as a list of pairs.

    Raises:
        ShapeError: there are more of one than of the other.
    """
    labels = list(labels) if isinstance(labels, (list, tuple)) else [labels]
    preds = list(preds) if isinstance(preds, (list, tuple)) else [preds]
    if len(labels) != len(preds):
        raise ShapeError(f"metric: {len(labels)} label array(s), {len(preds)} prediction array(s).")
    return list(zip(labels, preds, strict=True))
