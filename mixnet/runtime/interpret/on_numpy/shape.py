"""Reshaping, transposing, slicing and joining, as views where possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import Run, is_key, rule, shape_of


@rule("broadcast_in_dim")
def _broadcast(
    equation: Equation, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: object
) -> Run:
    before, aval = shape_of(equation.invars[0].aval), equation.outvars[0].aval
    shape = shape_of(aval)
    between = [1] * len(shape)
    for axis, extent in zip(broadcast_dimensions, before, strict=False):
        between[axis] = extent
    if is_key(aval):  # in NumPy, a random key is an axis of two words
        between[-1] = 2
    elif list(shape) == between:
        return lambda x: x.reshape(between)
    elif aval.dtype.kind != "V" and 0 not in shape:
        return _view_of_contiguous(shape, between, aval.dtype)
    return lambda x: np.broadcast_to(x.reshape(between), shape)


def _view_of_contiguous(shape: Sequence[int], between: Sequence[int], dtype: np.dtype) -> Run:
    """A broadcast of an array without gaps, in a tenth of the time that ``broadcast_to`` takes for it.

    Args:
        shape: the result's.
        between: the array's, with as many axes.
        dtype: of both.
    """
    # An axis that repeats elements has a step of 0; the others are those of an array in row-major order.
    steps, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(range(len(shape))):
        if between[axis] > 1:
            steps[axis] = step
            step *= between[axis]

    def broadcast(x: np.ndarray) -> np.ndarray:
        if x.flags.c_contiguous:
            return np.ndarray(shape, dtype, x, 0, steps)
        return np.broadcast_to(x.reshape(between), shape)

    return broadcast


@rule("reshape", "squeeze", "expand_dims")
def _to_shape(equation: Equation, dimensions: Sequence[int] | None = None, **_: object) -> Run:
    shape = shape_of(equation.outvars[0].aval)
    if equation.primitive.name == "reshape" and dimensions is not None:
        return lambda x: np.transpose(x, dimensions).reshape(shape)
    return lambda x: x.reshape(shape)


@rule("transpose")
def _transpose(equation: Equation, permutation: Sequence[int], **_: object) -> Run:
    axes = [int(axis) for axis in permutation]
    if is_key(equation.outvars[0].aval):  # the words of a key stay together
        axes.append(len(axes))
    return lambda x: x.transpose(axes)


@rule("rev")
def _rev(equation: Equation, dimensions: Sequence[int], **_: object) -> Run:
    rank = len(equation.invars[0].aval.shape)
    key = tuple(slice(None, None, -1 if i in dimensions else 1) for i in range(rank))
    return lambda x: x[key]


@rule("slice")
def _slice(
    equation: Equation,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int],
    **_: object,
) -> Run:
    steps = strides or [1] * len(start_indices)
    key = tuple(slice(*each) for each in zip(start_indices, limit_indices, steps, strict=True))
    return lambda x: x[key]


def window(starts: Sequence[Any], sizes: Sequence[int], shape: Sequence[int]) -> tuple[Any, ...]:
    """Slices of ``sizes`` at ``starts``, clipped to the array as in XLA."""
    axes = []
    for start, size, extent in zip(starts, sizes, shape, strict=False):
        begin = min(max(int(start), 0), extent - size)
        axes.append(slice(begin, begin + size))
    return tuple(axes)


@rule("dynamic_slice")
def _dynamic_slice(equation: Equation, slice_sizes: Sequence[int], **_: object) -> Run:
    return lambda x, *starts: x[window(starts, slice_sizes, x.shape)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(equation: Equation, **_: object) -> Run:
    def run(x: Any, update: Any, *starts: Any) -> Any:
        result = np.array(x)  # later steps may read the operand
        result[window(starts, update.shape, x.shape)] = update
        return result

    return run


@rule("concatenate")
def _concatenate(equation: Equation, dimension: int, **_: object) -> Run:
    return lambda *arrays: np.concatenate(arrays, dimension)


@rule("stack")
def _stack(equation: Equation, **params: Any) -> Run:
    shape = shape_of(equation.outvars[0].aval)
    axis = params.get("axis", params.get("dimension", 0))

    def run(*arrays: Any) -> Any:
        before, after = arrays[0].shape[:axis], arrays[0].shape[axis:]
        parts = []
        for each in arrays:
            parts.append(each.reshape((*before, 1, *after)))
        return np.concatenate(parts, axis).reshape(shape)

    return run


@rule("unstack")
def _unstack(equation: Equation, **params: Any) -> Run:
    axis = params.get("axis", params.get("dimension", 0))
    if len(equation.outvars) == 1:
        shape = shape_of(equation.outvars[0].aval)
        return lambda x: x.reshape(shape)
    before = (slice(None),) * axis
    keys = [(*before, i) for i in range(len(equation.outvars))]
    return lambda x: [x[key] for key in keys]


@rule("split")
def _split(equation: Equation, sizes: Sequence[int], axis: int, **_: object) -> Run:
    if len(equation.outvars) == 1:
        return lambda x: x
    before = (slice(None),) * axis
    ends = [0, *accumulate(int(size) for size in sizes)]
    keys = [(*before, slice(*each)) for each in pairwise(ends)]
    return lambda x: [x[key] for key in keys]


@rule("tile")
def _tile(equation: Equation, reps: Sequence[int], **_: object) -> Run:
    return lambda x: np.tile(x, reps)


def padded(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """The array padded with ``value`` before, after and between elements; negative padding removes elements.

    The memory order of the axes does not change.
    """
    shape, to, take = [], [], []
    for (low, high, inner), extent in zip(config, x.shape, strict=True):
        step = inner + 1
        out = max(0, low + high + extent + max(0, extent - 1) * inner)
        first = max(0, -(low // step)) if low < 0 else 0
        last = max(first, min(extent, -((low - out) // step)))
        begin = low + first * step
        shape.append(out)
        take.append(slice(first, last))
        end = begin + (last - first - 1) * step + 1 if last > first else begin
        to.append(slice(begin, end, step) if last > first else slice(0, 0))
    result = np.empty_like(x, shape=tuple(shape))
    result[...] = value
    result[tuple(to)] = x[tuple(take)]
    return result


@rule("pad")
def _pad(equation: Equation, padding_config: Any, **_: object) -> Run:
    if not any(any(each) for each in padding_config):
        return lambda x, value: x
    return lambda x, value: padded(x, value, padding_config)


@rule("iota")
def _iota(
    equation: Equation, dtype: np.dtype, shape: Sequence[int], dimension: int, **_: object
) -> Run:
    between = [1] * len(shape)
    between[dimension] = shape[dimension]
    # NumPy refuses to count further than a small dtype does.
    kind = dtype if np.dtype(dtype).itemsize >= 4 and np.dtype(dtype).kind in "iuf" else np.int64

    def run() -> Any:
        # A view, since the numbers are the same along the other axes.
        numbers = np.arange(shape[dimension], dtype=kind).astype(dtype, copy=False)
        return np.broadcast_to(numbers.reshape(between), shape)

    return run


@rule("empty", "empty2")
def _empty(equation: Equation, **_: object) -> Run:
    shape, dtype = equation.outvars[0].aval.shape, equation.outvars[0].aval.dtype
    return lambda: np.zeros(shape, dtype)  # zeros, so that every run returns the same bits
