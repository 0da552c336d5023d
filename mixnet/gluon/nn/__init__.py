"""``mx.gluon.nn``: layers."""

import typing as _typing

from mixnet.gluon.block import Block as Block
from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.block import SymbolBlock as SymbolBlock
from mixnet.gluon.nn import activations as activations
from mixnet.gluon.nn import basic_layers as basic_layers
from mixnet.gluon.nn import conv_layers as conv_layers
from mixnet.gluon.nn.activation import ELU as ELU
from mixnet.gluon.nn.activation import GELU as GELU
from mixnet.gluon.nn.activation import SELU as SELU
from mixnet.gluon.nn.activation import Activation as Activation
from mixnet.gluon.nn.activation import LeakyReLU as LeakyReLU
from mixnet.gluon.nn.activation import PReLU as PReLU
from mixnet.gluon.nn.activation import Swish as Swish
from mixnet.gluon.nn.container import HybridSequential as HybridSequential
from mixnet.gluon.nn.container import Sequential as Sequential
from mixnet.gluon.nn.convolution import Conv1D as Conv1D
from mixnet.gluon.nn.convolution import Conv1DTranspose as Conv1DTranspose
from mixnet.gluon.nn.convolution import Conv2D as Conv2D
from mixnet.gluon.nn.convolution import Conv2DTranspose as Conv2DTranspose
from mixnet.gluon.nn.convolution import Conv3D as Conv3D
from mixnet.gluon.nn.convolution import Conv3DTranspose as Conv3DTranspose
from mixnet.gluon.nn.dense import Dense as Dense
from mixnet.gluon.nn.dense import Dropout as Dropout
from mixnet.gluon.nn.dense import Flatten as Flatten
from mixnet.gluon.nn.embedding import Embedding as Embedding
from mixnet.gluon.nn.function import HybridLambda as HybridLambda
from mixnet.gluon.nn.function import Lambda as Lambda
from mixnet.gluon.nn.normalization import BatchNorm as BatchNorm
from mixnet.gluon.nn.normalization import BatchNormReLU as BatchNormReLU
from mixnet.gluon.nn.normalization import GroupNorm as GroupNorm
from mixnet.gluon.nn.normalization import InstanceNorm as InstanceNorm
from mixnet.gluon.nn.normalization import LayerNorm as LayerNorm
from mixnet.gluon.nn.padding import ReflectionPad2D as ReflectionPad2D
from mixnet.gluon.nn.pooling import AvgPool1D as AvgPool1D
from mixnet.gluon.nn.pooling import AvgPool2D as AvgPool2D
from mixnet.gluon.nn.pooling import AvgPool3D as AvgPool3D
from mixnet.gluon.nn.pooling import GlobalAvgPool1D as GlobalAvgPool1D
from mixnet.gluon.nn.pooling import GlobalAvgPool2D as GlobalAvgPool2D
from mixnet.gluon.nn.pooling import GlobalAvgPool3D as GlobalAvgPool3D
from mixnet.gluon.nn.pooling import GlobalMaxPool1D as GlobalMaxPool1D
from mixnet.gluon.nn.pooling import GlobalMaxPool2D as GlobalMaxPool2D
from mixnet.gluon.nn.pooling import GlobalMaxPool3D as GlobalMaxPool3D
from mixnet.gluon.nn.pooling import MaxPool1D as MaxPool1D
from mixnet.gluon.nn.pooling import MaxPool2D as MaxPool2D
from mixnet.gluon.nn.pooling import MaxPool3D as MaxPool3D
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("activations", "basic_layers", "conv_layers"))

if not _typing.TYPE_CHECKING:  # the error of a name that is misspelt names the nearest one
    __getattr__, __dir__ = _names_later(globals(), {})
