"""Fused layers as one operator: MXNet's oneDNN subgraphs, in float32 and int8.

A subgraph holds the float layers as nodes: a convolution, and perhaps a normalization, an
activation, a sum with another array, and an activation of that. In int8 the normalization is
folded into the weights, which are quantized by channel, and the rest happens to the sums before
they are rounded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorValueError
from mixnet.ops.nn.convolution import convolution
from mixnet.ops.nn.dense import fully_connected
from mixnet.ops.quantized.ranges import (
    INT32_STEPS,
    LIMITS,
    STEPS,
    clipped,
    farthest,
    given_range,
    ratio,
    step_size,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.integer_layers import Quantization, data_and_sum


@dataclass(frozen=True)
class Parts:
    """The nodes of a subgraph by their part; None where there is none.

    Args:
        layer: the convolution or affine map.
        norm: the normalization of its result.
        act: the activation of that.
        sum: the addition of another array.
        post_act: the activation of the sum.
    """

    layer: Any
    norm: Any = None
    act: Any = None
    sum: Any = None
    post_act: Any = None

    @property
    def has_bias(self) -> bool:
        """Whether the layer has a bias."""
        return len(self.layer.inputs) > 2


_PARTS = {"convolution": "layer", "affine": "layer", "norm": "norm", "sum": "sum"}


@lru_cache(maxsize=1024)
def parts_of(body: Any) -> Parts:
    """The parts of a subgraph.

    Raises:
        AttributeValueError: it is not a chain of these layers.
    """
    parts: dict[str, Any] = {}
    for node in body.graph.nodes:
        if node.is_variable:
            continue
        part = _PARTS.get(node.op.fusion and node.op.fusion.part, "act")
        if part == "act" and "sum" in parts:
            part = "post_act"
        if part in parts or (part != "layer" and "layer" not in parts):
            raise OperatorValueError(
                f"A fused layer is a convolution or an affine map, then perhaps BatchNorm, an activation, "
                f"an addition and an activation; its subgraph has {node.op.name} ({node.name!r}) "
                f"elsewhere."
            )
        parts[part] = node
    if "layer" not in parts:
        raise OperatorValueError("A fused layer needs a Convolution or FullyConnected in it.")
    return Parts(**parts)


def body_order(parts: Parts) -> list[str]:
    """What a fused convolution reads, in order: names of its arrays."""
    names = ["data", "weight"] + ["bias"] * parts.has_bias
    if parts.norm is not None:
        names += ["gamma", "beta", "mean", "var"]
    return names + ["sum"] * (parts.sum is not None)


def folded_weights(
    parts: Parts,
    weight: Any,
    bias: Any,
    gamma: Any = None,
    beta: Any = None,
    mean: Any = None,
    var: Any = None,
) -> tuple[Any, Any]:
    """Weight and bias with the normalization folded in; the bias is None where there is none."""
    if parts.norm is None:
        return weight, bias
    known = parts.norm.op.keywords(parts.norm.statics)
    factor = (var + known["eps"]) ** -0.5
    if not known["fix_gamma"]:
        factor = factor * gamma
    shift = beta - mean * factor if bias is None else beta + (bias - mean) * factor
    return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), shift


def activated(node: Any, values: jax.Array) -> Any:
    """An activation's node applied to floats."""
    if node is None:
        return values
    if node.op.takes_key:  # LeakyReLU, whose variants that draw are not fused
        return node.op.function(values, **node.op.keywords(node.statics, node.scalars), key=None)
    return node.op.apply(node.statics, [values], node.scalars)[0]


def weight_steps(weight: jax.Array, by_channel: bool) -> Any:
    """What one step of the weight's integers stands for: one number for each channel, or one for all."""
    axes = tuple(range(1, weight.ndim)) if by_channel else None
    end = jnp.abs(weight).max(axes, keepdims=True)
    return jnp.where(end > 0, end, 1) / STEPS["int8"]


MOST_OF_WEIGHT = 127
"""The weight that is farthest from 0 has 127.5 steps: on one side too it is 127, or the last bit
of a quotient would tell -127 from -128, and the same network would predict otherwise when it is
compiled.
"""


