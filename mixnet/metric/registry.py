"""Metrics by name: registered, and made from names, configurations, functions and lists."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

from mixnet.metric.evaluation import EvalMetric

_METRICS: dict[str, type[EvalMetric]] = {}


def register(klass: type[EvalMetric], name: str | None = None) -> type[EvalMetric]:
    """Decorator: make a metric class known by a name, its own by default, in lower case.

    Raises:
        AssertionError: it is no metric class.
    """
    if not (isinstance(klass, type) and issubclass(klass, EvalMetric)):
        raise AssertionError(f"Can only register subclass of EvalMetric, not {klass!r}.")
    name = (klass.__name__ if name is None else name).lower()
    known = _METRICS.get(name)
    if known is not None:
        warnings.warn(
            f"\033[91mNew metric {klass.__module__}.{klass.__name__} registered with name {name} is"
            f"overriding existing metric {known.__module__}.{known.__name__}\033[0m",
            stacklevel=2,
        )
    _METRICS[name] = klass
    return klass


def alias(*aliases: str) -> Callable[[type[EvalMetric]], type[EvalMetric]]:
    """Decorator: make a metric class known by these names."""

    def name_it(klass: type[EvalMetric]) -> type[EvalMetric]:
        for each in aliases:
            register(klass, each)
        return klass

    return name_it


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
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
        if args or kwargs:
            raise AssertionError(f"{metric} is made already: it takes no arguments.")
        return metric
    named: dict[str, Any] = dict(_METRICS)
    if callable(metric):
        return named["custommetric"](metric, *args, **kwargs)  # type: ignore[no-any-return]
    if isinstance(metric, list):
        composite = named["composite"]()
        for each in metric:
            composite.add(create(each, *args, **kwargs))
        return composite  # type: ignore[no-any-return]
    if isinstance(metric, dict):
        return create(**metric)
    if not isinstance(metric, str):
        raise AssertionError(f"metric must be of string type, not {type(metric).__name__}.")
    if metric.startswith("["):
        name, given = json.loads(metric)
        return create(name, **given)
    if metric.startswith("{"):
        return create(**json.loads(metric))
    name = metric.lower()
    if name not in _METRICS:
        raise AssertionError(
            f"{name} is not registered. Please register with metric.register first; there are "
            f"{', '.join(sorted(_METRICS))}."
        )
    return named[name](*args, **kwargs)  # type: ignore[no-any-return]
