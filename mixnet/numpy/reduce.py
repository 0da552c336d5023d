"""Reductions and statistics of ``mx.np``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import NotDefinedError, OperatorValueError
from mixnet.ndarray.ndarray import NDArray, on_host
from mixnet.numpy.call import NUMBERS, as_array, as_axes, as_operator, call, is_array, name_of
from mixnet.numpy.shape import broadcast_to, concatenate

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.numpy.call import Array, Operable, Operand


@as_operator("_np_sum")
def sum(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    out: Operable | None = None,
) -> Any:
    """Sum along axes, all by default; in the array's dtype, booleans in int64.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        dtype: of the sum and the result; by default that of ``a``, int64 for booleans.
        keepdims: whether reduced axes stay, with extent one.
        initial: a number that counts as one more element.
        out: an array for the result.
    """
    attributes = {"axis": as_axes(axis), "dtype": name_of(dtype), "initial": initial}
    return call("_np_sum", a, out=out, keepdims=keepdims, **attributes)


@as_operator("_np_prod")
def prod(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    out: Operable | None = None,
    keepdims: bool = False,
    initial: Operand | None = None,
) -> Any:
    """Product along axes, all by default; in the array's dtype.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        dtype: of the product and the result; by default that of ``a``.
        out: an array for the result.
        keepdims: whether reduced axes stay, with extent one.
        initial: a number that is multiplied in.
    """
    attributes = {"axis": as_axes(axis), "dtype": name_of(dtype), "initial": initial}
    return call("_np_prod", a, out=out, keepdims=keepdims, **attributes)


product = prod


@as_operator("_np_max")
def max(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: Operable | None = None,
    initial: Operand | None = None,
) -> Any:
    """Largest element along axes, all by default.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        keepdims: whether reduced axes stay, with extent one.
        out: an array for the result.
        initial: a number that counts as one more element.
    """
    return call("_np_max", a, out=out, axis=as_axes(axis), keepdims=keepdims, initial=initial)


@as_operator("_np_min")
def min(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: Operable | None = None,
    initial: Operand | None = None,
) -> Any:
    """Smallest element along axes, all by default.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        keepdims: whether reduced axes stay, with extent one.
        out: an array for the result.
        initial: a number that counts as one more element.
    """
    return call("_np_min", a, out=out, axis=as_axes(axis), keepdims=keepdims, initial=initial)


amax, amin = max, min


@as_operator("_np_all")
def all(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: Operable | None = None,
) -> Any:
    """Whether every element along axes is true.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        keepdims: whether reduced axes stay, with extent one.
        out: an array for the result.
    """
    return call("_np_all", a, out=out, axis=as_axes(axis), keepdims=keepdims)


@as_operator("_np_any")
def any(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: Operable | None = None,
) -> Any:
    """Whether one element along axes is true.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        keepdims: whether reduced axes stay, with extent one.
        out: an array for the result.
    """
    return call("_np_any", a, out=out, axis=as_axes(axis), keepdims=keepdims)


sometrue = any


def mean(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    out: Operable | None = None,
    keepdims: bool = False,
) -> Any:
    """Mean along axes, all by default; of whole numbers in float32.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        dtype: of the result; by default that of ``a``, float32 for whole numbers.
        out: an array for the result.
        keepdims: whether reduced axes stay, with extent one.
    """
    attributes = {"axis": as_axes(axis), "dtype": name_of(dtype)}
    return call("_npi_mean", a, out=out, keepdims=keepdims, **attributes)


def std(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    out: Operable | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Standard deviation along axes; ``ddof`` is taken from the count.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        dtype: of the result; by default that of ``a``, so whole numbers are cut.
        out: an array for the result.
        ddof: is subtracted from the number of elements before dividing.
        keepdims: whether reduced axes stay, with extent one.
    """
    attributes = {"axis": as_axes(axis), "dtype": name_of(dtype), "ddof": ddof}
    return call("_npi_std", a, out=out, keepdims=keepdims, **attributes)


