"""Mixed precision: ``init`` for code that runs from now on, ``convert_*`` for existing graphs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, CheckError, MXNetError
from mixnet.context import Context, gpu
from mixnet.contrib.amp import lists as lists
from mixnet.contrib.amp.lists import symbol_bf16, symbol_fp16
from mixnet.contrib.amp.loss_scaler import LossScaler
from mixnet.dtype import bfloat16
from mixnet.gluon import HybridBlock, SymbolBlock, Trainer
from mixnet.module import BucketingModule
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer
from mixnet.passes.lower_precision import (
    Precision,
    low_variables,
    lower_precision,
    without_casts_of,
)
from mixnet.runtime.record.precision import use
from mixnet.symbol import Symbol, Variable

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike

_amp_initialized = False

Names = Sequence[str] | None
Conditions = Sequence[tuple[str, str, Sequence[str]]] | None


# ---- lists ---------------------------------------------------------------------------------------


def _is_half(target_dtype: DTypeLike) -> bool:
    """Whether lists for float16 are asked for; else those for bfloat16.

    Raises:
        CheckError: another dtype.
    """
    half = target_dtype in ("float16", np.float16)
    if not (half or _is_bfloat16(target_dtype)):
        raise CheckError(f"not supported type: {target_dtype}; use 'float16' or 'bfloat16'.")
    return half


def _is_bfloat16(target_dtype: DTypeLike) -> bool:
    return target_dtype in ("bfloat16", bfloat16, bfloat16.type)


def list_lp16_ops(target_dtype: DTypeLike) -> list[str]:
    """Names of operators that compute in half precision.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return symbol_fp16.FP16_FUNCS if _is_half(target_dtype) else symbol_bf16.BF16_FUNCS


def list_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Names of operators that need float32.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return symbol_fp16.FP32_FUNCS if _is_half(target_dtype) else symbol_bf16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Names of operators that compute in the precision of their inputs.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return symbol_fp16.FP16_FP32_FUNCS if _is_half(target_dtype) else symbol_bf16.BF16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: DTypeLike) -> list[tuple[str, str, list[str]]]:
    """Operators that need float32 with certain values of an attribute: name, attribute, values.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return (
        symbol_fp16.CONDITIONAL_FP32_FUNCS
        if _is_half(target_dtype)
        else symbol_bf16.CONDITIONAL_FP32_FUNCS
    )


def list_widest_type_cast(target_dtype: DTypeLike) -> list[str]:
    """Names of operators whose inputs all get the widest precision among them.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return (
        symbol_fp16.WIDEST_TYPE_CASTS if _is_half(target_dtype) else symbol_bf16.WIDEST_TYPE_CASTS
    )


