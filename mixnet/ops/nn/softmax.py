"""The softmax family."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.ops.math.quotient import quotient
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, DType


def _length_arguments(use_length: bool | None) -> tuple[str, ...]:
    return ("data", "length") if use_length else ("data",)


def _inside(data: jax.Array, length: jax.Array, axis: int) -> Any:
    axis %= data.ndim
    steps = jnp.arange(data.shape[axis]).reshape([-1 if i == axis else 1 for i in range(data.ndim)])
    return steps < jnp.expand_dims(length.astype(jnp.int64), axis)


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
    axis: Axis = -1,
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
    scaled = quotient(data, temperature) if temperature else data
    if length is None:
        return jax.nn.softmax(scaled, axis).astype(dtype or data.dtype)
    inside = _inside(data, length, axis)
    out = jax.nn.softmax(jnp.where(inside, scaled, -jnp.inf), axis)
    return jnp.where(inside, out, 0).astype(dtype or data.dtype)


@op(
    "log_softmax", floats=True, method=True, flops=4, precision="full", aliases=["_npx_log_softmax"]
)
def log_softmax(
    data,
    *,
    axis: Axis = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
):
    """Logarithm of ``softmax``, without overflow.

    Source: MXNet operator ``log_softmax``.
    """
    scaled = quotient(data, temperature) if temperature else data
    return jax.nn.log_softmax(scaled, axis).astype(dtype or data.dtype)


@op("softmin", floats=True, method=True, precision="full")
def softmin(
    data,
    *,
    axis: Axis = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
):
    """``softmax`` of the negative.

    Source: MXNet operator ``softmin``.
    """
    scaled = quotient(data, temperature) if temperature else data
    return jax.nn.softmax(-scaled, axis).astype(dtype or data.dtype)


@op("SoftmaxActivation", floats=True, flops=4, precision="full")
def softmax_activation(data, *, mode: Literal["channel", "instance"] = "instance"):
    """Softmax along the last axis, or along axis 1.

    Source: MXNet operator ``SoftmaxActivation``.
    """
    return jax.nn.softmax(data, 1 if mode == "channel" else -1)


@op("softmax_cross_entropy", floats=True, flops=5, precision="full")
def softmax_cross_entropy(data, label):
    """Sum over the batch of the cross entropy of softmax with class numbers.

    Source: MXNet operator ``softmax_cross_entropy``.
    """
    logs = jax.nn.log_softmax(data, -1)
    chosen = jnp.take_along_axis(logs, label.astype(jnp.int64)[:, None], -1)
    return -chosen.sum().reshape((1,))
