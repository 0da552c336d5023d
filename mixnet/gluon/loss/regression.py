"""Losses of predicted numbers and counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.gluon.loss.base import Loss, _apply_weighting, _reshape_like
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


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
        return self._mx_mean(F, _apply_weighting(F, loss, half, sample_weight))


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
        return self._mx_per_sample(F, F.abs(label - pred), sample_weight)


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
        return self._mx_per_sample(F, loss, sample_weight)


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
