"""Rules for JAX's window primitives: convolution and windowed reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.onnx.export.primitive_rules import dtype_of
from mixnet.onnx.export.primitives import Lowering, NoRule, rule
from mixnet.private_jax.equation import Equation


@rule("conv_general_dilated")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    b, params = low.b, equation.params
    (lhs, rhs, out), groups = params["dimension_numbers"], params["feature_group_count"]
    if params["batch_group_count"] != 1:
        raise NoRule("it is a convolution with batch groups")
    x, w = (b.permuted(each, order) for each, order in zip(inputs, (lhs, rhs), strict=True))
    shape = [equation.invars[0].aval.shape[i] for i in lhs]
    spread = params["lhs_dilation"]
    if any(each != 1 for each in spread):
        x = _spread(low, x, shape, spread)
    padding = params["padding"]
    if any(side < 0 for pair in padding for side in pair):
        cut = list(range(2, len(shape)))
        starts = [max(-low_, 0) for low_, _ in padding]
        ends = [min(high, 0) or (1 << 60) for _, high in padding]
        x = b.Slice(x, starts, ends, cut)
    pads = [max(a, 0) for a, _ in padding] + [max(c, 0) for _, c in padding]
    sums = b.Conv(x, w, pads=pads, strides=list(params["window_strides"]),
                  dilations=list(params["rhs_dilation"]), group=groups)  # fmt: skip
    return b.permuted(sums, out, inverse=True)


def _spread(low: Lowering, x: str, shape: Any, steps: Any) -> str:
    """Zeros between the elements along the spatial axes."""
    b, rank = low.b, len(shape)
    for i, step in enumerate(steps):
        if step == 1:
            continue
        axis = 2 + i
        after = [0] * (rank + 1)
        after[axis + 1] = step - 1
        wide = b.Pad(b.Unsqueeze(x, [axis + 1]), [0] * (rank + 1) + after)
        extents = [shape[k] if k != axis else -1 for k in range(rank)]
        extents[:axis] = [0] * axis
        extents[axis + 1 :] = [
            int((shape[k] - 1) * (steps[k - 2] if k < axis else 1) + 1)
            if k < axis
            else int(shape[k])
            for k in range(axis + 1, rank)
        ]
        x = b.slice(b.Reshape(wide, extents), axis, 0, -(step - 1))
    return x


@rule("reduce_window_max", "reduce_window_sum", "reduce_window_min")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    b, params, name = low.b, equation.params, equation.primitive.name
    window, padding = list(params["window_dimensions"]), params["padding"]
    strides, rank = list(params["window_strides"]), len(params["window_dimensions"])
    dilation = list(params["window_dilation"])
    if any(each != 1 for each in params["base_dilation"]):
        raise NoRule("its windows run over dilated data")
    moved = [i for i in range(rank) if (window[i], strides[i], *padding[i]) != (1, 1, 0, 0)]
    rest = [i for i in range(rank) if i not in moved]
    if not moved:
        return inputs[0]
    dtype = dtype_of(equation.invars[0])
    compute = dtype if dtype.kind == "f" else np.dtype("float64")
    x = b.cast(inputs[0], compute, dtype)
    order = rest + moved
    x = b.permuted(x, order)
    shape = [equation.invars[0].aval.shape[i] for i in order]
    x = low.reshape(x, [math.prod(shape[: len(rest)]), 1, *shape[len(rest) :]])
    pads = [padding[i][0] for i in moved] + [padding[i][1] for i in moved]
    window, strides, dilation = ([v[i] for i in moved] for v in (window, strides, dilation))
    if name == "reduce_window_sum":
        ones = b.constant(np.ones((1, 1, *window), compute))
        x = b.Conv(x, ones, pads=pads, strides=strides, dilations=dilation)
    else:
        x = b.Neg(x) if name == "reduce_window_min" else x
        x = b.MaxPool(x, kernel_shape=window, pads=pads, strides=strides, dilations=dilation)
        x = b.Neg(x) if name == "reduce_window_min" else x
    after = [equation.outvars[0].aval.shape[i] for i in order]
    x = b.permuted(low.reshape(x, after), order, inverse=True)
    return b.cast(x, dtype, compute)
