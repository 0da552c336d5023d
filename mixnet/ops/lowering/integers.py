"""Fused 8-bit integer convolutions with channels last, and their weights.

oneDNN inside XLA multiplies ``uint8`` by ``int8`` into int32 with the processor's own
instructions (VNNI), see ``onednn.py``. It has none for two signed numbers, so signed data are
made unsigned: 128 more, and 128 times the weights less.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.lowering import grouped, onednn
from mixnet.ops.lowering.convolution import ORDER
from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.nn.convolve import Pads, convolve
from mixnet.ops.quantized.fused import (
    Parts,
    body_order,
    folded_weights,
    parts_of,
    quantized_result,
    weight_steps,
    whole_weights,
)

_WEIGHTS = ("weight", "bias", "gamma", "beta", "mean", "var")


def weight_names(parts: Parts) -> list[str]:
    """The arrays that the integers of a fused convolution's weight are made from."""
    return [name for name in body_order(parts) if name in _WEIGHTS]


def prepare(*arrays: Any, body: Any, by_channel: bool) -> tuple[Any, Any, Any]:
    """The weight's integers, what a step of them stands for, and the bias in floats.

    Args:
        arrays: those of ``weight_names``.
        body: the subgraph of the fused convolution.
        by_channel: whether each channel has steps of its own.
    """
    parts = parts_of(body)
    by_name = dict(zip(weight_names(parts), arrays, strict=True))
    weight, bias = folded_weights(
        parts, by_name.pop("weight"), by_name.pop("bias", None), **by_name
    )
    steps = weight_steps(weight, by_channel)
    if bias is None:
        bias = jnp.zeros(weight.shape[0], weight.dtype)
    return whole_weights(weight, steps), steps, bias


def fused_convolution(
    data: Any,
    weight: Any,
    steps: Any,
    bias: Any,
    *rest: jax.Array,
    body: Any,
    method: str,
    low: float | None,
    high: float | None,
    as_floats: bool,
) -> tuple[Any, ...]:
    """What ``_sg_mkldnn_conv`` gives, channels last.

    Args:
        data: ``(batch, height, width, channels)``.
        weight: of ``prepare``, as what follows.
        steps: of the weight.
        bias: floats.
        rest: the array that is added, if there is one; then the ends of the ranges of data and of that array.
        body: the subgraph.
        method: ``onednn`` or ``xla``.
        low: least number measured; None if none was.
        high: greatest number measured.
        as_floats: whether floats are returned.
    """
    parts = parts_of(body)
    other, ranges = (rest[0], rest[1:]) if parts.sum is not None else (None, rest)
    known = parts.layer.op.keywords(parts.layer.statics)
    pads = [(p, p) for p in known["pad"] or (0, 0)]
    window = {
        "stride": known["stride"] or (1, 1),
        "dilate": known["dilate"] or (1, 1),
        "groups": known["num_group"],
    }
    compute = _by_onednn if method == "onednn" else _in_floats
    sums = compute(data, weight, pads, window)
    return quantized_result(
        parts, data, sums, steps, bias, other, ranges, low, high, as_floats, channel_axis=3
    )


def _in_floats(data: jax.Array, weight: jax.Array, pads: Pads, window: dict[str, Any]) -> Any:
    wide, kernel = data.astype(jnp.float32), weight.astype(jnp.float32)
    if window["groups"] > 1:
        return grouped.convolution(wide, kernel, pads=pads, **window)
    return convolve(wide, kernel, window["stride"], pads, window["dilate"], ORDER)


def _by_onednn(data: jax.Array, weight: jax.Array, pads: Pads, window: dict[str, Any]) -> Any:
    if data.dtype == jnp.uint8:
        return onednn.convolution(data, weight, pads=pads, **window)
    unsigned = (data.astype(jnp.int16) + 128).astype(jnp.uint8)
    padded = jnp.pad(unsigned, [(0, 0), *pads, (0, 0)], constant_values=128)
    sums = onednn.convolution(padded, weight, pads=[(0, 0), (0, 0)], **window)
    return sums - 128 * weight.astype(jnp.int32).sum((1, 2, 3))


WEIGHTS = Lowering("quantized_weights", prepare)
CONVOLUTION = Lowering("quantized_convolution_channels_last", fused_convolution)
