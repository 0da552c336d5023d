"""Optimizers: one update rule a file; what they share is in ``base``."""

from mixnet.optimizer import contrib as contrib
from mixnet.optimizer import optimizer as optimizer
from mixnet.optimizer.optimizer import DCASGD as DCASGD
from mixnet.optimizer.optimizer import FTML as FTML
from mixnet.optimizer.optimizer import LAMB as LAMB
from mixnet.optimizer.optimizer import LARS as LARS
from mixnet.optimizer.optimizer import LBSGD as LBSGD
from mixnet.optimizer.optimizer import NAG as NAG
from mixnet.optimizer.optimizer import SGD as SGD
from mixnet.optimizer.optimizer import SGLD as SGLD
from mixnet.optimizer.optimizer import AdaDelta as AdaDelta
from mixnet.optimizer.optimizer import AdaGrad as AdaGrad
from mixnet.optimizer.optimizer import Adam as Adam
from mixnet.optimizer.optimizer import Adamax as Adamax
from mixnet.optimizer.optimizer import Ftrl as Ftrl
from mixnet.optimizer.optimizer import Nadam as Nadam
from mixnet.optimizer.optimizer import NDabs as NDabs
from mixnet.optimizer.optimizer import Optimizer as Optimizer
from mixnet.optimizer.optimizer import RMSProp as RMSProp
from mixnet.optimizer.optimizer import Signum as Signum
from mixnet.optimizer.optimizer import Test as Test
from mixnet.optimizer.optimizer import Updater as Updater
from mixnet.optimizer.optimizer import ccSGD as ccSGD
from mixnet.optimizer.optimizer import create as create
from mixnet.optimizer.optimizer import get_updater as get_updater
from mixnet.optimizer.optimizer import register as register

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
    "contrib",
    "create",
    "get_updater",
    "register",
]
