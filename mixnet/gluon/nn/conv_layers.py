"""``mx.gluon.nn.conv_layers``: convolution and pooling layers, under MXNet's import path."""

from collections.abc import Mapping, Sequence
from typing import Any

from mixnet import symbol as symbol
from mixnet.base import numeric_types as numeric_types
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


def _infer_weight_shape(
    op_name: str, data_shape: Sequence[int], kwargs: Mapping[str, Any]
) -> list[tuple[int, ...]]:
    """Shapes of the data, the weight and the bias of an operator, for user-defined layers.

    Args:
        op_name: such as ``Convolution``.
        data_shape: 0 for unknown dimensions, which remain 0 in the results.
        kwargs: the operator's attributes.
    """
    layer = getattr(symbol, op_name)(symbol.var("data", shape=tuple(data_shape)), **kwargs)
    shapes: list[tuple[int, ...]] = layer.infer_shape_partial()[0]
    return shapes
