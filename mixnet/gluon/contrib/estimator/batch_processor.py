"""BatchProcessor: training and evaluation of one batch; override its methods to change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import autograd
from mixnet.gluon.utils import split_and_load

if TYPE_CHECKING:
    from mixnet.gluon.contrib.estimator.estimator import Estimator

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Forward and backward of one batch. The parameters are updated by a handler afterwards."""

    def __init__(self) -> None:
        pass

    def _get_data_and_label(
        self, batch: Any, ctx: list[Any], batch_axis: int = 0
    ) -> tuple[list[Any], list[Any]]:
        data = split_and_load(batch[0], ctx_list=ctx, batch_axis=batch_axis)
        label = split_and_load(batch[1], ctx_list=ctx, batch_axis=batch_axis)
        return data, label

    def evaluate_batch(self, estimator: Estimator, val_batch: Any, batch_axis: int = 0) -> Any:
        """Predictions and losses of a batch for validation.

        Args:
            estimator: has ``val_net``, ``val_loss`` and ``context``.
            val_batch: data and label.
            batch_axis: axis that is split over the contexts.

        Returns:
            Data, labels, predictions and losses: lists, one part for each context.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(self, estimator: Estimator, train_batch: object, batch_axis: int = 0) -> Any:
        """Predictions, losses and gradients of a batch to train with.

        Args:
            estimator: has ``net``, ``loss`` and ``context``.
            train_batch: data and label.
            batch_axis: axis that is split over the contexts.

        Returns:
            Data, labels, predictions and losses: lists, one part for each context.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss
