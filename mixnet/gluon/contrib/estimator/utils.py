"""Helpers of the estimator and its handlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.metric import EvalMetric


def _check_metrics(metrics: Any) -> list[EvalMetric]:
    """One metric or several as a list; None is none.

    Raises:
        ValueError: an invalid type.
    """
    if metrics is None:
        return []
    if isinstance(metrics, EvalMetric):
        return [metrics]
    checked = list(metrics) if isinstance(metrics, Iterable) else [metrics]
    if isinstance(metrics, str) or not all(isinstance(each, EvalMetric) for each in checked):
        raise AttributeValueError(
            f"metrics must be a metric or a list of metrics, such as mx.metric.Accuracy(), not "
            f"{metrics!r}."
        )
    return checked


def _check_handlers(handlers: Any, kind: type) -> list[Any]:
    """One handler or several as a new list.

    Raises:
        ValueError: an invalid type.
    """
    if handlers is None:
        return []
    checked = [handlers] if isinstance(handlers, kind) else list(handlers)
    if not all(isinstance(each, kind) for each in checked):
        raise AttributeValueError(
            f"handlers must be an EventHandler or a list of EventHandler, not {handlers!r}."
        )
    return checked


def _suggest_metric_for_loss(loss: object) -> EvalMetric | None:
    """The usual metric for a loss; None if there is none."""
    from mixnet.gluon.loss import SoftmaxCrossEntropyLoss
    from mixnet.metric import Accuracy

    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
