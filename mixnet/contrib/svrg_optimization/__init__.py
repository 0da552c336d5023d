"""Stochastic variance-reduced gradients: a Module whose gradients vary less between batches."""

from mixnet.contrib.svrg_optimization import svrg_module as svrg_module
from mixnet.contrib.svrg_optimization import svrg_optimizer as svrg_optimizer
