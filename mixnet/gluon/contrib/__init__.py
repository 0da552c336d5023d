"""``mx.gluon.contrib``: layers, cells, data and the estimator beside the core of Gluon."""

from mixnet.gluon.contrib import cnn as cnn
from mixnet.gluon.contrib import nn as nn
