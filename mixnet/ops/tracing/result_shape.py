"""Shapes of the results of primitives, for programs that are created without tracing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mixnet.ops.tracing.primitives import ELEMENTWISE

Shape = tuple[int, ...]
Params = Mapping[str, Any]


_ELEMENTWISE_IN_PARTS = frozenset({"log2", "one_minus_square", "polynomial"})
"""Primitives of new versions of JAX, each with the simpler one that replaces it."""


def result_shapes(name: str, params: Params, shapes: Sequence[Shape]) -> list[Shape] | None:
    """The shapes of the results of a primitive; None if they are unknown, or the inputs do not fit.

    Args:
        name: the name of the primitive.
        params: its attributes.
        shapes: the shapes of its inputs.
    """
    if name == "split":
        return _split(params, *shapes)
    if name == "unstack":
        return _unstack(params, *shapes)
    if name == "sort":
        return list(shapes) if len(set(shapes)) == 1 else None
    if name in ELEMENTWISE or name in _ELEMENTWISE_IN_PARTS:
        result = _elementwise(shapes)
    else:
        rule = _RULES.get(name)
        result = None if rule is None else rule(params, *shapes)
    return None if result is None else [result]


def _elementwise(shapes: Sequence[Shape]) -> Shape | None:
    common: Shape = ()
    for shape in shapes:
        if shape and shape != common:
            if common and len(shape) != len(common):
                return None
            common = common or shape
            # Extents of 1 are broadcast.
            if any(a != b and 1 not in (a, b) for a, b in zip(shape, common, strict=True)):
                return None
            common = tuple(map(max, shape, common))
    return common


def _broadcast(params: Params, shape: Shape, *extents: Shape) -> Shape | None:
    result: Shape = tuple(params["shape"])
    fits = all(
        extent in (1, result[axis])
        for extent, axis in zip(shape, params["broadcast_dimensions"], strict=True)
    )
    return result if fits and not extents else None


def _reshape(params: Params, shape: Shape, *extents: Shape) -> Shape | None:
    result: Shape = tuple(params["new_sizes"])
    return result if not extents and math.prod(result) == math.prod(shape) else None


def _reduce(params: Params, shape: Shape) -> Shape | None:
    return tuple([extent for axis, extent in enumerate(shape) if axis not in params["axes"]])


def _transpose(params: Params, shape: Shape) -> Shape | None:
    return tuple([shape[axis] for axis in params["permutation"]])


def _squeeze(params: Params, shape: Shape) -> Shape | None:
    removed = params["dimensions"]
    if any(shape[axis] != 1 for axis in removed):
        return None
    return tuple([extent for axis, extent in enumerate(shape) if axis not in removed])


def _concatenate(params: Params, *shapes: Shape) -> Shape | None:
    axis = params["dimension"]
    first = shapes[0]
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) > 1:
        return None
    return (*first[:axis], sum([shape[axis] for shape in shapes]), *first[axis + 1 :])


def _slice(params: Params, shape: Shape) -> Shape | None:
    starts, limits = params["start_indices"], params["limit_indices"]
    if any(limit > extent for limit, extent in zip(limits, shape, strict=True)):
        return None
    steps = params["strides"] or (1,) * len(shape)
    result = [-(-(b - a) // step) for a, b, step in zip(starts, limits, steps, strict=True)]
    return tuple(result) if all(extent >= 0 for extent in result) else None


def _split(params: Params, shape: Shape) -> list[Shape] | None:
    axis, sizes = params["axis"], params["sizes"]
    if sum(sizes) != shape[axis]:
        return None
    return [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]


def _reverse(params: Params, shape: Shape) -> Shape | None:
    return shape


def _dot(params: Params, left: Shape, right: Shape) -> Shape | None:
    (left_inner, right_inner), (left_batch, right_batch) = params["dimension_numbers"]
    pairs = [*zip(left_inner, right_inner, strict=True), *zip(left_batch, right_batch, strict=True)]
    if any(left[i] != right[j] for i, j in pairs):
        return None
    batch = [left[i] for i in left_batch]
    rows = [e for i, e in enumerate(left) if i not in left_inner and i not in left_batch]
    columns = [e for i, e in enumerate(right) if i not in right_inner and i not in right_batch]
    return (*batch, *rows, *columns)


def _convolution(params: Params, data: Shape, kernel: Shape) -> Shape | None:
    numbers = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    batch, features, *extents = (data[axis] for axis in numbers.lhs_spec)
    filters, read, *taps = (kernel[axis] for axis in numbers.rhs_spec)
    if (
        features != read * groups
        or filters % groups
        or filters % batch_groups
        or batch % batch_groups
    ):
        return None
    result = [batch // batch_groups, filters]
    for extent, tap, stride, (low, high), spread, wide in zip(
        extents,
        taps,
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
        strict=True,
    ):
        room = (extent - 1) * spread + 1 + low + high - ((tap - 1) * wide + 1)
        if room < 0:
            return None
        result.append(room // stride + 1)
    placed = dict(zip(numbers.out_spec, result, strict=True))
    return tuple([placed[axis] for axis in range(len(result))])


def _stack(params: Params, *shapes: Shape) -> Shape | None:
    first, axis = shapes[0], params["axis"]
    if any(shape != first for shape in shapes):
        return None
    return (*first[:axis], len(shapes), *first[axis:])


def _unstack(params: Params, shape: Shape) -> list[Shape] | None:
    axis = params["axis"]
    return [(*shape[:axis], *shape[axis + 1 :])] * shape[axis]


def _iota(params: Params, *extents: Shape) -> Shape | None:
    return tuple(params["shape"]) if not extents else None


def _pad(params: Params, shape: Shape, value: Shape) -> Shape | None:
    result = [
        low + extent + high + max(extent - 1, 0) * inside
        for extent, (low, high, inside) in zip(shape, params["padding_config"], strict=True)
    ]
    return tuple(result) if all(extent >= 0 for extent in result) else None


def _fold(params: Params, shape: Shape) -> Shape | None:
    return shape if 0 <= params["axis"] < len(shape) else None


def _part(params: Params, shape: Shape, *starts: Shape) -> Shape | None:
    sizes: Shape = tuple(params["slice_sizes"])
    return sizes if _is_inside(sizes, shape) else None


def _write_part(params: Params, shape: Shape, part: Shape, *starts: Shape) -> Shape | None:
    return shape if _is_inside(part, shape) else None


def _is_inside(part: Shape, shape: Shape) -> bool:
    return len(part) == len(shape) and all(a <= b for a, b in zip(part, shape, strict=True))


def _gather(params: Params, shape: Shape, indices: Shape) -> Shape | None:
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    if not _is_inside(sizes, shape) or len(numbers.start_index_map) != indices[-1]:
        return None
    batches = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    if any(shape[a] != indices[b] for a, b in batches):
        return None
    left_out = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [size for axis, size in enumerate(sizes) if axis not in left_out]
    if len(window) != len(numbers.offset_dims):
        return None
    places = dict(zip(numbers.offset_dims, window, strict=True))
    rows = iter(indices[:-1])
    rank = len(window) + len(indices) - 1
    return tuple([places[axis] if axis in places else next(rows) for axis in range(rank)])


def _scatter(params: Params, shape: Shape, indices: Shape, updates: Shape) -> Shape | None:
    numbers = params["dimension_numbers"]
    rows = [e for axis, e in enumerate(updates) if axis not in numbers.update_window_dims]
    window = [updates[axis] for axis in numbers.update_window_dims]
    batches = zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    left_out = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    whole = [extent for axis, extent in enumerate(shape) if axis not in left_out]
    fits = (
        rows == list(indices[:-1])
        and len(numbers.scatter_dims_to_operand_dims) == indices[-1]
        and _is_inside(tuple(window), tuple(whole))
        and all(shape[a] == indices[b] for a, b in batches)
    )
    return shape if fits else None


_RULES: dict[str, Callable[..., Shape | None]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "concatenate": _concatenate,
    "slice": _slice,
    "rev": _reverse,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "stack": _stack,
    "iota": _iota,
    "pad": _pad,
    "dynamic_slice": _part,
    "dynamic_update_slice": _write_part,
    "gather": _gather,
    **dict.fromkeys(("scatter", "scatter-add"), _scatter),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _fold),
    **dict.fromkeys(
        (
            "reduce_sum",
            "reduce_max",
            "reduce_min",
            "reduce_prod",
            "reduce_and",
            "reduce_or",
            "argmax",
            "argmin",
        ),
        _reduce,
    ),
}
