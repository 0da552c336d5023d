"""Optimizers: one update rule a file."""

from mixnet.optimizer.adam import Adam as Adam
from mixnet.optimizer.optimizer import Optimizer as Optimizer
from mixnet.optimizer.optimizer import create as create
from mixnet.optimizer.optimizer import register as register
from mixnet.optimizer.sgd import SGD as SGD
from mixnet.optimizer.updater import Updater as Updater
from mixnet.optimizer.updater import get_updater as get_updater
