"""MXNet's import path of the optimizers; each is in a file of its own."""

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

__all__ = [
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "DCASGD",
    "FTML",
    "Ftrl",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "NDabs",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "SGD",
    "SGLD",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]
