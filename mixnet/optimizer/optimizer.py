"""MXNet's import path of the optimizers, which are in separate files."""

from typing import Any as _Any

from mixnet import ndarray as _nd
from mixnet.base import UnknownAttributeError as _UnknownAttributeError
from mixnet.ndarray.namespace import OPERATORS as _OPERATORS
from mixnet.optimizer.adadelta import AdaDelta as AdaDelta
from mixnet.optimizer.adagrad import AdaGrad as AdaGrad
from mixnet.optimizer.adam import Adam as Adam
from mixnet.optimizer.adamax import Adamax as Adamax
from mixnet.optimizer.base import Optimizer as Optimizer
from mixnet.optimizer.base import create as create
from mixnet.optimizer.base import register as register
from mixnet.optimizer.dcasgd import DCASGD as DCASGD
from mixnet.optimizer.ftml import FTML as FTML
from mixnet.optimizer.ftrl import Ftrl as Ftrl
from mixnet.optimizer.lamb import LAMB as LAMB
from mixnet.optimizer.lars import LARS as LARS
from mixnet.optimizer.lbsgd import LBSGD as LBSGD
from mixnet.optimizer.nadam import Nadam as Nadam
from mixnet.optimizer.nag import NAG as NAG
from mixnet.optimizer.rmsprop import RMSProp as RMSProp
from mixnet.optimizer.sgd import SGD as SGD
from mixnet.optimizer.sgd import ccSGD as ccSGD
from mixnet.optimizer.sgld import SGLD as SGLD
from mixnet.optimizer.signum import Signum as Signum
from mixnet.optimizer.test import Test as Test
from mixnet.optimizer.updater import Updater as Updater
from mixnet.optimizer.updater import get_updater as get_updater

NDabs = _OPERATORS.function("abs")


def __getattr__(name: str) -> _Any:
    # Custom optimizers import from here the operators and arrays of MXNet's file.
    if name.startswith("_") or not hasattr(_nd, name):
        raise _UnknownAttributeError(f"module {__name__!r} has no attribute {name!r}.")
    return getattr(_nd, name)
