"""``mx.np.random``: random numbers with NumPy's signatures; ``mx.random.seed`` makes them reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as onp

from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    NotDefinedError,
    OperatorTypeError,
    OperatorValueError,
    ShapeError,
    checked_shape,
)
from mixnet.numpy.array_parameters import check_parameter
from mixnet.numpy.call import as_array, call, is_array, name_of
from mixnet.numpy.elementwise import FUNCTIONS
from mixnet.numpy.linalg import cholesky
from mixnet.numpy.products import matmul
from mixnet.numpy.shape import expand_dims, squeeze
from mixnet.ops.math.broadcast import check_broadcast

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.dtype import DTypeLike
    from mixnet.numpy.call import Array, Operable, Operand

Number = TypeVar("Number", int, float)


def _size(size: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if size is None:
        return None
    if isinstance(size, (int, onp.integer)):
        return (int(size),)
    try:
        return checked_shape("size", size)
    except AttributeTypeError as error:
        raise OperatorTypeError(str(error)) from None


def _number(function: str, name: str, value: object) -> float:
    """A parameter of a distribution as a number.

    Raises:
        AttributeKindError: it is none.
    """
    return _converted(float, "a number or an mx.np array", function, name, value)


def _as_integer(function: str, name: str, value: object) -> int:
    """A parameter as a whole number; the same error, for fractions and infinity, too."""
    number = _converted(int, "a whole number", function, name, value)
    if isinstance(value, float) and number != value:
        raise AttributeKindError(f"{function}: {name} is a whole number, not {value!r:.60}.")
    return number


def _converted(kind: type[Number], text: str, function: str, name: str, value: Any) -> Number:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise AttributeKindError(
            f"{function.removeprefix('_npi_')}: {name} is {text}, not {value!r:.60}."
        ) from None


def _in_range(
    operator: str,
    name: str,
    value: Any,
    function: str | None = None,
    parameter: str | None = None,
) -> float | None:
    """A parameter as the operator's attribute: a number; None if it is an array.

    Args:
        operator: what draws.
        name: of the attribute.
        value: a number or an array.
        function: what was called; by default the operator.
        parameter: its name there; by default that of the attribute.

    Raises:
        ValueError: a number is out of range.
    """
    function = function or operator.removeprefix("_npi_")
    parameter = parameter or name
    number = None if is_array(value) else _number(function, parameter, value)
    check_parameter(function, parameter, value if number is None else number, operator, name)
    return number


def _two(
    operator: str,
    names: tuple[str, str],
    left: Any,
    right: Any,
    size: int | Sequence[int] | None,
    out: Operable | None,
    **more: Any,
) -> Any:
    """A distribution of two parameters, each a number or an array."""
    arrays = [each for each in (left, right) if is_array(each)]
    attributes = {}
    for name, value in zip(names, (left, right), strict=True):
        attributes[name] = _in_range(operator, name, value)
    if arrays:
        more.pop("ctx", None)
    return call(operator, *arrays, out=out, **attributes, size=_size(size), **more)


def uniform(
    low: Operand = 0.0,
    high: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Uniform numbers in [low, high), float32 by default.

    Args:
        low: lower bound, a number or an array.
        high: the end, which is not included.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    dtype = name_of(dtype or onp.float32)
    return _two("_npi_uniform", ("low", "high"), low, high, size, out, dtype=dtype, ctx=ctx)


def normal(
    loc: Operand = 0.0,
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Normal numbers with mean ``loc`` and standard deviation ``scale``, float32 by default.

    Args:
        loc: a number or an array.
        scale: a number or an array, 0 or more.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    dtype = name_of(dtype or onp.float32)
    return _two("_npi_normal", ("loc", "scale"), loc, scale, size, out, dtype=dtype, ctx=ctx)


def lognormal(
    mean: Operand = 0.0,
    sigma: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Exponentials of normal numbers.

    Args:
        mean: of the normal numbers.
        sigma: their standard deviation.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    _in_range("_npi_normal", "scale", sigma, "lognormal", "sigma")
    return FUNCTIONS["exp"](normal(mean, sigma, size, dtype, ctx), out)


def logistic(
    loc: Operand = 0.0,
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the logistic distribution.

    Args:
        loc: the mean.
        scale: 0 or more.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _two("_npi_logistic", ("loc", "scale"), loc, scale, size, out, ctx=ctx)


def gumbel(
    loc: Operand = 0.0,
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the Gumbel distribution.

    Args:
        loc: the most frequent value.
        scale: 0 or more.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _two("_npi_gumbel", ("loc", "scale"), loc, scale, size, out, ctx=ctx)


def gamma(
    shape: Operand,
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the gamma distribution with ``shape`` and ``scale``.

    Args:
        shape: above 0: a number or an array.
        scale: above 0.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    dtype = name_of(dtype or onp.float32)
    return _two("_npi_gamma", ("shape", "scale"), shape, scale, size, out, dtype=dtype, ctx=ctx)


def beta(
    a: float | Operable,
    b: float | Operable,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
) -> Any:
    """Numbers of the beta distribution: x / (x + y) of two of the gamma distribution.

    Args:
        a: above 0: a number or an array.
        b: above 0.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
    """
    _in_range("_npi_gamma", "shape", a, "beta", "a")
    _in_range("_npi_gamma", "shape", b, "beta", "b")
    if size is None or size == ():
        size = onp.broadcast_shapes(*[each.shape for each in (a, b) if is_array(each)])
    x = gamma(a, 1.0, size, dtype or onp.float32, ctx)
    y = gamma(b, 1.0, size, dtype or onp.float32, ctx)
    return x / (x + y)


def chisquare(
    df: float | Operable,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
) -> Any:
    """Numbers of the chi-square distribution with ``df`` degrees of freedom.

    Args:
        df: above 0: a number or an array.
        size: shape of the result; by default that of the parameters, broadcast.
        dtype: float type of the result; float32 by default.
        ctx: device; the current one by default, that of array parameters if there are any.
    """
    number = _in_range("_npi_gamma", "shape", df, "chisquare", "df")
    half = as_array(df) / 2 if number is None else number / 2
    return gamma(half, 2.0, size, dtype, ctx)


def _one(operator: str, name: str, text: str, function: str | None = None) -> Any:
    def draw(value: Any, size: Any, ctx: Any, out: Operable | None) -> Any:
        arrays = [value] if is_array(value) else []
        attributes = {
            name: _in_range(operator, name, value, function=function),
            "size": _size(size),
        }
        if not arrays:
            attributes["ctx"] = ctx
        return call(operator, *arrays, out=out, **attributes)

    draw.__doc__ = text
    return draw


_exponential = _one("_npi_exponential", "scale", "")
_rayleigh = _one("_npi_rayleigh", "scale", "")
_pareto = _one("_npi_pareto", "a", "")
_weibull = _one("_npi_weibull", "a", "")
_power = _one("_npi_powerd", "a", "", "power")


def exponential(
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Exponential numbers with mean ``scale``.

    Args:
        scale: 0 or more: a number or an array.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _exponential(scale, size, ctx, out)


def rayleigh(
    scale: Operand = 1.0,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the Rayleigh distribution.

    Args:
        scale: the most frequent value.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _rayleigh(scale, size, ctx, out)


def pareto(
    a: Operand,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the Pareto II distribution with shape ``a``.

    Args:
        a: above 0: a number or an array.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _pareto(a, size, ctx, out)


def weibull(
    a: Operand,
    size: int | Sequence[int] | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Numbers of the Weibull distribution with shape ``a``.

    Args:
        a: above 0: a number or an array.
        size: shape of the result; by default that of the parameters, broadcast.
        ctx: device; the current one by default, that of array parameters if there are any.
        out: an array for the result.
    """
    return _weibull(a, size, ctx, out)


