"""Layers on 8-bit integers: exact sums in int32, and the ranges of the results.

Every array of integers comes with the ends of its range, ``(1,)`` each. The end that is farther
from 0 is the greatest integer by size, and 0 is 0.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorValueError, ShapeError
from mixnet.ops.array.indexing import embedding
from mixnet.ops.array.join import check_joined
from mixnet.ops.derive import with_attributes_of
from mixnet.ops.nn.convolution import convolution
from mixnet.ops.nn.dense import fully_connected
from mixnet.ops.nn.pooling import pooling
from mixnet.ops.nn.recurrent import part_shapes, rnn, rnn_outputs, rnn_shapes
from mixnet.ops.quantized.dtypes import with_ranges
from mixnet.ops.quantized.quantize import (
    INT32_STEPS,
    LIMITS,
    STEPS,
    check_range,
    check_whole,
    clipped,
    farthest,
    given_range,
    ratio,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    Axis,
    DType,
    Extents,
    NonNegative,
    Positive,
    Share,
    Steps,
)

_OUTPUTS: dict[str, Any] = {
    "outputs": 3,
    "output_names": ("output", "min_output", "max_output"),
    "differentiable": False,
}


def _ends(low: Any, high: Any) -> tuple[Any, Any]:
    """A range as it is returned."""
    low, high = jnp.asarray(low), jnp.asarray(high)
    return low.astype(jnp.float32).reshape((1,)), high.astype(jnp.float32).reshape((1,))


def _scale(array: jax.Array, low: jax.Array, high: jax.Array) -> Any:
    """What one step of the integers stands for, as oneDNN counts steps."""
    return farthest(low, high) / STEPS[str(array.dtype)]


def _as_int32(numbers: jax.Array) -> Any:
    """Whole numbers cut to what int32 has."""
    limits = jnp.iinfo(jnp.int32)
    return jnp.clip(numbers, limits.min, limits.max).astype(jnp.int32)


def _product_range(one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """Range of products in int32, from each factor with its range."""
    end = INT32_STEPS
    for array, low, high in (one, two):
        end = end * (farthest(low, high) / LIMITS[str(array.dtype)][1])
    return _ends(-end, end)


def _bias_in_int32(bias: jax.Array, end: jax.Array, *factors: Any) -> Any:
    """The bias in the steps of the products of ``factors``."""
    steps = _scale(bias, *end)
    for array, low, high in factors:
        steps = steps * ratio(STEPS[str(array.dtype)], farthest(low, high))
    return _as_int32(jnp.trunc(bias.astype(jnp.float64) * steps))


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
        out = _as_int32(function(*wide, None, **attributes))
    else:
        check_whole(name, bias=bias[0])
        check_range(name, *bias[1:])
        shift = _bias_in_int32(bias[0], bias[1:], data, weight).astype(jnp.float64)
        out = _as_int32(function(*wide, shift, **attributes))
    return out, *_product_range(data, weight)


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
    **_OUTPUTS,
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
    **_OUTPUTS,
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


@op("_contrib_quantized_pooling", dtypes=with_ranges(), **_OUTPUTS)
def quantized_pooling(
    data,
    min_data,
    max_data,
    *,
    kernel: Steps = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Steps = (),
    pad: Extents = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None,
):
    """``Pooling`` of integers of 8 bits: the greatest number of each window, or the rounded mean.

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
    if pool_type not in ("max", "avg"):
        raise OperatorValueError(
            f"contrib.quantized_pooling: pool_type={pool_type!r} must be 'max' or 'avg'; dequantize "
            f"first for another."
        )
    out = pooling.function(
        data if pool_type == "max" else data.astype(jnp.float32),
        kernel=kernel,
        pool_type=pool_type,
        global_pool=global_pool,
        pooling_convention=pooling_convention,
        stride=stride,
        pad=pad,
        count_include_pad=count_include_pad,
        layout=layout,
    )
    return jnp.round(out).astype(data.dtype), *_ends(min_data, max_data)


@op("_contrib_quantized_act", any_layout=True, dtypes=with_ranges(), **_OUTPUTS)
def quantized_act(
    data,
    min_data,
    max_data,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
):
    """``Activation`` of integers of 8 bits: negative ones become 0.

    Returns:
        Integers of the same dtype, and the range of the data.

    Raises:
        AttributeValueError: another ``act_type`` than "relu".
        DTypeError: the data are not integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_act``.
    """
    check_whole("quantized_act", data=data)
    if act_type != "relu":
        raise OperatorValueError(
            f"contrib.quantized_act: act_type={act_type!r} must be 'relu'; dequantize first for "
            f"another."
        )
    return jax.nn.relu(data), *_ends(min_data, max_data)


