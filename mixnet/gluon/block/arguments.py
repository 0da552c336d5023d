"""Errors for calls of a block whose arguments do not match its forward."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeTypeError, OtherInputsError
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from mixnet.gluon.block.block import Block


def refused(
    block: Block,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    parameters: Mapping[str, Any] | None = None,
) -> AttributeTypeError | None:
    """The error if a block's function does not accept its arguments; None if it does.

    Args:
        block: the block.
        function: its ``forward``, or its ``hybrid_forward`` for an ``F``.
        arguments: the inputs.
        parameters: its parameters by name, of ``hybrid_forward``.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = parameters or {}
    positional = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    names = [each.name for each in positional]
    kinds = {each.kind for each in signature.parameters.values()}
    title = type(block).__name__
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in parameters:
            if name not in signature.parameters:
                return AttributeTypeError(
                    f"{title}.{name} is a parameter, which hybrid_forward gets by its name: add it, "
                    f"def hybrid_forward(self, F, {', '.join([*names, name])})."
                )
    inputs = [each for each in positional if each.name not in parameters]
    required = [each.name for each in inputs if each.default is each.empty]
    variadic = inspect.Parameter.VAR_POSITIONAL in kinds
    if len(required) <= len(arguments) and (variadic or len(arguments) <= len(inputs)):
        return None
    called = ", ".join(each.name for each in inputs)
    if isinstance(function, functools.partial) and not inputs:
        return AttributeTypeError(
            f"{title} takes no inputs besides F: define hybrid_forward(self, F, x), not "
            f"hybrid_forward(self, x)."
        )
    # MXNet compares the inputs of a hybridized block with those of its first call.
    compares = block._active and arguments and getattr(block, "_mx_cache", None)
    kind = OtherInputsError if compares else AttributeTypeError
    return kind(
        f"{title} is called with ({called}{', ...' if variadic else ''}), but got {len(arguments)} "
        f"input{'' if len(arguments) == 1 else 's'}."
    )


def not_arrays(block: Block, arguments: Any) -> str:
    """The error message for a call of a block without arrays.

    Args:
        block: the block.
        arguments: the arguments of the call.
    """
    kinds = ", ".join(_kind(each) for each in arguments) or "nothing"
    return (
        f"{type(block).__name__} takes at least one NDArray or Symbol, but got {kinds}. Make an array "
        f"with mx.nd.array(...)."
    )


def no_block(parent: object, child: object) -> str:
    """The error message for a child that is not a block.

    Args:
        parent: the parent block.
        child: the object.
    """
    title = type(parent).__name__
    if isinstance(child, type):
        hint = f"Make one: {child.__name__}(...)."
    elif isinstance(child, (list, tuple)):
        hint = f"Unpack the {type(child).__name__}: add(*blocks)."
    elif callable(child):
        hint = "Wrap a function: gluon.nn.Lambda(function)."
    elif isinstance(child, str):
        hint = f"For a function of mx.nd: gluon.nn.HybridLambda({child!r})."
    else:
        hint = "Derive its class from gluon.Block."
    return f"Children of {title} are blocks, not {child!r:.60} ({type(child).__name__}). {hint}"


def _kind(value: object) -> str:
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], NDArray):
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return f"a {type(value).__name__}"
