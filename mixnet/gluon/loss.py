"""Losses: one number per sample."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.base import (
    AttributeValueError,
    CheckError,
    NotAnArrayError,
    NotDefinedError,
    ShapeError,
    SizeError,
    numeric_types,
)
from mixnet.gluon.block import HybridBlock
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


def _apply_weighting(
    F: ModuleType,
    loss: Any,
    weight: Any = None,
    sample_weight: Tensor | None = None,
) -> Any:
    """The loss times the weights of its samples, times a number.

    Args:
        F: ``mx.nd`` or ``mx.sym``.
        loss: per element.
        weight: a number, None for 1.
        sample_weight: broadcast to the loss.

    Raises:
        CheckError: ``weight`` is not a number.
    """
    if sample_weight is not None:
        # mx.np multiplies by booleans too, as masks are.
        loss = loss * sample_weight if is_np_array() else F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise CheckError(
                f"weight={weight!r} is not a number; weights of samples go into the call, as "
                f"sample_weight."
            )
        loss = loss * weight
    return loss


def _reshape_like(F: ModuleType, x: Tensor, y: Tensor) -> Any:
    """``x`` in the shape of ``y``.

    Raises:
        NotAnArrayError: ``x`` is not an array.
        ShapeError: their sizes differ.
    """
    if not isinstance(x, (NDArray, Symbol)):
        raise NotAnArrayError(
            f"an NDArray is needed, not {x!r:.60}; make one with mx.nd.array(...)"
        )
    if isinstance(x, NDArray) and isinstance(y, NDArray) and x.size != y.size:
        raise SizeError(f"shapes {x.shape} and {y.shape} must have the same number of elements")
    return F.reshape_like(x, y)


def _as_kind(result: Any, like: Tensor) -> Any:
    """Convert an array or symbol to the semantics (NumPy's or MXNet's) of another."""
    return result.as_np_ndarray() if isinstance(like, (np_ndarray, NumpySymbol)) else result


class Loss(HybridBlock):
    """Base of losses.

    Args:
        weight: factor of the loss, None for 1.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any):
        super().__init__(**kwargs)
        if not (weight is None or isinstance(weight, numeric_types)):
            raise CheckError(
                f"{type(self).__name__}: weight={weight!r:.60} is not a number; weights of samples go "
                f"into the call, as sample_weight."
            )
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def __call__(self, *args: Any) -> Any:
        """The loss of every sample.

        Raises:
            MXNetError: raised by ``hybrid_forward``; the message gives the shapes of the inputs.
        """
        try:
            return super().__call__(*args)
        except (ShapeError, NotAnArrayError) as error:
            if not any(isinstance(each, NDArray) for each in args):
                raise
            names = list(inspect.signature(self.hybrid_forward).parameters)[1:]
            inputs = ", ".join(
                f"{name}: {each.shape if isinstance(each, NDArray) else repr(each)[:40]}"
                for name, each in zip(names, args, strict=False)
            )
            raise type(error)(
                f"{type(self).__name__} does not take ({inputs}): {str(error).rstrip('.')}."
                f"{self._hint(*args)}"
            ) from None

    def _hint(self, *args: object) -> str:
        """Advice for inputs whose shapes do not match, with a leading space."""
        return ""

    def hybrid_forward(self, F: ModuleType, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """The loss of every sample; to be overridden."""
        raise NotDefinedError(f"{type(self).__name__} does not define hybrid_forward.")

    def _per_sample(self, F: ModuleType, loss: Any, sample_weight: Any) -> Any:
        """The weighted loss, its mean over a sample."""
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L2Loss(Loss):
    """Half the squared difference: ``weight / 2 · (label - pred)²``, mean over a sample.

    Args:
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        label = _reshape_like(F, label, pred)
        loss = F.square(label - pred)
        half = None if self._weight is None else self._weight / 2
        loss = _apply_weighting(F, loss, half, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L1Loss(Loss):
    """The absolute difference: ``weight · |label - pred|``, mean over a sample.

    Args:
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        label = _reshape_like(F, label, pred)
        return self._per_sample(F, F.abs(label - pred), sample_weight)


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
        return self._per_sample(F, loss, sample_weight)


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

    def _hint(self, *args: object) -> str:
        shapes = [getattr(each, "shape", None) for each in args[:2]]
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
        return self._per_sample(F, loss, sample_weight)


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


class CTCLoss(Loss):
    """Connectionist temporal classification: labels of sequences without alignment.

    The last class is the blank. Source: Graves et al., 2006.

    Args:
        layout: of the predictions: ``NTC`` or ``TNC``.
        label_layout: of the labels: ``NT`` or ``TN``.
        weight: factor of the loss.
        kwargs: ``prefix``, ``params``.

    Raises:
        CheckError: an unknown layout; also an AssertionError.
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Any,
    ):
        if layout not in ("NTC", "TNC"):
            raise CheckError(f"CTCLoss: layout={layout!r} is not 'NTC' or 'TNC'.")
        if label_layout not in ("NT", "TN"):
            raise CheckError(f"CTCLoss: label_layout={label_layout!r} is not 'NT' or 'TN'.")
        self._layout, self._label_layout = layout, label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        pred_lengths: Tensor | None = None,
        label_lengths: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss of every sample.

        Args:
            F: ``mx.nd`` or ``mx.sym``.
            pred: scores of classes, before softmax.
            label: class indices; without lengths, padded with -1.
            pred_lengths: steps of each sample.
            label_lengths: labels of each sample.
            sample_weight: weights of samples.
        """
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """``(label - pred)² / (2 rho)`` up to ``rho``, ``|label - pred| - rho / 2`` beyond; mean over a sample.

    Args:
        rho: the difference at which the square turns into a line.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss ``(batch,)``; ``label`` is shaped like ``pred``, ``sample_weight`` ``(batch, 1, ...)``."""
        label = _reshape_like(F, label, pred)
        loss = F.abs(label - pred)
        loss = F.where(loss > self._rho, loss - 0.5 * self._rho, (0.5 / self._rho) * F.square(loss))
        return self._per_sample(F, loss, sample_weight)


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
        return self._per_sample(F, self._shortfall(F, pred, label), sample_weight)


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
        return self._per_sample(F, loss, sample_weight)


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
        return self._per_sample(F, _binary_cross_entropy(F, pred, label), sample_weight)


class TripletLoss(Loss):
    """``max(0, |positive - pred|² - |negative - pred|² + margin)`` of every sample.

    Args:
        margin: by how much the positive sample must be closer.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: ModuleType, pred: Tensor, positive: Tensor, negative: Tensor
    ) -> Any:
        """The loss of every sample."""
        positive = _reshape_like(F, positive, pred)
        negative = _reshape_like(F, negative, pred)
        loss = F.sum(
            F.square(positive - pred) - F.square(negative - pred),
            axis=self._batch_axis,
            exclude=True,
        )
        return _apply_weighting(F, F.relu(loss + self._margin), self._weight, None)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts under Poisson distributions, mean over the whole batch.

    Args:
        weight: factor of the loss.
        from_logits: predictions are logarithms of the rates.
        batch_axis: axis of the samples.
        compute_full: add the terms that do not depend on the predictions, by Stirling's formula.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._compute_full = from_logits, compute_full

    def hybrid_forward(
        self,
        F: ModuleType,
        pred: Tensor,
        target: Tensor,
        sample_weight: Tensor | None = None,
        epsilon: float = 1e-08,
    ) -> Any:
        """The loss of the batch.

        Args:
            F: ``mx.nd`` or ``mx.sym``.
            pred: predictions.
            target: counts.
            sample_weight: weights of samples.
            epsilon: added to rates before their logarithm.
        """
        target = _reshape_like(F, target, pred)
        logged = self._from_logits
        loss = F.exp(pred) - target * pred if logged else pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + stirling * (target > 1)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss)


class CosineEmbeddingLoss(Loss):
    """``1 - cos(input1, input2)`` for label 1, ``max(0, cos - margin)`` for label -1.

    Args:
        weight: factor of the loss.
        batch_axis: axis of the samples.
        margin: cosine below which dissimilar pairs have no loss.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self,
        F: ModuleType,
        input1: Tensor,
        input2: Tensor,
        label: Tensor,
        sample_weight: Tensor | None = None,
    ) -> Any:
        """The loss of every sample, ``(batch, 1)``."""
        input1 = _reshape_like(F, input1, input2)
        cosine = self._cosine_similarity(F, input1, input2)
        label = label.reshape((-1, 1))
        near = (1 - cosine) * (label == 1)
        far = F.broadcast_maximum(
            self._number(F, 0.0, label), (label == -1) * (cosine - self._margin)
        )
        return _apply_weighting(F, near + far, self._weight, sample_weight)

    def _cosine_similarity(self, F: ModuleType, x: Tensor, y: Tensor, axis: int = -1) -> Any:
        lengths = F.norm(x, axis=axis).reshape((-1, 1)) * F.norm(y, axis=axis).reshape((-1, 1))
        product = F.sum(x * y, axis=axis).reshape((-1, 1))
        return product / F.broadcast_maximum(lengths, self._number(F, 1e-12, x))

    @staticmethod
    def _number(F: ModuleType, value: float, like: Tensor) -> Any:
        """An array or symbol ``(1, 1)`` of a number, of the same kind as another."""
        if isinstance(like, Symbol):
            number = F.full((1, 1), value) if value else F.zeros((1, 1))
        else:
            number = F.full((1, 1), value, ctx=like.context, dtype=like.dtype)
        return _as_kind(number, like)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: pairs in a batch match, all other combinations do not.

    Source: Bonadiman, Kumar and Mittal, 2019.

    Args:
        smoothing_parameter: total probability of non-matching pairs.
        weight: factor of the loss.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: ModuleType, x1: Tensor, x2: Tensor) -> Any:
        """The loss of every sample.

        Args:
            F: ``mx.nd`` or ``mx.sym``.
            x1: ``(batch, features)``.
            x2: the match of each row of ``x1``.

        Raises:
            CheckError: the shapes differ.
        """
        if x1.shape != x2.shape:
            raise CheckError(
                f"SDMLLoss: x1 {x1.shape} and x2 {x2.shape} must have the same shape: row i of one "
                f"matches row i of the other."
            )
        batch = x1.shape[0]
        wrong = self.smoothing_parameter / (batch - 1)
        same = F.eye(batch, ctx=x1.context, dtype=x1.dtype)
        labels = same * (1 - self.smoothing_parameter) + (1 - same) * wrong
        labels = _as_kind(labels, x1)
        difference = F.broadcast_sub(x1.expand_dims(1), x2.expand_dims(0))
        distances = F.sum(F.square(difference), axis=2)
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)
