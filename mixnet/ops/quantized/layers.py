"""Layers on 8-bit integers: exact sums in int32, and the ranges of the results."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.array.indexing import embedding
from mixnet.ops.derive import with_attributes_of
from mixnet.ops.nn.activation import activation
from mixnet.ops.nn.batch_norm import batch_norm
from mixnet.ops.nn.convolution import convolution
from mixnet.ops.nn.dense import fully_connected
from mixnet.ops.nn.pooling import pooling
from mixnet.ops.quantized.ranges import (
    STEPS,
    WITH_RANGE,
    as_int32,
    bias_in_int32,
    check_range,
    check_whole,
    clipped,
    farthest,
    given_range,
    product_range,
    range_ends,
    ratio,
    step_size,
    with_ranges,
)
from mixnet.ops.registry import op


def _affine(
    name: str,
    function: Any,
    data: Any,
    weight: Any,
    bias: Any,
    attributes: Any,
) -> Any:
    """A layer that is linear in data and weight; each is the array and the ends of its range."""
    check_whole(name, data=data[0], weight=weight[0])
    for each in (data, weight):
        check_range(name, *each[1:])
    # float64 adds whole numbers up to 2⁵³ exactly, and every device has products of it.
    wide = [each.astype(jnp.float64) for each in (data[0], weight[0])]
    if attributes["no_bias"]:
        out = as_int32(function(*wide, None, **attributes))
    else:
        check_whole(name, bias=bias[0])
        check_range(name, *bias[1:])
        shift = bias_in_int32(bias[0], bias[1:], data, weight).astype(jnp.float64)
        out = as_int32(function(*wide, shift, **attributes))
    return out, *product_range(data, weight)


def _affine_arguments(no_bias: bool) -> list[str]:
    names = ["data", "weight", "bias"]
    ends = [f"{end}_{each}" for each in names for end in ("min", "max")]
    return [each for each in (*names, *ends) if not (no_bias and each.endswith("bias"))]


def _flops_of(layer: Any, inputs: Any, outputs: Any) -> int:
    """Those of the float layer: each array comes with the two ends of its range."""
    return int(layer.flops_rule.count(inputs[: len(inputs) // 3], outputs))


_AFFINE_ENDS = dict.fromkeys(
    [f"{end}_{each}" for each in ("data", "weight", "bias") for end in ("min", "max")], (1,)
)


@op(
    "_contrib_quantized_fully_connected",
    arguments=_affine_arguments,
    dtypes=with_ranges("int32", {"weight": "int8", "bias": "int8"}),
    **WITH_RANGE,
)
@with_attributes_of(fully_connected)
def quantized_fully_connected(
    data,
    weight,
    bias=None,
    min_data=None,
    max_data=None,
    min_weight=None,
    max_weight=None,
    min_bias=None,
    max_bias=None,
    **attributes: Any,
):
    """``FullyConnected`` of integers of 8 bits, exact in int32.

    Args:
        data: ``(batch, ...)``.
        weight: ``(num_hidden, in_units)``.
        bias: ``(num_hidden,)``, integers of 8 bits too; left out with its range when ``no_bias``.

    Returns:
        The sums in int32, and the range of int32.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_fully_connected``.
    """
    return _affine(
        "quantized_fully_connected",
        fully_connected.function,
        (data, min_data, max_data),
        (weight, min_weight, max_weight),
        (bias, min_bias, max_bias),
        attributes,
    )


@quantized_fully_connected.set_flops()
def _(inputs, outputs):
    return _flops_of(fully_connected, inputs, outputs)


@quantized_fully_connected.infer_inputs
def _(data, *, num_hidden, flatten, no_bias):
    attributes = {"num_hidden": num_hidden, "flatten": flatten}
    assert fully_connected._infer_inputs is not None
    return {**fully_connected._infer_inputs(data, **attributes), **_AFFINE_ENDS}


@op(
    "_contrib_quantized_conv",
    arguments=_affine_arguments,
    dtypes=with_ranges("int32", {"weight": "int8", "bias": "int8"}),
    **WITH_RANGE,
)
@with_attributes_of(convolution)
def quantized_conv(
    data,
    weight,
    bias=None,
    min_data=None,
    max_data=None,
    min_weight=None,
    max_weight=None,
    min_bias=None,
    max_bias=None,
    **attributes: Any,
):
    """``Convolution`` of integers of 8 bits, exact in int32.

    Args:
        data: ``(batch, channels, *extents)``.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``, integers of 8 bits too; left out with its range when ``no_bias``.

    Returns:
        The sums in int32, and the range of int32.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: shapes do not fit, or an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_conv``.
    """
    return _affine(
        "quantized_conv",
        convolution.function,
        (data, min_data, max_data),
        (weight, min_weight, max_weight),
        (bias, min_bias, max_bias),
        attributes,
    )


@quantized_conv.set_flops()
def _(inputs, outputs):
    return _flops_of(convolution, inputs, outputs)


@quantized_conv.infer_inputs
def _(data, *, kernel, num_filter, num_group, layout):
    assert convolution._infer_inputs is not None
    shapes = convolution._infer_inputs(
        data, kernel=kernel, num_filter=num_filter, num_group=num_group, layout=layout
    )
    return {**shapes, **_AFFINE_ENDS}


@op("_contrib_quantized_pooling", dtypes=with_ranges(), **WITH_RANGE)
@with_attributes_of(pooling, layout=Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None)
def quantized_pooling(data, min_data, max_data, **attributes: Any):
    """``Pooling`` of integers of 8 bits: the largest number of each window, or the rounded mean.

    Args:
        data: ``(batch, channels, *extents)``.

    Returns:
        Integers of the same dtype, and the range of the data.

    Raises:
        AttributeValueError: another ``pool_type`` than "max" and "avg", which may leave the range.
        DTypeError: the data are not integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_pooling``.
    """
    check_whole("quantized_pooling", data=data)
    pool_type = attributes["pool_type"]
    if pool_type not in ("max", "avg"):
        raise OperatorValueError(
            f"contrib.quantized_pooling: pool_type={pool_type!r} must be 'max' or 'avg'; dequantize "
            f"first for another."
        )
    wide = data if pool_type == "max" else data.astype(jnp.float32)
    out = pooling.function(wide, **attributes)
    return jnp.round(out).astype(data.dtype), *range_ends(min_data, max_data)


@op("_contrib_quantized_act", any_layout=True, dtypes=with_ranges(), **WITH_RANGE)
@with_attributes_of(activation)
def quantized_act(data, min_data, max_data, **attributes: Any):
    """``Activation`` of integers of 8 bits: negative ones become 0.

    Returns:
        Integers of the same dtype, and the range of the data.

    Raises:
        AttributeValueError: another ``act_type`` than "relu".
        DTypeError: the data are not integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_act``.
    """
    check_whole("quantized_act", data=data)
    act_type = attributes["act_type"]
    if act_type != "relu":
        raise OperatorValueError(
            f"contrib.quantized_act: act_type={act_type!r} must be 'relu'; dequantize first for "
            f"another."
        )
    return jax.nn.relu(data), *range_ends(min_data, max_data)


@op("_contrib_quantized_flatten", dtypes=with_ranges(), **WITH_RANGE)
def quantized_flatten(data, min_data, max_data):
    """``Flatten``: all axes but the first joined; the range stays.

    Source: MXNet operator ``_contrib_quantized_flatten``.
    """
    return data.reshape(data.shape[0], -1), *range_ends(min_data, max_data)


@op(
    "_contrib_quantized_embedding",
    dtypes=with_ranges("int8", {"data": None, "weight": "int8"}),
    **WITH_RANGE,
    in_amp_lists=False,
)
@with_attributes_of(embedding)
def quantized_embedding(data, weight, min_weight, max_weight, **attributes: Any):
    """``Embedding`` of a weight of integers of 8 bits; the range stays.

    Args:
        data: indices, any shape; those outside are clipped.
        weight: ``(input_dim, output_dim)``.
        dtype: accepted and not used.

    Returns:
        ``data.shape + (output_dim,)`` in the dtype of the weight, and its range.

    Raises:
        DTypeError: the weight does not have integers of 8 bits.
        ShapeError: the weight has another shape.

    Source: MXNet operator ``_contrib_quantized_embedding``.
    """
    check_whole("quantized_embedding", weight=weight)
    rows = embedding.function(data, weight, **attributes)
    return rows, *range_ends(min_weight, max_weight)


@quantized_embedding.infer_inputs
def _(data, *, input_dim, output_dim):
    return {"weight": (input_dim, output_dim), "min_weight": (1,), "max_weight": (1,)}


@op(
    "_contrib_quantized_batch_norm",
    states=["moving_mean", "moving_var"],
    dtypes=with_ranges(
        "int8",
        dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), "float32"),
        accepts=dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), ("float32",)),
    ),
    **WITH_RANGE,
    in_amp_lists=False,
)
@with_attributes_of(batch_norm)
def quantized_batch_norm(
    data, gamma, beta, moving_mean, moving_var, min_data, max_data, **attributes: Any
):
    """``BatchNorm`` of integers of 8 bits by the moving statistics, also while training.

    Args:
        data: channels on ``axis``.
        gamma: scale, float ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, float ``(channels,)``.
        moving_mean: state, float ``(channels,)``; it is not changed.
        moving_var: state, float ``(channels,)``; it is not changed.

    Returns:
        int8 in the range from ``min_calib_range`` to ``max_calib_range``, and this range.

    Raises:
        AttributeValueError: ``min_calib_range`` or ``max_calib_range`` is missing.
        DTypeError: the data are not integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_batch_norm``.
    """
    check_whole("quantized_batch_norm", data=data)
    check_range("quantized_batch_norm", min_data, max_data)
    calibrated = given_range(attributes["min_calib_range"], attributes["max_calib_range"])
    if calibrated is None:
        raise OperatorValueError(
            "contrib.quantized_batch_norm: give min_calib_range and max_calib_range, the range of "
            "the result that was measured before; it is not measured here."
        )
    axis, eps = attributes["axis"], attributes["eps"]
    channels = (data.shape[axis],)
    given_shapes = {
        "gamma": gamma,
        "beta": beta,
        "moving_mean": moving_mean,
        "moving_var": moving_var,
    }
    for name, each in given_shapes.items():
        if each.shape != channels:
            raise ShapeError(
                f"contrib.quantized_batch_norm: {name} is {each.shape}, data {data.shape} has {channels[0]} "
                f"channels on axis {axis}; give {name} the shape {channels}."
            )
    shape = [-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]
    factor = jax.lax.rsqrt(moving_var + eps) * (1 if attributes["fix_gamma"] else gamma)
    shift = beta - moving_mean * factor
    # MXNet then has oneDNN normalize by a variance of 1, which adds eps once more.
    factor = factor * jax.lax.rsqrt(1 + jnp.asarray(eps, factor.dtype))
    steps = ratio(STEPS["int8"], farthest(*calibrated))
    out = data * (factor * step_size(data, min_data, max_data) * steps).reshape(shape)
    result = clipped(jnp.round(out + (shift * steps).reshape(shape)), "int8")
    return result, *range_ends(*calibrated), moving_mean, moving_var


@quantized_batch_norm.infer_inputs
def _(data, *, axis):
    channels = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[axis],))
    return {**channels, "min_data": (1,), "max_data": (1,)}


def _infer_data_range(data):
    return {"min_data": (1,), "max_data": (1,)}


for _operator in (quantized_pooling, quantized_act, quantized_flatten):
    _operator.infer_inputs(_infer_data_range)
