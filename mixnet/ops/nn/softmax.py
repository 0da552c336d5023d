"""The softmax family."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorTypeError, ShapeError
from mixnet.ops.array.plain import along, in_dtype, shaped, total
from mixnet.ops.math.quotient import quotient
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import AxisOrScalar, DType
from mixnet.private_jax.derivatives import CustomJVP


def _length_arguments(use_length: bool | None) -> tuple[str, ...]:
    return ("data", "length") if use_length else ("data",)


def _inside(data: jax.Array, length: jax.Array, axis: int) -> Any:
    axis %= data.ndim
    steps = jnp.arange(data.shape[axis]).reshape([-1 if i == axis else 1 for i in range(data.ndim)])
    return steps < jnp.expand_dims(length.astype(jnp.int64), axis)


def _exponents(data: jax.Array, axis: int) -> Any:
    """Less the largest along ``axis``, so that no power overflows."""
    largest = jax.lax.reduce_max(jax.lax.stop_gradient(data), (axis,))
    return jax.lax.sub(data, along(largest, data.shape, (axis,)))


def softmax_along(data: jax.Array, axis: int) -> Any:
    """exp(data), divided by its sum along ``axis``; an array without axes counts as one element."""
    if not data.ndim:
        return shaped(softmax_along(shaped(data, (1,)), axis), ())
    return _softmax(data, axis=axis % data.ndim)


@CustomJVP
def _softmax(data: jax.Array, *, axis: int) -> Any:
    powers = jax.lax.exp(_exponents(data, axis))
    return jax.lax.div(powers, along(total(powers, (axis,)), data.shape, (axis,)))


@_softmax.defjvp
def _(primals: Any, tangents: Any, *, axis: int) -> tuple[Any, Any]:
    out = _softmax(primals[0], axis=axis)
    weighted = jax.lax.mul(out, tangents[0])
    common = along(total(weighted, (axis,)), out.shape, (axis,))
    return out, jax.lax.sub(weighted, jax.lax.mul(out, common))


def log_softmax_along(data: jax.Array, axis: int) -> Any:
    """The logarithm of :func:`softmax_along`."""
    if not data.ndim:
        return shaped(log_softmax_along(shaped(data, (1,)), axis), ())
    axis %= data.ndim
    exponents = _exponents(data, axis)
    sums = total(jax.lax.exp(exponents), (axis,))
    return jax.lax.sub(exponents, along(jax.lax.log(sums), data.shape, (axis,)))


@op(
    "softmax",
    floats=True,
    arguments=_length_arguments,
    method=True,
    flops=4,
    precision="full",
    aliases=["_npx_softmax"],
)
def softmax(
    data,
    length=None,
    *,
    axis: AxisOrScalar = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
):
    """exp(data / temperature), divided by its sum along ``axis``.

    Args:
        data: float.
        length: elements beyond it along ``axis`` count as absent, and are 0 in the result.

    Source: MXNet operator ``softmax``.
    """
    scaled = data if temperature is None else quotient(data, temperature)
    if use_length and length is None:
        raise OperatorTypeError(
            "softmax: with use_length=True it takes two arrays, data and length."
        )
    if length is None:
        return in_dtype(softmax_along(scaled, axis), dtype or data.dtype)
    if not jnp.issubdtype(length.dtype, jnp.integer):
        raise DTypeError(
            f"softmax: length is {length.dtype.name}; it must be of integers. Cast it with astype('int32')."
        )
    rest = tuple(n for i, n in enumerate(data.shape) if i != axis % data.ndim)
    if length.shape != rest:
        raise ShapeError(
            f"softmax: length has shape {length.shape}; data {data.shape} without axis {axis} is {rest}."
        )
    inside = _inside(data, length, axis) if data.ndim else length > 0
    out = softmax_along(jnp.where(inside, scaled, -jnp.inf), axis)
    return jnp.where(inside, out, 0).astype(dtype or data.dtype)


@op(
    "log_softmax", floats=True, method=True, flops=4, precision="full", aliases=["_npx_log_softmax"]
)
def log_softmax(
    data,
    *,
    axis: AxisOrScalar = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
):
    """Logarithm of ``softmax``, without overflow.

    Source: MXNet operator ``log_softmax``.
    """
    scaled = data if temperature is None else quotient(data, temperature)
    return in_dtype(log_softmax_along(scaled, axis), dtype or data.dtype)


@op("softmin", floats=True, method=True, precision="full")
def softmin(
    data,
    *,
    axis: AxisOrScalar = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
):
    """``softmax`` of ``-data``.

    Source: MXNet operator ``softmin``.
    """
    scaled = data if temperature is None else quotient(data, temperature)
    return in_dtype(softmax_along(-scaled, axis), dtype or data.dtype)


@op("SoftmaxActivation", floats=True, flops=4, precision="full")
def softmax_activation(data, *, mode: Literal["channel", "instance"] = "instance"):
    """Softmax along the last axis ("instance"), or along axis 1 ("channel").

    Raises:
        ShapeError: data of fewer than three axes has no channels.

    Source: MXNet operator ``SoftmaxActivation``.
    """
    if mode == "channel" and data.ndim < 3:
        raise ShapeError(
            f"SoftmaxActivation: mode='channel' takes data of at least 3 axes, (batch, channels, ...), "
            f"not {data.shape}; mode='instance' takes this."
        )
    return softmax_along(data, 1 if mode == "channel" else -1)


@op("softmax_cross_entropy", floats=True, flops=5, precision="full")
def softmax_cross_entropy(data, label):
    """Cross entropy of the softmax of ``data``, summed over the batch.

    Args:
        data: scores, ``(batch, classes)``.
        label: class numbers, ``(batch,)``. Any other number counts as a class of probability 0.

    Returns:
        ``(1,)``. A probability below 1e-8 counts as 1e-8.

    Raises:
        ShapeError: data and label have other shapes.

    Source: MXNet operator ``softmax_cross_entropy``.
    """
    if data.ndim != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy: data must be (batch, classes) and label (batch,), not {data.shape} and "
            f"{label.shape}."
        )
    # No probability counts as less than 1e-8, in MXNet, and a label that is no class has none.
    logs = jnp.where(_is_label(data, label), log_softmax_along(data, -1), math.log(1e-8))
    return -logs.max(-1).sum().reshape((1,))


@softmax_cross_entropy.set_gradient
def _(head, out, data, label):
    return (softmax_along(data, -1) - _is_label(data, label)) * head, None


def _is_label(data: jax.Array, label: jax.Array) -> Any:
    return jnp.arange(data.shape[-1]) == label.astype(jnp.int64)[:, None]
