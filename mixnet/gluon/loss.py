"""Losses: one number for every sample."""

from __future__ import annotations

from typing import Any

from mixnet.gluon.hybrid import HybridBlock


class Loss(HybridBlock):
    """Base of losses.

    Args:
        weight: factor of the loss, None for 1.
        batch_axis: axis of the samples.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any):
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def _weighted(self, F: Any, loss: Any, sample_weight: Any) -> Any:
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return loss if self._weight is None else loss * self._weight

    def _per_sample(self, F: Any, loss: Any) -> Any:
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


class L2Loss(Loss):
    """Half the squared difference: ``weight / 2 · (label - pred)²``, mean over a sample."""

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss of every sample."""
        loss = F.square(F.reshape_like(label, pred) - pred)
        half = None if self._weight is None else self._weight / 2
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return self._per_sample(F, loss if half is None else loss * half)


class L1Loss(Loss):
    """The absolute difference: ``weight · |label - pred|``, mean over a sample."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss of every sample."""
        loss = F.abs(F.reshape_like(label, pred) - pred)
        return self._per_sample(F, self._weighted(F, loss, sample_weight))


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of softmax with labels.

    Args:
        axis: axis of the classes.
        sparse_label: labels are class numbers; else probabilities.
        from_logits: predictions are logarithms of probabilities already.
        weight: factor of the loss.
        batch_axis: axis of the samples.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss of every sample."""
        logs = pred if self._from_logits else F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(logs, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(logs * F.reshape_like(label, logs), axis=self._axis, keepdims=True)
        return self._per_sample(F, self._weighted(F, loss, sample_weight))


SoftmaxCELoss = SoftmaxCrossEntropyLoss
