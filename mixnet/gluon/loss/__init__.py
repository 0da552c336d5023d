"""Losses: one number per sample."""

import typing as _typing

from mixnet import ndarray as ndarray
from mixnet.base import numeric_types as numeric_types
from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.loss.base import Loss as Loss
from mixnet.gluon.loss.base import _apply_weighting as _apply_weighting
from mixnet.gluon.loss.base import _reshape_like as _reshape_like
from mixnet.gluon.loss.classification import HingeLoss as HingeLoss
from mixnet.gluon.loss.classification import KLDivLoss as KLDivLoss
from mixnet.gluon.loss.classification import LogisticLoss as LogisticLoss
from mixnet.gluon.loss.classification import SigmoidBCELoss as SigmoidBCELoss
from mixnet.gluon.loss.classification import (
    SigmoidBinaryCrossEntropyLoss as SigmoidBinaryCrossEntropyLoss,
)
from mixnet.gluon.loss.classification import SoftmaxCELoss as SoftmaxCELoss
from mixnet.gluon.loss.classification import SoftmaxCrossEntropyLoss as SoftmaxCrossEntropyLoss
from mixnet.gluon.loss.classification import SquaredHingeLoss as SquaredHingeLoss
from mixnet.gluon.loss.metric_learning import CosineEmbeddingLoss as CosineEmbeddingLoss
from mixnet.gluon.loss.metric_learning import SDMLLoss as SDMLLoss
from mixnet.gluon.loss.metric_learning import TripletLoss as TripletLoss
from mixnet.gluon.loss.regression import HuberLoss as HuberLoss
from mixnet.gluon.loss.regression import L1Loss as L1Loss
from mixnet.gluon.loss.regression import L2Loss as L2Loss
from mixnet.gluon.loss.regression import PoissonNLLLoss as PoissonNLLLoss
from mixnet.gluon.loss.sequence import CTCLoss as CTCLoss
from mixnet.process.lazy import names_later as _names_later
from mixnet.util import is_np_array as is_np_array

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

if not _typing.TYPE_CHECKING:  # the error of a name that is misspelt names the nearest one
    __getattr__, __dir__ = _names_later(globals(), {})
