"""Conversions of layers: convolution, pooling, normalization, activations, loss heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.elementwise import only_floats
from mixnet.onnx.export.table import Call, NotHere, converts

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def channels_last(call: Call) -> bool:
    """Whether the layout has channels on the last axis."""
    layout = call.attributes.get("layout")
    return layout is not None and layout.endswith("C")


def _moved(b: Builder, value: str, rank: int, inverse: bool = False) -> str:
    """Channels from the last axis to axis 1, or back."""
    order = [0, rank - 1, *range(1, rank - 1)]
    return b.permuted(value, order, inverse)


def _window(call: Call, name: str, count: int, default: int) -> list[int]:
    numbers = list(call[name] or ())
    return numbers if numbers else [default] * count


@converts("Convolution", "Convolution_v1")
def _(b: Builder, call: Call) -> str:
    x, weight, last = call.x, call.inputs[1], channels_last(call)
    count = len(call["kernel"])
    if last:
        x, weight = _moved(b, x, call.ndim), _moved(b, weight, call.ndim)
    pads = _window(call, "pad", count, 0)
    result = b.Conv(
        x,
        weight,
        call.argument("bias"),
        kernel_shape=list(call["kernel"]),
        pads=pads * 2,
        strides=_window(call, "stride", count, 1),
        dilations=_window(call, "dilate", count, 1),
        group=call["num_group"],
    )
    return _moved(b, result, call.ndim, True) if last else result


@converts("Deconvolution")
def _(b: Builder, call: Call) -> str:
    count = len(call["kernel"])
    if channels_last(call):
        raise NotHere
    kernel, strides = list(call["kernel"]), _window(call, "stride", count, 1)
    dilate, pads = _window(call, "dilate", count, 1), _window(call, "pad", count, 0)
    extra = _window(call, "adj", count, 0)
    if any(call["target_shape"]):
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilate, strict=True)]
        axes = zip(call.shapes[0][2:], strides, reach, call["target_shape"], strict=True)
        total = [s * (n - 1) + r - t for n, s, r, t in axes]
        pads, extra = [(t + 1) // 2 for t in total], [t % 2 for t in total]
    return b.ConvTranspose(
        call.x, call.inputs[1], call.argument("bias"), kernel_shape=kernel, pads=pads * 2, strides=strides,
        dilations=dilate, output_padding=extra, group=call["num_group"],
    )  # fmt: skip


@converts("FullyConnected")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    weight, bias = call.inputs[1], call.argument("bias")
    if call["flatten"]:
        x = call.x if call.ndim == 2 else b.Flatten(call.x, axis=1)
        return b.Gemm(x, weight, bias, transB=1)
    product = b.MatMul(call.x, b.Transpose(weight, perm=[1, 0]))
    return product if bias is None else b.Add(product, bias)


@converts("Pooling", "Pooling_v1")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    if call.node.op.name == "Pooling_v1":
        raise NotHere
    return pooled(b, call, call.x)


def pooled(b: Builder, call: Call, x: str) -> str:
    """Pooling of a value by the attributes of a call."""
    kind, last = call["pool_type"], channels_last(call)
    if kind == "lp" and call["p_value"] != 2:
        raise NotHere
    x = _moved(b, x, call.ndim) if last else x
    result = _pooled_whole(b, call, x, kind) if call["global_pool"] else _pooled(b, call, x, kind)
    return _moved(b, result, call.ndim, True) if last else result


def _pooled_whole(b: Builder, call: Call, x: str, kind: str) -> str:
    if kind == "sum":
        return b.reduce("ReduceSum", x, range(2, call.ndim), True)
    if kind == "lp":
        return b.GlobalLpPool(x, p=int(call["p_value"]))
    return b.add({"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}[kind], (x,), {})


def _pooled(b: Builder, call: Call, x: str, kind: str) -> str:
    count = call.ndim - 2
    kernel, strides = list(call["kernel"]), _window(call, "stride", count, 1)
    pads = _window(call, "pad", count, 0)
    if call["pooling_convention"] == "same":
        raise NotHere
    extents = call.shapes[0][1:-1] if channels_last(call) else call.shapes[0][2:]
    after = list(pads)
    if call["pooling_convention"] == "full":
        # Windows that hang over the end are padding there, so that every runtime has as many of them.
        after = [
            p + _over(n, k, s, p) for n, k, s, p in zip(extents, kernel, strides, pads, strict=True)
        ]
    window: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads + after}
    if kind == "max":
        return b.MaxPool(x, **window)
    if kind == "lp":
        return b.LpPool(x, p=int(call["p_value"]), **window)
    if after != pads:
        raise NotHere  # what hangs over counts in other ways
    with_pads = kind == "sum" or call.attributes.get("count_include_pad") is not False
    means = b.AveragePool(x, count_include_pad=int(with_pads), **window)
    return (
        b.Mul(means, b.constant(np.asarray(math.prod(kernel), call.dtype)))
        if kind == "sum"
        else means
    )


def _over(extent: int | None, kernel: int, stride: int, pad: int) -> int:
    """The overhang of the last window for the convention "full"."""
    if extent is None:
        raise NotHere
    rest = (extent + 2 * pad - kernel) % stride
    return stride - rest if rest else 0


@converts("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU")
def _(b: Builder, call: Call) -> str:
    x, gamma, *rest = call.inputs
    axis = call.axis(call.attributes.get("axis", 1))
    if call.attributes.get("output_mean_var"):
        raise NotHere
    if call["fix_gamma"]:
        gamma = b.ConstantOfShape(b.Shape(gamma), value=_one(call.dtypes[1]))
    order = [i for i in range(call.ndim) if i != axis]
    order.insert(1, axis)
    x = b.permuted(x, order)
    if call.dtype != call.dtypes[1]:  # statistics of half precision are float32
        x = b.cast(x, call.dtypes[1])
    result = b.BatchNormalization(x, gamma, *rest, epsilon=float(call["eps"]))
    result = b.cast(result, call.dtype, call.dtypes[1])
    result = b.permuted(result, order, inverse=True)
    return b.Relu(result) if call.node.op.name == "_contrib_BatchNormWithReLU" else result


def _one(dtype: DTypeLike) -> Any:
    from mixnet.onnx.package import onnx_package

    return onnx_package().numpy_helper.from_array(np.ones(1, dtype))


@converts("LayerNorm")
def _(b: Builder, call: Call) -> str:
    axis = call.axis(call["axis"])
    if b.opset < 17 or axis != call.ndim - 1 or call["output_mean_var"]:
        raise NotHere
    return b.LayerNormalization(*call.inputs, axis=-1, epsilon=float(call["eps"]))


@converts("InstanceNorm")
def _(b: Builder, call: Call) -> str:
    if call.ndim < 3:
        raise NotHere
    return b.InstanceNormalization(*call.inputs, epsilon=float(call["eps"]))


@converts("LRN")
def _(b: Builder, call: Call) -> str:
    size = int(call["nsize"])
    if size % 2 == 0 or call.ndim != 4:
        raise NotHere
    return b.LRN(
        call.x,
        size=size,
        alpha=float(call["alpha"]),
        beta=float(call["beta"]),
        bias=float(call["knorm"]),
    )


@converts("L2Normalization")
def _(b: Builder, call: Call) -> str:
    axes = {"channel": [1], "spatial": range(2, call.ndim), "instance": range(1, call.ndim)}[
        call["mode"]
    ]
    total = b.reduce("ReduceSum", b.Mul(call.x, call.x), axes, True)
    length = b.Sqrt(b.Add(total, b.constant(np.asarray(call["eps"], call.dtype))))
    return b.Div(call.x, length)


_ACTIVATIONS = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softrelu": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


@converts("Activation")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return b.add(_ACTIVATIONS[call["act_type"]], (call.x,), {})


@converts("LeakyReLU")
def _(b: Builder, call: Call) -> str:
    kind, slope = call["act_type"], float(call["slope"])
    if kind == "rrelu":
        slope = (float(call["lower_bound"]) + float(call["upper_bound"])) / 2
    if kind in ("leaky", "rrelu"):
        return b.LeakyRelu(call.x, alpha=slope)
    if kind == "elu":
        return b.Elu(call.x, alpha=slope)
    if kind == "selu":
        return b.Selu(call.x)
    if kind == "prelu":
        ones = list(range(1, call.ndim - 1))
        return b.PRelu(call.x, b.Unsqueeze(call.inputs[1], ones) if ones else call.inputs[1])
    return _gelu(b, call)


def _gelu(b: Builder, call: Call) -> str:
    if b.opset >= 20:
        return b.Gelu(call.x)

    def n(value: float) -> str:
        return b.constant(np.asarray(value, call.dtype))

    inside = b.Erf(b.Div(call.x, n(math.sqrt(2))))
    return b.Mul(b.Mul(call.x, b.Add(inside, n(1))), n(0.5))


@converts("Dropout")
def _(b: Builder, call: Call) -> Any:
    if call["mode"] == "always":
        raise call.refuse("dropout with mode='always' also draws random numbers in prediction.")
    return call.x


@converts("softmax", "log_softmax", "softmin")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    if call.attributes.get("use_length"):
        raise NotHere
    x, axis = call.x, call.axis(call["axis"])
    if call["temperature"]:
        x = b.Div(x, b.constant(np.asarray(call["temperature"], call.dtype)))
    if call.node.op.name == "softmin":
        x = b.Neg(x)
    result = b.add(
        "LogSoftmax" if call.node.op.name == "log_softmax" else "Softmax", (x,), {"axis": axis}
    )
    return b.cast(result, call.out_dtypes[0], call.dtype)


@converts("SoftmaxActivation")
def _(b: Builder, call: Call) -> str:
    if call["mode"] == "channel":
        return b.Softmax(call.x, axis=1)
    return _softmax_of_rows(b, call)


def _softmax_of_rows(b: Builder, call: Call) -> str:
    """Over all axes but the first together."""
    if call.ndim == 2:
        return b.Softmax(call.x, axis=1)
    return b.Reshape(b.Softmax(b.Flatten(call.x, axis=1), axis=1), b.Shape(call.x))


@converts("SoftmaxOutput")
def _(b: Builder, call: Call) -> str:
    if call["multi_output"]:
        return b.Softmax(call.x, axis=1)
    if call["preserve_shape"]:
        return b.Softmax(call.x, axis=-1)
    return _softmax_of_rows(b, call)


@converts("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput")
def _(b: Builder, call: Call) -> str:
    return call.x


@converts("LogisticRegressionOutput")
def _(b: Builder, call: Call) -> str:
    return b.Sigmoid(call.x)


@converts("Embedding", "_contrib_SparseEmbedding")
def _(b: Builder, call: Call) -> str:
    most = b.constant(np.int64(call["input_dim"] - 1))
    index = b.cast(call.x, np.int64, call.dtype)
    return b.Gather(call.inputs[1], b.Clip(index, b.constant(np.int64(0)), most), axis=0)


@converts("UpSampling")
def _(b: Builder, call: Call) -> str:
    if call["sample_type"] != "nearest" or len(call.inputs) != 1:
        raise NotHere
    return _resized(b, call.x, [1.0, 1.0, float(call["scale"]), float(call["scale"])])


def _resized(b: Builder, x: str, scales: Sequence[float]) -> str:
    return b.Resize(
        x, None, b.constant(np.asarray(scales, np.float32)), mode="nearest", nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )  # fmt: skip


@converts("_contrib_AdaptiveAvgPooling2D")
def _(b: Builder, call: Call) -> str:
    size = tuple(call["output_size"] or (1,))
    size = size * 2 if len(size) == 1 else size
    if size == (1, 1):
        return b.GlobalAveragePool(call.x)
    if None in call.shapes[0][2:] or any(
        n % s for n, s in zip(call.shapes[0][2:], size, strict=True)
    ):
        raise NotHere
    steps = [n // s for n, s in zip(call.shapes[0][2:], size, strict=True)]
    return b.AveragePool(call.x, kernel_shape=steps, strides=steps)


@converts("_contrib_div_sqrt_dim")
def _(b: Builder, call: Call) -> str:
    extent = b.Cast(b.extent(call.x, call.ndim - 1), to=_code(call.dtype))
    return b.Div(call.x, b.Sqrt(extent))


def _code(dtype: DTypeLike) -> int:
    from mixnet.onnx.package import type_code

    return type_code(dtype)
