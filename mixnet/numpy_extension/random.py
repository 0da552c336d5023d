"""``mx.npx.random``: distributions that NumPy does not have, and the seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import AttributeValueError, checked_shape
from mixnet.numpy.array_parameters import check_parameter
from mixnet.numpy.call import call, is_array, name_of
from mixnet.random import seed as _seed

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.dtype import DTypeLike
    from mixnet.numpy.call import Array, Operable, Operand


def seed(seed: int, ctx: Context | str = "all") -> None:
    """Restart the random numbers, of one context or of all: the same seed, the same numbers.

    Args:
        ctx: a context, or ``'all'``.
    """
    _seed(seed, ctx)


def bernoulli(
    prob: float | Array | None = None,
    logit: float | Array | None = None,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
    out: Operable | None = None,
) -> Any:
    """Ones with probability ``prob``, or the sigmoid of ``logit``, else zeros; float32 by default.

    Args:
        prob: a number or an array of numbers from 0 to 1.
        logit: a number or an array.
        size: shape of the result; that of the parameter by default.
        dtype: of the result.
        ctx: device; the current context by default.
        out: an array to write to, in place of a new one.

    Raises:
        ValueError: both of ``prob`` and ``logit``, or neither.
    """
    if (prob is None) == (logit is None):
        raise AttributeValueError("bernoulli: give one of prob and logit.")
    parameter = prob if logit is None else logit
    assert parameter is not None
    attributes: dict[str, Any] = {"prob": None, "logit": None, "is_logit": logit is not None}
    arrays: list[Operable] = []
    check_parameter("bernoulli", "prob", prob, "_npi_bernoulli", "prob")
    if is_array(parameter):
        arrays.append(parameter)
    else:
        attributes["logit" if prob is None else "prob"] = float(parameter)
        attributes["ctx"] = ctx
    if size is not None:
        size = (int(size),) if isinstance(size, (int, onp.integer)) else checked_shape("size", size)
    return call(
        "_npi_bernoulli",
        *arrays,
        out=out,
        size=size,
        dtype=name_of(dtype or onp.float32),
        **attributes,
    )


def _batched(operator: str, names: tuple[str, str], left: Any, right: Any, more: Any) -> Any:
    arrays = [each for each in (left, right) if is_array(each)]
    attributes = {
        name: None if is_array(value) else float(value)
        for name, value in zip(names, (left, right), strict=True)
    }
    if arrays:
        more.pop("ctx")
    return call(operator, *arrays, **attributes, **more)


def _shape(batch_shape: int | Sequence[int] | None) -> Any:
    if batch_shape is None:
        return None
    return (batch_shape,) if isinstance(batch_shape, (int, onp.integer)) else tuple(batch_shape)


def uniform_n(
    low: Operand = 0.0,
    high: Operand = 1.0,
    batch_shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
) -> Any:
    """Uniform numbers of shape ``batch_shape`` followed by that of the parameters.

    Args:
        low: lower bound, a number or an array.
        high: upper bound, a number or an array.
        dtype: float32 by default.
        ctx: device; the current context by default.
    """
    more = {"size": _shape(batch_shape), "dtype": name_of(dtype or onp.float32), "ctx": ctx}
    return _batched("_npi_uniform_n", ("low", "high"), low, high, more)


def normal_n(
    loc: Operand = 0.0,
    scale: Operand = 1.0,
    batch_shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    ctx: Context | str | None = None,
) -> Any:
    """Normal numbers of shape ``batch_shape`` followed by that of the parameters.

    Args:
        loc: mean, a number or an array.
        scale: standard deviation, a number or an array.
        dtype: float32 by default.
        ctx: device; the current context by default.
    """
    more = {"size": _shape(batch_shape), "dtype": name_of(dtype or onp.float32), "ctx": ctx}
    return _batched("_npi_normal_n", ("loc", "scale"), loc, scale, more)
