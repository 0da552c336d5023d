"""Symbols of constants and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeValueError, NotDefinedError
from mixnet.dtype import dtype_name
from mixnet.symbol.operators import apply
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def zeros(shape: int | Sequence[int], dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """A symbol of zeros.

    Args:
        shape: a number or a tuple; extents of 0 are inferred from the symbol's readers.
        dtype: float32 by default.
        kwargs: ``name`` of the symbol; attributes of its node, named as ``__name__``.
    """
    return apply("_zeros", shape=shape, dtype=dtype_name(dtype), **kwargs)


def ones(shape: int | Sequence[int], dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """A symbol of ones.

    Args:
        shape: a number or a tuple; extents of 0 are inferred from the symbol's readers.
        dtype: float32 by default.
        kwargs: ``name`` of the symbol; attributes of its node, named as ``__name__``.
    """
    return apply("_ones", shape=shape, dtype=dtype_name(dtype), **kwargs)


def full(
    shape: int | Sequence[int], val: float, dtype: DTypeLike = None, **kwargs: object
) -> Symbol:
    """A symbol of ``val`` everywhere.

    Args:
        shape: a number or a tuple of numbers.
        dtype: float32 by default.
        kwargs: ``name`` of the symbol; attributes of its node, named as ``__name__``.
    """
    return apply("_full", shape=shape, value=float(val), dtype=dtype_name(dtype), **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """A symbol of numbers from ``start`` (0 if only one bound is given) up to ``stop``.

    Args:
        step: difference between two numbers; negative to count down.
        repeat: how often each number occurs.
        infer_range: not supported without ``stop``; ``contrib.arange_like`` has the length of another
            symbol.
        name: of the symbol.
        dtype: float32 by default.

    Raises:
        NotImplementedError: ``infer_range`` without ``stop``.
    """
    if infer_range and stop is None:
        raise NotDefinedError(
            f"arange: infer_range=True does not infer how many numbers follow start={start}; give "
            f"stop, or use contrib.arange_like(data, start=..., step=...)."
        )
    if isinstance(start, np.ndarray) and not start.ndim:
        start = start.item()
    attributes = {"start": start, "stop": stop, "step": step, "repeat": repeat, "name": name}
    return apply("_arange", **attributes, infer_range=infer_range, dtype=dtype_name(dtype))


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike = None, **kwargs: object) -> Symbol:
    """A symbol of a matrix with ones on diagonal ``k``; ``M`` columns, ``N`` if 0.

    Args:
        dtype: float32 by default.
        kwargs: ``name`` of the symbol; attributes of its node, named as ``__name__``.
    """
    return apply("_eye", N=N, M=M, k=k, dtype=dtype_name(dtype), **kwargs)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """A symbol of ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Args:
        endpoint: whether ``stop`` is the last number.
        name: of the symbol.
        dtype: float32 by default.
    """
    attributes = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "name": name}
    return apply("_linspace", **attributes, dtype=dtype_name(dtype))


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: object) -> Symbol:
    """Number of elements in each bin, and the edges of the bins.

    Args:
        a: any shape.
        bins: their number, with ``range``, or a symbol of edges.
        range: smallest and largest edge.
        kwargs: ``name`` of the symbol; attributes of its node, named as ``__name__``.

    Raises:
        ValueError: a number of bins without ``range``.
    """
    if isinstance(bins, Symbol):
        return apply("_histogram", a, bins)
    if range is None:
        raise AttributeValueError("histogram: give range=(least, greatest) with a number of bins.")
    return apply("_histogram", a, bin_cnt=int(bins), range=tuple(range))
