"""``quantize_graph`` and ``calib_graph``: the steps of quantization one by one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError
from mixnet.context import Context, cpu
from mixnet.contrib.quantization.collect import (
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    ranges_of,
)
from mixnet.contrib.quantization.options import (
    check,
    check_mode,
    check_names,
    check_parameters,
    say,
)
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.fuse_layers import fuse_layers
from mixnet.passes.quantize_layers import Options, fold_rounding, quantize_layers, set_ranges
from mixnet.passes.set_training import set_training
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.contrib.quantization.collect import LayerOutputCollector as Collector

Arrays = Mapping[str, NDArray]


@dataclass(frozen=True)
class Step:
    """A quantized symbol that waits for ranges.

    Args:
        symbol: computes with integers.
        floats: the same network in floats, whose outputs are to be measured.
        measured: their names.
        arguments: parameters by name, the quantized ones among them.
    """

    symbol: Symbol
    floats: Symbol
    measured: tuple[str, ...]
    arguments: dict[str, NDArray]


def quantized_step(
    sym: Symbol,
    arg_params: Arrays,
    *,
    fused: bool,
    dtype: str,
    mode: str,
    granularity: str,
    names: Collection[str] | None,
    operators: Collection[str] | None,
    calibrated: bool,
) -> Step:
    """Quantize a symbol.

    Args:
        sym: of a float network.
        arg_params: its parameters.
        fused: whether layers are fused with what follows them first.
        dtype: of the integers.
        mode: ``full`` or ``smart``.
        granularity: ``tensor-wise`` or ``channel-wise``.
        names: of nodes that stay.
        operators: whose nodes stay.
        calibrated: whether ranges will be measured.

    Raises:
        DTypeError: a parameter is in another float dtype than float32.
    """
    check_parameters(arg_params)
    floats = set_training(sym.graph, False)
    if fused:
        floats = fuse_layers(floats)
    options = Options(
        frozenset(arg_params),
        dtype,
        mode == "smart",
        granularity == "channel-wise",
        frozenset(names or ()),
        frozenset(operators or ()),
        skips_normalization=not calibrated,
    )
    result = quantize_layers(floats, options)
    kind = type(sym)
    quantized = kind(result.graph.heads)
    arguments = _quantized_parameters(arg_params, result.parameters)
    needed = set(quantized.list_inputs())
    return Step(
        quantized,
        kind(floats.heads),
        result.measured,
        {name: each for name, each in arguments.items() if name in needed},
    )


def _quantized_parameters(arrays: Arrays, names: Collection[str]) -> dict[str, NDArray]:
    from mixnet.ndarray import contrib  # its functions are made when they are first asked for

    quantized = dict(arrays)
    for name in names:
        each = arrays[name]
        integers, low, high = contrib.quantize(each, each.min(), each.max(), out_type="int8")
        quantized |= {
            f"{name}_quantize": integers,
            f"{name}_quantize_min": low,
            f"{name}_quantize_max": high,
        }
    return quantized


def quantize_graph(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray] | None,
    ctx: Context = cpu(),
    excluded_sym_names: Collection[str] | None = None,
    excluded_op_names: Collection[str] | None = None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Collector | None = None,
    logger: logging.Logger | ModuleType | None = None,
) -> tuple[Symbol, dict[str, NDArray], Any, Any]:
    """A quantized symbol that is to be calibrated, and what collects the ranges for it.

    Give every output that ``collector.include_layer`` names to ``collector.collect(name,
    array)`` while example data go through the float network; then call :func:`calib_graph`.

    Args:
        sym: of a float network.
        arg_params: its parameters by name.
        aux_params: its states by name.
        ctx: device.
        excluded_sym_names: nodes that stay as they are.
        excluded_op_names: operators that stay as they are.
        calib_mode: ``none``, ``naive``, ``entropy`` or ``custom``.
        quantized_dtype: ``int8``, ``uint8`` or ``auto``, which takes ``uint8`` for what is never below 0.
        quantize_mode: ``full`` or ``smart``, which quantizes other operators than layers only between layers.
        quantize_granularity: ``tensor-wise`` or ``channel-wise``.
        LayerOutputCollector: the collector for ``calib_mode="custom"``.
        logger: gets messages.

    Returns:
        The symbol, its parameters, its states, and the collector; None without calibration.

    Raises:
        AttributeValueError: an option is unknown.
        AttributeTypeError: ``sym`` is not a symbol.
    """
    _check_symbol("quantize_graph", sym)
    check(
        "quantize_graph", ctx, quantized_dtype=quantized_dtype, quantize_mode=quantize_mode,
        quantize_granularity=quantize_granularity,
    )  # fmt: skip
    check_mode("quantize_graph", calib_mode, True, LayerOutputCollector)
    check_names(
        "quantize_graph", excluded_sym_names=excluded_sym_names, excluded_op_names=excluded_op_names
    )
    step = quantized_step(
        sym,
        arg_params,
        fused=False,
        dtype=quantized_dtype,
        mode=quantize_mode,
        granularity=quantize_granularity,
        names=excluded_sym_names,
        operators=excluded_op_names,
        calibrated=calib_mode != "none",
    )
    collector = collector_for(
        calib_mode, quantized_dtype, step.measured, LayerOutputCollector, logger
    )
    return step.symbol, step.arguments, aux_params, collector


def _check_symbol(name: str, sym: Symbol) -> None:
    if not isinstance(sym, Symbol):
        raise AttributeTypeError(
            f"{name}: sym must be a Symbol, not {type(sym).__name__}; for a Gluon block call quantize_net_v2."
        )


def collector_for(
    calib_mode: str,
    dtype: str,
    measured: Collection[str],
    own: Any = None,
    logger: logging.Logger | ModuleType | None = None,
) -> Any:
    """The collector of the ranges in a mode; None if none are collected."""
    if calib_mode == "none":
        return None
    if calib_mode == "naive":
        return LayerOutputMinMaxCollector(dtype, list(measured), logger)
    if calib_mode == "entropy":
        return LayerHistogramCollector(
            include_layer=list(measured), logger=logger, quantized_dtype=dtype
        )
    if getattr(own, "include_layer", None) is None:
        own.include_layer = list(measured)
    return own


def calib_graph(
    qsym: Symbol,
    arg_params: Mapping[str, NDArray] | None,
    aux_params: Mapping[str, NDArray] | None,
    collector: Collector | None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: logging.Logger | ModuleType = logging,
) -> tuple[Symbol, Any, Any]:
    """A quantized symbol with the ranges that a collector found.

    Args:
        qsym: of :func:`quantize_graph`.
        arg_params: its parameters.
        aux_params: its states.
        collector: of :func:`quantize_graph`, after examples went through the float network.
        calib_mode: as there.
        quantized_dtype: as there.
        logger: gets messages.

    Returns:
        The symbol, its parameters, its states.

    Raises:
        AttributeValueError: the mode is unknown.
        AttributeTypeError: the collector is none.
    """
    check_mode("calib_graph", calib_mode, True, collector)
    if calib_mode == "none":
        return qsym, arg_params, aux_params
    ranges = ranges_of(collector)
    say(logger, f"Calibrated {len(ranges)} outputs.")
    return type(qsym)(set_ranges(qsym.graph, ranges).heads), arg_params, aux_params


def folded(sym: Symbol) -> Symbol:
    """The calibrated symbol whose operators round their sums themselves."""
    return type(sym)(fold_rounding(sym.graph).heads)
