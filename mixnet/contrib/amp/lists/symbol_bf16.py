"""MXNet 1.9.1's lists of operators for bfloat16: where they differ from those for float16."""

from mixnet.contrib.amp.lists import symbol_fp16 as _half
from mixnet.contrib.amp.lists.symbol_fp16 import CONDITIONAL_FP32_FUNCS as CONDITIONAL_FP32_FUNCS
from mixnet.contrib.amp.lists.symbol_fp16 import LOSS_OUTPUT_FUNCTIONS as LOSS_OUTPUT_FUNCTIONS

BF16_FUNCS = ["Convolution", "FullyConnected"]
"""Operators that compute in bfloat16."""

_STATISTICS = ["", "gamma", "beta", "moving_mean", "moving_var"]
BF16_USE_FP32_PARAMS = {"BatchNorm": _STATISTICS, "BatchNormWithReLU": _STATISTICS}
"""Operators whose parameters stay in float32; the empty name stands for the data."""

BF16_FP32_FUNCS = [
    "BatchNorm",
    "BatchNormWithReLU",
    "Concat",
    "LRN",
    "Pooling",
    "_add",
    "_shuffle",
    "abs",
    "clip",
    "concat",
    "relu",
    "shuffle",
    "sqrt",
    "square",
    "tanh",
]
"""Operators that compute in the precision that comes."""

_WIDE_IN_HALF = [
    "Concat",
    "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "broadcast_mul",
    "concat",
]
_NO_OPERATORS = [
    "CuDNNBatchNorm",
    "_TensorRT",
    "_contrib_MultiBoxDetection",
    "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget",
    "amp_cast",
    "amp_multicast",
]

WIDEST_TYPE_CASTS = sorted(
    ({*_half.WIDEST_TYPE_CASTS} - {*_WIDE_IN_HALF})
    | {"_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"}
)
"""Operators whose inputs all get the widest precision among them."""

FP32_FUNCS = sorted(
    {*_half.FP32_FUNCS, *_half.FP16_FP32_FUNCS, "Deconvolution", "RNN", "broadcast_mul"}
    - {*BF16_FP32_FUNCS, *_NO_OPERATORS}
)
"""Operators that need float32."""