@op("_contrib_quantized_flatten", dtypes=with_ranges(), **_OUTPUTS)
def quantized_flatten(data, min_data, max_data):
    """``Flatten``: all axes but the first joined; the range stays.

    Source: MXNet operator ``_contrib_quantized_flatten``.
    """
    return data.reshape(data.shape[0], -1), *_ends(min_data, max_data)


@op(
    "_contrib_quantized_embedding",
    dtypes=with_ranges("int8", {"data": None, "weight": "int8"}),
    **_OUTPUTS,
    in_amp_lists=False,
)
def quantized_embedding(
    data,
    weight,
    min_weight,
    max_weight,
    *,
    input_dim: Positive,
    output_dim: Positive,
    dtype: DType = "float32",
    sparse_grad: bool = False,
):
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
    rows = embedding.function(data, weight, input_dim=input_dim, output_dim=output_dim)
    return rows, *_ends(min_weight, max_weight)


@quantized_embedding.infer_inputs
def _(data, *, input_dim, output_dim):
    return {"weight": (input_dim, output_dim), "min_weight": (1,), "max_weight": (1,)}


def _ranges_of_joined(count: int) -> dict[int, str | None]:
    """Two thirds of the inputs are ranges."""
    return dict.fromkeys(range(count // 3, count), "float32")


@op(
    "_contrib_quantized_concat",
    num_args=None,
    dtypes=with_ranges(own=_ranges_of_joined),
    **_OUTPUTS,
)
def quantized_concat(*data, num_args: Positive, dim: Axis = 1):
    """Arrays of integers of 8 bits joined along ``dim``, brought to the widest of their ranges.

    Args:
        data: the arrays, then the two ends of the range of each.
        num_args: number of the arrays.

    Returns:
        ``uint8`` if all arrays are, else ``int8``; the least and the greatest of all ends.

    Raises:
        ShapeError: there are not three arrays for each of ``num_args``.
        DTypeError: an array does not have integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_concat``.
    """
    if len(data) != 3 * num_args:
        raise ShapeError(
            f"contrib.quantized_concat: {len(data)} arrays for num_args={num_args}; give the "
            f"arrays, then min and max of each."
        )
    check_joined("contrib.quantized_concat", [each.shape for each in data[:num_args]], dim)
    arrays, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    check_whole("quantized_concat", **{f"arg{i}": each for i, each in enumerate(arrays)})
    for each in (*lows, *highs):
        if each.size != 1:
            raise ShapeError(
                f"contrib.quantized_concat: an end of a range is {each.shape}; it is one number."
            )
    dtype = _common(*arrays)
    low = jnp.stack([each.reshape(()) for each in lows]).min()
    high = jnp.stack([each.reshape(()) for each in highs]).max()
    parts = []
    for array, *ends in zip(arrays, lows, highs, strict=True):
        # Ranges first: the quotient of equal ones is 1, which leaves the integers as they are.
        factor = ratio(farthest(*ends), farthest(low, high))
        factor = factor * (STEPS[dtype] / STEPS[str(array.dtype)])
        parts.append(clipped(jnp.round(array * factor), dtype))
    return jnp.concatenate(parts, dim), *_ends(low, high)


def _common(*arrays: jax.Array) -> str:
    return "uint8" if all(each.dtype == jnp.uint8 for each in arrays) else "int8"


def _two(name: str, lhs: jax.Array, rhs: jax.Array, *ends: Any) -> None:
    check_whole(name, lhs=lhs, rhs=rhs)
    check_range(name, *ends[:2])
    check_range(name, *ends[2:])
    if lhs.shape != rhs.shape:
        raise ShapeError(f"contrib.{name}: lhs is {lhs.shape}, rhs {rhs.shape}; give equal shapes.")


@op(
    "_contrib_quantized_elemwise_add",
    any_layout=True,
    dtypes=with_ranges("int32"),
    **_OUTPUTS,
)
def quantized_elemwise_add(
    lhs,
    rhs,
    lhs_min,
    lhs_max,
    rhs_min,
    rhs_max,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Sums of two arrays of integers of 8 bits, each with its range.

    Returns:
        If ``min_calib_range`` and ``max_calib_range`` are given, integers of 8 bits in this range, ``uint8``
        if both arrays are, and the range. Otherwise int32 and its range, which holds any sum.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: the shapes differ, or an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_elemwise_add``.
    """
    _two("quantized_elemwise_add", lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    total = lhs.astype(jnp.float64) * _scale(lhs, lhs_min, lhs_max)
    total = total + rhs.astype(jnp.float64) * _scale(rhs, rhs_min, rhs_max)
    calibrated = given_range(min_calib_range, max_calib_range)
    if calibrated:
        dtype = _common(lhs, rhs)
        result = clipped(jnp.round(total * ratio(STEPS[dtype], farthest(*calibrated))), dtype)
        return result, *_ends(*calibrated)
    end = farthest(lhs_min, lhs_max) + farthest(rhs_min, rhs_max)
    return _as_int32(jnp.round(total * ratio(INT32_STEPS, end))), *_ends(-end, end)


@op(
    "_contrib_quantized_elemwise_mul",
    any_layout=True,
    dtypes=with_ranges(
        lambda attributes: "float32" if attributes["enable_float_output"] else "int32"
    ),
    **{**_OUTPUTS, "outputs": lambda enable_float_output: 1 if enable_float_output else 3},
    in_amp_lists=False,
)
def quantized_elemwise_mul(
    lhs,
    rhs,
    lhs_min,
    lhs_max,
    rhs_min,
    rhs_max,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
):
    """Products of two arrays of integers of 8 bits, each with its range.

    Returns:
        With ``enable_float_output``, the products as float32, without a range. If ``min_calib_range``
        and ``max_calib_range`` are given, int8 truncated towards 0, and this range. Otherwise int32 and
        its range.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: the shapes differ, or an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_elemwise_mul``.
    """
    _two("quantized_elemwise_mul", lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    product = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    scale = _scale(lhs, lhs_min, lhs_max) * _scale(rhs, rhs_min, rhs_max)
    if enable_float_output:
        return (product * scale).astype(jnp.float32)
    calibrated = given_range(min_calib_range, max_calib_range)
    if calibrated:
        factor = scale * ratio(STEPS["int8"], farthest(*calibrated))
        return clipped(jnp.trunc(product * factor), "int8"), *_ends(*calibrated)
    return product, *_product_range((lhs, lhs_min, lhs_max), (rhs, rhs_min, rhs_max))


@op(
    "_contrib_quantized_batch_norm",
    states=["moving_mean", "moving_var"],
    dtypes=with_ranges(
        "int8", dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), "float32")
    ),
    **_OUTPUTS,
    in_amp_lists=False,
)
def quantized_batch_norm(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    min_data,
    max_data,
    *,
    eps: NonNegative = 1e-3,
    momentum: Share = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: Axis = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
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
    calibrated = given_range(min_calib_range, max_calib_range)
    if calibrated is None:
        raise OperatorValueError(
            "contrib.quantized_batch_norm: give min_calib_range and max_calib_range, the range of "
            "the result that was measured before; it is not measured here."
        )
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
    factor = jax.lax.rsqrt(moving_var + eps) * (1 if fix_gamma else gamma)
    shift = beta - moving_mean * factor
    # MXNet then has oneDNN normalize by a variance of 1, which adds eps once more.
    factor = factor * jax.lax.rsqrt(1 + jnp.asarray(eps, factor.dtype))
    steps = ratio(STEPS["int8"], farthest(*calibrated))
    out = data * (factor * _scale(data, min_data, max_data) * steps).reshape(shape)
    result = clipped(jnp.round(out + (shift * steps).reshape(shape)), "int8")
    return result, *_ends(*calibrated), moving_mean, moving_var


@quantized_batch_norm.infer_inputs
def _(data, *, axis):
    channels = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[axis],))
    return {**channels, "min_data": (1,), "max_data": (1,)}


def _rnn_arguments(mode: str) -> list[str]:
    cell = ["state_cell"] if mode == "lstm" else []
    return ["data", "parameters", "state", *cell, "data_scale", "data_shift"]


@op(
    "_contrib_quantized_rnn",
    arguments=_rnn_arguments,
    outputs=rnn_outputs,
    output_names=("output", "state_output", "statecell_ouput"),  # MXNet spells it so
    differentiable=False,
    dtypes=with_ranges(own={"parameters": "int8", "state": "float32", "state_cell": "float32"}),
    in_amp_lists=False,
)
def quantized_rnn(
    data,
    parameters,
    state,
    state_cell=None,
    data_scale=None,
    data_shift=None,
    *,
    state_size: Positive,
    num_layers: Positive,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
    p: Share = 0.0,
    state_outputs: bool = False,
    projection_size: Positive | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
):
    """``RNN`` of ``uint8`` data with weights as precise as ``int8``; without dropout.

    Each row of gates has one step for its weights of both input and state; biases, states and
    results are floats.

    Args:
        data: ``uint8``, ``(time, batch, units)``, as ``contrib.quantize_asym`` makes it.
        parameters: float, one vector as of ``RNN``.
        state: float, as of ``RNN``.
        state_cell: float, as of ``RNN``.
        data_scale: ``(1,)``, of ``contrib.quantize_asym``.
        data_shift: ``(1,)``, of ``contrib.quantize_asym``.

    Returns:
        As ``RNN``, in float32.

    Raises:
        AttributeValueError: another ``mode`` than "lstm", or ``use_sequence_length``.
        DTypeError: the data are not ``uint8``.
        ShapeError: an array does not have the shape that follows from ``data``.

    Source: MXNet operator ``_contrib_quantized_rnn``.
    """
    if mode != "lstm" or use_sequence_length:
        raise OperatorValueError(
            f"contrib.quantized_rnn: mode={mode!r}, use_sequence_length={use_sequence_length}; it "
            f"takes mode='lstm' without lengths. Use RNN for others."
        )
    if data.dtype != jnp.uint8:
        raise DTypeError(
            f"contrib.quantized_rnn: data is {data.dtype}; it must be uint8, as "
            f"contrib.quantize_asym makes it."
        )
    check_range("quantized_rnn", data_scale, data_shift)
    attributes: dict[str, Any] = {
        "state_size": state_size,
        "num_layers": num_layers,
        "bidirectional": bidirectional,
        "mode": mode,
    }
    shapes = part_shapes(data.shape[-1], **attributes, projection=projection_size)
    return rnn.function(
        ((data - data_shift) / data_scale).astype(jnp.float32),
        _rounded_weights(parameters, shapes),
        state,
        state_cell,
        **attributes,
        state_outputs=state_outputs,
        projection_size=projection_size,
        lstm_state_clip_min=lstm_state_clip_min,
        lstm_state_clip_max=lstm_state_clip_max,
        lstm_state_clip_nan=lstm_state_clip_nan,
        key=None,
        training=False,
    )


def _rounded_weights(parameters: Any, shapes: Any) -> Any:
    """The parameters of a recurrent network, its weights rounded to the steps of int8."""
    parts, at = {}, 0
    for which, shape in shapes:
        parts[which] = parameters[at : at + math.prod(shape)].reshape(shape)
        at += math.prod(shape)
    if at != parameters.shape[0]:
        return parameters  # RNN's error names the expected shape
    for _, *side in [which for which in parts if which[0] == "i2h"]:
        rows = ["i2h", "h2h"]
        end = jnp.max(
            jnp.stack([jnp.abs(parts[each, *side]).max(1, keepdims=True) for each in rows]), 0
        )
        for each in rows:
            steps = jnp.round(parts[each, *side] * ratio(LIMITS["int8"][1], end))
            parts[each, *side] = steps * (end / LIMITS["int8"][1])
    return jnp.concatenate([each.reshape(-1) for each in parts.values()])


@quantized_rnn.infer_inputs
def _(data, *, state_size, num_layers, bidirectional, mode, projection_size):
    shapes = rnn_shapes(data, state_size, num_layers, bidirectional, mode, projection_size)
    return {**shapes, "data_scale": (1,), "data_shift": (1,)}


def _data_ends(data):
    return {"min_data": (1,), "max_data": (1,)}


for _operator in (quantized_pooling, quantized_act, quantized_flatten):
    _operator.infer_inputs(_data_ends)


def _both_ends(lhs):
    ends = dict.fromkeys(("lhs_min", "lhs_max", "rhs_min", "rhs_max"), (1,))
    return {"rhs": lhs, **ends}


for _operator in (quantized_elemwise_add, quantized_elemwise_mul):
    _operator.infer_inputs(_both_ends)
