"""Creating arrays from data, shapes and ranges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    IndexKindError,
    MXNetError,
    NotAnArrayError,
    NotNumbersError,
    ShapeError,
)
from mixnet.context import Context, as_context, current_context
from mixnet.dtype import CODES, as_dtype, as_numbers, dtype_name
from mixnet.ndarray.capsule import Capsule
from mixnet.ndarray.invoke import invoke, invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.ops.schema.dtypes import NONE_AS_DTYPE
from mixnet.runtime.record.record import wait_for_all
from mixnet.runtime.value.value import from_device, from_host
from mixnet.util import is_np_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike

Shape = int | Sequence[int]


# What makes a csr array of a csr matrix of scipy; mixnet.ndarray.sparse puts it here.
on_matrix: list[Callable[..., NDArray]] = []


def is_csr_of_scipy(source: object) -> bool:
    """Whether it is a csr matrix of scipy."""
    return getattr(source, "format", None) == "csr"


def array(source_array: ArrayLike, ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """An array with a copy of ``source_array``.

    Args:
        source_array: an array, a NumPy or JAX array, nested lists, a number; a csr matrix of scipy,
            which makes a csr array.
        ctx: device; the current one by default.
        dtype: by default that of an NDArray source, float32 of anything else.

    Raises:
        NotNumbersError: the source does not hold numbers.
    """
    if isinstance(source_array, NDArray):
        result: NDArray = source_array.copyto(as_context(ctx))
        return result if dtype is None else result.astype(dtype, copy=False)
    if is_csr_of_scipy(source_array):
        return on_matrix[0](source_array, ctx, dtype)
    target_dtype = as_dtype(dtype)
    try:
        data = as_numbers(source_array, target_dtype)
    except (TypeError, ValueError):
        raise NotNumbersError(
            f"array() takes numbers in nested lists of equal lengths, not {source_array!r:.80}."
        ) from None
    return NDArray._wrap(from_host(data, as_context(ctx)))


def _filled(op: str, shape: Shape, ctx: Context | None, dtype: DTypeLike, **more: Any) -> NDArray:
    out: NDArray | None = more.pop("out", None)
    more.pop("name", None)
    # Attributes of a symbol's node, as the layout that cells tell of their states.
    more = {name: value for name, value in more.items() if not name.startswith("__")}
    extents = [shape] if isinstance(shape, (int, np.integer)) else shape
    if isinstance(extents, (tuple, list, np.ndarray)) and 0 in extents and not is_np_shape():
        raise ShapeError(
            f"{op.strip('_')}: shape {shape} has no elements, which mx.nd does not support."
        )
    attributes = {"shape": shape, "dtype": dtype_name(dtype), "ctx": ctx, **more}
    return invoke(find(op), (), attributes, out)


def zeros(
    shape: Shape,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    stype: str | None = None,
    **kwargs: object,
) -> NDArray:
    """An array of zeros of ``shape`` and ``dtype`` (float32 by default), dense or of ``stype``.

    Args:
        ctx: device of the array; the current context by default.
        kwargs: ``out``, an array to write to; ``name`` and attributes of symbols are ignored.
    """
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype).tostype(stype)
    return _filled("_zeros", shape, ctx, dtype, **kwargs)


def ones(
    shape: Shape, ctx: Context | None = None, dtype: DTypeLike = None, **kwargs: object
) -> NDArray:
    """An array of ones of ``shape`` and ``dtype`` (float32 by default).

    Args:
        ctx: device of the array; the current context by default.
        kwargs: ``out``, an array to write to; ``name`` and attributes of symbols are ignored.
    """
    return _filled("_ones", shape, ctx, dtype, **kwargs)


def full(
    shape: Shape,
    val: float | ArrayLike,
    ctx: Context | None = None,
    dtype: DTypeLike = np.float32,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """An array of ``shape`` filled with ``val``.

    Args:
        val: a number, or an array or list that broadcasts to ``shape``.
        ctx: device of the array; the current context by default.
        dtype: of the array.
        out: an array to write to, in place of a new one.

    Raises:
        TypeError: ``val`` is neither a number nor an array.
        ValueError: ``val`` does not broadcast to ``shape``.
    """
    if isinstance(val, (list, tuple, np.ndarray, NDArray)) and np.shape(val) != ():
        filled = empty(shape, ctx, dtype) if out is None else out
        for each in [filled] if isinstance(filled, NDArray) else filled:
            each[:] = val
        return filled  # type: ignore[return-value]
    try:
        number = float(val)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise AttributeTypeError(f"full: val={val!r:.60} is not a number.") from None
    return _filled("_full", shape, ctx, dtype, value=number, out=out)


def empty(
    shape: Shape, ctx: Context | None = None, dtype: DTypeLike = None, stype: str | None = None
) -> NDArray:
    """An array to be filled later; until then it holds zeros.

    Args:
        shape: a number or a tuple of numbers.
        ctx: device of the array; the current context by default.
        dtype: float32 by default.
        stype: ``'row_sparse'`` or ``'csr'`` for a sparse array; dense by default.
    """
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: DTypeLike = np.float32,
) -> NDArray:
    """Numbers from ``start`` (0 if only one bound is given) up to ``stop``, ``repeat`` times each.

    Args:
        step: difference between two numbers; negative to count down.
        infer_range: has no effect.
        ctx: device of the array; the current context by default.
        dtype: of the array.
    """
    attributes: dict[str, Any] = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    if stop is None:
        attributes |= {"start": 0.0, "stop": start}
    attributes |= {"dtype": dtype_name(NONE_AS_DTYPE if dtype is None else dtype), "ctx": ctx}
    return invoke(find("_arange"), (), attributes)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: DTypeLike = np.float32,
) -> NDArray:
    """``num`` evenly spaced numbers from ``start`` to ``stop``.

    Args:
        endpoint: whether ``stop`` is the last number.
        ctx: device of the array; the current context by default.
        dtype: of the array.
    """
    attributes: dict[str, Any] = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    attributes |= {"dtype": dtype_name(NONE_AS_DTYPE if dtype is None else dtype), "ctx": ctx}
    return invoke(find("_linspace"), (), attributes)


def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> NDArray:
    """A matrix with ones on diagonal ``k``; ``M`` columns, ``N`` if 0.

    Args:
        ctx: device of the array; the current context by default.
        dtype: float32 by default.
        kwargs: ``out``, an array to write to.
    """
    return invoke(
        find("_eye"),
        (),
        {"N": N, "M": M, "k": k, "ctx": ctx, "dtype": dtype_name(dtype)},
        kwargs.get("out"),
    )


def from_numpy(
    ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray
) -> NDArray:
    """An array with the content and dtype of a NumPy array; always a copy, so both can be changed.

    Args:
        ndarray: a NumPy array.
        array_cls: class of the result, ``mx.nd.NDArray`` or ``mx.np.ndarray``.

    Raises:
        ValueError: ``zero_copy`` of an array that is not C contiguous, as in MXNet; no numbers.
    """
    if not isinstance(ndarray, np.ndarray):
        raise AttributeTypeError(
            f"from_numpy takes a numpy.ndarray, not {type(ndarray).__name__}; mx.nd.array takes lists."
        )
    if zero_copy and not ndarray.flags["C_CONTIGUOUS"]:
        raise AttributeValueError(
            "from_numpy shares only C-contiguous arrays; pass zero_copy=False, or "
            "numpy.ascontiguousarray(array)."
        )
    if ndarray.dtype not in CODES:
        raise AttributeValueError(
            f"from_numpy takes an array of numbers, not of {ndarray.dtype}; cast it with astype('float32')."
        )
    return array_cls._wrap(from_host(ndarray, current_context()))


def _new_empty_handle() -> Any:
    """MXNet's way to make an array without content.

    Raises:
        MXNetError: there are no C handles here.
    """
    raise MXNetError("mixnet has no C handles; make an array with mx.nd.empty(shape).")


def from_dlpack(dlpack: object) -> NDArray:
    """An array that shares the buffer of another library's array (``__dlpack__``), or of a capsule.

    Args:
        dlpack: an array with ``__dlpack__``, or a capsule of ``to_dlpack_for_read``.

    Raises:
        TypeError: ``dlpack`` is neither.
        ValueError: a capsule that was used up.
    """
    if Capsule.wraps(dlpack):
        dlpack = Capsule(dlpack)
    if not hasattr(dlpack, "__dlpack__"):
        raise NotAnArrayError(
            f"from_dlpack takes an array of another library, which has __dlpack__, not "
            f"{type(dlpack).__name__}."
        )
    with jax.enable_x64(True):
        shared = jax.numpy.from_dlpack(dlpack)
    return NDArray._wrap(from_device(shared, current_context()))


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of the array's buffer, for reading.

    Args:
        data: a dense array; waits until it is computed.
    """
    return data.__dlpack__()


