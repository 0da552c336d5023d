"""``mx.gluon.nn.activations``: activation layers, under MXNet's import path."""

from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.nn.activation import ELU as ELU
from mixnet.gluon.nn.activation import GELU as GELU
from mixnet.gluon.nn.activation import SELU as SELU
from mixnet.gluon.nn.activation import Activation as Activation
from mixnet.gluon.nn.activation import LeakyReLU as LeakyReLU
from mixnet.gluon.nn.activation import PReLU as PReLU
from mixnet.gluon.nn.activation import Swish as Swish