def whole_weights(weight: jax.Array, steps: jax.Array) -> Any:
    """The weight's integers, in int8."""
    return jnp.clip(jnp.round(weight / steps), -MOST_OF_WEIGHT, MOST_OF_WEIGHT).astype(jnp.int8)


def _check(name: str, data: jax.Array | jax.ShapeDtypeStruct) -> None:
    if str(data.dtype) not in LIMITS:
        raise DTypeError(
            f"{name}: data is {data.dtype}; a quantized layer takes int8 or uint8, as "
            f"contrib.quantize_v2 returns it."
        )


def output_dtype(low: float | None) -> str:
    """Dtype of a result with this measured range: unsigned where nothing is below 0."""
    return "uint8" if low is not None and low >= 0 else "int8"


def rounded_output(values: jax.Array, low: float, high: float) -> tuple[Any, Any, Any]:
    """Floats in the integers of the measured range, and the range."""
    dtype = output_dtype(low)
    least, most = given_range(low, high)  # type: ignore[misc]
    steps = ratio(STEPS[dtype], farthest(least, most))
    return clipped(jnp.round(values * steps), dtype), least.reshape((1,)), most.reshape((1,))


def _as_sums(values: jax.Array, step: Any) -> tuple[Any, Any, Any]:
    """Floats as int32 in steps of the products, and the range of int32."""
    limits = jnp.iinfo(jnp.int32)
    # float32 has no number between 2³¹ - 128 and 2³¹.
    whole = jnp.clip(jnp.round(values / step), limits.min, limits.max - 127).astype(jnp.int32)
    end = (step * INT32_STEPS).astype(jnp.float32).reshape((1,))
    return whole, -end, end


def _outputs(quantized: bool, enable_float_output: bool) -> int:
    return 3 if quantized and not enable_float_output else 1


def _output_names(quantized: bool, enable_float_output: bool) -> list[str]:
    return ["output", "output_min", "output_max"][: _outputs(quantized, enable_float_output)]


def _parts(subgraphs: Any) -> Parts:
    """What the only graph consists of.

    Raises:
        OperatorValueError: there is none.
    """
    graphs = isinstance(subgraphs, tuple) and subgraphs
    if not graphs or isinstance(graphs[0], (int, float, str)):
        raise OperatorValueError(
            f"subgraphs={subgraphs!r:.60} is not a tuple with the graph of a layer. Fused layers come from "
            f"files, and from get_backend_symbol('MKLDNN')."
        )
    return parts_of(graphs[0])


def _statistics(subgraphs: Any, with_bn: bool) -> list[int]:
    """Places of the moving statistics, which MXNet counts among the states."""
    if not with_bn:
        return []
    order = body_order(_parts(subgraphs))
    return [order.index("mean"), order.index("var")]


def _with_ranges(names: list[str], ranged: list[str]) -> list[str]:
    return names + [f"{end}_{name}" for name in ranged for end in ("min", "max")]


def _convolution_arguments(subgraphs: Any, quantized: bool) -> list[str]:
    names = body_order(_parts(subgraphs))
    ranged = [name for name in names if name in ("data", "sum")] if quantized else []
    return _with_ranges(names, ranged)


def _input_shapes(
    subgraphs: Any, names: list[str], shapes: dict[str, Any]
) -> dict[str, tuple[int, ...]]:
    """Shapes of what a fused layer reads, from its data: those of its layer, and of the ends of ranges."""
    if shapes.get("data") is None:
        return {}
    layer = _parts(subgraphs).layer
    inferred = layer.op.infer_input_shapes(layer.statics, {"data": shapes["data"]})
    inferred |= dict.fromkeys(("gamma", "beta", "mean", "var"), inferred["weight"][:1])
    inferred |= {name: (1,) for name in names if name.startswith(("min_", "max_"))}
    return {name: inferred[name] for name in names if name in inferred}