def var(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    out: Operable | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Variance along axes; ``ddof`` is taken from the count.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        dtype: of the result; by default that of ``a``, so whole numbers are cut.
        out: an array for the result.
        ddof: is subtracted from the number of elements before dividing.
        keepdims: whether reduced axes stay, with extent one.
    """
    attributes = {"axis": as_axes(axis), "dtype": name_of(dtype), "ddof": ddof}
    return call("_npi_var", a, out=out, keepdims=keepdims, **attributes)


def average(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    weights: Operand | None = None,
    returned: bool = False,
    out: Operable | None = None,
) -> Any:
    """Mean along axes weighted by ``weights``; with ``returned`` also the sum of the weights.

    Args:
        a: any shape.
        axis: one axis or several; None takes all.
        weights: of the shape of ``a``, or of its axis; None gives all the same weight.
        returned: whether to return the sum of the weights as well.
        out: an array for the result.
    """
    attributes = {"axis": as_axes(axis), "returned": returned, "weighted": weights is not None}
    return call("_npi_average", a, weights, out=out, **attributes)


def argmax(a: Operand, axis: int | Sequence[int] | None = None, out: Operable | None = None) -> Any:
    """Position of the largest element along ``axis``, of the flattened array by default; int64.

    Args:
        a: any shape.
        axis: one axis; None flattens first.
        out: an array for the result.
    """
    return call("_npi_argmax", a, out=out, axis=axis)


def argmin(a: Operand, axis: int | Sequence[int] | None = None, out: Operable | None = None) -> Any:
    """Position of the smallest element along ``axis``, of the flattened array by default; int64.

    Args:
        a: any shape.
        axis: one axis; None flattens first.
        out: an array for the result.
    """
    return call("_npi_argmin", a, out=out, axis=axis)


@as_operator("_np_cumsum")
def cumsum(
    a: Operand,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    out: Operable | None = None,
) -> Any:
    """Running sum along ``axis``, of the flattened array by default.

    Args:
        a: any shape.
        axis: one axis; None flattens first.
        dtype: of the sums and the result.
        out: an array for the result.
    """
    return call("_np_cumsum", a, out=out, axis=axis, dtype=name_of(dtype))


def diff(
    a: Operand,
    n: int = 1,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Any:
    """Differences of neighbours along ``axis``, ``n`` times.

    Args:
        a: any shape.
        n: how often.
        axis: along which.
        prepend: a number or an array that is joined before ``a`` first.
        append: one that is joined after it.
    """
    if prepend is not None or append is not None:
        a = concatenate(
            [_end(a, prepend, axis), a, _end(a, append, axis)][
                prepend is None : 2 + (append is not None)
            ],
            axis,
        )
    return call("_npi_diff", a, n=n, axis=axis)


def _end(a: Any, numbers: Operand | None, axis: int) -> Any:
    """The array to put before or after ``a``; a number is repeated along the other axes."""
    if numbers is None:
        return None
    end = as_array(numbers, a)
    if not end.shape:
        shape = list(a.shape)
        shape[axis] = 1
        end = broadcast_to(end, tuple(shape))
    return end.astype(a.dtype, copy=False)


def ediff1d(ary: Operand, to_end: Operand | None = None, to_begin: Operand | None = None) -> Any:
    """Differences of neighbours in the flattened array, with numbers prepended and appended.

    Args:
        ary: any shape; flattened.
        to_end: a number or an array, after the differences.
        to_begin: a number or an array, before the differences.
    """
    begin, end = is_array(to_begin), is_array(to_end)
    return call(
        "_npi_ediff1d",
        ary,
        to_begin if begin else None,
        to_end if end else None,
        to_begin_arr_given=begin,
        to_end_arr_given=end,
        to_begin_scalar=None if begin else to_begin,
        to_end_scalar=None if end else to_end,
    )


def percentile(
    a: Operand,
    q: Operand,
    axis: int | Sequence[int] | None = None,
    out: Operable | None = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The ``q``-th percentiles, from 0 to 100, along axes.

    Args:
        a: any shape.
        q: a number or an array, from 0 to 100.
        axis: one axis or several; None takes all.
        out: an array for the result.
        overwrite_input: only None is supported.
        interpolation: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
        keepdims: whether reduced axes stay, with extent one.
    """
    if overwrite_input is not None:
        raise NotDefinedError("percentile: overwrite_input is not supported; leave it out.")
    attributes = {"axis": as_axes(axis), "interpolation": interpolation, "keepdims": keepdims}
    if isinstance(q, NUMBERS):
        return call("_npi_percentile", a, out=out, q_scalar=float(q), **attributes)
    _check_fractions("percentile", q, 100)
    return call("_npi_percentile", a, q, out=out, q_scalar=None, **attributes)


def quantile(
    a: Operand,
    q: float | Array,
    axis: int | Sequence[int] | None = None,
    out: Operable | None = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The ``q``-th quantiles, from 0 to 1, along axes.

    Args:
        a: any shape.
        q: a number or an array, from 0 to 1.
        axis: one axis or several; None takes all.
        out: an array for the result.
        overwrite_input: only None is supported.
        interpolation: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
        keepdims: whether reduced axes stay, with extent one.
    """
    if not isinstance(q, NUMBERS):
        _check_fractions("quantile", q, 1)
    return percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)


def _check_fractions(function: str, q: object, whole: int) -> None:
    """Refuse numbers out of range in an array that has been computed; it does not wait for others."""
    known = on_host(q) if isinstance(q, NDArray) else None
    if known is None:
        return
    outside = known[~((known >= 0) & (known <= whole))]
    if outside.size:
        raise OperatorValueError(
            f"{function}: q holds {outside[0]:g}, which is not between 0 and {whole}."
        )


def histogram(
    a: Operand,
    bins: int | Array = 10,
    range: tuple[float, float] | None = None,
    normed: bool | None = None,
    weights: Operand | None = None,
    density: bool | None = None,
) -> Any:
    """Number of elements in each of ``bins``, and the edges of the bins.

    Args:
        a: any shape; flattened.
        bins: their number, with ``range``, or an array of edges.
        range: smallest and largest edge.

    Raises:
        NotImplementedError: a number of bins without ``range``, or normed, weights, density.
    """
    if normed or weights is not None or density:
        raise NotDefinedError("histogram: normed, weights and density are not supported.")
    if is_array(bins):
        return call("_histogram", a, bins)
    if range is None:
        raise NotDefinedError("histogram: give range=(least, greatest) with a number of bins.")
    return call("_histogram", a, bin_cnt=int(bins), range=tuple(onp.asarray(range).tolist()))


def bincount(x: Operand, weights: Operand | None = None, minlength: int = 0) -> Any:
    """How often each whole number from 0 on occurs in ``x``, or the sum of its weights.

    Args:
        x: whole numbers of at least 0, with one axis.
        weights: of the shape of ``x``; None counts 1 for each.
        minlength: the smallest length of the result.
    """
    attributes = {"minlength": minlength, "has_weights": weights is not None}
    return call("_npi_bincount", x, weights, **attributes)
