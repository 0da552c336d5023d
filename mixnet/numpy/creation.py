"""Creating ``mx.np`` arrays from data, shapes and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    NotDefinedError,
    OptionError,
    ZeroError,
    checked_number,
    checked_shape,
)
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.call import as_operator, call, name_of
from mixnet.numpy.ndarray import ndarray

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.dtype import DTypeLike
    from mixnet.numpy.call import Operable, Operand


def _check_order(name: str, order: str) -> None:
    if order not in ("C", "K", "A"):
        raise NotDefinedError(f"{name}: order={order!r} is not supported; only 'C' is.")


def array(object: Operand, dtype: DTypeLike = None, ctx: Context | None = None) -> ndarray:
    """An array with a copy of ``object``.

    Args:
        object: an array, a NumPy array, nested lists, a number.
        dtype: by default that of an array, float32 of anything else.
        ctx: device; the current one by default.

    Raises:
        ValueError: an ``mx.nd`` array; ``as_np_ndarray()`` shares its storage.
        TypeError: the source does not hold numbers.
    """
    if isinstance(object, ndarray):
        copied = object.copy() if ctx is None else object.copyto(ctx)
        return copied if dtype is None else copied.astype(dtype, copy=False)
    if isinstance(object, NDArray):
        raise AttributeValueError("array: convert an mx.nd array with its as_np_ndarray().")
    if isinstance(object, (list, tuple)):
        object = _numbers_of(object)
        if dtype is None:
            dtype = onp.float32
    return ndarray._from_source(object, ctx, dtype)


def _numbers_of(nested: object) -> Any:
    if isinstance(nested, (list, tuple)):
        return [_numbers_of(each) for each in nested]
    return nested.asnumpy() if isinstance(nested, NDArray) else nested


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, (int, onp.integer)):
        return (int(shape),)
    return tuple(shape) if isinstance(shape, (tuple, list, str)) else checked_shape("shape", shape)


def zeros(
    shape: int | Sequence[int],
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | str | None = None,
) -> Any:
    """Zeros of ``shape``; float32 by default.

    Args:
        shape: a number or a sequence.
        dtype: float32 by default.
        order: 'C'; nothing else is supported.
        ctx: device; the current one by default.
    """
    _check_order("zeros", order)
    return call("_npi_zeros", shape=_shape(shape), dtype=name_of(dtype), ctx=ctx)


def ones(
    shape: int | Sequence[int],
    dtype: DTypeLike = onp.float32,
    order: str = "C",
    ctx: Context | str | None = None,
) -> Any:
    """Ones of ``shape``.

    Args:
        shape: a number or a sequence.
        dtype: float32 by default.
        order: 'C'; nothing else is supported.
        ctx: device; the current one by default.
    """
    if order != "C":
        raise OptionError(f"ones: order={order!r} is not supported; only 'C' is.")
    return call("_npi_ones", shape=_shape(shape), dtype=name_of(dtype), ctx=ctx)


def empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = onp.float32,
    order: str = "C",
    ctx: Context | str | None = None,
) -> Any:
    """An array whose content you will write; it holds zeros until then.

    Args:
        shape: a number or a sequence.
        dtype: float32 by default.
        order: 'C'; nothing else is supported.
        ctx: device; the current one by default.
    """
    _check_order("empty", order)
    return zeros(shape, dtype, order, ctx)


def full(
    shape: int | Sequence[int],
    fill_value: Operand,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """``fill_value`` everywhere; bool for a boolean, float32 otherwise by default.

    Args:
        shape: a number or a sequence.
        fill_value: a number, or an array that is broadcast.
        dtype: bool for a boolean, float32 otherwise by default.
        order: 'C'; nothing else is supported.
        ctx: device; the current one by default.
        out: an array for the result.
    """
    _check_order("full", order)
    if isinstance(fill_value, NDArray):
        filled = fill_value if dtype is None else fill_value.astype(dtype)
        result = call("_npi_broadcast_to", filled, shape=_shape(shape))
        return result if out is None else call("_np_copy", result, out=out)
    if dtype is None:
        dtype = onp.bool_ if isinstance(fill_value, (bool, onp.bool_)) else onp.float32
    attributes = {
        "shape": _shape(shape),
        "value": float(checked_number("fill_value", fill_value)),
        "dtype": name_of(dtype),
    }
    return call("_full", out=out, **attributes, ctx=ctx)


def full_like(
    a: Operand,
    fill_value: Operand,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """``fill_value`` everywhere, in the shape and dtype of ``a``.

    Args:
        a: any shape.
        fill_value: a number.
        dtype: that of ``a`` by default.
        order: 'C'; nothing else is supported.
        ctx: device; that of ``a`` by default.
        out: an array for the result.
    """
    _check_order("full_like", order)
    return call(
        "_npi_full_like",
        a,
        out=out,
        fill_value=float(checked_number("fill_value", fill_value)),
        dtype=name_of(dtype),
    )


def zeros_like(
    a: Operand,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Zeros in the shape and dtype of ``a``.

    Args:
        a: any shape.
        dtype: that of ``a`` by default.
        order: 'C'; nothing else is supported.
        ctx: device; that of ``a`` by default.
        out: an array for the result.
    """
    return full_like(a, 0, dtype, order, ctx, out)


