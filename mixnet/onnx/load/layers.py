"""Readers of layers: convolution, pooling, normalization, products, resizing."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.load.extents import is_open, larger
from mixnet.onnx.load.table import Call, made_by, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


def _spacing(call: Call, count: int) -> tuple[list[int], list[int]]:
    """Strides and dilations of a window with ``count`` axes."""
    ones = [1] * count
    return list(call.get("strides", ones)), list(call.get("dilations", ones))


def window(
    g: Reading, call: Call, kernel: list[int]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations, padding before and after."""
    count = len(kernel)
    strides, dilate = _spacing(call, count)
    pads = list(call.get("pads", [0] * 2 * count))
    padding = call.get("auto_pad", "NOTSET")
    if padding.startswith("SAME"):
        extents = g.shape(call.x)[2:]
        total = [
            larger((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            for n, s, k, d in zip(extents, strides, kernel, dilate, strict=True)
        ]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        return strides, dilate, *((small, large) if padding == "SAME_UPPER" else (large, small))
    if padding == "VALID":
        pads = [0] * 2 * count
    return strides, dilate, pads[:count], pads[count:]


def padded(g: Reading, x: object, before: list[int], after: list[int], value: float = 0.0) -> Any:
    """Data with padding along the spatial axes."""
    widths = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    return g.op("_npi_pad", x, pad_width=tuple(widths), mode="constant", constant_value=value)


def convolution_attributes(
    call: Call,
    weight: Sequence[int],
    strides: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
) -> dict[str, Any]:
    """Attributes of a convolution with a weight of a shape, whose padding is the same on both sides."""
    return {
        "kernel": tuple(weight[2:]),
        "stride": tuple(strides),
        "dilate": tuple(dilate),
        "pad": tuple(pad),
        "num_filter": weight[0],
        "num_group": call.get("group", 1),
    }


@reads("Conv")
def _(g: Reading, call: Call) -> Any:
    weight = g.shape(call.inputs[1])
    kernel = list(weight[2:])
    strides, dilate, before, after = window(g, call, kernel)
    x, inputs = call.x, call.inputs[1:]
    if before != after:
        x, before = padded(g, x, before, after), [0] * len(kernel)
    return g.op(
        "Convolution",
        x,
        *inputs,
        **convolution_attributes(call, weight, strides, dilate, before),
        no_bias=len(inputs) == 1,
    )


@reads("ConvTranspose")
def _(g: Reading, call: Call) -> Any:
    weight, group = g.shape(call.inputs[1]), call.get("group", 1)
    kernel = list(weight[2:])
    count = len(kernel)
    strides, dilate = _spacing(call, count)
    extra = list(call.get("output_padding", [0] * count))
    pads = list(call.get("pads", [0] * 2 * count))
    before, after = pads[:count], pads[count:]
    covered = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(g.shape(call.x)[2:], strides, kernel, dilate, strict=True)
    ]
    extents = [n + e for n, e in zip(covered, extra, strict=True)]
    padding, output_shape = call.get("auto_pad", "NOTSET"), call.get("output_shape")
    if output_shape or padding.startswith("SAME"):
        output_shape = list(
            output_shape or [n * s for n, s in zip(g.shape(call.x)[2:], strides, strict=True)]
        )[-count:]
        extra = [e + max(w - o, 0) for e, w, o in zip(extra, output_shape, extents, strict=True)]
        extents = [max(w, o) for w, o in zip(output_shape, extents, strict=True)]
        total = [max(w - o, 0) for w, o in zip(extents, output_shape, strict=True)]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        before, after = (large, small) if padding != "SAME_UPPER" else (small, large)
    inputs = call.inputs[1:]
    out = g.op(
        "Deconvolution", call.x, *inputs, kernel=tuple(kernel), stride=tuple(strides), dilate=tuple(dilate),
        num_filter=weight[1] * group, num_group=group, no_bias=len(inputs) == 1,
    )  # fmt: skip
    out = g.known_shape(out, (g.shape(call.x)[0], weight[1] * group, *covered))
    if any(extra):  # rows behind the last window have the bias alone
        shift = call.input(2)
        out = padded(g, out if shift is None else _minus_bias(g, out, shift), [0] * count, extra)
        out = out if shift is None else g.op("_npi_add", out, _of_channels(g, shift, count))
    if not any(before + after):
        return out
    rank = count + 2
    ends = [(-a or None) if is_open(n) else n - a for n, a in zip(extents, after, strict=True)]
    return g.op(
        "slice", out, begin=(None, None, *before), end=(None, None, *ends), step=(1,) * rank
    )


def _of_channels(g: Reading, value: object, count: int) -> Any:
    return g.op("Reshape", value, shape=(1, -1, *(1,) * count))


def _minus_bias(g: Reading, out: object, bias: object) -> Any:
    return g.op("_npi_subtract", out, _of_channels(g, bias, len(g.shape(out)) - 2))


@reads("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def _(g: Reading, call: Call) -> Any:
    kind = {"GlobalMaxPool": "max", "GlobalAveragePool": "avg"}.get(call.node.op_type)
    kernel = (1,) * (len(g.shape(call.x)) - 2)
    if kind is not None:
        return g.op("Pooling", call.x, global_pool=True, kernel=kernel, pool_type=kind)
    power = float(call.get("p", 2))
    x = g.op("_npi_power_scalar", g.op("_npi_absolute", call.x), scalar=power)
    axes = tuple(range(2, len(g.shape(x))))
    return g.op("_npi_power_scalar", g.op("_np_sum", x, axis=axes, keepdims=True), scalar=1 / power)


@reads("BatchNormalization", "SpatialBN")
def _(g: Reading, call: Call) -> Any:
    if call.get("training_mode", 0):
        return _of_the_batch(g, call)
    # The first one of several outputs; statistics move in training, as those of any network here.
    result = g.op(
        "BatchNorm", *call.inputs[:5], eps=call.get("epsilon", 1e-5), momentum=call.get("momentum", 0.9),
        fix_gamma=False,
    )  # fmt: skip
    return result[0] if len(result) > 1 else result


def _normalized(g: Reading, call: Call, axes: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """Mean, variance and its inverse square root along axes, and the data normalized by them."""
    mean = g.op("_npi_mean", call.x, axis=axes, keepdims=True)
    centered = g.op("_npi_subtract", call.x, mean)
    var = g.op("_npi_mean", g.op("_npi_multiply", centered, centered), axis=axes, keepdims=True)
    factor = g.op("rsqrt", g.op("_npi_add_scalar", var, scalar=call.get("epsilon", 1e-5)))
    return mean, var, factor, g.op("_npi_multiply", centered, factor)


def _of_the_batch(g: Reading, call: Call) -> list[Any]:
    """Data normalized by its own mean and variance, and the moved statistics."""
    rank = len(g.shape(call.x))
    axes = (0, *range(2, rank))
    mean, var, _, normalized = _normalized(g, call, axes)
    scale, shift = (_of_channels(g, each, rank - 2) for each in call.inputs[1:3])
    out = g.op("_npi_multiply", normalized, scale)
    share, moved = call.get("momentum", 0.9), []
    for old, new in zip(call.inputs[3:5], (mean, var), strict=True):
        flat = g.op("Reshape", new, shape=(-1,))
        parts = [
            g.op("_npi_multiply_scalar", each, scalar=factor)
            for each, factor in ((old, share), (flat, 1 - share))
        ]
        moved.append(g.op("_npi_add", *parts))
    return [g.op("_npi_add", out, shift), *moved][: len(call.node.output)]


@reads("InstanceNormalization")
def _(g: Reading, call: Call) -> Any:
    factors = call.inputs[1:]
    if _normalizes_groups(call):
        factors = [each.copy() for each in factors]  # arrays of this reader, which are not trained
    return g.op("InstanceNorm", call.x, *factors, eps=call.get("epsilon", 1e-5))


def _normalizes_groups(call: Call) -> bool:
    """Whether PyTorch wrote a group normalization so: of channels joined to groups, times 1, plus 0."""
    scale, shift = call.inputs[1:]
    if not isinstance(scale, np.ndarray) or not isinstance(shift, np.ndarray) or shift.any():
        return False
    return bool((scale == 1).all()) and made_by(call.x) == "Reshape"


@reads("LayerNormalization")
def _(g: Reading, call: Call) -> Any:
    shape, eps = g.shape(call.x), call.get("epsilon", 1e-5)
    axis = call.get("axis", -1) % len(shape)
    if axis == len(shape) - 1 and call.input(2) is not None and len(call.node.output) == 1:
        return g.op("LayerNorm", *call.inputs, axis=-1, eps=eps)
    axes = tuple(range(axis, len(shape)))
    mean, _, factor, normalized = _normalized(g, call, axes)
    out = g.op("_npi_multiply", normalized, call.inputs[1])
    out = out if call.input(2) is None else g.op("_npi_add", out, call.inputs[2])
    return [out, mean, factor][: len(call.node.output)]


@reads("GroupNormalization")
def _(g: Reading, call: Call) -> Any:
    shape, groups = g.shape(call.x), call.get("num_groups")
    ones = np.ones(groups, g.dtype(call.x))
    normalized = g.op(
        "GroupNorm", call.x, ones, ones * 0, num_groups=groups, eps=call.get("epsilon", 1e-5)
    )
    scale, shift = call.inputs[1:]
    if g.opset < 21:  # one for each group
        per = shape[1] // groups
        scale, shift = (g.op("repeat", each, repeats=per) for each in (scale, shift))
    scale, shift = (_of_channels(g, each, len(shape) - 2) for each in (scale, shift))
    return g.op("_npi_add", g.op("_npi_multiply", normalized, scale), shift)


@reads("LRN")
def _(g: Reading, call: Call) -> Any:
    return g.op(
        "LRN",
        call.x,
        nsize=call.get("size"),
        alpha=call.get("alpha", 1e-4),
        beta=call.get("beta", 0.75),
        knorm=call.get("bias", 1.0),
    )


@reads("MaxRoiPool")
def _(g: Reading, call: Call) -> Any:
    return g.op(
        "ROIPooling",
        *call.inputs,
        pooled_size=tuple(call.get("pooled_shape")),
        spatial_scale=call.get("spatial_scale", 1.0),
    )


@reads("LpNormalization")
def _(g: Reading, call: Call) -> Any:
    length = g.op("norm", call.x, ord=call.get("p", 2), axis=call.get("axis", -1), keepdims=True)
    zero = g.op("Cast", g.op("_npi_equal_scalar", length, scalar=0.0), dtype=g.dtype(length).name)
    return g.op("_npi_true_divide", call.x, g.op("_npi_add", length, zero))  # zeros stay zeros


@reads("MeanVarianceNormalization")
def _(g: Reading, call: Call) -> Any:
    axes = tuple(call.get("axes", [0, 2, 3]))
    centered = g.op("_npi_subtract", call.x, g.op("_npi_mean", call.x, axis=axes, keepdims=True))
    var = g.op("_npi_mean", g.op("_npi_multiply", centered, centered), axis=axes, keepdims=True)
    return g.op(
        "_npi_true_divide", centered, g.op("_npi_add_scalar", g.op("_npi_sqrt", var), scalar=1e-9)
    )


@reads("Dropout")
def _(g: Reading, call: Call) -> Any:
    ratio = (
        call.get("ratio", 0.5)
        if g.opset < 12
        else 0.5
        if call.input(1) is None
        else float(call.inputs[1])
    )
    out = g.op("Dropout", call.x, p=ratio)
    return [out, g.op("ones_like", out)][: len(call.node.output)]


@reads("Gemm", "FC")
def _(g: Reading, call: Call) -> Any:
    x, weight, bias = call.x, call.inputs[1], call.input(2)
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    x = g.op("_np_transpose", x) if call.get("transA", 0) else x
    units = g.shape(weight)[0 if call.get("transB", 0) else 1]
    plain = alpha == 1 and (bias is None or (beta == 1 and g.shape(bias) == (units,)))
    if plain and call.get("transB", 0) and g.dtype(x).kind == "f":
        inputs = (weight,) if bias is None else (weight, bias)
        return g.op("FullyConnected", x, *inputs, num_hidden=units, no_bias=bias is None)
    weight = g.op("_np_transpose", weight) if call.get("transB", 0) else weight
    out = g.op("_npi_matmul", x, weight)
    out = out if alpha == 1 else g.op("_npi_multiply_scalar", out, scalar=alpha)
    if bias is None:
        return out
    return g.op(
        "_npi_add", out, bias if beta == 1 else g.op("_npi_multiply_scalar", bias, scalar=beta)
    )


@reads("MatMul", alike=True)
def _(g: Reading, call: Call) -> Any:
    return g.op("_npi_matmul", *call.inputs)


@reads("Einsum")
def _(g: Reading, call: Call) -> Any:
    equation = call.get("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    single = sorted(each for each in {*left} if each.isalpha() and left.count(each) == 1)
    right = right if arrow else "..." * ("..." in left) + "".join(single)
    unused = next(each for each in string.ascii_letters if each not in equation)
    # Operands may have one axis here and none there.
    terms = [each or unused for each in left.split(",")]
    out = g.op("_npi_einsum", *call.inputs, subscripts=f"{','.join(terms)}->{right}")
    return g.mark_scalar(g.op("Reshape", out, shape=(1,))) if g.shape(out) == () else out
