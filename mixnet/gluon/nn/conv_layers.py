"""``mx.gluon.nn.conv_layers``: layers of images, by MXNet's import path."""

from mixnet.gluon.block import HybridBlock as HybridBlock
from mixnet.gluon.nn.activation import Activation as Activation
from mixnet.gluon.nn.convolution import Conv1D as Conv1D
from mixnet.gluon.nn.convolution import Conv1DTranspose as Conv1DTranspose
from mixnet.gluon.nn.convolution import Conv2D as Conv2D
from mixnet.gluon.nn.convolution import Conv2DTranspose as Conv2DTranspose
from mixnet.gluon.nn.convolution import Conv3D as Conv3D
from mixnet.gluon.nn.convolution import Conv3DTranspose as Conv3DTranspose
from mixnet.gluon.nn.convolution import _Conv as _Conv
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
from mixnet.gluon.nn.pooling import _Pooling as _Pooling