def ones_like(
    a: Operand,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Ones in the shape and dtype of ``a``.

    Args:
        a: any shape.
        dtype: that of ``a`` by default.
        order: 'C'; nothing else is supported.
        ctx: device; that of ``a`` by default.
        out: an array for the result.
    """
    return full_like(a, 1, dtype, order, ctx, out)


def empty_like(
    prototype: Operand,
    dtype: DTypeLike = None,
    order: str = "C",
    subok: bool = False,
    shape: int | Sequence[int] | None = None,
) -> Any:
    """An array of the shape and dtype of ``prototype`` whose content you will write.

    Args:
        prototype: any shape.
        dtype: that of ``prototype`` by default.
        order: 'C'; nothing else is supported.
        subok: False; nothing else is supported.
        shape: None; nothing else is supported.

    Raises:
        NotImplementedError: an argument is not supported.
    """
    if subok or shape is not None:
        raise OptionError(
            f"empty_like: subok={subok!r} and shape={shape!r} are not supported; np.empty(shape, dtype) "
            f"makes an array of another shape."
        )
    return full_like(prototype, 0, dtype, order)


def arange(
    start: Operand,
    stop: Operand | None = None,
    step: Operand = 1,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
) -> Any:
    """Numbers from ``start`` (0 if only one is given) up to ``stop``; float32 by default.

    Args:
        start: the first number; the end, if ``stop`` is not given.
        stop: the end, which is not included.
        step: the difference of neighbours.
        dtype: float32 by default.
        ctx: device; the current one by default.

    Raises:
        ZeroDivisionError: ``step`` is 0.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ZeroError("arange: step is 0; give another.")
    attributes = {"start": start, "stop": stop, "step": step}
    return call("_npi_arange", **attributes, dtype=name_of(dtype or onp.float32), ctx=ctx)


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    ctx: Context | str | None = None,
) -> Any:
    """``num`` numbers at equal distances from ``start`` to ``stop``, and the distance if requested.

    Args:
        start: a number, the first.
        stop: a number, the end.
        num: how many.
        endpoint: whether ``stop`` is included.
        retstep: whether to return the distance as well.
        dtype: float32 by default.
        axis: where the numbers run; only 0 is supported.
        ctx: device; the current one by default.
    """
    if axis != 0:
        raise NotDefinedError("linspace: axis other than 0 is not supported.")
    attributes = {"start": float(start), "stop": float(stop), "num": num, "endpoint": endpoint}
    numbers = call("_linspace", **attributes, dtype=name_of(dtype or onp.float32), ctx=ctx)
    if not retstep:
        return numbers
    return numbers, (stop - start) / max(num - endpoint, 1)


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
    ctx: Context | str | None = None,
) -> Any:
    """``num`` powers of ``base``, the exponents at equal distances.

    Args:
        start: the first exponent.
        stop: the last one.
        num: how many.
        endpoint: whether ``stop`` is included.
        base: of the powers.
        dtype: float32 by default.
        axis: where the numbers run; only 0 is supported.
        ctx: device; the current one by default.
    """
    if axis != 0:
        raise NotDefinedError("logspace: axis other than 0 is not supported.")
    attributes = {"start": float(start), "stop": float(stop), "num": num, "endpoint": endpoint}
    name = name_of(dtype or onp.float32)
    return call("_npi_logspace", **attributes, base=float(base), dtype=name, ctx=ctx)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = onp.float32, **kwargs: object
) -> Any:
    """A matrix with ones on diagonal ``k``.

    Args:
        N: the number of rows.
        M: the number of columns; ``N`` by default.
        k: 0 is the main diagonal, 1 the one above it.
        dtype: float32 by default.
        kwargs: ``ctx``, the device.
    """
    return call("_npi_eye", N=N, M=M, k=int(k), dtype=name_of(dtype), ctx=kwargs.get("ctx"))


