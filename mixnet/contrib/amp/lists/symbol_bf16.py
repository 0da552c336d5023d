"""MXNet 1.9.1's lists of operators for bfloat16, built from the operators' declarations."""

from mixnet.contrib.amp.lists import symbol_fp16 as _half
from mixnet.contrib.amp.lists.declared import in_bfloat16
from mixnet.contrib.amp.lists.symbol_fp16 import CONDITIONAL_FP32_FUNCS as CONDITIONAL_FP32_FUNCS
from mixnet.contrib.amp.lists.symbol_fp16 import LOSS_OUTPUT_FUNCTIONS as LOSS_OUTPUT_FUNCTIONS

_HALF = {
    **dict.fromkeys(_half.FP16_FUNCS, "low"),
    **dict.fromkeys(_half.FP16_FP32_FUNCS, "any"),
    **dict.fromkeys(_half.FP32_FUNCS, "full"),
    **dict.fromkeys(_half.WIDEST_TYPE_CASTS, "widest"),
}

BF16_FUNCS = in_bfloat16("low", _HALF)
"""Operators that compute in bfloat16."""

_STATISTICS = ["", "gamma", "beta", "moving_mean", "moving_var"]
BF16_USE_FP32_PARAMS = {"BatchNorm": _STATISTICS, "BatchNormWithReLU": _STATISTICS}
"""Operators whose parameters stay in float32; the empty name stands for the data."""

BF16_FP32_FUNCS = in_bfloat16("any", _HALF, include=["BatchNormWithReLU", "_add"])
"""Operators that compute in the precision of their inputs."""

WIDEST_TYPE_CASTS = in_bfloat16("widest", _HALF)
"""Operators whose inputs all get the widest precision among them."""

FP32_FUNCS = in_bfloat16("full", _HALF, exclude=["CuDNNBatchNorm", "_TensorRT", "_add"])
"""Operators that need float32."""