def power(a: Operand, size: int | Sequence[int] | None = None) -> Any:
    """Numbers in [0, 1] with density ``a x^(a-1)``.

    Args:
        a: above 0: a number or an array.
        size: shape of the result; by default that of the parameters, broadcast.
    """
    return _power(a, size, None, None)


def rand(*size: int, **kwargs: Any) -> Any:
    """Uniform numbers in [0, 1) of the shape given as arguments.

    Args:
        size: the extent of each axis.
        kwargs: ``ctx`` and the other options of ``uniform``.
    """
    return uniform(0.0, 1.0, size, **kwargs)


def randn(*size: int, **kwargs: Any) -> Any:
    """Normal numbers of the shape given as arguments.

    Args:
        size: the extent of each axis.
        kwargs: ``ctx`` and the other options of ``normal``.
    """
    return normal(0.0, 1.0, size, **kwargs)


def randint(
    low: int,
    high: int | None = None,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Whole numbers in [low, high), or in [0, low); int64 by default.

    Args:
        low: the smallest number; the end, if ``high`` is None.
        high: the end, which is not included.
        size: shape of the result; one number by default.
        dtype: int64 by default.
        ctx: device; the current one by default.
        out: an array for the result.

    Raises:
        ValueError: there is no such number.
    """
    if high is None:
        low, high = 0, low
    low, high = _as_integer("randint", "low", low), _as_integer("randint", "high", high)
    if low >= high:
        raise OperatorValueError(f"randint: there is no whole number in [{low}, {high}).")
    attributes = {"low": low, "high": high, "shape": _size(size) or ()}
    return call(
        "_random_randint", out=out, **attributes, dtype=name_of(dtype or onp.int64), ctx=ctx
    )


def choice(
    a: Operand,
    size: int | Sequence[int] | None = None,
    replace: bool = True,
    p: Operand | None = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Elements of ``a``, or whole numbers below ``a``, drawn at random; int64.

    Args:
        a: a number, or an array whose elements along the first axis are drawn.
        size: shape of the result; one draw by default.
        replace: whether an element may be drawn again.
        p: one probability for each element.
        ctx: device; the current one by default.
        out: an array for the result.

    Raises:
        ValueError: more draws than elements without replacement.
    """
    if is_array(a) and not a.shape:
        raise AttributeValueError(
            "choice: a is an array without axes; give one with at least one axis, or a whole number."
        )
    count = a.shape[0] if is_array(a) else _as_integer("choice", "a", a)
    shape = _size(size)
    number = int(onp.prod(shape, dtype=onp.int64)) if shape is not None else 1
    if not replace and number > count:
        raise OperatorValueError(f"choice: {number} draws from {count} elements need replace=True.")
    attributes = {
        "a": int(count),
        "size": shape or (),
        "replace": replace,
        "weighted": p is not None,
    }
    where = call("_npi_choice", p, **attributes, ctx=None if p is not None else ctx)
    if isinstance(a, (int, onp.integer)):
        return where if out is None else call("_np_copy", where, out=out)
    return call("take", a, where, out=out, axis=0)


def multinomial(
    n: int, pvals: Sequence[float], size: int | Sequence[int] | None = None, **kwargs: object
) -> Any:
    """How often each outcome occurs in ``n`` trials with probabilities ``pvals``; int64.

    Args:
        n: the number of trials.
        pvals: a probability for each outcome.
        size: how many times, as a shape.
        kwargs: ignored.

    Raises:
        ValueError: the probabilities sum up to more than 1.
    """
    attributes = {"n": int(n), "size": _size(size)}
    if is_array(pvals):
        return call("_npi_multinomial", pvals, pvals=None, **attributes)
    numbers = tuple(float(each) for each in pvals)
    if sum(numbers) > 1 + 1e-5:
        raise AttributeValueError(f"multinomial: pvals sum up to {sum(numbers)}, more than 1.")
    return call("_npi_multinomial", pvals=numbers, **attributes)


def multivariate_normal(
    mean: Array,
    cov: Array,
    size: int | Sequence[int] | None = None,
    check_valid: str | None = None,
    tol: float | None = None,
) -> Any:
    """Normal vectors with mean ``(..., n)`` and covariance ``(..., n, n)``.

    Args:
        mean: the mean of each number.
        cov: symmetric, with eigenvalues of at least 0.
        size: shape in front of the vectors.
        check_valid: only None is supported.
        tol: only None is supported.
    """
    if check_valid is not None or tol is not None:
        raise NotDefinedError("multivariate_normal: check_valid and tol are not supported.")
    mean, cov = as_array(mean), as_array(cov)
    if not mean.ndim or cov.ndim < 2 or {*cov.shape[-2:], mean.shape[-1]} != {cov.shape[-1]}:
        raise ShapeError(
            f"multivariate_normal: mean is {mean.shape}, cov {cov.shape}; give a mean (..., n) and a "
            f"covariance (..., n, n)."
        )
    check_broadcast("multivariate_normal: mean and rows of cov", mean.shape, cov.shape[:-1])
    batch = onp.broadcast_shapes(mean.shape, cov.shape[:-1])
    shape = (*(_size(size) or ()), *batch)
    # MXNet draws in another thread, whose generator is not that of other draws.
    noise = call("_noise", loc=0.0, scale=1.0, size=shape, dtype=name_of(mean.dtype), ctx=mean.ctx)
    turned = squeeze(matmul(cholesky(cov), expand_dims(noise, -1)), -1)
    return mean + turned


def shuffle(x: Operand) -> None:
    """Put the first axis of ``x`` in random order, in place."""
    call("_shuffle", x, out=x)
