"""Reader of resizing: indexing, or a product with an interpolation matrix along each axis."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.extents import Extent, array_of, is_open
from mixnet.onnx.load.table import Call, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


@reads("Resize", "Upsample")
def _(g: Reading, call: Call) -> Any:
    out, shape = call.x, g.shape(call.x)
    where = call.get("coordinate_transformation_mode", "half_pixel")
    if call.node.op_type == "Upsample" or g.opset < 11:
        where = "asymmetric"
    outside = np.zeros((1,) * len(shape), bool)
    crops = _crops(g, call, len(shape)) if where == "tf_crop_and_resize" else {}
    sizes = _sizes(g, call, shape)
    changed = {
        a: (new, s) for a, (new, s) in sizes.items() if new != shape[a] or s not in (1, None)
    }
    if any(is_open((shape[axis], new)) for axis, (new, _) in changed.items()):
        return _resized_open(g, call, changed, where)
    for axis, (size, scale) in sizes.items():
        old = shape[axis]
        if size == old and scale == 1 and crops.get(axis, (0, 1)) == (0, 1):
            continue
        g.checked_shape((size,) if call.get("mode", "nearest") == "nearest" else (size, old))
        if crops:
            at = _cropped(old, size, *crops[axis])
            beyond = (at < 0) | (at > old - 1)
            outside = outside | beyond.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        else:
            at = _coordinates(old, size, scale, where)
        if call.get("mode", "nearest") == "nearest":
            usual = "floor" if where == "asymmetric" and g.opset < 11 else "round_prefer_floor"
            out = g.op("take", out, _nearest(at, old, call.get("nearest_mode", usual)), axis=axis)
        else:
            weights = _weights(at, old, scale, call).astype(g.dtype(call.x))
            out = _product(g, out, axis, weights)
    if outside.any():
        value = np.full(1, call.get("extrapolation_value", 0.0), g.dtype(out))
        return g.op("_npi_where", np.array(np.broadcast_to(outside, g.shape(out))), value, out)
    return g.op("_copy", out) if out is call.x else out


def _crops(g: Reading, call: Call, rank: int) -> dict[int, tuple[float, float]]:
    """Where the region of interest begins and ends along each axis, in shares of the axis."""
    region = g.constant(call.inputs[1], "the region of interest").reshape(2, -1).tolist()
    axes = [a % rank for a in call.get("axes", range(rank))]
    return {a: (first, last) for a, first, last in zip(axes, *region, strict=True)}


def _cropped(old: int, new: int, first: float, last: float) -> np.ndarray:
    """The positions of the new elements in coordinates of the old ones, of a region of them."""
    if new == 1:
        return np.array([(first + last) / 2 * (old - 1)])
    return (first + np.arange(new) * (last - first) / (new - 1)) * (old - 1)


def _sizes(g: Reading, call: Call, shape: tuple[Any, ...]) -> dict[int, tuple[Any, Any]]:
    """New size and scale of every given axis."""
    rank = len(shape)
    axes = [a % rank for a in call.get("axes", range(rank))]
    if call.input(3) is not None:
        sizes = g.ints(call.inputs[3], "the size")
        return _kept_ratio(call, axes, sizes, shape)
    scales = call.get("scales")
    if scales is None:
        scales = g.constant(call.inputs[1 if len(call.inputs) == 2 else 2], "the scale").tolist()
    return {a: (_scaled(shape[a], s), float(s)) for a, s in zip(axes, scales, strict=True)}


def _scaled(extent: Extent, scale: float) -> Any:
    if not is_open(extent):
        return int(np.floor(extent * scale))
    by = Fraction(scale).limit_denominator(1000)
    if np.float32(float(by)) != np.float32(scale):
        raise NotDefinedError(f"a scale of {scale} for an open extent is not supported")
    return extent * by.numerator // by.denominator


def _resized_open(
    g: Reading, call: Call, sizes: dict[int, tuple[Any, float | None]], where: str
) -> Any:
    """Resizing along axes of open extents."""
    x, mode = call.x, call.get("mode", "nearest")
    shape = g.shape(x)
    all_integers = all(scale is None or float(scale).is_integer() for _, scale in sizes.values())
    usual = "floor" if where == "asymmetric" and g.opset < 11 else "round_prefer_floor"
    if mode == "nearest" and where in ("asymmetric", "half_pixel"):
        down = call.get("nearest_mode", usual) == "floor"
        for axis, (size, scale) in sizes.items():
            if scale is not None and float(scale).is_integer() and down == (where == "asymmetric"):
                x = g.op("repeat", x, repeats=int(scale), axis=axis)
            elif scale is None and down and where == "asymmetric":
                x = g.op("take", x, _floor_of_share(g, size, shape[axis]), axis=axis)
            else:
                raise NotDefinedError(f"scale {scale} of an open extent is not supported")
        return x
    aligned = where == "align_corners"
    linear = mode == "linear" and not call.get("antialias", 0) and set(sizes) <= {2, 3}
    if (
        not linear
        or len(shape) != 4
        or not (aligned or (all_integers and where.endswith("half_pixel")))
    ):
        raise NotDefinedError(f"mode={mode!r} with {where!r} of open extents is not supported")
    height, width = (sizes.get(axis, (shape[axis], 1))[0] for axis in (2, 3))
    return g.op("_contrib_BilinearResize2D", x, height=height, width=width, align_corners=aligned)


def _floor_of_share(g: Reading, new: Extent, old: Extent) -> Any:
    """For each new element the old one at the same share of the axis, rounded down."""
    scaled = g.op("_npi_multiply", g.counted(new), array_of((old,)))
    rest = g.op("_npi_mod", scaled, array_of((new,)))
    share = g.op("_npi_true_divide", g.op("_npi_subtract", scaled, rest), array_of((new,)))
    return g.op("Cast", g.op("_npi_around", share, decimals=0), dtype="int64")


def _kept_ratio(
    call: Call, axes: list[int], sizes: list[int], shape: Any
) -> dict[int, tuple[Any, Any]]:
    policy = call.get("keep_aspect_ratio_policy", "stretch")
    if is_open([*sizes, *(shape[a] for a in axes)]) and policy == "stretch":
        return {
            a: (size, 1 if size == shape[a] else None) for a, size in zip(axes, sizes, strict=True)
        }
    scales = [size / shape[a] for a, size in zip(axes, sizes, strict=True)]
    if policy != "stretch":
        ratio = min(scales) if policy == "not_larger" else max(scales)
        scales = [ratio] * len(axes)
        sizes = [int(np.floor(ratio * shape[a] + 0.5)) for a in axes]
    return {a: (size, scale) for a, size, scale in zip(axes, sizes, scales, strict=True)}


def _coordinates(old: int, new: int, scale: float, where: str) -> np.ndarray:
    """The positions of the new elements in coordinates of the old ones."""
    place = np.arange(new)
    if where == "align_corners":
        return place * ((old - 1) / (old * scale - 1)) if new > 1 else place * 0.0
    if where == "asymmetric":
        return place / scale
    if where == "pytorch_half_pixel" and new == 1:
        return place * 0.0
    if where in ("half_pixel", "pytorch_half_pixel"):
        return (place + 0.5) / scale - 0.5
    if where == "half_pixel_symmetric":
        shift = old / 2 * (1 - new / (old * scale))
        return shift + (place + 0.5) / scale - 0.5
    raise NotDefinedError(
        f"resizing with coordinate_transformation_mode={where!r} is not supported"
    )


def _nearest(at: np.ndarray, old: int, rounding: str) -> np.ndarray:
    kinds: dict[str, Any] = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_ceil": lambda v: np.floor(v + 0.5),
    }
    rounded: np.ndarray = kinds.get(rounding, lambda v: np.ceil(v - 0.5))(at)
    return rounded.clip(0, old - 1).astype(np.int64)


def _linear(distance: np.ndarray) -> np.ndarray:
    weights: np.ndarray = np.maximum(1 - np.abs(distance), 0)
    return weights


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel."""
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _weights(at: np.ndarray, old: int, scale: float, call: Call) -> np.ndarray:
    """``(new, old)``: the weight of each old element in each new one."""
    cubic = call.get("mode") == "cubic"
    reach = 2.0 if cubic else 1.0
    stretch = min(scale, 1.0) if call.get("antialias", 0) else 1.0
    first = np.floor(at).astype(int)[:, None] + np.arange(
        int(-np.ceil(reach / stretch)), int(np.ceil(reach / stretch)) + 2
    )
    distance = (first - at[:, None]) * stretch
    share = _cubic(distance, call.get("cubic_coeff_a", -0.75)) if cubic else _linear(distance)
    outside = (first < 0) | (first >= old)
    if call.get("exclude_outside", 0):
        share = np.where(outside, 0, share)
    share = share / share.sum(1, keepdims=True)
    matrix = np.zeros((len(at), old))
    np.add.at(matrix, (np.arange(len(at))[:, None], np.clip(first, 0, old - 1)), share)
    return matrix


def _product(g: Reading, x: object, axis: int, weights: np.ndarray) -> Any:
    moved = g.op("_np_moveaxis", x, source=axis, destination=-1)
    return g.op(
        "_np_moveaxis", g.op("_npi_matmul", moved, np.array(weights.T)), source=-1, destination=axis
    )