def list_loss_output_functions(target_dtype: DTypeLike) -> list[str]:
    """Names of operators that are a loss with a gradient of their own.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return (
        symbol_fp16.LOSS_OUTPUT_FUNCTIONS
        if _is_half(target_dtype)
        else symbol_bf16.LOSS_OUTPUT_FUNCTIONS
    )


def list_lp16_use_fp32_params(target_dtype: DTypeLike) -> dict[str, list[str]] | None:
    """Operators whose parameters stay in float32, with the parameters; None for float16.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
    """
    return None if _is_half(target_dtype) else symbol_bf16.BF16_USE_FP32_PARAMS


def _precision(
    target_dtype: DTypeLike, low: Names, full: Names, conditional: Conditions
) -> Precision:
    return Precision(
        "float16" if _is_half(target_dtype) else "bfloat16",
        list_lp16_ops(target_dtype) if low is None else low,
        list_fp32_ops(target_dtype) if full is None else full,
        list_widest_type_cast(target_dtype),
        list_conditional_fp32_ops(target_dtype) if conditional is None else conditional,
        symbol_fp16.NAMES,  # an operator that was taken off a list accepts any dtype
    )


# ---- training --------------------------------------------------------------------------------------


def init(
    target_dtype: DTypeLike = "float16",
    target_precision_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    fp32_ops: Names = None,
) -> None:
    """Compute in mixed precision from now on: arrays, symbols and networks alike.

    Inputs of operators that gain by it are cast to half precision, inputs of operators that need
    float32 to float32. Call it before networks are hybridized; a second call does nothing.

    Args:
        target_dtype: ``'float16'`` or ``'bfloat16'``.
        target_precision_ops: names of operators for half precision, in place of the usual ones.
        conditional_fp32_ops: triples of name, attribute and values with which an operator needs
            float32, in place of the usual ones.
        fp32_ops: names of operators that need float32, in place of the usual ones.

    Raises:
        CheckError: another dtype.
    """
    global _amp_initialized
    if _amp_initialized:
        return
    if not (target_dtype in ("float16", np.float16) or _is_bfloat16(target_dtype)):
        raise CheckError(
            f"AMP currently supports only float16 or bfloat16 as a target_dtype, not {target_dtype!r}."
        )
    rule = _precision(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    logging.info("Using AMP")
    _amp_initialized = True
    use(rule)


def init_trainer(optimizer_or_trainer: object) -> None:
    """Let a Trainer scale its loss dynamically, and skip steps with an overflow.

    Args:
        optimizer_or_trainer: a ``gluon.Trainer``.

    Raises:
        CheckError: ``init`` was not called.
        TypeError: it is not a Trainer.
    """
    if not _amp_initialized:
        raise CheckError("AMP not initialized, did you forget to call amp.init()?")
    trainer = _as_trainer(optimizer_or_trainer)
    trainer._amp_loss_scaler = LossScaler()
    trainer._amp_original_scale = trainer._scale


def _as_trainer(optimizer_or_trainer: object) -> Trainer:
    if isinstance(optimizer_or_trainer, Trainer):
        return optimizer_or_trainer
    if isinstance(optimizer_or_trainer, Optimizer):
        raise AttributeTypeError(
            f"AMP is currently only compatible with Gluon Trainer, not with the optimizer "
            f"{type(optimizer_or_trainer).__name__}. Pass it to a Trainer, and give that."
        )
    raise AttributeTypeError(
        f"optimizer_or_trainer should be a Gluon Trainer, instead is {type(optimizer_or_trainer).__name__}"
    )


def _scaler(trainer: Trainer) -> LossScaler:
    scaler: LossScaler | None = trainer._amp_loss_scaler
    if scaler is None:
        raise MXNetError(
            "The Trainer does not scale the loss yet: call amp.init_trainer(trainer) first."
        )
    return scaler


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """``with amp.scale_loss(loss, trainer) as scaled: scaled.backward()``, within ``record()``.

    Args:
        loss: an array or a list of arrays.
        optimizer_or_trainer: a Trainer that ``init_trainer`` was called with.

    Yields:
        The loss times the scale, an array or a list.
    """
    scaler = _scaler(_as_trainer(optimizer_or_trainer))
    if isinstance(loss, (list, tuple)):
        yield [scaler.scaled(each) for each in loss]
    else:
        yield scaler.scaled(loss)


def unscale(optimizer_or_trainer: object) -> None:
    """Take the scale out of the gradients, to clip them for example, before the step.

    Args:
        optimizer_or_trainer: a ``gluon.Trainer``.

    Raises:
        TypeError: it is not a Trainer.
    """
    trainer = _as_trainer(optimizer_or_trainer)
    scaler = trainer._amp_loss_scaler
    if scaler is not None:
        learned = [each for each in trainer._params if each.grad_req != "null"]
        scaler.unscale([gradient for each in learned for gradient in each.list_grad()])


# ---- graphs ----------------------------------------------------------------------------------------


def _check_lists(target_dtype: DTypeLike, low: Names, full: Names, conditional: Conditions) -> None:
    """Names must be known, and in one list each.

    Raises:
        CheckError: they are not.
    """
    known = {
        *list_lp16_ops(target_dtype),
        *list_fp32_ops(target_dtype),
        *list_lp16_fp32_ops(target_dtype),
        *(name for name, _, _ in list_conditional_fp32_ops(target_dtype)),
    }
    lists = {
        "target_dtype_ops": set(list_lp16_ops(target_dtype) if low is None else low),
        "fp32_ops": set(list_fp32_ops(target_dtype) if full is None else full),
        "conditional_fp32_ops": {name for name, _, _ in conditional or ()},
    }
    listed = set().union(*lists.values())
    if not listed <= known:
        raise CheckError(
            f"Can only choose ops from amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and "
            f"list_conditional_fp32_ops of {target_dtype}. Op {listed - known} not in any of them."
        )
    pairs = [(a, b) for a in lists for b in lists if a > b]
    for first, second in pairs:
        common = lists[first] & lists[second]
        if common:
            raise CheckError(
                f"Ops cannot be in two or more lists. {first} and {second} both contain {common}."
            )


def convert_symbol(
    sym: Symbol,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    data_names: Names = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A symbol with casts to half precision where that is useful, and to float32 where needed.

    Args:
        sym: the symbol.
        target_dtype: ``'float16'`` or ``'bfloat16'``.
        target_dtype_ops: names of operators for half precision, in place of the usual ones.
        fp32_ops: names of operators that need float32, in place of the usual ones.
        conditional_fp32_ops: triples of name, attribute and values with which an operator needs
            float32.
        excluded_sym_names: names of nodes that compute in float32.
        data_names: names of the variables that are data; they must be there.
        cast_optional_params: accepted for compatibility; ``convert_model`` casts parameters.

    Raises:
        CheckError: an argument is of the wrong kind, or names an unknown operator.
        MXNetError: ``data_names`` has a name that the symbol lacks.
    """
    if not isinstance(sym, Symbol):
        raise CheckError(f"convert_symbol: sym must be a Symbol, not {type(sym).__name__}.")
    _check_dtype(target_dtype)
    for each in (target_dtype_ops, fp32_ops):
        if each is not None and not isinstance(each, list):
            raise CheckError(
                f"convert_symbol: give operators as a list of names, such as ['Convolution'], not "
                f"{each!r:.60}."
            )
    _check_lists(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    excluded = [] if excluded_sym_names is None else excluded_sym_names
    if not isinstance(excluded, list):
        raise CheckError(
            f"convert_symbol: excluded_sym_names must be a list of names, not {excluded!r:.60}."
        )
    names = {node.name for node in sym.graph.nodes}
    for name in data_names or ():
        if name not in names:
            raise MXNetError(f"convert_symbol: the symbol has no {name!r}; see get_internals().")
    if unknown := [name for name in excluded if name not in names]:
        # MXNet passes over them: programs exclude the same names from several networks.
        warnings.warn(
            f"convert_symbol: the symbol has no {', '.join(map(repr, unknown))} to exclude; see "
            f"get_internals().",
            stacklevel=2,
        )
    rule = _precision(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    lowered = lower_precision(sym.graph, rule, frozenset(excluded))
    return type(sym)(lowered.heads)


def _check_dtype(target_dtype: DTypeLike) -> None:
    half = target_dtype in ("float16", np.float16)
    if not (half or _is_bfloat16(target_dtype)):
        raise CheckError(
            f"Only target_dtype float16 and bfloat16 are supported, not {target_dtype!r}."
        )


def convert_model(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Convert a symbol, as :func:`convert_symbol` does, and its parameters.

    Args:
        sym: the symbol.
        arg_params: parameters by name.
        aux_params: states by name.
        target_dtype: ``'float16'`` or ``'bfloat16'``.
        target_dtype_ops: as for :func:`convert_symbol`, also for the next three.
        fp32_ops: names of operators that need float32.
        conditional_fp32_ops: triples of name, attribute and values.
        excluded_sym_names: names of nodes that compute in float32.
        cast_optional_params: parameters that are only read in half precision are stored in it, and
            the symbol reads them without a cast.

    Returns:
        The symbol, the parameters and the states.

    Raises:
        CheckError: an argument is of the wrong kind, or names an unknown operator.
    """
    if not isinstance(sym, Symbol):
        raise CheckError(f"convert_model: sym must be a Symbol, not {type(sym).__name__}.")
    for name, parameters in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(parameters, dict):
            raise CheckError(
                f"convert_model: {name} must be a dict from names to NDArrays, not "
                f"{type(parameters).__name__}."
            )
    data = [name for name in sym.list_arguments() if name not in arg_params]
    converted = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        data,
        cast_optional_params,
    )
    low: set[str] = set()
    if cast_optional_params:
        low = low_variables(converted.graph, target_dtype) & {*arg_params, *aux_params}
        converted = type(sym)(without_casts_of(converted.graph, low).heads)
    arguments, states = (
        {
            name: each.astype(target_dtype) if name in low else each
            for name, each in parameters.items()
        }
        for parameters in (arg_params, aux_params)
    )
    return converted, arguments, states


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    ctx: Context = gpu(0),
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A network in mixed precision, from one that was hybridized and called once.

    Args:
        block: the network.
        target_dtype: ``'float16'`` or ``'bfloat16'``.
        target_dtype_ops: as for :func:`convert_symbol`, also for the next three.
        fp32_ops: names of operators that need float32.
        conditional_fp32_ops: triples of name, attribute and values.
        excluded_sym_names: names of nodes that compute in float32.
        ctx: where its parameters go.
        cast_optional_params: parameters that are only read in half precision are stored in it.

    Raises:
        CheckError: it is not a HybridBlock.
        RuntimeError: it was not hybridized and called.
    """
    if not isinstance(block, HybridBlock):
        raise CheckError(
            f"convert_hybrid_block: block must be a HybridBlock, not {type(block).__name__}."
        )
    if not block._active or not (block._cached_graph or block._mx_cache):
        raise MXNetError(
            "Please first call block.hybridize() and then run forward with this block at least once "
            "before converting it."
        )
    symbol = block.to_symbol()
    parameters = {each.name: each for each in block.collect_params().values()}
    states = set(symbol.list_auxiliary_states())
    values = {n: parameters[n].data() for n in symbol.list_inputs() if n in parameters}
    converted, arguments, auxiliary = convert_model(
        symbol,
        {name: value for name, value in values.items() if name not in states},
        {name: value for name, value in values.items() if name in states},
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        cast_optional_params,
    )
    inputs = [Variable(name) for name in converted.list_inputs() if name not in parameters]
    result = SymbolBlock(converted, inputs)
    for name, each in result.collect_params().items():
        value = arguments[name] if name in arguments else auxiliary[name]
        each.shape = value.shape
        each.cast(value.dtype)
        each._load_init(value, ctx)  # draws no random numbers, unlike initialize
    return result


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """The buckets of a module in mixed precision, with its parameters; not bound.

    Args:
        bucketing_mod: a module that was bound or loaded.
        cast_optional_params: parameters that are only read in half precision are stored in it.

    Raises:
        CheckError: it is not a BucketingModule, or has no buckets.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise CheckError(
            f"convert_bucketing_module: bucketing_mod must be a BucketingModule, not "
            f"{type(bucketing_mod).__name__}."
        )
    if not bucketing_mod._buckets:
        raise CheckError(
            "convert_bucketing_module: bucketing_mod should not be empty; bind it first."
        )
    arguments, states = bucketing_mod.get_params()
    symbols, low_arguments, low_states = {}, {}, {}
    for key, module in bucketing_mod._buckets.items():
        known = set(module.symbol.list_inputs())
        symbols[key], own_params, auxiliary = convert_model(
            module.symbol,
            {name: each for name, each in arguments.items() if name in known},
            {name: each for name, each in states.items() if name in known},
            target_dtype,
            target_dtype_ops,
            fp32_ops,
            conditional_fp32_ops,
            excluded_sym_names,
            cast_optional_params,
        )
        low_arguments.update(own_params)
        low_states.update(auxiliary)
    return BucketingModule.load_dict(
        symbols,
        sym_gen=bucketing_mod._sym_gen,
        default_bucket_key=bucketing_mod._default_bucket_key,
        arg_params=low_arguments,
        aux_params=low_states,
        logger=bucketing_mod.logger,
        context=bucketing_mod._context,
        work_load_list=bucketing_mod._work_load_list,
        fixed_param_names=bucketing_mod._fixed_param_names,
        state_names=bucketing_mod._state_names,
        group2ctxs=bucketing_mod._group2ctxs,
        compression_params=bucketing_mod._compression_params,
    )
