"""The loss of sequences whose labels are not aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.base import (
    CheckError,
)
from mixnet.gluon.loss.base import Loss, _apply_weighting
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


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
