"""Affine maps and embeddings."""

from __future__ import annotations

import math

import jax

from mixnet.base import ShapeError
from mixnet.ops.array.plain import on_axis
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive
from mixnet.ops.schema.integer_layers import Fusion, Quantization
from mixnet.ops.schema.rewrites import Rewrites
from mixnet.ops.schema.shape_constraints import same_batch


@op(
    "FullyConnected",
    floats=True,
    one_dtype=True,
    recomputed="asked",
    rewrites=Rewrites(keeps_dtype=True),
    precision="low",
    shape_constraint=same_batch,
    fusion=Fusion("affine"),
    quantization=Quantization("_contrib_quantized_fully_connected", True, sums=True),
    bfloat16="low",
    aliases=["_sparse_FullyConnected", "_npx_fully_connected"],
    family="layer",
)
def fully_connected(
    data, weight, bias=None, *, num_hidden: Positive, no_bias: bool = False, flatten: bool = True
):
    """Affine map of every sample: ``out = data · weightᵀ + bias``.

    Args:
        data: ``(batch, ...)`` float. ``flatten`` joins all axes but the first.
        weight: ``(num_hidden, in_units)``, dtype of ``data``.
        bias: ``(num_hidden,)``; left out when ``no_bias``.

    Returns:
        ``(batch, num_hidden)``, or ``(..., num_hidden)`` without ``flatten``.

    Raises:
        ShapeError: the weight is for another number of inputs.

    Source: MXNet operator ``FullyConnected``.
    """
    rows = data
    if flatten and data.ndim != 2:
        rows = data.reshape(data.shape[0], math.prod(data.shape[1:]))
    if weight.shape[-1] != rows.shape[-1]:
        raise ShapeError(
            f"FullyConnected: weight {weight.shape} takes {weight.shape[-1]} numbers per sample, "
            f"but data {data.shape} has {rows.shape[-1]} (flatten={flatten}). "
            f"Give weight the shape {(num_hidden, rows.shape[-1])}, or data the other extent."
        )
    if weight.shape[0] != num_hidden or (bias is not None and bias.shape != (num_hidden,)):
        raise ShapeError(
            f"FullyConnected: num_hidden={num_hidden}, but weight is {weight.shape}"
            f"{'' if bias is None else f' and bias {bias.shape}'}; both start with num_hidden."
        )
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    columns = jax.lax.transpose(weight, (1, 0))
    sums = (((rows.ndim - 1,), (0,)), ((), ()))
    out = jax.lax.dot_general(rows, columns, sums, preferred_element_type=rows.dtype)
    return out if no_bias else jax.lax.add(out, on_axis(bias, out.shape, out.ndim - 1))


@fully_connected.set_flops(is_product=True)
def _(inputs, outputs):
    return math.prod(outputs[0]) * (2 * inputs[1][-1] + (len(inputs) > 2))


@fully_connected.infer_inputs
def _(data, *, num_hidden, flatten):
    in_units = math.prod(data[1:]) if flatten else data[-1]
    return {"weight": (num_hidden, in_units), "bias": (num_hidden,)}
