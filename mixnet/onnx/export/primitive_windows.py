"""Rules for JAX's primitives of windows, gathering, scattering and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.onnx.export.primitive_rules import dtype_of, is_narrow, needs
from mixnet.onnx.export.primitives import Lowering, NoRule, rule


@rule("conv_general_dilated")
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    b, params = low.b, equation.params
    (lhs, rhs, out), groups = params["dimension_numbers"], params["feature_group_count"]
    if params["batch_group_count"] != 1:
        raise NoRule("it is a convolution in groups of the batch")
    x, w = (b.Transpose(each, perm=list(order)) if list(order) != sorted(order) else each
            for each, order in zip(inputs, (lhs, rhs), strict=True))  # fmt: skip
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
    found = b.Conv(x, w, pads=pads, strides=list(params["window_strides"]),
                   dilations=list(params["rhs_dilation"]), group=groups)  # fmt: skip
    back = list(np.argsort(out))
    return found if back == sorted(back) else b.Transpose(found, perm=[int(i) for i in back])


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
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    b, params, name = low.b, equation.params, equation.primitive.name
    window, padding = list(params["window_dimensions"]), params["padding"]
    strides, rank = list(params["window_strides"]), len(params["window_dimensions"])
    dilation = list(params["window_dilation"])
    if any(each != 1 for each in params["base_dilation"]):
        raise NoRule("its windows run over spread data")
    moved = [i for i in range(rank) if (window[i], strides[i], *padding[i]) != (1, 1, 0, 0)]
    rest = [i for i in range(rank) if i not in moved]
    if not moved:
        return inputs[0]
    dtype = dtype_of(equation.invars[0])
    compute = dtype if dtype.kind == "f" else np.dtype("float64")
    x = b.cast(inputs[0], compute, dtype)
    order = rest + moved
    x = b.Transpose(x, perm=order) if order != sorted(order) else x
    shape = [equation.invars[0].aval.shape[i] for i in order]
    x = low.reshape(x, [_extent(shape[: len(rest)]), 1, *shape[len(rest) :]])
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
    x = low.reshape(x, after)
    back = [int(i) for i in np.argsort(order)]
    x = x if back == sorted(back) else b.Transpose(x, perm=back)
    return b.cast(x, dtype, compute)


def _extent(extents: Any) -> Any:
    total: Any = 1
    for each in extents:
        total = total * each
    return total


@rule("dynamic_slice")
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    x, *starts = inputs
    b, sizes = low.b, equation.params["slice_sizes"]
    if not starts:
        return x
    first = _clamped_starts(low, equation.invars[0].aval.shape, sizes, starts, equation.invars[1:])
    ends = b.Add(first, low.shape(sizes))
    return b.Slice(x, first, ends, list(range(len(sizes))))


def _clamped_starts(low: Lowering, shape: Any, sizes: Any, starts: list[str], atoms: Any) -> str:
    b = low.b
    columns = [
        b.Unsqueeze(b.cast(s, np.int64, dtype_of(a)), [0])
        for s, a in zip(starts, atoms, strict=True)
    ]
    first = b.Concat(*columns, axis=0)
    most = low.shape([extent - size for extent, size in zip(shape, sizes, strict=True)])
    return b.Max(b.Min(first, most), [0] * len(sizes))


@rule("dynamic_update_slice")
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    x, update, *starts = inputs
    b, shape, sizes = low.b, equation.invars[0].aval.shape, equation.invars[1].aval.shape
    if not starts:
        return update
    first = _clamped_starts(low, shape, sizes, starts, equation.invars[2:])
    total: Any = None
    for axis, size in enumerate(sizes):
        place = b.Add(low.count(size), b.Gather(first, b.constant(np.int64(axis)), axis=0))
        total = _added(low, total, _scaled(low, place, shape[axis + 1 :]), axis, len(sizes))
    flat, places = b.Reshape(x, [-1]), b.Reshape(b.Expand(total, low.shape(sizes)), [-1])
    return low.reshape(b.ScatterElements(flat, places, b.Reshape(update, [-1]), axis=0), shape)


def _scaled(low: Lowering, places: str, behind: Any) -> str:
    """Places along an axis as places in the flat array."""
    step = low.product(behind)
    if isinstance(step, int):
        return places if step == 1 else low.b.Mul(places, low.b.constant(np.int64(step)))
    return low.b.Mul(places, low.b.Squeeze(step, [0]))


def _added(low: Lowering, total: Any, row: str, axis: int, rank: int) -> str:
    others = [i for i in range(rank) if i != axis]
    row = low.b.Unsqueeze(row, others) if others else row
    return row if total is None else low.b.Add(total, row)


def _places(
    low: Lowering,
    equation: Any,
    indices: str,
    shape: Any,
    out: Any,
    numbers: tuple[Any, ...],
    clip: bool,
) -> tuple[str, str | None]:
    """Where in the flat operand each element of a window lies, and whether its window lies inside.

    Args:
        indices: of the starts, int64.
        shape: the operand's.
        out: the shape of all windows together.
        numbers: axes of ``out`` that run inside of windows; operand axes that do not; operand axes of starts; batching
            axes of operand and indices; extents of windows by operand axis.
        clip: whether starts are moved into the operand.
    """
    b = low.b
    offset, collapsed, mapped, operand_batch, index_batch, sizes, index_shape = numbers
    batch = [i for i in range(len(out)) if i not in offset]
    inside_axes = [i for i in range(len(shape)) if i not in (*collapsed, *operand_batch)]
    total: Any = None
    fits: Any = None
    for axis, extent in enumerate(shape):
        here: Any = None  # what varies along this axis, shaped to broadcast against out
        if axis in mapped:
            start = b.Gather(
                indices, b.constant(np.int64(mapped.index(axis))), axis=len(index_shape) - 1
            )
            most = low.size(extent - sizes[axis])
            zero = b.constant(np.int64(0))
            limit = b.constant(np.int64(most)) if isinstance(most, int) else b.Squeeze(most, [0])
            if clip:
                start = b.Max(b.Min(start, limit), zero)
            else:
                good = b.And(b.GreaterOrEqual(start, zero), b.LessOrEqual(start, limit))
                start = b.Max(b.Min(start, limit), zero)
                good = b.Unsqueeze(good, list(offset)) if offset else good
                fits = good if fits is None else b.And(fits, good)
            here = b.Unsqueeze(start, list(offset)) if offset else start
        if axis in operand_batch:
            where = batch[index_batch[operand_batch.index(axis)]]
            here = _along(low, low.count(extent), where, len(out))
        elif axis in inside_axes and not (isinstance(sizes[axis], int) and sizes[axis] == 1):
            row = _along(low, low.count(sizes[axis]), offset[inside_axes.index(axis)], len(out))
            here = row if here is None else b.Add(here, row)
        if here is not None:
            here = _scaled(low, here, shape[axis + 1 :])
            total = here if total is None else b.Add(total, here)
    total = b.constant(np.int64(0)) if total is None else total
    return b.Expand(total, low.shape(out)), fits


def _along(low: Lowering, row: str, axis: int, rank: int) -> str:
    others = [i for i in range(rank) if i != axis]
    return low.b.Unsqueeze(row, others) if others else row


@rule("gather")
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    b, params = low.b, equation.params
    numbers, operand = params["dimension_numbers"], equation.invars[0].aval.shape
    indices = b.cast(inputs[1], np.int64, dtype_of(equation.invars[1]))
    out, mode = equation.outvars[0].aval.shape, str(params["mode"])
    given = (
        numbers.offset_dims, numbers.collapsed_slice_dims, list(numbers.start_index_map),
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, params["slice_sizes"],
        equation.invars[1].aval.shape,
    )  # fmt: skip
    fill = "FILL" in mode
    places, fits = _places(low, equation, indices, operand, out, given, not fill)
    dtype = dtype_of(equation.outvars[0])
    found = b.Gather(b.Reshape(inputs[0], [-1]), places, axis=0)
    if not fill or fits is None:
        return found
    value = params["fill_value"]
    if value is None:
        value = (
            np.nan
            if dtype.kind == "f"
            else np.iinfo(dtype).min
            if dtype.kind == "i"
            else 1
            if dtype == np.bool_
            else np.iinfo(dtype).max
        )
    if is_narrow(dtype):
        wide = b.Where(fits, b.cast(found, np.int64), b.constant(np.int64(value)))
        return b.cast(wide, dtype)
    return b.Where(fits, found, b.constant(np.asarray(value, dtype)))


_REDUCTIONS = {"scatter": None, "scatter-add": "add", "scatter_add": "add", "scatter_mul": "mul", "scatter-mul": "mul",
               "scatter_min": "min", "scatter-min": "min", "scatter_max": "max", "scatter-max": "max"}  # fmt: skip


@rule(*_REDUCTIONS)
def _(low: Lowering, equation: Any, inputs: list[str]) -> str:
    b, params = low.b, equation.params
    reduction = _REDUCTIONS[equation.primitive.name]
    if reduction in ("add", "mul"):
        needs(low, f"ScatterElements with reduction {reduction}", 16)
    elif reduction:
        needs(low, f"ScatterElements with reduction {reduction}", 18)
    numbers, operand = params["dimension_numbers"], equation.invars[0].aval.shape
    updates = equation.invars[2].aval.shape
    indices = b.cast(inputs[1], np.int64, dtype_of(equation.invars[1]))
    skipped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    windows = [i for i in range(len(operand)) if i not in skipped]
    sizes: list[Any] = [1] * len(operand)
    for axis, place in zip(windows, numbers.update_window_dims, strict=True):
        sizes[axis] = updates[place]
    given = (
        numbers.update_window_dims, numbers.inserted_window_dims, list(numbers.scatter_dims_to_operand_dims),
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, sizes,
        equation.invars[1].aval.shape,
    )  # fmt: skip
    clip = "CLIP" in str(params["mode"])
    places, fits = _places(low, equation, indices, operand, updates, given, clip)
    dtype = dtype_of(equation.outvars[0])
    wide = np.dtype("int64") if is_narrow(dtype) else dtype
    flat = b.Concat(
        b.Reshape(b.cast(inputs[0], wide, dtype), [-1]), b.constant(np.zeros(1, wide)), axis=0
    )
    if fits is not None:  # what lies outside goes to one more element, which is cut off
        end = low.product(operand)
        places = b.Where(fits, places, [end] if isinstance(end, int) else end)
    new = b.Reshape(b.cast(inputs[2], wide, dtype), [-1])
    flat = b.ScatterElements(flat, b.Reshape(places, [-1]), new, axis=0, reduction=reduction)
    return b.cast(low.reshape(b.slice(flat, 0, 0, -1), operand), dtype, wide)


# ---- loops --------------------------------------------------------------------------------------


def _body(low: Lowering) -> tuple[Any, Lowering]:
    inner = low.b.body()
    return inner, low.inside(inner)


def _declare(low: Lowering, inner: Any, atoms: Any, names: list[str], outputs: bool) -> None:
    kept = inner.outputs if outputs else inner.inputs
    for name, atom in zip(names, atoms, strict=True):
        dims = [int(e) if isinstance(e, int) else None for e in atom.aval.shape]
        kept.append((name, dtype_of(atom), dims))


def _own(inner: Any, names: list[str]) -> list[str]:
    """Names that nothing else has, as outputs of a body must have."""
    return [inner.Identity(each) for each in names]


def _any(b: Any, holds: str, rank: int) -> str:
    """Whether one of several loops goes on."""
    return (
        b.cast(b.reduce("ReduceMax", b.cast(holds, np.int32), range(rank), False), bool)
        if rank
        else holds
    )


def _kept(low: Lowering, holds: str, rank: int, new: str, old: str, atom: Any) -> str:
    b, dtype = low.b, dtype_of(atom)
    axes = list(range(rank, len(atom.aval.shape)))
    holds = b.Unsqueeze(holds, axes) if axes else holds
    if is_narrow(dtype):
        new, old = b.cast(new, np.int64), b.cast(old, np.int64)
    found = b.Where(holds, new, old)
    return b.cast(found, dtype) if is_narrow(dtype) else found


@rule("while")
def _(low: Lowering, equation: Any, inputs: list[str]) -> Any:
    b, params = low.b, equation.params
    tests, bodies = params["cond_nconsts"], params["body_nconsts"]
    test_consts, body_consts, carry = (
        inputs[:tests],
        inputs[tests : tests + bodies],
        inputs[tests + bodies :],
    )
    atoms = equation.invars[tests + bodies :]
    test, rank = params["cond_jaxpr"], len(params["cond_jaxpr"].out_avals[0].shape)
    (holds,) = low.run(test, [*test_consts, *carry])
    going = _any(b, holds, rank)
    inner, inside = _body(low)
    number, condition = inner.fresh(f"{b.scope}/turn"), inner.fresh(f"{b.scope}/going")
    inner.inputs = [(number, np.dtype("int64"), []), (condition, np.dtype(bool), [])]
    names = [inner.fresh(f"{b.scope}/carried") for _ in carry]
    _declare(low, inner, atoms, names, False)
    after = inside.run(params["body_jaxpr"], [*body_consts, *names])
    if rank:  # several loops side by side: one that is over keeps its values
        (holds,) = inside.run(test, [*test_consts, *names])
        after = [
            _kept(inside, holds, rank, new, old, a)
            for new, old, a in zip(after, names, atoms, strict=True)
        ]
    (holds,) = inside.run(test, [*test_consts, *after])
    again = _any(inner, holds, rank)
    again, *after = _own(inner, [again, *after])
    inner.outputs = [(again, np.dtype(bool), [])]
    _declare(low, inner, atoms, after, True)
    found = b.add("Loop", ("", going, *carry), len(carry), {"body": inner})
    return found


@rule("scan")
def _(low: Lowering, equation: Any, inputs: list[str]) -> Any:
    b, params = low.b, equation.params
    consts, carried = params["num_consts"], params["num_carry"]
    fixed, carry, stacked = (
        inputs[:consts],
        inputs[consts : consts + carried],
        inputs[consts + carried :],
    )
    inner, inside = _body(low)
    number, condition = inner.fresh(f"{b.scope}/turn"), inner.fresh(f"{b.scope}/going")
    inner.inputs = [(number, np.dtype("int64"), []), (condition, np.dtype(bool), [])]
    names = [inner.fresh(f"{b.scope}/carried") for _ in carry]
    atoms = equation.invars[consts : consts + carried]
    _declare(low, inner, atoms, names, False)
    at = number
    if params["reverse"]:
        last = low.size(params["length"])
        end = (
            inner.constant(np.int64(last - 1))
            if isinstance(last, int)
            else inner.Sub(inner.Squeeze(last, [0]), inner.constant(np.int64(1)))
        )
        at = inner.Sub(end, number)
    slices = [inner.Gather(each, at, axis=0) for each in stacked]
    found = _own(inner, inside.run(params["jaxpr"], [*fixed, *names, *slices]))
    inner.outputs = [(inner.Identity(condition), np.dtype(bool), [])]
    _declare(low, inner, params["jaxpr"].jaxpr.outvars, found, True)
    turns = low.size(params["length"])
    turns = b.constant(np.int64(turns)) if isinstance(turns, int) else b.Squeeze(turns, [0])
    results = b.add(
        "Loop", (turns, b.constant(np.asarray(True)), *carry), len(found), {"body": inner}
    )
    results = [results] if len(found) == 1 else results
    if params["reverse"]:
        results = [
            *results[:carried],
            *[b.Slice(r, [-1], [-(1 << 60)], [0], [-1]) for r in results[carried:]],
        ]
    return results


@rule("cond")
def _(low: Lowering, equation: Any, inputs: list[str]) -> Any:
    which, *given = inputs
    branches = equation.params["branches"]
    dtype = dtype_of(equation.invars[0])
    known = low.b.known(which)
    if known is not None:
        return low.run(branches[int(np.clip(int(known), 0, len(branches) - 1))], given)
    return _branch(low, low.b, equation, which, dtype, branches, given)


def _branch(
    low: Lowering, b: Any, equation: Any, which: str, dtype: Any, branches: Any, given: list[str]
) -> list[str]:
    """The first branch for 0, the others for what is above it."""
    first, *others = branches
    if not others:
        return Lowering(b, low.sizes).run(first, given)
    if len(others) == 1 and dtype == np.bool_:
        chosen = which
    else:
        chosen = b.Greater(b.cast(which, np.int64, dtype), b.constant(np.int64(0)))
        which, dtype = (
            b.Sub(b.cast(which, np.int64, dtype), b.constant(np.int64(1))),
            np.dtype("int64"),
        )
    yes, no = b.body(), b.body()
    after = (
        _branch(low, yes, equation, which, dtype, others, given)
        if len(others) > 1
        else low.inside(yes).run(others[0], given)
    )
    before = low.inside(no).run(first, given)
    for inner, names in ((yes, after), (no, before)):
        _declare(low, inner, equation.outvars, _own(inner, names), True)
    found = b.add("If", (chosen,), len(equation.outvars), {"then_branch": yes, "else_branch": no})
    return [found] if len(equation.outvars) == 1 else found
