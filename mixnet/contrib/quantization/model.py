"""``quantize_model``: convert a symbol and its parameters to 8-bit integers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mixnet.base import AttributeTypeError
from mixnet.context import Context, cpu
from mixnet.contrib.quantization.collect import ranges_of
from mixnet.contrib.quantization.graph import (
    _check_symbol,
    collector_for,
    folded,
    quantized_step,
)
from mixnet.contrib.quantization.measure import measure
from mixnet.contrib.quantization.options import check, check_mode, check_names, say
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.quantize_layers import set_ranges
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    import logging
    from types import ModuleType

    from mixnet.contrib.quantization.collect import LayerOutputCollector


def quantized_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    inputs: Sequence[str],
    ctx: Context,
    calib_mode: str,
    calib_data: Any,
    num_calib_examples: int | None,
    collector: LayerOutputCollector | None,
    logger: logging.Logger | ModuleType | None,
    **options: Any,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A calibrated symbol with its parameters and states; see :func:`quantize_model` for the arguments.

    Args:
        inputs: their names.
        collector: of ``calib_mode="custom"``.
        options: see ``graph.quantized_step``.
    """
    step = quantized_step(sym, arg_params, calibrated=calib_mode != "none", **options)
    quantized = step.symbol
    collector = collector_for(calib_mode, options["dtype"], step.measured, collector, logger)
    if collector is not None:
        count = measure(
            step.floats, inputs, {**arg_params, **aux_params}, calib_data, step.measured, collector, ctx,
            num_calib_examples,
        )  # fmt: skip
        say(logger, f"Collected statistics from {count} examples.")
        ranges = ranges_of(collector)
        quantized = type(quantized)(set_ranges(quantized.graph, ranges).heads)
        if options["fused"]:
            quantized = folded(quantized)
    needed = set(quantized.list_inputs())
    states = {name: each for name, each in aux_params.items() if name in needed}
    return quantized, step.arguments, states


def quantize_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray] | None,
    aux_params: Mapping[str, NDArray] | None,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] = ("softmax_label",),
    ctx: Context = cpu(),
    excluded_sym_names: Collection[str] | None = None,
    excluded_op_names: Collection[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: Iterable[Any] | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | ModuleType | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A symbol whose layers compute with integers of 8 bits, operator for operator.

    :func:`quantize_model_mkldnn` also fuses layers with what follows them, which is faster and more exact.

    Args:
        sym: of a float network.
        arg_params: its parameters by name.
        aux_params: its states by name.
        data_names: names of the inputs, in the order in which batches have them.
        label_names: ignored.
        ctx: device on which ranges are measured.
        excluded_sym_names: nodes that stay in floats, also within fused ones.
        excluded_op_names: operators that stay in floats, also within fused ones.
        calib_mode: how the ranges that integers represent are measured. ``none``: anew for each
            batch. ``naive``: the smallest and the largest number among the examples.
            ``entropy``: clipped where the integers lose the least information.
        calib_data: an iterator of examples.
        num_calib_examples: how many of them at most.
        quantized_dtype: ``int8``, ``uint8``, or ``auto``: ``uint8`` for outputs that are never negative.
        quantize_mode: ``full``: all operators that can be. ``smart``: layers, and others between layers.
        quantize_granularity: ``tensor-wise``, or ``channel-wise``: fused affine maps have a
            range for each channel, as fused convolutions always do.
        logger: gets messages.

    Returns:
        The symbol, its parameters, its states.

    Raises:
        AttributeValueError: an option is unknown, or examples are missing.
        AttributeTypeError: ``sym`` is not a symbol, or ``ctx`` not a device.
    """
    # locals() holds the arguments alone.
    return _checked("quantize_model", False, **locals())


P = ParamSpec("P")
R = TypeVar("R")


def _with_arguments_of(first: Callable[P, R]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Decorator: the function has the arguments of ``first``, and gets all of them by name."""
    signature = inspect.signature(first)

    def declare(function: Callable[..., R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise AttributeTypeError(f"{function.__name__}: {error}.") from None
            bound.apply_defaults()
            return function(**bound.arguments)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return declare


@_with_arguments_of(quantize_model)
def quantize_model_mkldnn(
    **options: object,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The same with convolutions fused with normalizations, sums and activations; see :func:`quantize_model`.

    The saved symbol has the operators of MXNet's oneDNN subgraphs.
    """
    return _checked("quantize_model_mkldnn", True, **options)


def _checked(
    name: str, fused: bool, **options: Any
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    _check_symbol(name, options["sym"])
    kinds = ("quantized_dtype", "quantize_mode", "quantize_granularity")
    check(name, options["ctx"], **{each: options[each] for each in kinds})
    check_mode(name, options["calib_mode"], options["calib_data"] is not None)
    check_names(
        name, **{each: options[each] for each in ("excluded_sym_names", "excluded_op_names")}
    )
    names = options["data_names"]
    return quantized_model(
        options["sym"],
        options["arg_params"],
        options["aux_params"],
        [names] if isinstance(names, str) else list(names),
        options["ctx"],
        options["calib_mode"],
        options["calib_data"],
        options["num_calib_examples"],
        None,
        options["logger"],
        fused=fused,
        dtype=options["quantized_dtype"],
        mode=options["quantize_mode"],
        granularity=options["quantize_granularity"],
        names=options["excluded_sym_names"],
        operators=options["excluded_op_names"],
    )
