"""Rules for JAX's gather and scatter primitives, with ONNX's ``Gather`` and ``ScatterElements``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet.onnx.export.primitive_rules import dtype_of, is_narrow, needs
from mixnet.onnx.export.primitives import Lowering, rule
from mixnet.private_jax.equation import Equation


@rule("dynamic_slice")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    x, *starts = inputs
    b, sizes = low.b, equation.params["slice_sizes"]
    if not starts:
        return x
    first = _clamped_starts(low, equation.invars[0].aval.shape, sizes, starts, equation.invars[1:])
    ends = b.Add(first, low.shape(sizes))
    return b.Slice(x, first, ends, list(range(len(sizes))))


@rule("dynamic_update_slice")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    x, update, *starts = inputs
    b, shape, sizes = low.b, equation.invars[0].aval.shape, equation.invars[1].aval.shape
    if not starts:
        return update
    first = _clamped_starts(low, shape, sizes, starts, equation.invars[2:])
    rows: list[str | None] = []
    for axis, size in enumerate(sizes):
        row = b.Add(low.count(size), b.Gather(first, b.constant(np.int64(axis)), axis=0))
        rows.append(_along(low, row, axis, len(sizes)))
    places = b.Reshape(_flat(low, rows, shape, sizes), [-1])
    flat = b.ScatterElements(b.Reshape(x, [-1]), places, b.Reshape(update, [-1]), axis=0)
    return low.reshape(flat, shape)


def _clamped_starts(low: Lowering, shape: Any, sizes: Any, starts: list[str], atoms: Any) -> str:
    """Starts of a window as one array, clamped so that the window lies inside."""
    b = low.b
    columns = [
        b.Unsqueeze(b.cast(s, np.int64, dtype_of(a)), [0])
        for s, a in zip(starts, atoms, strict=True)
    ]
    most = low.shape([extent - size for extent, size in zip(shape, sizes, strict=True)])
    return _clamped(low, b.Concat(*columns, axis=0), most)


def _clamped(low: Lowering, starts: str, most: object) -> str:
    return str(low.b.Max(low.b.Min(starts, most), low.b.constant(np.int64(0))))


def _along(low: Lowering, row: str, axis: int, rank: int) -> str:
    """A vector as an array of ``rank`` axes that varies along one of them."""
    others = [i for i in range(rank) if i != axis]
    return low.b.Unsqueeze(row, others) if others else row


def _flat(low: Lowering, rows: Sequence[str | None], shape: Any, out: Any) -> str:
    """Flat indices from the indices along each axis; None for 0 along an axis.

    Args:
        rows: int64, to be broadcast to ``out``.
        shape: of the array.
        out: of the result.
    """
    total: str | None = None
    for axis, row in enumerate(rows):
        if row is None:
            continue
        behind = low.product(shape[axis + 1 :])
        if behind != 1:
            row = low.b.Mul(row, low.scalar_of(behind))
        total = row if total is None else low.b.Add(total, row)
    start = low.b.constant(np.int64(0)) if total is None else total
    return str(low.b.Expand(start, low.shape(out)))


@dataclass(frozen=True)
class _Windows:
    """Windows of an operand, whose starts are given by an array of indices.

    Args:
        shape: of the operand.
        out: of all windows together.
        inside: axes of ``out`` that run inside of windows.
        dropped: operand axes that a window does not have.
        started: the operand axis of each component of a start.
        batch: operand axes that the indices also have.
        index_batch: those axes of the indices.
        sizes: a window's extents by operand axis.
        rank: axes of the indices.
    """

    shape: tuple[Any, ...]
    out: tuple[Any, ...]
    inside: tuple[int, ...]
    dropped: tuple[int, ...]
    started: tuple[int, ...]
    batch: tuple[int, ...]
    index_batch: tuple[int, ...]
    sizes: Sequence[Any]
    rank: int

    def start(self, low: Lowering, indices: str, axis: int) -> str:
        """The component of each start for an operand axis."""
        column = low.b.constant(np.int64(self.started.index(axis)))
        return low.b.Gather(indices, column, axis=self.rank - 1)

    def as_out(self, low: Lowering, starts: str) -> str:
        """One value for each start, as an array that broadcasts against ``out``."""
        return low.b.Unsqueeze(starts, list(self.inside)) if self.inside else starts

    def within(self, low: Lowering, axis: int) -> str | None:
        """Offsets along an operand axis from the start; None if all are 0."""
        if axis in self.batch:
            outside = [i for i in range(len(self.out)) if i not in self.inside]
            place = outside[self.index_batch[self.batch.index(axis)]]
            return _along(low, low.count(self.shape[axis]), place, len(self.out))
        windowed = [i for i in range(len(self.shape)) if i not in (*self.dropped, *self.batch)]
        size = self.sizes[axis]
        if axis not in windowed or (isinstance(size, int) and size == 1):
            return None
        return _along(low, low.count(size), self.inside[windowed.index(axis)], len(self.out))


def _places(low: Lowering, windows: _Windows, indices: str, clip: bool) -> tuple[str, str | None]:
    """The flat index of each element of a window, and whether its window lies inside.

    Args:
        windows: of the operand.
        indices: of the starts, int64.
        clip: whether starts are clamped into the operand; otherwise the result marks elements outside.
    """
    b = low.b
    rows: list[str | None] = []
    fits: str | None = None
    for axis, extent in enumerate(windows.shape):
        row = windows.within(low, axis)
        if axis in windows.started:
            start = windows.start(low, indices, axis)
            most = low.scalar(extent - windows.sizes[axis])
            if not clip:
                fit = b.And(
                    b.GreaterOrEqual(start, b.constant(np.int64(0))), b.LessOrEqual(start, most)
                )
                fit = windows.as_out(low, fit)
                fits = fit if fits is None else b.And(fits, fit)
            start = windows.as_out(low, _clamped(low, start, most))
            row = start if row is None else b.Add(start, row)
        rows.append(row)
    return _flat(low, rows, windows.shape, windows.out), fits


@rule("gather")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    b, params, numbers = low.b, equation.params, equation.params["dimension_numbers"]
    operand, indices = equation.invars
    windows = _Windows(
        operand.aval.shape, equation.outvars[0].aval.shape, numbers.offset_dims, numbers.collapsed_slice_dims,
        numbers.start_index_map, numbers.operand_batching_dims, numbers.start_indices_batching_dims,
        params["slice_sizes"], len(indices.aval.shape),
    )  # fmt: skip
    starts = b.cast(inputs[1], np.int64, dtype_of(indices))
    places, fits = _places(low, windows, starts, clip="FILL" not in str(params["mode"]))
    gathered = b.Gather(b.Reshape(inputs[0], [-1]), places, axis=0)
    if fits is None:
        return gathered
    dtype = dtype_of(equation.outvars[0])
    value = _outside(dtype) if params["fill_value"] is None else params["fill_value"]
    if is_narrow(dtype):
        wide = b.Where(fits, b.cast(gathered, np.int64), b.constant(np.int64(value)))
        return b.cast(wide, dtype)
    return b.Where(fits, gathered, b.constant(np.asarray(value, dtype)))


def _outside(dtype: np.dtype) -> Any:
    """JAX's value for an element outside of an array."""
    if dtype.kind == "f":
        return np.nan
    if dtype.kind == "i":
        return np.iinfo(dtype).min
    return 1 if dtype == np.bool_ else np.iinfo(dtype).max


