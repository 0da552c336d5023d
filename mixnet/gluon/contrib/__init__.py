"""``mx.gluon.contrib``: additional layers, cells, data and the estimator."""

from mixnet.gluon.contrib import cnn as cnn
from mixnet.gluon.contrib import nn as nn
from mixnet.gluon.contrib import rnn as rnn
from mixnet.process.lazy import names_later as _names_later

__getattr__, __dir__ = _names_later(globals(), {"data": ".data", "estimator": ".estimator"})
