"""``mx.gluon.contrib.cnn``: convolutions whose sampling positions depend on the data."""

from mixnet.gluon.contrib.cnn import conv_layers as conv_layers
from mixnet.gluon.contrib.cnn.deformable import DeformableConvolution as DeformableConvolution
from mixnet.gluon.contrib.cnn.deformable import (
    ModulatedDeformableConvolution as ModulatedDeformableConvolution,
)
