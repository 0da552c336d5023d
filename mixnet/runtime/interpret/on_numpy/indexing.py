"""Gather and scatter: reading and writing at computed positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Abstract, Equation
from mixnet.private_jax.jaxprs import opened
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, rule, shape_of


def _along(axis: int, shape: Sequence[int]) -> np.ndarray:
    """The index along one axis of a shape, which broadcasts along the others."""
    return np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])


# ---- gather -------------------------------------------------------------------------------------


@rule("gather")
def _gather(
    equation: Equation,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    mode: object,
    fill_value: Any = None,
    **_: object,
) -> Run:
    numbers = dimension_numbers
    before, aval = shape_of(equation.invars[0].aval), equation.outvars[0].aval
    shape = shape_of(aval)
    sizes = [int(size) for size in slice_sizes] + list(before[len(slice_sizes) :])
    fills = "FILL" in str(mode)
    fill = _fill(aval.dtype, fill_value) if fills else np.False_
    indexed = [int(axis) for axis in numbers.start_index_map]
    batched = [int(axis) for axis in numbers.operand_batching_dims]
    sources = [int(axis) for axis in numbers.start_indices_batching_dims]
    limits = [before[axis] - sizes[axis] for axis in indexed]
    rest = [axis for axis in range(len(before)) if axis not in (*batched, *indexed)]
    # Axes without an index are read from 0 on.
    part = tuple(slice(0, sizes[a]) if a in rest else slice(None) for a in range(len(before)))
    cuts = any(sizes[axis] != before[axis] for axis in rest)
    wide = [axis for axis in indexed if sizes[axis] > 1]
    front = [*batched, *indexed, *rest]
    order = _order(numbers, rest, wide, len(shape))
    if not math.prod(shape):
        return lambda x, indices: np.empty(shape, aval.dtype)

    def run(x: Any, indices: Any) -> Any:
        heads = [indices[..., i] for i in range(len(indexed))]
        inside = None
        if fills:
            inside = _all_inside(heads, limits)
        if cuts:
            x = x[part]
        if wide:
            x = _with_windows(x, [sizes[a] for a in wide], wide)
        if len(heads) == 1 and not batched and heads[0].dtype.kind == "i":
            moved = x.transpose(_first(front, x.ndim)) if indexed[0] else x
            # For one index, take is faster than indexing, and clips indices out of range as XLA does.
            if heads[0].ndim == 0 and 0 <= heads[0] <= limits[0]:
                result = moved[int(heads[0])]
            else:
                result = moved.take(heads[0], 0, mode="clip")
        else:
            starts = [_clipped(head, limit) for head, limit in zip(heads, limits, strict=True)]
            along = [_along(axis, indices.shape[:-1]) for axis in sources]
            key = (*along, *starts)
            moved = x.transpose(_first(front, x.ndim))
            result = moved[key] if key else moved
        if inside is not None and not inside.all():
            ends = (1,) * (result.ndim - inside.ndim)
            result = np.where(inside.reshape(inside.shape + ends), result, fill)
        return result.transpose(order).reshape(shape)

    return run


_with_windows: Any = np.lib.stride_tricks.sliding_window_view


def _first(front: Sequence[int], rank: int) -> list[int]:
    return [*front, *range(len(front), rank)]


def _clipped(head: np.ndarray, limit: int) -> Any:
    if head.dtype.kind == "u":
        head = np.minimum(head, head.dtype.type(min(limit, np.iinfo(head.dtype).max)))
        return head.astype(np.int64)
    return np.minimum(np.maximum(head, 0), limit).astype(np.int64, copy=False)


def _all_inside(heads: Sequence[Any], limits: Sequence[int]) -> Any:
    inside = np.True_
    for head, limit in zip(heads, limits, strict=True):
        inside = inside & (head >= 0) & (head <= limit)
    return np.asarray(inside)


def _fill(dtype: np.dtype, value: np.ndarray) -> Any:
    if value is not None:
        return np.asarray(value).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if dtype.kind == "i" else limits.max)
    return dtype.type(True if dtype.kind == "b" else np.nan)


def _order(numbers: Any, rest: Sequence[int], windows: Sequence[int], rank: int) -> list[int]:
    """The permutation from the axes that were read to those of the result.

    Args:
        numbers: JAX's dimension numbers of the gather.
        rest: axes of the operand that follow those of the batch.
        windows: axes that follow these.
        rank: number of axes of the result.
    """
    dropped = {*map(int, numbers.collapsed_slice_dims), *map(int, numbers.operand_batching_dims)}
    offset = [int(axis) for axis in numbers.offset_dims]
    remaining = [
        axis for axis in sorted([*rest, *map(int, numbers.start_index_map)]) if axis not in dropped
    ]
    offset += range(rank - (len(remaining) - len(offset)), rank)  # the words of random keys
    batch = [axis for axis in range(rank) if axis not in offset]
    position_of = {axis: len(batch) + i for i, axis in enumerate([*rest, *windows])}
    source = {target: position_of.get(axis) for target, axis in zip(offset, remaining, strict=True)}
    source.update({target: i for i, target in enumerate(batch)})
    order = [source[target] for target in range(rank)]
    positions = [axis for axis in order if axis is not None]
    return positions + [axis for axis in position_of.values() if axis not in positions]


# ---- scatter ------------------------------------------------------------------------------------

_COMBINE: dict[str, Any] = {
    "scatter": None, "scatter-add": np.add, "scatter-sub": np.subtract,
    "scatter-mul": np.multiply, "scatter-max": np.maximum, "scatter-min": np.minimum,
}  # fmt: skip


@rule(*_COMBINE)
def _scatter(
    equation: Equation, dimension_numbers: Any, mode: object, update_jaxpr: Any = None, **_: object
) -> Run:
    combine = _COMBINE[equation.primitive.name]
    if combine is None and update_jaxpr is not None:
        _check_replaces(update_jaxpr)
    places = _Places(dimension_numbers, mode, *[v.aval for v in equation.invars])

    def run(x: Any, indices: Any, updates: Any) -> Any:
        if not (x.size and updates.size):
            return np.array(x)
        at, rows, inside = places.of(indices, updates)
        result = np.array(x.transpose(places.front), order="C")
        flat = result.reshape(places.length, -1)
        at, rows = at.reshape(-1), rows.reshape(at.size, -1)
        if inside is not None and not inside.all():
            within = np.broadcast_to(inside, at.shape) if inside.ndim else inside
            at, rows = at[within], rows[within]
        if at.size and rows.size:
            _write(flat, at, rows, combine)
        return result.transpose(places.back)

    return run


def _check_replaces(jaxpr: Any) -> None:
    inside = opened(jaxpr)
    if inside.eqns or inside.outvars[0] is not inside.invars[1]:
        raise NoRuleError("scatter with a function")


class _Places:
    """The rows to which a scatter writes its updates, with the operand seen as a matrix.

    The matrix has a row for each position along the axes that have an index or belong to the batch.
    """

    def __init__(
        self,
        numbers: Any,
        mode: object,
        operand: Abstract,
        indices: Abstract,
        updates: Abstract,
    ):
        shape = operand.shape
        self.indexed = [int(axis) for axis in numbers.scatter_dims_to_operand_dims]
        self.batched = [int(axis) for axis in numbers.operand_batching_dims]
        self.sources = [int(axis) for axis in numbers.scatter_indices_batching_dims]
        dropped = {*map(int, numbers.inserted_window_dims), *self.batched}
        remaining = [axis for axis in range(len(shape)) if axis not in dropped]
        windows = [int(axis) for axis in numbers.update_window_dims]
        size = dict.fromkeys(range(len(shape)), 1)
        size.update({a: updates.shape[w] for a, w in zip(remaining, windows, strict=True)})
        rest = [a for a in range(len(shape)) if a not in (*self.indexed, *self.batched)]
        # Axes that are only partly written belong to the rows too, from position 0.
        complete = [axis for axis in rest if size[axis] == shape[axis]]
        self.parts = [a for a in range(len(shape)) if a not in complete and a in remaining]
        self.rowed = [axis for axis in range(len(shape)) if axis not in complete]
        self.front = [*self.rowed, *complete]
        self.back = [self.front.index(axis) for axis in range(len(shape))]
        self.length = math.prod(shape[axis] for axis in self.rowed)
        self.shape, self.size = shape, size
        self.step = {
            a: math.prod(shape[b] for b in self.rowed[i + 1 :]) for i, a in enumerate(self.rowed)
        }
        batch = [axis for axis in range(len(updates.shape)) if axis not in windows]
        of = dict(zip(remaining, windows, strict=True))
        self.order = [*batch, *[of[a] for a in self.parts], *[of[a] for a in complete if a in of]]
        self.clips, self.checks = "CLIP" in str(mode), "PROMISE" not in str(mode)

    def of(self, indices: np.ndarray, updates: np.ndarray) -> tuple[Any, Any, Any]:
        """Row numbers, updates as rows, and a mask of those in range; None if all are."""
        at: np.ndarray = np.zeros((), np.int64)
        inside: np.ndarray = np.ones((), bool)
        for i, axis in enumerate(self.indexed):
            head = indices[..., i].astype(np.int64)
            limit = self.shape[axis] - self.size[axis]
            if self.clips:
                head = np.minimum(np.maximum(head, 0), limit)
            elif self.checks:
                inside = inside & (head >= 0) & (head <= limit)
            at = at + head * self.step[axis]
        for axis, source in zip(self.batched, self.sources, strict=True):
            at = at + _along(source, indices.shape[:-1]) * self.step[axis]
        at = np.broadcast_to(at, indices.shape[:-1])
        inside = np.broadcast_to(inside, indices.shape[:-1])
        for axis in self.parts:
            window = np.arange(self.size[axis]) * self.step[axis]
            at = at[..., None] + window
            inside = np.broadcast_to(inside[..., None], at.shape)
        return at, updates.transpose(self.order), inside.reshape(-1)


def _write(flat: Any, at: Any, rows: Any, combine: Any) -> None:
    """Combine rows with rows of a matrix; their numbers may repeat."""
    if combine is None:
        flat[at] = rows
    elif at.size == 1:
        combine(flat[at[0]], rows[0], out=flat[at[0]])
    elif flat.shape[1] == 1:
        combine.at(flat[:, 0], at, rows[:, 0])
    else:
        # ufunc.at adds row by row; after sorting by row number, equal numbers are one reduction.
        order = np.argsort(at, kind="stable")
        sorted_at = at[order]
        first = np.flatnonzero(np.concatenate([[True], sorted_at[1:] != sorted_at[:-1]]))
        if first.size == at.size:  # no number repeats
            flat[at] = combine(flat[at], rows)
        else:
            # For a difference, the subtrahends of a row are added up first.
            join = np.add if combine is np.subtract else combine
            joined = join.reduceat(rows[order], first, axis=0)
            flat[sorted_at[first]] = combine(flat[sorted_at[first]], joined)
