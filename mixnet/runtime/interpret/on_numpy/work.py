"""Estimated cost of a NumPy program and of compiling it, the same at every call and on every machine.

The constants were fitted to some 400 programs of ``tests/benchmarks`` (docs/performance.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mixnet.private_jax.calls import called
from mixnet.private_jax.equation import Abstract, Equation
from mixnet.private_jax.jaxprs import opened
from mixnet.runtime.interpret.on_numpy.convolution import skips_zeros
from mixnet.runtime.interpret.on_numpy.tiles import products_saved

if TYPE_CHECKING:
    from collections.abc import Sequence


_BYTES_A_SECOND = 8e9
_FLOPS_A_SECOND = 6e10
_STEP_SECONDS = 1.5e-6
_FLOPS_SAVED = 0.3
"""The share of the time of products that compiling saves: little, as both use the same kind of kernels."""
_BYTES_SAVED = 0.75
"""The share of the time for moving data that fusion saves: it does not store intermediate results."""
_WHILE_ROUNDS = 10
"""The assumed number of rounds of a loop with an unknown number."""
_FREE = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "rev",
         "copy", "copy_p", "stop_gradient", "iota", "split", "unstack", "random_wrap",
         "random_unwrap", "optimization_barrier"}  # fmt: skip


_SECONDS_IN_CACHE = 0.3e-9
"""Seconds of an operation on one element in the cache."""
_BYTES_MOVED_A_SECOND = 1e10  # between a GPU and the host
_SECONDS_OF_A_COPY = 1e-5

_COMPILE_SECONDS = 0.0025
"""Seconds to compile one more equation, which usually becomes part of an existing loop."""
_FREE_COMPILE_SECONDS = 0.0005
_COMPILE: dict[str, float] = {
    "conv_general_dilated": 0.09, "dot_general": 0.006, "random_bits": 0.4, "sort": 0.03, "top_k": 0.03,
    "survivors": 0.3, "weighted_regions": 0.2,
    **dict.fromkeys(("gather", "scatter", "scatter-add", "dynamic_slice"), 0.008),
}  # fmt: skip


class Cost(NamedTuple):
    """Estimates of one program, in seconds.

    Args:
        work: the time of one interpreted run.
        saving: the time by which a compiled run is shorter.
        compiling: the time that this adds to the compilation of a program.
        is_away: whether the program is a GPU's, so that only interpreted runs use the host's processors.
    """

    work: float
    saving: float
    compiling: float
    is_away: bool = False


def cost(jaxpr: Any) -> Cost:
    """Estimates for a closed jaxpr, from its bytes, floating-point operations and steps.

    Each round of a loop runs, but is compiled only once; the longest branch is assumed to run.
    """
    inside = opened(jaxpr)
    return total([_equation(equation) for equation in inside.eqns])


def work(jaxpr: Any) -> float:
    """Estimated seconds of one interpreted run of a closed jaxpr."""
    return cost(jaxpr).work


def elementwise(equations: int, elements: int, in_pieces: bool = False) -> Cost:
    """Estimates for elementwise operations on arrays of a number of elements.

    Args:
        equations: the number of operations.
        elements: the number of elements of each array.
        in_pieces: whether they run a piece at a time, with intermediate results in the processor's cache.
    """
    seconds = equations * 2e-6
    moving = equations * elements * (_SECONDS_IN_CACHE if in_pieces else 1e-9)
    return Cost(seconds + moving, seconds + _BYTES_SAVED * moving, equations * _COMPILE_SECONDS)


def away_from_device(cost: Cost, arrays: int, nbytes: int) -> Cost:
    """Estimates for a program whose arrays are on a GPU: interpreted runs copy them; runs on the GPU count
    as free.

    Args:
        cost: the estimates for arrays on the host.
        arrays: the number of inputs and results.
        nbytes: their total size.
    """
    work = cost.work + arrays * _SECONDS_OF_A_COPY + nbytes / _BYTES_MOVED_A_SECOND
    return Cost(work, work, cost.compiling, is_away=True)


def total(costs: Sequence[Cost], rounds: int = 1) -> Cost:
    """The cost of operations that run one after another.

    Args:
        costs: the cost of each operation.
        rounds: how often they run; they are compiled once.
    """
    work = rounds * sum([each.work for each in costs])
    saving = rounds * sum([each.saving for each in costs])
    return Cost(work, saving, sum([each.compiling for each in costs]))


def _equation(equation: Equation) -> Cost:
    name, params = equation.primitive.name, equation.params
    if name in _FREE:
        return Cost(_STEP_SECONDS, _STEP_SECONDS, _FREE_COMPILE_SECONDS)
    if name == "scan":
        step = Cost(2 * _STEP_SECONDS, 2 * _STEP_SECONDS, _COMPILE_SECONDS)
        return total([cost(params["jaxpr"]), step], params["length"])
    if name == "while":
        return total([cost(params["cond_jaxpr"]), cost(params["body_jaxpr"])], _WHILE_ROUNDS)
    if name == "cond":
        # Any branch may run: the longest counts. All of them are compiled.
        branches = [cost(each) for each in params["branches"]]
        compiling = sum([each.compiling for each in branches])
        longest = max(branches)
        return Cost(longest.work + _STEP_SECONDS, longest.saving + _STEP_SECONDS, compiling)
    if name == "custom_linear_solve":
        return cost(params["jaxprs"].solve)
    # A primitive with a figure of its own is not opened, even if it is a call of simpler ones.
    inner = None if name in _FLOPS else called(equation)
    if inner is not None:
        return cost(inner)
    sizes = sum([_bytes(v.aval) for v in (*equation.invars, *equation.outvars)])
    flops = _FLOPS[name](equation) / _FLOPS_A_SECOND if name in _FLOPS else 0
    moving = (sizes + (_COPIES[name](equation) if name in _COPIES else 0)) / _BYTES_A_SECOND
    return Cost(
        _STEP_SECONDS + moving + flops,
        _STEP_SECONDS + _BYTES_SAVED * moving + _FLOPS_SAVED * flops,
        _COMPILE.get(name, _COMPILE_SECONDS),
    )


def _bytes(aval: Abstract) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _dot_flops(equation: Equation) -> int:
    (left, _), _ = equation.params["dimension_numbers"]
    inner: int = math.prod(equation.invars[0].aval.shape[axis] for axis in left)
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
        saved = _products_saved(equation)
        if saved:
            return met * places - saved, 0
        # Or by spreading: what each element of the data contributes to all filters and taps.
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


def _products_saved(equation: Equation) -> int:
    """The number of products that Winograd's sums replace."""
    params, numbers = equation.params, equation.params["dimension_numbers"]
    aval, weight = equation.outvars[0].aval, equation.invars[1].aval.shape
    if aval.dtype.kind != "f" or any(d > 1 for d in params["lhs_dilation"]):
        return 0
    groups: int = params["feature_group_count"] * params["batch_group_count"]
    taps = [weight[axis] for axis in numbers.rhs_spec[2:]]
    batch, _, *extents = (aval.shape[axis] for axis in numbers.out_spec)
    filters = weight[numbers.rhs_spec[0]] // groups
    batch //= params["batch_group_count"]
    return groups * products_saved(weight[numbers.rhs_spec[1]], filters, taps, batch, extents)