@op(
    "_sg_mkldnn_conv",
    arguments=_convolution_arguments,
    num_args=None,
    outputs=_outputs,
    output_names=_output_names,
    states=_statistics,
    moves=lambda: False,
    differentiable=False,
    quantization=Quantization("_sg_mkldnn_conv", True, data_and_sum, sums=True),
)
def fused_convolution(
    *data,
    subgraphs: Any,
    quantized: bool = False,
    with_bn: bool = False,
    with_act: bool = False,
    with_sum: bool = False,
    with_postsum_act: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """A convolution, its normalization by moving statistics, a sum and activations, as one operator.

    Args:
        data: data, weight, bias if there is one; gamma, beta, mean and variance of the
            normalization; the array that is added. If ``quantized``, then also the ends of the ranges of
            data and of that array, ``(1,)`` each.
        subgraphs: the float layers.
        quantized: whether data and the array that is added are integers of 8 bits. Weights are floats.

    Returns:
        Floats, if not ``quantized`` or with ``enable_float_output``. Otherwise integers of 8 bits and
        their range, ``min_calib_range`` to ``max_calib_range``; without these, int32 sums and theirs.

    Raises:
        AttributeValueError: the subgraph is another chain of operators.
        DTypeError: ``quantized``, but the data are not integers of 8 bits.

    Source: MXNet operator ``_sg_mkldnn_conv``.
    """
    parts = _parts(subgraphs)
    names = body_order(parts)
    arrays = dict(zip(names, data, strict=False))
    states = [arrays["mean"], arrays["var"]] if with_bn else []
    if not quantized:
        return (*fused_floats(parts, arrays, convolution.function), *states)
    ranges = data[len(names) :]
    out = quantized_layer(
        parts, arrays, ranges, exact_convolution, min_calib_range, max_calib_range, enable_float_output
    )  # fmt: skip
    return (*out, *states)


@fused_convolution.set_flops()
def _(inputs, outputs):
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])


def fused_floats(parts: Parts, arrays: dict[str, Any], layer: Any) -> tuple[Any]:
    """The layers in floats."""
    weight, bias = _weights(parts, arrays)
    known = parts.layer.op.keywords(parts.layer.statics) | {"no_bias": bias is None}
    values = activated(parts.act, layer(arrays["data"], weight, bias, **known))
    if parts.sum is not None:
        values = activated(parts.post_act, values + arrays["sum"])
    return (values,)


def _weights(parts: Parts, arrays: dict[str, Any]) -> tuple[Any, Any]:
    norm = {name: arrays[name] for name in ("gamma", "beta", "mean", "var") if name in arrays}
    return folded_weights(parts, arrays["weight"], arrays.get("bias"), **norm)


def quantized_layer(
    parts: Parts,
    arrays: dict[str, Any],
    ranges: Any,
    products: Any,
    low: float | None,
    high: float | None,
    as_floats: bool,
    channel_axis: int = 1,
) -> tuple[Any, ...]:
    """The layers on integers.

    Args:
        parts: of the subgraph.
        arrays: arrays by name.
        ranges: ends of the ranges of data and of what is added.
        products: gives the sums of products of data and the weight's integers, as whole numbers.
        low: least number measured, None if none was.
        high: greatest number measured.
        as_floats: whether floats are returned.
        channel_axis: axis of channels of data and result.
    """
    data = arrays["data"]
    _check("A fused layer", data)
    measured = low is not None and high is not None
    weight, bias = _weights(parts, arrays)
    steps = weight_steps(weight, measured or as_floats)
    sums = products(data, whole_weights(weight, steps), parts)
    return quantized_result(
        parts,
        data,
        sums,
        steps,
        bias,
        arrays.get("sum"),
        ranges,
        low,
        high,
        as_floats,
        channel_axis,
    )


