"""The registry of metrics: created from names, configurations, functions and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import registry
from mixnet.metric.evaluation import EvalMetric

if TYPE_CHECKING:
    from mixnet.metric.evaluation import MetricLike

register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


def create(metric: MetricLike, *args: Any, **kwargs: object) -> EvalMetric:
    """A metric from its name, a metric, a function, a list of these, or a configuration.

    Args:
        metric: ``'acc'``, a metric, ``feval(label, pred)``, a list for a composite metric, what
            ``get_config()`` gave, or that as JSON.
        args: arguments of the metric.
        kwargs: arguments of the metric.

    Raises:
        AssertionError: no metric has that name.
    """
    if isinstance(metric, EvalMetric):
        return _create(metric, *args, **kwargs)
    if callable(metric):
        return _create("custommetric", metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = _create("composite")
        add = composite.add  # type: ignore[attr-defined]
        for each in metric:
            add(create(each, *args, **kwargs))
        return composite
    return _create(metric, *args, **kwargs)
