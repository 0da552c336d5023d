"""``mx.gluon``: networks as Python classes, imperative or compiled."""

from typing import TYPE_CHECKING

from mixnet.gluon import block as block
from mixnet.gluon import loss as loss
from mixnet.gluon import nn as nn
from mixnet.gluon import parameter as parameter
from mixnet.gluon import rnn as rnn
from mixnet.gluon import utils as utils
from mixnet.gluon.block import Block as Block
from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.block import SymbolBlock as SymbolBlock
from mixnet.gluon.block.import_stablehlo import import_stablehlo as import_stablehlo
from mixnet.gluon.parameter import Constant as Constant
from mixnet.gluon.parameter import DeferredInitializationError as DeferredInitializationError
from mixnet.gluon.parameter import Parameter as Parameter
from mixnet.gluon.parameter import ParameterDict as ParameterDict
from mixnet.gluon.parameter import tensor_types as tensor_types
from mixnet.gluon.trainer import Trainer as Trainer
from mixnet.process.lazy import names_later as _names_later

if TYPE_CHECKING:
    from mixnet.gluon import contrib as contrib
    from mixnet.gluon import data as data
    from mixnet.gluon import model_zoo as model_zoo

# Loaded on first use: it is two thirds of the import time of this package.
__getattr__, __dir__ = _names_later(
    globals(), {each: f".{each}" for each in ("contrib", "data", "model_zoo")}
)
