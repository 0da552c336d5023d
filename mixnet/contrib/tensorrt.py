"""``mx.contrib.tensorrt``: settings of the backend ``TensorRT``."""

from __future__ import annotations

from typing import Any

from mixnet.onnx.runtime import get_use_fp16 as get_use_fp16
from mixnet.onnx.runtime import set_use_fp16 as set_use_fp16
from mixnet.symbol.symbol import Symbol


def init_tensorrt_params(sym: Symbol, arg_params: Any, aux_params: Any) -> tuple[Any, Any]:
    """The parameters that an optimized symbol still reads: its parts hold the others.

    Args:
        sym: of ``Symbol.optimize_for``.
        arg_params: parameters by name.
        aux_params: states by name.
    """
    names = set(sym.list_inputs())
    return tuple(
        {name: each for name, each in arrays.items() if name in names}
        for arrays in (arg_params, aux_params)
    )  # type: ignore[return-value]
