"""Losses of predicted classes and distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.array_like import shape_of
from mixnet.base import (
    AttributeValueError,
)
from mixnet.gluon.loss.base import Loss, _apply_weighting, _reshape_like
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


def _binary_cross_entropy(F: ModuleType, pred: Tensor, label: Tensor) -> Any:
    """Cross entropy of sigmoid(pred): ``max(pred, 0) - pred · label + log(1 + exp(-|pred|))``."""
    return F.relu(pred) - pred * label + F.Activation(-F.abs(pred), act_type="softrelu")


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Binary cross entropy of independent labels, mean over a sample.

    Args:
        from_sigmoid: predictions are already probabilities.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
        pos_weight: Tensor | float | None = None,
    ) -> Any:
        """The loss of every sample.

        Args:
            F: ``mx.nd`` or ``mx.sym``.
            pred: predictions.
            label: 0 or 1, or between.
            sample_weight: weights of samples.
            pos_weight: weight of positive labels, broadcast to the labels.
        """
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            least = 1e-12
            yes = F.log(pred + least) * label
            if pos_weight is not None:
                yes = F.broadcast_mul(yes, pos_weight)
            loss = -(yes + F.log(1.0 - pred + least) * (1.0 - label))
        elif pos_weight is None:
            loss = _binary_cross_entropy(F, pred, label)
        else:
            factor = 1 + F.broadcast_mul(pos_weight - 1, label)
            rest = F.Activation(-F.abs(pred), act_type="softrelu") + F.relu(-pred)
            loss = pred - pred * label + factor * rest
        return self._mx_per_sample(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of the softmax of predictions with labels, mean over a sample.

    Args:
        axis: axis of the classes.
        sparse_label: labels are class indices; otherwise probabilities.
        from_logits: predictions are already log probabilities.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
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

    def _mx_hint(self, *args: object) -> str:
        shapes = [shape_of(each) for each in args[:2]]
        if not self._sparse_label or shapes[0] != shapes[-1]:
            return ""
        return " Labels that are probabilities need SoftmaxCrossEntropyLoss(sparse_label=False)."

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)`` of ``pred`` ``(batch, classes)`` and ``label`` ``(batch,)``, weighted by
        ``sample_weight`` ``(batch, 1)``."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            label = _reshape_like(F, label, pred)
            loss = -F.sum(pred * label, axis=self._axis, keepdims=True)
        return self._mx_per_sample(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """Kullback-Leibler divergence of the labels' distribution from the predicted one, summed over a sample.

    Args:
        from_logits: predictions are already log probabilities.
        axis: axis of the classes.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._axis = from_logits, axis

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``: sums over a sample, not means; ``label`` is shaped like ``pred``,
        ``sample_weight`` ``(batch, 1)``."""
        if not self._from_logits:
            pred = F.log_softmax(pred, self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class _MarginLoss(Loss):
    """Base of losses for predictions that miss a margin."""

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _shortfall(self, F: ModuleType, pred: Tensor, label: Tensor) -> Any:
        """By how much each prediction misses the margin."""
        return F.relu(self._margin - pred * _reshape_like(F, label, pred))


class HingeLoss(_MarginLoss):
    """``max(0, margin - pred · label)`` for labels -1 and 1, mean over a sample.

    Args:
        margin: required margin.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        return self._mx_per_sample(F, self._shortfall(F, pred, label), sample_weight)


class SquaredHingeLoss(_MarginLoss):
    """``max(0, margin - pred · label)²`` for labels -1 and 1, mean over a sample.

    Args:
        margin: required margin.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        loss = F.square(self._shortfall(F, pred, label))
        return self._mx_per_sample(F, loss, sample_weight)


class LogisticLoss(Loss):
    """``log(1 + exp(-pred · label))``, mean over a sample.

    Args:
        weight: factor of the loss.
        batch_axis: axis of the samples.
        label_format: ``signed``: labels are -1 and 1; ``binary``: 0 and 1.
        kwargs: ``prefix``, ``params``.

    Raises:
        ValueError: another label format.
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise AttributeValueError(f"label_format={label_format!r} is not 'signed' or 'binary'.")
        self._label_format = label_format

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._mx_per_sample(F, _binary_cross_entropy(F, pred, label), sample_weight)
