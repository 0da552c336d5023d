"""``mx.contrib.quantization``: int8 models from float ones, which mixnet does not make yet."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import numpy as np

from mixnet.base import MXNetError
from mixnet.context import Context, cpu
from mixnet.lazy import submodules

__getattr__, __dir__ = submodules(__name__, {"stats": "scipy.stats"}, globals())


def _refuse(name: str) -> NoReturn:
    raise MXNetError(
        f"{name}: making int8 models is not part of mixnet yet. MXNet 1.9.1 makes them, and the files "
        f"it saves load and run here; the operators mx.nd.contrib.quantize_v2, quantized_conv, "
        f"requantize, ... are here as well."
    )


def quantize_model(
    sym: Any,
    arg_params: Any,
    aux_params: Any,
    data_names: Any = ("data",),
    label_names: Any = ("softmax_label",),
    ctx: Context = cpu(),
    excluded_sym_names: Any = None,
    excluded_op_names: Any = None,
    calib_mode: str = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> Any:
    """An int8 symbol and its parameters.

    Raises:
        MXNetError: always.
    """
    _refuse("quantize_model")


def quantize_model_mkldnn(
    sym: Any,
    arg_params: Any,
    aux_params: Any,
    data_names: Any = ("data",),
    label_names: Any = ("softmax_label",),
    ctx: Context = cpu(),
    excluded_sym_names: Any = None,
    excluded_op_names: Any = None,
    calib_mode: str = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> Any:
    """The same, with operators fused as oneDNN has them.

    Raises:
        MXNetError: always.
    """
    _refuse("quantize_model_mkldnn")


def quantize_graph(
    sym: Any,
    arg_params: Any,
    aux_params: Any,
    ctx: Context = cpu(),
    excluded_sym_names: Any = None,
    excluded_op_names: Any = None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Any = None,
    logger: Any = None,
) -> Any:
    """An int8 symbol that is to be calibrated.

    Raises:
        MXNetError: always.
    """
    _refuse("quantize_graph")


def calib_graph(
    qsym: Any,
    arg_params: Any,
    aux_params: Any,
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> Any:
    """A calibrated int8 symbol.

    Raises:
        MXNetError: always.
    """
    _refuse("calib_graph")


def quantize_net_v2(
    network: Any,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Any = None,
    exclude_layers_match: Any = None,
    exclude_operators: Any = None,
    calib_data: Any = None,
    data_shapes: Any = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    LayerOutputCollector: Any = None,
    logger: Any = None,
) -> Any:
    """An int8 ``SymbolBlock`` from a Gluon block.

    Raises:
        MXNetError: always.
    """
    _refuse("quantize_net_v2")


def quantize_net(
    network: Any,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Any = None,
    exclude_layers_match: Any = None,
    exclude_operators: Any = None,
    calib_data: Any = None,
    data_shapes: Any = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    logger: Any = None,
) -> Any:
    """The same under its older name.

    Raises:
        MXNetError: always.
    """
    _refuse("quantize_net")


def combine_histogram(
    old_hist: Any, arr: np.ndarray, new_min: float, new_max: float, new_th: float
) -> Any:
    """A histogram of activations with one more batch in it.

    Args:
        old_hist: (counts, edges, smallest, largest, threshold); the range is ± threshold.
        arr: the batch.
        new_min: its smallest value.
        new_max: its largest value.
        new_th: the larger of their absolute values.

    Returns:
        The same five things.
    """
    counts, edges, old_min, old_max, old_th = old_hist
    if new_th > old_th:
        # Bins keep their width: as many are put on both sides as the range needs.
        width = 2 * old_th / len(counts)
        more = int((new_th - old_th) // width + 1)
        old_th = old_th + more * width
        counts = np.pad(counts, more)
    found, edges = np.histogram(arr, bins=len(counts), range=(-old_th, old_th))
    return found + counts, edges, min(old_min, new_min), max(old_max, new_max), old_th