def quantized_result(
    parts: Parts,
    data: Any,
    sums: Any,
    steps: Any,
    bias: Any,
    other: Any,
    ranges: Any,
    low: float | None,
    high: float | None,
    as_floats: bool,
    channel_axis: int = 1,
) -> tuple[Any, ...]:
    """What a fused layer gives, from the sums of products of integers.

    Args:
        parts: of the subgraph.
        data: the integers that were multiplied.
        sums: whole numbers.
        steps: what the weight's integers stand for.
        bias: floats; None where there is none.
        other: integers that are added; None where there are none.
        ranges: ends of the ranges of data and of what is added.
        low: least number measured, None if none was.
        high: greatest number measured.
        as_floats: whether floats are returned.
        channel_axis: axis of channels of the sums.
    """
    shape = [-1 if i == channel_axis % sums.ndim else 1 for i in range(sums.ndim)]
    scale = (step_size(data, *ranges[:2]) * steps).astype(jnp.float32)
    values = sums.astype(jnp.float32) * (
        scale.reshape(shape) if scale.size > 1 else scale.reshape(())
    )
    if bias is not None:
        values = values + bias.reshape(shape)
    values = activated(parts.act, values)
    if parts.sum is not None:
        values = values + other.astype(jnp.float32) * step_size(other, *ranges[2:4])
        values = activated(parts.post_act, values)
    if as_floats:
        return (values,)
    if low is not None and high is not None:
        return rounded_output(values, low, high)
    return _as_sums(values, scale.reshape(()))


def exact_convolution(data: jax.Array, weight: jax.Array, parts: Parts) -> Any:
    """Sums of products of integers of 8 bits, as float32.

    Floats hold them exactly up to 2²⁴; a larger sum is rounded by less than one part in 10
    millions, far less than what the result is rounded by afterwards.
    """
    known = parts.layer.op.keywords(parts.layer.statics) | {"no_bias": True}
    wide = [each.astype(jnp.float32) for each in (data, weight)]
    return convolution.function(*wide, None, **known)


def exact_rows(rows: jax.Array, weight: jax.Array) -> Any:
    """``rows · weightᵀ`` of integers of 8 bits, exact in int32.

    Args:
        rows: ``(..., in_units)``, int8 or uint8.
        weight: ``(units, in_units)``, int8.
    """
    last = (((rows.ndim - 1,), (1,)), ((), ()))
    if rows.dtype == jnp.int8:
        return jax.lax.dot_general(rows, weight, last, preferred_element_type=jnp.int32)
    # The processor's products are of two signed numbers, as XLA calls them: 128 less, and 128 times
    # the weights more.
    signed = (rows.astype(jnp.int16) - 128).astype(jnp.int8)
    sums = jax.lax.dot_general(signed, weight, last, preferred_element_type=jnp.int32)
    return sums + 128 * weight.astype(jnp.int32).sum(1)


def _exact_affine(data: jax.Array, weight: jax.Array, parts: Parts) -> Any:
    known = parts.layer.op.keywords(parts.layer.statics)
    rows = data.reshape(data.shape[0], -1) if known["flatten"] else data
    return exact_rows(rows, weight)


_FLOAT = jnp.dtype("float32")


def _result_dtype(attributes: dict[str, Any]) -> Any:
    low = attributes["min_calib_range"]
    if not attributes["quantized"] or attributes["enable_float_output"]:
        return _FLOAT
    measured = low is not None and attributes["max_calib_range"] is not None
    return jnp.dtype(output_dtype(low) if measured else "int32")


def _infer_dtypes(known: Any, **attributes: Any) -> tuple[list[Any], list[Any]]:
    """Integers are the data, what is added, and the weights of an affine map that has one range for all."""
    parts = _parts(attributes["subgraphs"])
    names = body_order(parts)
    if not attributes["quantized"]:
        shared = next((each for each in known if each is not None), None)
        return [shared] * len(known), [shared]
    whole = {"data", "sum"}
    if not attributes.get("channel_wise_quantize", True):
        whole |= {"weight", "bias"}
    dtypes = dict(zip(names, known, strict=False))
    of_names = [
        (dtypes[name] if name in ("data", "sum") else jnp.dtype("int8"))
        if name in whole
        else _FLOAT
        for name in names
    ]
    ranges = [_FLOAT] * (len(known) - len(names))
    return of_names + ranges, [_result_dtype(attributes), _FLOAT, _FLOAT]


