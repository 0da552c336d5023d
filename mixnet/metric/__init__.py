"""Metrics: sums over batches that stay on the device, read as means."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import math as math
import typing as _typing
from collections import OrderedDict as OrderedDict

import numpy as numpy

from mixnet import ndarray as ndarray
from mixnet.base import numeric_types as numeric_types
from mixnet.base import string_types as string_types
from mixnet.metric.accuracy import Accuracy as Accuracy
from mixnet.metric.accuracy import TopKAccuracy as TopKAccuracy
from mixnet.metric.binary import F1 as F1
from mixnet.metric.binary import MCC as MCC
from mixnet.metric.composite import CompositeEvalMetric as CompositeEvalMetric
from mixnet.metric.confusion import PCC as PCC
from mixnet.metric.correlation import PearsonCorrelation as PearsonCorrelation
from mixnet.metric.custom import CustomMetric as CustomMetric
from mixnet.metric.custom import np as np
from mixnet.metric.evaluation import EvalMetric as EvalMetric
from mixnet.metric.evaluation import check_label_shapes as check_label_shapes
from mixnet.metric.likelihood import CrossEntropy as CrossEntropy
from mixnet.metric.likelihood import NegativeLogLikelihood as NegativeLogLikelihood
from mixnet.metric.likelihood import Perplexity as Perplexity
from mixnet.metric.loss import Caffe as Caffe
from mixnet.metric.loss import Loss as Loss
from mixnet.metric.loss import Torch as Torch
from mixnet.metric.registry import alias as alias
from mixnet.metric.registry import create as create
from mixnet.metric.registry import register as register
from mixnet.metric.regression import MAE as MAE
from mixnet.metric.regression import MSE as MSE
from mixnet.metric.regression import RMSE as RMSE
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("registry",))

if not _typing.TYPE_CHECKING:  # the error of a name that is misspelt names the nearest one
    __getattr__, __dir__ = _names_later(globals(), {})