def identity(n: int, dtype: DTypeLike = None, ctx: Context | str | None = None) -> Any:
    """The identity matrix of ``n`` rows.

    Args:
        n: the number of rows and columns.
        dtype: float32 by default.
        ctx: device; the current one by default.
    """
    return call("_npi_identity", shape=(n, n), dtype=name_of(dtype), ctx=ctx)


def indices(
    dimensions: Sequence[int], dtype: DTypeLike = onp.int32, ctx: Context | str | None = None
) -> Any:
    """The indices of a grid: one array of the grid's shape for each of its axes.

    Args:
        dimensions: the shape of the grid.
        dtype: int32 by default.
        ctx: device; the current one by default.
    """
    return call("_npi_indices", dimensions=tuple(dimensions), dtype=name_of(dtype), ctx=ctx)


def _window(name: str, text: str) -> Any:
    def window(M: int, dtype: DTypeLike = onp.float32, ctx: Context | str | None = None) -> Any:
        try:
            points = int(M)
        except (TypeError, ValueError):
            raise AttributeKindError(f"{name}: M must be a whole number, not {M!r:.60}.") from None
        return call(f"_npi_{name}", M=points, dtype=name_of(dtype), ctx=ctx)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = (
        f"{text} window.\n\nArgs:\n    M: the number of points.\n    dtype: float32 by default.\n"
        f"    ctx: device; the current one by default.\n"
    )
    return window


hanning = _window("hanning", "Hann")
hamming = _window("hamming", "Hamming")
blackman = _window("blackman", "Blackman")


@as_operator("_np_copy")
def copy(a: Operand, out: Operable | None = None) -> Any:
    """A new array with the same content.

    Args:
        a: any shape.
        out: an array for the result.
    """
    return call("_np_copy", a, out=out)


def meshgrid(*xi: Any, **kwargs: Any) -> list[Any]:
    """Grids from 1-D arrays: one array for each, repeated along the axes of the others.

    Args:
        xi: arrays of one axis or none.
        kwargs: ``indexing`` ('xy' or 'ij'), ``sparse`` (leave the repeating out), ``copy``.
    """
    indexing = kwargs.pop("indexing", "xy")
    sparse, _ = kwargs.pop("sparse", False), kwargs.pop("copy", True)
    if kwargs:
        raise AttributeTypeError(
            f"meshgrid() got an unexpected keyword argument {next(iter(kwargs))!r}"
        )
    if indexing not in ("xy", "ij"):
        raise AttributeValueError(f"meshgrid: indexing={indexing!r} is neither 'xy' nor 'ij'.")
    ndim = len(xi)
    order = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        order[:2] = [1, 0]
    shape = [1] * ndim
    for i, each in enumerate(xi):
        shape[order[i]] = each.size
    grids = []
    for i, each in enumerate(xi):
        extents = [1] * ndim
        extents[order[i]] = -1
        grid = call("_np_reshape", each, newshape=tuple(extents))
        grids.append(grid if sparse else call("_npi_broadcast_to", grid, shape=tuple(shape)))
    return grids
