"""Conversions of random operators: same distribution, but the runtime draws its own numbers."""

from __future__ import annotations

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.table import Call, NotHere, converts
from mixnet.onnx.package import type_code


def _shape(call: Call) -> list[int]:
    shape = list(call.out_shapes[0])
    if None in shape:
        raise NotHere
    return shape


@converts("_random_normal")
def _(b: Builder, call: Call) -> str:
    kind = type_code(call.out_dtypes[0])
    return b.RandomNormal(
        shape=_shape(call), mean=float(call["loc"]), scale=float(call["scale"]), dtype=kind
    )


@converts("_random_uniform")
def _(b: Builder, call: Call) -> str:
    kind = type_code(call.out_dtypes[0])
    return b.RandomUniform(
        shape=_shape(call), low=float(call["low"]), high=float(call["high"]), dtype=kind
    )


@converts("_random_normal_like")
def _(b: Builder, call: Call) -> str:
    return b.RandomNormalLike(call.x, mean=float(call["loc"]), scale=float(call["scale"]))


@converts("_random_uniform_like")
def _(b: Builder, call: Call) -> str:
    return b.RandomUniformLike(call.x, low=float(call["low"]), high=float(call["high"]))


@converts("_random_exponential", "_random_exponential_like")
def _(b: Builder, call: Call) -> str:
    dtype = call.out_dtypes[0]
    if call.node.op.name.endswith("_like"):
        drawn = b.RandomUniformLike(call.x, low=0.0, high=1.0)
    else:
        drawn = b.RandomUniform(shape=_shape(call), low=0.0, high=1.0, dtype=type_code(dtype))
    rate = b.constant(np.asarray(-1 / float(call["lam"]), dtype))
    return b.Mul(b.Log(b.Sub(b.constant(np.ones((), dtype)), drawn)), rate)


@converts("_sample_multinomial")
def _(b: Builder, call: Call) -> str:
    if call["get_prob"] or call.ndim > 2:
        raise call.refuse(
            "ONNX draws from rows of probabilities, and does not give their logarithms."
        )
    rows = b.Unsqueeze(call.x, [0]) if call.ndim == 1 else call.x
    count = int(np.prod(call["shape"])) if call["shape"] else 1
    drawn = b.Multinomial(b.Log(rows), dtype=type_code(np.int32), sample_size=count)
    drawn = b.cast(drawn, call.out_dtypes[0], np.int32)
    shape = [-1 if e is None else e for e in call.out_shapes[0]]
    if shape.count(-1) > 1:
        raise NotHere
    return b.Reshape(drawn, shape)
