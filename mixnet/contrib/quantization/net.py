"""``quantize_net``: convert a Gluon block to 8-bit integers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import symbol
from mixnet.array_like import has_shape
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.context import Context, cpu
from mixnet.contrib.quantization.measure import batches
from mixnet.contrib.quantization.model import quantized_model
from mixnet.contrib.quantization.options import check, check_mode, check_names
from mixnet.gluon.block.hybrid import HybridBlock
from mixnet.gluon.block.symbol_block import SymbolBlock
from mixnet.ndarray.create import zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    import logging
    from types import ModuleType

    from mixnet.contrib.quantization.collect import LayerOutputCollector as Collector
    from mixnet.io.batch import DataDesc


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Collection[str] | None = None,
    exclude_layers_match: Collection[str] | None = None,
    exclude_operators: Collection[str] | None = None,
    calib_data: Iterable[Any] | None = None,
    data_shapes: Sequence[DataDesc | tuple[Any, ...]] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    LayerOutputCollector: Collector | None = None,
    logger: logging.Logger | ModuleType | None = None,
) -> SymbolBlock:
    """A block that computes with integers of 8 bits, from a trained float one.

    Convolutions are fused with the normalizations, sums and activations that follow them. The
    result can only predict; ``export`` saves it and ``SymbolBlock.imports`` loads it.

    Args:
        network: a ``HybridBlock`` that has its parameters.
        quantized_dtype: see :func:`quantize_model`, also for what is not listed here.
        quantize_mode: the same.
        quantize_granularity: the same.
        exclude_layers: names of nodes that stay in floats.
        exclude_layers_match: parts of such names: every node whose name contains one stays.
        exclude_operators: operators that stay in floats.
        calib_data: a ``DataLoader`` or an iterator of examples; labels that come last are left out.
        data_shapes: shapes of the inputs, or ``DataDesc``; needed where there are no examples.
        calib_mode: ``none``, ``naive``, ``entropy`` or ``custom``.
        num_calib_examples: how many examples at most.
        ctx: device on which ranges are measured; the result's parameters are there.
        LayerOutputCollector: an object with ``collect(name, array)`` for ``calib_mode="custom"``.
        logger: gets messages.

    Raises:
        AttributeTypeError: the network is not a ``HybridBlock``.
        AttributeValueError: an option is unknown; examples or shapes are missing.
    """
    if not isinstance(network, HybridBlock):
        raise AttributeTypeError(
            f"quantize_net_v2: network must be a HybridBlock, not {type(network).__name__}."
        )
    check(
        "quantize_net_v2", ctx, quantized_dtype=quantized_dtype, quantize_mode=quantize_mode,
        quantize_granularity=quantize_granularity,
    )  # fmt: skip
    check_mode("quantize_net_v2", calib_mode, calib_data is not None, LayerOutputCollector)
    check_names(
        "quantize_net_v2", exclude_layers=exclude_layers, exclude_layers_match=exclude_layers_match,
        exclude_operators=exclude_operators,
    )  # fmt: skip
    inputs = _first_inputs(calib_data, data_shapes, ctx)
    traced, arrays, names = _traced(network, inputs)
    states = set(traced.list_auxiliary_states())
    quantized, parameters, moving = quantized_model(
        traced,
        {name: each for name, each in arrays.items() if name not in states},
        {name: each for name, each in arrays.items() if name in states},
        names,
        ctx,
        calib_mode,
        calib_data,
        num_calib_examples,
        LayerOutputCollector,
        logger,
        fused=True,
        dtype=quantized_dtype,
        mode=quantize_mode,
        granularity=quantize_granularity,
        names=excluded_nodes(traced, exclude_layers, exclude_layers_match),
        operators=exclude_operators,
    )
    return block_of(quantized, names, {**parameters, **moving}, ctx)


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Collection[str] | None = None,
    exclude_layers_match: Collection[str] | None = None,
    exclude_operators: Collection[str] | None = None,
    calib_data: Iterable[Any] | None = None,
    data_shapes: Sequence[DataDesc | tuple[Any, ...]] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),
    logger: logging.Logger | ModuleType | None = None,
) -> SymbolBlock:
    """:func:`quantize_net_v2` under its older name, with one range for each weight.

    Args:
        network: as for :func:`quantize_net_v2`, also for the others.
        quantized_dtype: dtype of the values between layers.
        quantize_mode: ``'full'`` or ``'smart'``.
        exclude_layers: names of layers that stay in float32.
        exclude_layers_match: parts of such names.
        exclude_operators: names of operators that stay in float32.
        calib_data: examples to measure ranges with.
        data_shapes: shapes of the inputs, if there are no examples.
        calib_mode: how ranges are measured.
        num_calib_examples: how many examples to use.
        ctx: device to measure on.
        logger: for progress.
    """
    return quantize_net_v2(
        network,
        quantized_dtype,
        quantize_mode,
        "tensor-wise",
        exclude_layers,
        exclude_layers_match,
        exclude_operators,
        calib_data,
        data_shapes,
        calib_mode,
        num_calib_examples,
        ctx,
        None,
        logger,
    )


def _first_inputs(
    calib_data: Iterable[Any] | None,
    data_shapes: Sequence[DataDesc | tuple[Any, ...]] | None,
    ctx: Context,
) -> list[NDArray]:
    """Arrays with the shapes that the network takes; labels may follow."""
    if data_shapes is not None:
        listed = data_shapes if isinstance(data_shapes, (list, tuple)) else [data_shapes]
        if listed and all(isinstance(each, int) for each in listed):
            listed = [listed]
        shapes = [tuple(each.shape if has_shape(each) else each) for each in listed]
        return [zeros(shape, ctx=ctx) for shape in shapes]
    if calib_data is None:
        raise AttributeValueError(
            "quantize_net_v2: give data_shapes, the shapes of the inputs, if there is no "
            "calib_data."
        )
    first = next(batches(calib_data), None)
    if first is None:
        raise AttributeValueError("quantize_net_v2: calib_data contains no examples.")
    return first


def _traced(
    network: HybridBlock, inputs: Sequence[NDArray]
) -> tuple[Symbol, dict[str, NDArray], list[str]]:
    """A block's symbol, its arrays by name, and the names of its inputs."""
    count = _num_inputs(network, len(inputs))
    names = ["data"] if count == 1 else [f"data{i}" for i in range(count)]
    network(*inputs[:count])  # parameters that wait for shapes are made
    outputs = network(*[symbol.var(name) for name in names])
    traced = symbol.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
    known = set(traced.list_inputs())
    arrays = {
        each.name: each.data(inputs[0].context)
        for each in network.collect_params().values()
        if each.name in known
    }
    return traced, arrays, names


