"""MXNet's import path of the handlers."""

from mixnet.gluon.contrib.estimator.checkpoint import CheckpointHandler as CheckpointHandler
from mixnet.gluon.contrib.estimator.handlers import BatchBegin as BatchBegin
from mixnet.gluon.contrib.estimator.handlers import BatchEnd as BatchEnd
from mixnet.gluon.contrib.estimator.handlers import EarlyStoppingHandler as EarlyStoppingHandler
from mixnet.gluon.contrib.estimator.handlers import EpochBegin as EpochBegin
from mixnet.gluon.contrib.estimator.handlers import EpochEnd as EpochEnd
from mixnet.gluon.contrib.estimator.handlers import EventHandler as EventHandler
from mixnet.gluon.contrib.estimator.handlers import GradientUpdateHandler as GradientUpdateHandler
from mixnet.gluon.contrib.estimator.handlers import LoggingHandler as LoggingHandler
from mixnet.gluon.contrib.estimator.handlers import MetricHandler as MetricHandler
from mixnet.gluon.contrib.estimator.handlers import StoppingHandler as StoppingHandler
from mixnet.gluon.contrib.estimator.handlers import TrainBegin as TrainBegin
from mixnet.gluon.contrib.estimator.handlers import TrainEnd as TrainEnd
from mixnet.gluon.contrib.estimator.handlers import ValidationHandler as ValidationHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]
