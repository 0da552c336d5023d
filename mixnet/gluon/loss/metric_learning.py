"""Losses of embeddings: similar samples are to be close, others apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.base import (
    CheckError,
)
from mixnet.gluon.loss.base import Loss, _apply_weighting, _as_kind, _reshape_like
from mixnet.gluon.loss.classification import KLDivLoss
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


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
