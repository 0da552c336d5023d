"""Networks with 8-bit integers."""

from mixnet.ops.quantized import arithmetic as arithmetic
from mixnet.ops.quantized import calibrate as calibrate
from mixnet.ops.quantized import fused as fused
from mixnet.ops.quantized import layers as layers
from mixnet.ops.quantized import quantize as quantize
from mixnet.ops.quantized import recurrent as recurrent
from mixnet.ops.quantized import rows as rows