def _infer_outputs(function: Any, *inputs: Any, **attributes: Any) -> list[Any]:
    """Shapes do not depend on the dtypes: those of the float layers."""
    parts = _parts(attributes["subgraphs"])
    names = body_order(parts)
    arrays = dict(zip(names, inputs, strict=False))
    data, dtype = arrays["data"]
    if attributes["quantized"] and dtype is not None:
        _check("A fused layer", jax.ShapeDtypeStruct(data, dtype))
    floats = {name: jax.ShapeDtypeStruct(shape, _FLOAT) for name, (shape, _) in arrays.items()}
    (out,) = jax.eval_shape(lambda each: fused_floats(parts, each, function), floats)
    ends = [((1,), _FLOAT)] * (
        _outputs(attributes["quantized"], attributes["enable_float_output"]) - 1
    )
    result = _result_dtype(attributes) if attributes["quantized"] else dtype
    return [(out.shape, result), *ends, *[arrays[n] for n in ("mean", "var") if n in arrays]]


@fused_convolution.infer_inputs
def _(subgraphs, quantized, **shapes):
    return _input_shapes(subgraphs, _convolution_arguments(subgraphs, quantized), shapes)


fused_convolution.infer_dtypes(_infer_dtypes)
fused_convolution.infer_outputs(partial(_infer_outputs, convolution.function))


def _affine_arguments(subgraphs: Any, quantized: bool, channel_wise_quantize: bool) -> list[str]:
    names = body_order(_parts(subgraphs))
    ranged = [] if not quantized else names[:1] if channel_wise_quantize else names
    return _with_ranges(names, ranged)


@op(
    "_sg_mkldnn_fully_connected",
    arguments=_affine_arguments,
    num_args=None,
    outputs=_outputs,
    output_names=_output_names,
    differentiable=False,
    quantization=Quantization("_sg_mkldnn_fully_connected", True, sums=True),
)
def fused_fully_connected(
    *data,
    subgraphs: Any,
    quantized: bool = False,
    with_eltwise: bool = False,
    channel_wise_quantize: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """An affine map and its activation as one operator.

    Args:
        data: data, weight, bias if there is one. If ``quantized``, then also the ends of their ranges,
            ``(1,)`` each; with ``channel_wise_quantize`` weight and bias are floats without ranges.
        subgraphs: the float layers.
        quantized: whether data, weight and bias are integers of 8 bits.

    Returns:
        As ``_sg_mkldnn_conv``.

    Raises:
        AttributeValueError: the subgraph is another chain of operators.
        DTypeError: ``quantized``, but the data are not integers of 8 bits.

    Source: MXNet operator ``_sg_mkldnn_fully_connected``.
    """
    parts = _parts(subgraphs)
    names = body_order(parts)
    arrays = dict(zip(names, data, strict=False))
    if not quantized:
        return fused_floats(parts, arrays, fully_connected.function)
    ranges = data[len(names) :]
    if channel_wise_quantize:
        return quantized_layer(
            parts, arrays, ranges, _exact_affine, min_calib_range, max_calib_range, enable_float_output, -1
        )  # fmt: skip
    _check("A fused layer", arrays["data"])
    step = step_size(arrays["data"], *ranges[:2])
    weight_step = farthest(*ranges[2:4]) / LIMITS["int8"][1]
    scale = (step * weight_step).astype(jnp.float32)
    values = _exact_affine(arrays["data"], arrays["weight"], parts).astype(jnp.float32) * scale
    if parts.has_bias:
        values = values + arrays["bias"] * (farthest(*ranges[4:6]) / LIMITS["int8"][1])
    values = activated(parts.act, values)
    if enable_float_output:
        return (values,)
    if min_calib_range is not None and max_calib_range is not None:
        return rounded_output(values, min_calib_range, max_calib_range)
    return _as_sums(values, scale)


@fused_fully_connected.set_flops()
def _(inputs, outputs):
    return 2 * math.prod(outputs[0]) * inputs[1][-1]


@fused_fully_connected.infer_inputs
def _(subgraphs, quantized, channel_wise_quantize, **shapes):
    names = _affine_arguments(subgraphs, quantized, channel_wise_quantize)
    return _input_shapes(subgraphs, names, shapes)


fused_fully_connected.infer_dtypes(_infer_dtypes)
fused_fully_connected.infer_outputs(partial(_infer_outputs, fully_connected.function))
