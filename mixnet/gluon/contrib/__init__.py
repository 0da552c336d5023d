"""``mx.gluon.contrib``: additional layers, cells, data and the estimator."""

from mixnet.gluon.contrib import cnn as cnn
from mixnet.gluon.contrib import nn as nn
from mixnet.gluon.contrib import rnn as rnn
from mixnet.process.lazy import submodules as _submodules

__getattr__, __dir__ = _submodules(
    __name__, {"data": ".data", "estimator": ".estimator"}, globals()
)
