"""Comparing arrays: equality, approximate equality, and a message with the largest differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.testing as npt

from mixnet.array_like import has_dtype
from mixnet.base import CheckError, ShapeError
from mixnet.ndarray.ndarray import NDArray
from mixnet.test_utils.tolerance import get_etol, get_tols

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Keeps the quotient finite where a tolerance of zero was asked for.
_TINY = 1e-20


def _host(value: object) -> Any:
    return value.asnumpy() if isinstance(value, NDArray) else value


def same(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two arrays have the same shape and the same elements.

    Args:
        a: an array.
        b: an array.
    """
    return np.array_equal(_host(a), _host(b))


def _violations(
    a: ArrayLike, b: ArrayLike, rtol: float, atol: float, equal_nan: bool = False
) -> np.ndarray:
    """Difference over tolerance, an element; above 1 is too far, NaN where one of both is."""
    with np.errstate(invalid="ignore", over="ignore"):
        violations = np.abs(np.subtract(a, b, dtype=np.result_type(a, b, np.float16)))
        violations = violations / (atol + rtol * np.abs(b) + _TINY)
    equal = np.equal(a, b)
    if equal_nan:
        equal = equal | (np.isnan(a) & np.isnan(b))
    return np.where(equal, 0, violations)


def _find_max_violation(
    a: ArrayLike, b: ArrayLike, rtol: float, atol: float
) -> tuple[tuple[int, ...], float]:
    """Where two arrays differ most for a tolerance: the index, and difference over tolerance."""
    violations = _violations(a, b, rtol, atol)
    index = tuple(int(each) for each in np.unravel_index(np.argmax(violations), violations.shape))
    return index, violations[index]


def locationError(
    a: Any, b: Any, index: tuple[int, ...], names: Sequence[str], maxError: bool = False
) -> str:
    """One line of a message: where, and both values."""
    maximum = "maximum " if maxError else ""
    return (
        f"Location of {maximum}error: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"
    )


class ShapesDifferError(CheckError, ShapeError, mxnet_name="AssertionError"):
    """Arrays that are compared have other shapes: an AssertionError, and a ValueError as NumPy's
    of broadcasting.
    """


def checkShapes(a: Any, b: Any) -> None:
    """Raise unless two arrays have the same shape.

    Args:
        a: an array.
        b: an array.

    Raises:
        AssertionError: they do not.
    """
    if a.shape != b.shape:
        text = f"a.shape = {a.shape} and b.shape = {b.shape} are not equal"
        raise ShapesDifferError(npt.build_err_msg([a, b], err_msg=text))


def almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` holds everywhere.

    Args:
        a: array or number.
        b: array or number.
        rtol: relative tolerance; a dict from dtype to number; None for the default of the dtype.
        atol: absolute tolerance, likewise.
        equal_nan: whether NaN equals NaN.
        use_broadcast: whether shapes may differ as far as they broadcast.

    Raises:
        AssertionError: shapes differ and may not.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _host(a), _host(b)
    if not use_broadcast:
        checkShapes(a, b)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def assert_almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise unless ``|a - b| <= atol + rtol * |b|`` holds everywhere; the worst places are printed.

    Args:
        a: ``mx.nd``, ``mx.np`` or NumPy array, or a number.
        b: the same.
        rtol: relative tolerance; a dict from dtype to number; None for the default of the dtype.
        atol: absolute tolerance, likewise.
        names: what the message calls the two.
        equal_nan: whether NaN equals NaN.
        use_broadcast: whether shapes may differ as far as they broadcast.
        mismatches: how many of the worst places are printed, and at how many counting stops (0: it
            does not).

    Raises:
        AssertionError: they differ; the message has the worst place.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _host(a), _host(b)
    if not (use_broadcast and _broadcast(np.shape(a), np.shape(b))):
        checkShapes(a, b)
    if all(has_dtype(each) and each.dtype == np.bool_ for each in (a, b)):
        npt.assert_equal(a, b)
        return
    if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan):
        return
    violations = _violations(a, b, rtol, atol, equal_nan)
    worst = np.nanmax(violations) if not np.isnan(violations).any() else np.nan
    text = f"Error {worst:f} exceeds tolerance rtol={rtol:e}, atol={atol:e}"
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        raise AssertionError(_message(a, b, text + ".\n"))
    left, right = np.broadcast_arrays(a, b)
    order, more = _worst_places(violations, mismatches[1])
    print(f"\n*** Maximum errors for vector of size {left.size}:  rtol={rtol}, atol={atol}\n")
    for number, index in enumerate(order[: mismatches[0]][: mismatches[1] or None], 1):
        where = locationError(left, right, index, names)
        print(f"{number:3d}: Error {violations[index]:f}  {where}")
    share = 100 * len(order) / left.size
    text += f" (mismatch {'at least ' if more else ''}{share:f}%).\n"
    text += locationError(left, right, order[0], names, maxError=True)
    raise AssertionError(_message(a, b, text))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(left == right or 1 in (left, right) for left, right in pairs)


def _message(a: ArrayLike, b: ArrayLike, text: str) -> str:
    # As NumPy 1 prints: its 2 adds the shape to every shortened array.
    with np.printoptions(threshold=4, suppress=True, legacy="1.25"):
        return npt.build_err_msg([a, b], err_msg=text)


def _worst_places(errors: np.ndarray, limit: int) -> tuple[list[tuple[int, ...]], bool]:
    """Indices that are too far off, the worst first, NaN before all, and whether there are more.

    With a ``limit`` one place beyond it is counted, which shows that there are more.
    """
    flat = np.where(np.isnan(errors), np.inf, errors).ravel()
    bad = np.flatnonzero(flat > 1)
    bad = bad[np.argsort(-flat[bad], kind="stable")]
    # Among infinite ones NaN comes first.
    bad = bad[np.argsort(~np.isnan(errors.ravel()[bad]), kind="stable")]
    more = 0 < limit < len(bad)
    bad = bad[: limit + 1] if more else bad
    return [tuple(int(e) for e in np.unravel_index(each, errors.shape)) for each in bad], more


def assert_allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """``assert_almost_equal`` with the defaults of ``numpy.testing.assert_allclose``.

    Args:
        a: an array.
        b: an array.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether NaN equals NaN.
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """``assert_almost_equal`` that lets a share ``etol`` of the elements differ.

    Args:
        b: an array; see ``assert_almost_equal`` for the others.
        rtol: relative tolerance.
        atol: absolute tolerance.
        names: of the arrays, for the message.
        equal_nan: whether NaN equals NaN.
        mismatches: how many elements the message shows, at most.

    Raises:
        AssertionError: more elements differ.
    """
    allowed = get_etol(etol)
    if allowed > 0:
        tolerances = get_tols(a, b, rtol, atol)
        close = np.isclose(_host(a), _host(b), *tolerances, equal_nan=equal_nan)
        if 1 - np.mean(close) <= allowed:
            return
    assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


def assert_almost_equal_ignore_nan(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
) -> None:
    """``assert_almost_equal`` of the places where neither array has NaN.

    Args:
        a: an array.
        b: an array.
        rtol: relative tolerance.
        atol: absolute tolerance.
        names: of the arrays, for the message.
    """
    a, b = np.copy(_host(a)), np.copy(_host(b))
    missing = np.isnan(a) | np.isnan(b)
    a[missing] = b[missing] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def compare_ndarray_tuple(
    t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    """``assert_almost_equal`` of arrays, None, or nested tuples of them.

    Args:
        t1: an array, None, or a tuple.
        t2: the same.
        rtol: relative tolerance.
        atol: absolute tolerance.

    Raises:
        AssertionError: they differ, or have other structures.
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        assert len(t1) == len(t2), f"one tuple has {len(t1)} items, the other {len(t2)}."
        for one, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share their memory: a change of one shows in the other.

    Args:
        array1: an array.
        array2: an array.
    """
    array1[:] += 1
    if not same(array1, array2):
        array1[:] -= 1
        return False
    array1[:] -= 1
    return same(array1, array2)


def np_reduce(dat: Any, axis: Any, keepdims: bool, numpy_reduce_func: Any) -> Any:
    """A reduction of NumPy along several axes, one after the other.

    Args:
        dat: the array.
        axis: a number, several, or None for all.
        keepdims: whether reduced axes stay, with length 1.
        numpy_reduce_func: such as ``np.sum``.
    """
    if isinstance(axis, int):
        axis = [axis]
    axes = list(axis) if axis is not None else list(range(len(dat.shape)))
    for each in sorted(axes, reverse=True):
        dat = numpy_reduce_func(dat, axis=each)
    if keepdims:
        for each in sorted(axes):
            dat = np.expand_dims(dat, each)
    return dat


def collapse_sum_like(a: Any, shape: Sequence[int]) -> Any:
    """Sum an array over the axes that broadcasting to its shape from ``shape`` made.

    Args:
        a: an array.

    Raises:
        AssertionError: ``shape`` does not broadcast to that of the array.
    """
    assert len(a.shape) >= len(shape), f"{tuple(shape)} has more axes than {a.shape}."
    lead = len(a.shape) - len(shape)
    axes = list(range(lead))
    for place, length in enumerate(shape):
        if length != a.shape[lead + place]:
            assert length == 1, f"{tuple(shape)} does not broadcast to {a.shape}."
            axes.append(lead + place)
    return a.sum(axis=tuple(axes)).reshape(shape) if axes else a.reshape(shape)


def assign_each(the_input: np.ndarray, function: Callable[..., Any] | None) -> np.ndarray:
    """A function of one number applied to each element; a copy where it is None.

    Args:
        the_input: an array.
    """
    result = np.array(the_input)
    if function is not None:
        for index in np.ndindex(result.shape):
            result[index] = function(result[index])
    return result


def assign_each2(
    input1: np.ndarray, input2: np.ndarray, function: Callable[..., Any] | None
) -> np.ndarray:
    """A function of two numbers applied to the elements of two arrays of one shape.

    Args:
        input1: an array.
        input2: an array of the same shape.

    Raises:
        AssertionError: the shapes differ.
    """
    assert input1.shape == input2.shape, f"{input1.shape} and {input2.shape} differ."
    result = np.array(input1)
    if function is not None:
        for index in np.ndindex(result.shape):
            result[index] = function(input1[index], input2[index])
    return result
