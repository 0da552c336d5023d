"""Layers."""

from mixnet.gluon.block import Block as Block
from mixnet.gluon.hybrid import HybridBlock as HybridBlock
from mixnet.gluon.hybrid import SymbolBlock as SymbolBlock
from mixnet.gluon.nn.activation import Activation as Activation
from mixnet.gluon.nn.container import HybridSequential as HybridSequential
from mixnet.gluon.nn.container import Sequential as Sequential
from mixnet.gluon.nn.convolution import Conv1D as Conv1D
from mixnet.gluon.nn.convolution import Conv2D as Conv2D
from mixnet.gluon.nn.convolution import Conv3D as Conv3D
from mixnet.gluon.nn.dense import Dense as Dense
from mixnet.gluon.nn.dense import Dropout as Dropout
from mixnet.gluon.nn.dense import Embedding as Embedding
from mixnet.gluon.nn.dense import Flatten as Flatten
from mixnet.gluon.nn.dense import HybridLambda as HybridLambda
from mixnet.gluon.nn.dense import Lambda as Lambda
from mixnet.gluon.nn.normalization import BatchNorm as BatchNorm
from mixnet.gluon.nn.pooling import AvgPool2D as AvgPool2D
from mixnet.gluon.nn.pooling import GlobalAvgPool2D as GlobalAvgPool2D
from mixnet.gluon.nn.pooling import GlobalMaxPool2D as GlobalMaxPool2D
from mixnet.gluon.nn.pooling import MaxPool2D as MaxPool2D
