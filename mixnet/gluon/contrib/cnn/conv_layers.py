"""``mx.gluon.contrib.cnn.conv_layers``: deformable convolutions, under MXNet's import path."""

from mixnet.gluon.contrib.cnn.deformable import DeformableConvolution as DeformableConvolution
from mixnet.gluon.contrib.cnn.deformable import (
    ModulatedDeformableConvolution as ModulatedDeformableConvolution,
)
