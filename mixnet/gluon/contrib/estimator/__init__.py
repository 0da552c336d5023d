"""Estimator: a training loop as an object that calls event handlers."""

from mixnet.gluon.contrib.estimator import batch_processor as batch_processor
from mixnet.gluon.contrib.estimator import estimator as estimator
from mixnet.gluon.contrib.estimator import event_handler as event_handler
from mixnet.gluon.contrib.estimator import utils as utils
from mixnet.gluon.contrib.estimator.batch_processor import BatchProcessor as BatchProcessor
from mixnet.gluon.contrib.estimator.checkpoint import CheckpointHandler as CheckpointHandler
from mixnet.gluon.contrib.estimator.estimator import Estimator as Estimator
from mixnet.gluon.contrib.estimator.event_handler import BatchBegin as BatchBegin
from mixnet.gluon.contrib.estimator.event_handler import BatchEnd as BatchEnd
from mixnet.gluon.contrib.estimator.event_handler import (
    EarlyStoppingHandler as EarlyStoppingHandler,
)
from mixnet.gluon.contrib.estimator.event_handler import EpochBegin as EpochBegin
from mixnet.gluon.contrib.estimator.event_handler import EpochEnd as EpochEnd
from mixnet.gluon.contrib.estimator.event_handler import (
    GradientUpdateHandler as GradientUpdateHandler,
)
from mixnet.gluon.contrib.estimator.event_handler import LoggingHandler as LoggingHandler
from mixnet.gluon.contrib.estimator.event_handler import MetricHandler as MetricHandler
from mixnet.gluon.contrib.estimator.event_handler import StoppingHandler as StoppingHandler
from mixnet.gluon.contrib.estimator.event_handler import TrainBegin as TrainBegin
from mixnet.gluon.contrib.estimator.event_handler import TrainEnd as TrainEnd
from mixnet.gluon.contrib.estimator.event_handler import ValidationHandler as ValidationHandler
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("batch_processor", "estimator", "event_handler", "utils"))