def _num_inputs(network: HybridBlock, most: int) -> int:
    """How many of a batch's arrays a block takes: all, or all but the labels."""
    if isinstance(network, SymbolBlock):
        return min(most, len(network._inputs))
    import inspect

    forward = (
        network.hybrid_forward if type(network).forward is HybridBlock.forward else network.forward
    )
    network_inputs = [
        each
        for each in inspect.signature(forward).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
        and each.default is each.empty
        and each.name not in network._reg_params
    ]
    several = any(
        each.kind is each.VAR_POSITIONAL for each in inspect.signature(forward).parameters.values()
    )
    first = 1 if type(network).forward is HybridBlock.forward else 0  # F
    count = len(network_inputs) - first
    return max(1, most if several and not count else min(most, count))


def excluded_nodes(
    traced: Symbol, names: Collection[str] | None, matches: Collection[str] | None
) -> set[str]:
    """Names of nodes that stay: those named, and those whose name contains one of ``matches``."""
    nodes = [node.name for node in traced.graph.nodes if not node.is_variable]
    matching = {name for name in nodes if any(each in name for each in matches or ())}
    return set(names or ()) | matching


def block_of(
    sym: Symbol, names: Sequence[str], arrays: dict[str, NDArray], ctx: Context
) -> SymbolBlock:
    """A symbol with its arrays as a block.

    Args:
        sym: the symbol.
        names: of its inputs.
        arrays: of all its other variables.
        ctx: device of the parameters.
    """
    block = SymbolBlock(sym, [symbol.var(name) for name in names])
    for name, parameter in block.collect_params().items():
        each = arrays[name]
        parameter.shape = each.shape
        parameter.dtype = each.dtype
        parameter.grad_req = "null"
        parameter._load_init(each, ctx)  # draws no random numbers, unlike initialize
    return block