def _convolution_flops(equation: Equation) -> int:
    return 2 * _convolution_sizes(equation)[0]


def _window_bytes(equation: Equation) -> int:
    """Bytes of the copy of all windows, which is written and read."""
    return 2 * equation.outvars[0].aval.dtype.itemsize * _convolution_sizes(equation)[1]


def _tap_bytes(equation: Equation) -> int:
    """Bytes moved by reductions that go over their windows element by element."""
    taps: int = math.prod(equation.params["window_dimensions"])
    smaller = min((*equation.invars, *equation.outvars), key=lambda v: _bytes(v.aval))
    return 8 * taps * _bytes(smaller.aval)


def _cubic_flops(equation: Equation) -> int:
    shape = equation.invars[0].aval.shape
    return 10 * math.prod(shape) * min(shape[-2:])


def _sort_flops(equation: Equation) -> float:
    # A rough figure: 30 processor cycles for each comparison.
    shape = equation.invars[0].aval.shape
    axis = equation.params.get("dimension", -1)
    return 60 * math.prod(shape) * math.log2(max(2, shape[axis]))


def _cipher_flops(equation: Equation) -> int:
    # Twenty rounds of five steps each, at the speed of the processor's cache.
    return 500 * math.prod(equation.outvars[0].aval.shape)


def _overlap_flops(equation: Equation) -> int:
    # A quarter of all pairs, with twelve operations each.
    *stack, boxes, _ = equation.invars[1].aval.shape
    return 3 * math.prod(stack) * boxes**2


def _region_flops(equation: Equation) -> int:
    # Regions are small compared with the image: about twice as many elements as cells.
    return 50 * math.prod(equation.outvars[0].aval.shape)


_FLOPS: dict[str, Any] = {
    "survivors": _overlap_flops, "weighted_regions": _region_flops,
    "random_bits": _cipher_flops,
    "dot_general": _dot_flops, "conv_general_dilated": _convolution_flops, "sort": _sort_flops,
    "top_k": _sort_flops,
    **dict.fromkeys(("cholesky", "eigh", "eig", "svd", "qr", "lu"), _cubic_flops),
}  # fmt: skip
_COPIES: dict[str, Any] = {
    "conv_general_dilated": _window_bytes, "select_and_scatter_add": _tap_bytes,
    "select_and_gather_add": _tap_bytes,
}  # fmt: skip

OF_RULE = Cost(3e-6, 3e-6, _COMPILE_SECONDS)
"""Seconds to compile an operator with a NumPy rule of its own."""
OF_PROGRAM = Cost(1e-4, 5e-5, 0.05)
"""Seconds to compile an operator that has to run as a separate program."""