def moveaxis(
    tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]
) -> NDArray:
    """The array with axes moved, like ``numpy.moveaxis``.

    Args:
        tensor: an array.
        source: axes to move, a number or several.
        destination: their new positions, as many as in ``source``.
    """
    # NumPy moves the axes of a probe whose extents are all different.
    probe = np.broadcast_to(np.bool_(True), tuple(range(1, tensor.ndim + 1)))
    try:
        moved = [extent - 1 for extent in np.moveaxis(probe, source, destination).shape]
    except (ValueError, TypeError):
        raise IndexKindError(
            f"moveaxis: source={source!r} and destination={destination!r} are not axes of an array of "
            f"shape {tensor.shape}; give the same number of each."
        ) from None
    return invoke(find("transpose"), (tensor,), {"axes": tuple(moved)})


def concatenate(arrays: list[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays joined along ``axis``.

    Args:
        always_copy: whether a single array is copied; if not, it is the result.

    Raises:
        CheckError: it is not a list of arrays with equal dtypes, equal numbers of axes, and equal
            extents of all axes but ``axis``.
    """
    listed = isinstance(arrays, (list, tuple)) and all(isinstance(each, NDArray) for each in arrays)
    if not listed or len({each.ndim for each in arrays}) != 1:
        raise CheckError(
            "concatenate takes a list of arrays with equal numbers of axes, one array at least."
        )
    if len({(each.dtype, each.shape[:axis] + each.shape[axis:][1:]) for each in arrays}) != 1:
        descriptions = ", ".join(f"{np.dtype(each.dtype)} {each.shape}" for each in arrays)
        raise CheckError(
            f"concatenate takes arrays of one dtype with equal extents of all axes but {axis}, "
            f"not {descriptions}. Call astype or reshape first."
        )
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return invoke(find("Concat"), list(arrays), {"dim": axis})


def waitall() -> None:
    """Wait until everything recorded or pushed by any thread has run.

    Raises:
        BaseException: the first error of an operation that has not been raised yet.
    """
    wait_for_all()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of the array's buffer; the array does not see writes to it.

    Args:
        data: a dense array; waits until it is computed.
    """
    return data.__dlpack__()


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """One-hot rows for ``indices``, written to ``out``, which has a column for each category."""
    return invoke(find("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype}, out)


def histogram(a: NDArray, bins: Any = 10, range: Any = None) -> Any:
    """Number of elements in each bin, int64, and the edges of the bins.

    Args:
        a: any shape.
        bins: their number, or an array of edges.
        range: smallest and largest edge; those of the elements by default, and then NumPy counts, and both
            results are float32.
    """
    if isinstance(bins, NDArray):
        return invoke_any(find("_histogram"), (a, bins), {})
    if range is None:
        warnings.warn("histogram: without range= NumPy counts, on the host.", stacklevel=2)
        data = a.asnumpy()
        # Limits of float64 make NumPy 2 compute the edges in float64, as NumPy 1 does.
        limits = (float(data.min()), float(data.max())) if data.size else None
        counts, edges = np.histogram(data, bins, limits)
        return array(counts, dtype="float32"), array(edges, dtype="float32")
    return invoke_any(find("_histogram"), (a,), {"bin_cnt": int(bins), "range": tuple(range)})