_REDUCTIONS = {
    "scatter": None,
    "scatter-add": "add",
    "scatter_add": "add",
    "scatter_mul": "mul",
    "scatter-mul": "mul",
    "scatter_min": "min",
    "scatter-min": "min",
    "scatter_max": "max",
    "scatter-max": "max",
}


@rule(*_REDUCTIONS)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    b, reduction = low.b, _REDUCTIONS[equation.primitive.name]
    if reduction is not None:
        opset = 16 if reduction in ("add", "mul") else 18
        needs(low, f"ScatterElements with reduction {reduction}", opset)
    operand, indices, updates = (each.aval.shape for each in equation.invars)
    numbers = equation.params["dimension_numbers"]
    windowed = [i for i in range(len(operand))
                if i not in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)]  # fmt: skip
    sizes: list[Any] = [1] * len(operand)
    for axis, place in zip(windowed, numbers.update_window_dims, strict=True):
        sizes[axis] = updates[place]
    windows = _Windows(
        operand,
        updates,
        numbers.update_window_dims,
        numbers.inserted_window_dims,
        numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
        sizes,
        len(indices),
    )
    starts = b.cast(inputs[1], np.int64, dtype_of(equation.invars[1]))
    places, fits = _places(low, windows, starts, clip="CLIP" in str(equation.params["mode"]))
    if fits is not None:  # what lies outside goes to one more element, which is cut off
        end = low.product(operand)
        places = b.Where(fits, places, [end] if isinstance(end, int) else end)
    dtype = dtype_of(equation.outvars[0])
    wide = np.dtype("int64") if is_narrow(dtype) else dtype
    before, new = (b.Reshape(b.cast(inputs[i], wide, dtype), [-1]) for i in (0, 2))
    flat = b.Concat(before, b.constant(np.zeros(1, wide)), axis=0)
    flat = b.ScatterElements(flat, b.Reshape(places, [-1]), new, axis=0, reduction=reduction)
    return b.cast(low.reshape(b.slice(flat, 0, 0, -1), operand), dtype, wide)
