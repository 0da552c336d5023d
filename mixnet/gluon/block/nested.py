"""Nested lists of arrays or symbols as a flat list and a format, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixnet.base import AttributeValueError, CheckError
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.symbol import Symbol


def _flatten(args: object, inout_str: str) -> tuple[list[Any], Any]:
    """Arrays, symbols and None of nested lists, and MXNet's format of the nesting.

    The format has 0 for one array, a number n for a symbol of n outputs, -1 for None, and a list
    for a list.

    Args:
        args: nested lists or tuples.
        inout_str: ``input`` or ``output``, for error messages.

    Raises:
        ValueError: something has another type.
    """
    if args is None:
        return [None], -1
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        return [args], args.num_outputs if args.num_outputs > 1 else 0
    if not isinstance(args, (list, tuple)):
        raise AttributeValueError(
            f"{inout_str.capitalize()}s of a HybridBlock are (nested) lists of Symbols or NDArrays, "
            f"but got {args} of type {type(args)}."
        )
    parts = [_flatten(each, inout_str) for each in args]
    return [leaf for leaves, _ in parts for leaf in leaves], [form for _, form in parts]


def _regroup(args: Any, fmt: Any) -> tuple[Any, list[Any]]:
    """Undo ``_flatten``; returns the nested lists and the rest of the flat list.

    Raises:
        CheckError: the flat list is too short.
    """
    iterator = iter(args)
    return _take(iterator, fmt), list(iterator)


def _take(args: Iterator[Any], fmt: Any) -> Any:
    if not isinstance(fmt, int):
        return [_take(args, each) for each in fmt]
    try:
        if fmt <= 0:
            return next(args)
        return [next(args) for _ in range(fmt)]
    except (StopIteration, RuntimeError):
        raise CheckError("_regroup: there are fewer arrays than the format says.") from None
