"""Several metrics as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError
from mixnet.metric.evaluation import Batch, EvalMetric, together
from mixnet.metric.registry import alias, create, register

if TYPE_CHECKING:
    from mixnet.metric.evaluation import MetricLike


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics on the same batches.

    Args:
        metrics: metrics or their names.
        name: accepted for compatibility; the values have the names of the metrics.
        output_names: which outputs the metrics see; all by default.
        label_names: which labels the metrics see; all by default.
    """

    def __init__(
        self,
        metrics: Sequence[MetricLike] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ):
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self.metrics = [create(each) for each in ([] if metrics is None else metrics)]

    def add(self, metric: MetricLike) -> None:
        """Add a metric, by its name or itself."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at a place.

        Args:
            index: position of the metric.

        Raises:
            ValueError: there is none.
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise AttributeValueError(
                f"Metric index {index} is out of range 0 and {len(self.metrics)}"
            ) from None

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        """Add a batch whose labels and outputs have names.

        Args:
            preds: outputs by name.
        """
        if self.label_names is not None:
            labels = {name: each for name, each in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: each for name, each in preds.items() if name in self.output_names}
        with together():
            for metric in self.metrics:
                metric.update_dict(labels, preds)

    def update(self, labels: Batch, preds: Batch) -> None:
        """Add a batch to every metric."""
        with together():
            for metric in self.metrics:
                metric.update(labels, preds)

    def reset(self) -> None:
        """Reset all metrics."""
        super().reset()
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Reset what ``get`` returns for all metrics."""
        super().reset_local()
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        """Names and values of all metrics."""
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[Any]]:
        """Names and values of all metrics over all time."""
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        """The configuration from which ``mx.metric.create`` creates the same metrics."""
        return {**super().get_config(), "metrics": [each.get_config() for each in self.metrics]}


def _joined(pairs: Any) -> tuple[list[str], list[Any]]:
    names: list[str] = []
    values: list[Any] = []
    for name, value in pairs:  # a metric with several gives lists, tuples or iterators
        names += [name] if isinstance(name, str) else name
        values += value if isinstance(value, (list, tuple, Iterator)) else [value]
    return names, values
