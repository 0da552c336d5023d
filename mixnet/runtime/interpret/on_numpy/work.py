"""Estimated cost of a NumPy program, the same at every call and on every machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mixnet.private_jax.calls import called
from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.convolution import skips_zeros

if TYPE_CHECKING:
    import jax

_BYTES_A_SECOND = 4e9
_FLOPS_A_SECOND = 3e10
_STEP_SECONDS = 1.5e-6
_WHILE_ROUNDS = 10
"""Of a loop whose number of rounds is not known."""
_FREE = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "rev",
         "copy", "copy_p", "stop_gradient", "iota", "split", "unstack", "random_wrap",
         "random_unwrap", "optimization_barrier"}  # fmt: skip


def work(jaxpr: Any) -> float:
    """Estimated seconds of one run of a closed jaxpr: bytes, floating-point operations, steps.

    Loops count once for each round; branches as the longest of them.
    """
    inside = getattr(jaxpr, "jaxpr", jaxpr)
    return sum([_seconds(equation) for equation in inside.eqns])


def _seconds(equation: Equation) -> float:
    name, params = equation.primitive.name, equation.params
    if name in _FREE:
        return _STEP_SECONDS
    if name == "scan":
        return params["length"] * (work(params["jaxpr"]) + 2 * _STEP_SECONDS)
    if name == "while":
        return _WHILE_ROUNDS * (work(params["cond_jaxpr"]) + work(params["body_jaxpr"]))
    if name == "cond":
        return max(map(work, params["branches"])) + _STEP_SECONDS
    if name == "custom_linear_solve":
        return work(params["jaxprs"].solve)
    inner = called(equation)
    if inner is not None:
        return work(inner)
    moved = sum([_bytes(v.aval) for v in (*equation.invars, *equation.outvars)])
    flops = _FLOPS[name](equation) if name in _FLOPS else 0
    windows = _COPIES[name](equation) if name in _COPIES else 0
    return _STEP_SECONDS + (moved + windows) / _BYTES_A_SECOND + flops / _FLOPS_A_SECOND


def _bytes(aval: jax.core.ShapedArray) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _dot_flops(equation: Equation) -> int:
    (left, _), _ = equation.params["dimension_numbers"]
    inner = math.prod(equation.invars[0].aval.shape[axis] for axis in left)
    return 2 * inner * math.prod(equation.outvars[0].aval.shape)


def _convolution_sizes(equation: Equation) -> tuple[int, int]:
    """Products, and elements of the copy of all windows."""
    params, numbers = equation.params, equation.params["dimension_numbers"]
    data, weight = (v.aval.shape for v in equation.invars)
    out = equation.outvars[0].aval.shape
    filters = max(1, weight[numbers.rhs_spec[0]])
    met = math.prod(weight) // filters
    places = math.prod(out)
    groups = params["feature_group_count"] * params["batch_group_count"]
    windows = met * places * groups // filters
    if all(s == 1 for s in params["window_strides"]):
        # Or from the data's side: what each of its elements gives to all filters and taps.
        taps = met // max(1, weight[numbers.rhs_spec[1]])
        products = math.prod(data) * taps * (filters // groups)
        spread = products * 3 // 2 // max(1, weight[numbers.rhs_spec[1]])
        dilation = params["lhs_dilation"]
        extents = [data[axis] for axis in numbers.lhs_spec[2:]]
        if skips_zeros(dilation, extents, [out[axis] for axis in numbers.out_spec[2:]]) or (
            math.prod(dilation) == 1 and spread < windows
        ):
            return products, spread
    return met * places, windows


def _convolution_flops(equation: Equation) -> int:
    return 2 * _convolution_sizes(equation)[0]


def _window_bytes(equation: Equation) -> int:
    """Bytes of the copy of all windows, which is written and read."""
    return 2 * equation.outvars[0].aval.dtype.itemsize * _convolution_sizes(equation)[1]


def _tap_bytes(equation: Equation) -> int:
    """Bytes moved by reductions that go over their windows element by element."""
    taps = math.prod(equation.params["window_dimensions"])
    smaller = min((*equation.invars, *equation.outvars), key=lambda v: _bytes(v.aval))
    return 8 * taps * _bytes(smaller.aval)


def _cubic_flops(equation: Equation) -> int:
    shape = equation.invars[0].aval.shape
    return 10 * math.prod(shape) * min(shape[-2:])


def _sort_flops(equation: Equation) -> float:
    # 30 steps of a processor for each comparison, so to say.
    shape = equation.invars[0].aval.shape
    axis = equation.params.get("dimension", -1)
    return 60 * math.prod(shape) * math.log2(max(2, shape[axis]))


def _cipher_flops(equation: Equation) -> int:
    # Twenty rounds of five steps each, at the speed of the processor's cache.
    return 500 * math.prod(equation.outvars[0].aval.shape)


_FLOPS: dict[str, Any] = {
    "random_bits": _cipher_flops,
    "dot_general": _dot_flops, "conv_general_dilated": _convolution_flops, "sort": _sort_flops,
    "top_k": _sort_flops,
    **dict.fromkeys(("cholesky", "eigh", "eig", "svd", "qr", "lu"), _cubic_flops),
}  # fmt: skip
_COPIES: dict[str, Any] = {
    "conv_general_dilated": _window_bytes, "select_and_scatter_add": _tap_bytes,
    "select_and_gather_add": _tap_bytes,
}  # fmt: skip
