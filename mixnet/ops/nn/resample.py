"""Image resizing: every output element is a weighted sum of a few input elements."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import DTypeError, NotDefinedError, OperatorValueError, RankError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive, Steps
from mixnet.ops.schema.ranges import Length, Range


class Taps(NamedTuple):
    """For each place of an output axis the places of the input that it reads, and their weights.

    Both are ``(outputs, taps)``; a place with fewer taps than the others has zero weights.
    """

    places: np.ndarray
    weight: np.ndarray


def along(data: Any, axis: int, taps: Taps, dtype: Any = None) -> Any:
    """The weighted sums along one axis, in ``dtype`` or that of the data."""
    axis %= data.ndim
    gathered = jnp.take(data, taps.places, axis, mode="clip").astype(dtype or data.dtype)
    shape = (*taps.weight.shape, *(1,) * (data.ndim - axis - 1))
    return jnp.sum(
        gathered * taps.weight.astype(gathered.dtype).reshape(shape),
        axis + 1,
        dtype=gathered.dtype,
    )


def _from_position(position: np.ndarray, reach: int, weights: Any, extent: int) -> Taps:
    """Taps of a kernel of ``2 reach`` elements around each position; the border is repeated."""
    left = np.floor(position)
    index = left[:, None] + np.arange(1 - reach, reach + 1)
    weight = weights((position - left)[:, None])
    return Taps(np.clip(index, 0, extent - 1).astype(np.int32), weight)


def _tent(fraction: np.ndarray) -> np.ndarray:
    return np.concatenate([1 - fraction, fraction], 1)


def _cubic(fraction: np.ndarray) -> np.ndarray:
    """Keys' cubic with a = -0.75, OpenCV's choice."""
    a = -0.75
    distance = np.abs(fraction - np.arange(-1, 3))
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, far)


def _lanczos(fraction: np.ndarray) -> np.ndarray:
    distance = fraction - np.arange(-3, 5)
    weight: np.ndarray = np.sinc(distance) * np.sinc(distance / 4)
    weight /= weight.sum(1, keepdims=True)
    return weight


def centred(extent: int, out: int) -> np.ndarray:
    """Where the centres of ``out`` elements lie among ``extent`` elements over the same width."""
    # OpenCV keeps positions in single precision.
    return ((np.arange(out) + 0.5) * (extent / out) - 0.5).astype("float32").astype("float64")


def linear_taps(position: np.ndarray, extent: int) -> Taps:
    """Linear interpolation at positions; those outside the array count as on its border."""
    return _from_position(np.clip(position, 0, extent - 1), 1, _tent, extent)


def _nearest_taps(extent: int, out: int) -> Taps:
    index = np.minimum(np.floor(np.arange(out) * (extent / out)), extent - 1).astype(np.int32)
    return Taps(index[:, None], np.ones((out, 1)))


def window_taps(start: np.ndarray, stop: np.ndarray, extent: int) -> Taps:
    """Means over windows with ends between elements: a cut element counts by its share."""
    first = np.floor(start + 1e-3)
    count = int((np.ceil(stop - 1e-3) - first).max())
    index = first[:, None] + np.arange(max(count, 1))
    inside = np.minimum(index + 1, stop[:, None]) - np.maximum(index, start[:, None])
    share = np.where(inside > 1e-3, inside, 0)
    weight = share / share.sum(1, keepdims=True)
    return Taps(np.clip(index, 0, extent - 1).astype(np.int32), weight)


def _area_taps(extent: int, out: int) -> Taps:
    scale = extent / out
    start = np.arange(out) * scale
    return window_taps(start, np.minimum(start + scale, extent), extent)


def _enlarging_area_taps(extent: int, out: int) -> Taps:
    """Each output the mean over its width, which here covers two input elements at most."""
    left = np.floor(np.arange(out) * (extent / out))
    fraction = np.arange(1, out + 1) - (left + 1) * (out / extent)
    fraction = np.where(fraction <= 0, 0, fraction - np.floor(fraction))
    return _from_position(np.minimum(left + fraction, extent - 1), 1, _tent, extent)


# What OpenCV calls 0 to 4, and MXNet after it.
_METHODS = ("nearest", "linear", "cubic", "area", "lanczos")
# Fixed point in which OpenCV interpolates bytes.
_BITS = 11


def _resize(data: jax.Array, height: int, width: int, method: str) -> Any:
    """``(..., height, width, channels)`` in another size; bytes are rounded as OpenCV does."""
    old = data.shape[-3:-1]
    shrinks = old[0] >= height and old[1] >= width
    halves = old == (2 * height, 2 * width)
    if method == "linear" and halves:
        method = "area"  # the same numbers, and OpenCV's way of rounding them
    if method == "area" and not shrinks:
        method = "enlarging area"
    make = {
        "nearest": _nearest_taps,
        "linear": lambda n, m: _from_position(centred(n, m), 1, _tent, n),
        "cubic": lambda n, m: _from_position(centred(n, m), 2, _cubic, n),
        "area": _area_taps,
        "enlarging area": _enlarging_area_taps,
        "lanczos": lambda n, m: _from_position(centred(n, m), 4, _lanczos, n),
    }[method]
    rows, columns = make(old[0], height), make(old[1], width)
    if method == "nearest":
        return data[..., rows.places[:, 0], :, :][..., columns.places[:, 0], :]
    if data.dtype != jnp.uint8:
        return along(along(data, -2, columns), -3, rows)
    if method == "area":
        mean = along(along(data, -2, columns, jnp.float32), -3, rows)
        up = halves and data.shape[-1] in (1, 3, 4)  # else ties go to even, as OpenCV has it
        whole = jnp.floor(mean + 0.5) if up else jnp.round(mean)
    else:
        fixed = [Taps(t.places, np.rint(t.weight * 2**_BITS)) for t in (columns, rows)]
        total = along(data, -2, fixed[0], jnp.int32)
        if rows.places.shape[1] == 2:
            whole = _two_rows(total, fixed[1])
        else:
            exact = along(total, -3, fixed[1]) / 4.0**_BITS
            whole = jnp.round(exact) if method == "cubic" else jnp.floor(exact + 0.5)
    return jnp.clip(whole, 0, 255).astype(jnp.uint8)


def _two_rows(data: jax.Array, rows: Taps) -> Any:
    """Linear interpolation of rows in 16 bits: each product is cut before the sum is rounded."""
    parts = [
        (jnp.take(data, rows.places[:, k], -3) >> 4)
        * rows.weight[:, k].astype(np.int32)[:, None, None]
        >> 16
        for k in (0, 1)
    ]
    return (parts[0] + parts[1] + 2) >> 2


def resized_extents(
    extents: Sequence[int], size: Sequence[int], keep_ratio: bool
) -> tuple[int, int]:
    """Height and width of an image after resizing to ``size``: (width, height), or one number.

    With ``keep_ratio`` one number is the length of the shorter side.
    """
    height, width = extents
    if len(size) == 2:
        return size[1], size[0]
    if not keep_ratio:
        return size[0], size[0]
    if height > width:
        return int(height * size[0] / width), size[0]
    return size[0], int(width * size[0] / height)


@op("_image_resize", aliases=["_npx__image_resize"])
def image_resize(
    data,
    *,
    size: Annotated[Steps, Length(0, 2)] = (),
    keep_ratio: bool = False,
    interp: Annotated[int, Range(0, 4)] = 1,
):
    """Images resized to ``size``.

    Args:
        data: ``(height, width, channels)`` or ``(batch, height, width, channels)``; uint8, float32 or
            float64.
        size: ``(width, height)``, or one number for both; with ``keep_ratio`` one number is the
            length of the shorter side.
        interp: 0 nearest, 1 linear, 2 cubic, 3 means over areas, 4 Lanczos.

    Raises:
        ShapeError: the data are not images.
        AttributeValueError: the size is missing.
        DTypeError: data of another dtype.

    Source: MXNet operator ``_image_resize``.
    """
    if data.ndim not in (3, 4):
        raise RankError(
            f"_image_resize: data {data.shape} must have the axes (height, width, channels) or "
            f"(batch, height, width, channels)."
        )
    if not size:
        raise OperatorValueError(
            "_image_resize: size=() is missing; give one number or (width, height)."
        )
    if data.dtype not in (jnp.uint8, jnp.float32, jnp.float64):
        raise DTypeError(
            f"_image_resize: data of {data.dtype} cannot be resized; cast it to uint8 or float32."
        )
    height, width = resized_extents(data.shape[-3:-1], size, keep_ratio)
    return _resize(data, height, width, _METHODS[interp])


_Mode = Literal[
    "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
]


def _like_arguments(mode: str) -> tuple[str, ...]:
    return ("data", "like") if mode == "like" else ("data",)


@op("_contrib_BilinearResize2D", arguments=_like_arguments)
def bilinear_resize(
    data,
    like=None,
    *,
    height: Positive = 1,
    width: Positive = 1,
    scale_height: Annotated[float, Range(above=0)] | None = None,
    scale_width: Annotated[float, Range(above=0)] | None = None,
    mode: _Mode = "size",
    align_corners: bool = True,
):
    """Height and width changed by linear interpolation.

    Args:
        data: ``(batch, channels, height, width)``, float.
        like: an array that has the height and width to reach, with ``mode`` "like".
        scale_height: factors instead of ``height`` and ``width``; both or neither.
        mode: "size"; "odd_scale" scales the distance of the outer elements where the extent is
            odd; "to_even_down" and similar modes move the extents to the next even or odd number.
        align_corners: the centres of the outer elements of input and output coincide; else their
            outer edges do.

    Raises:
        ShapeError: data without four axes.
        DTypeError: data are not floating-point numbers.
        AttributeValueError: one scale without the other, or an extent below 1.

    Source: MXNet operator ``_contrib_BilinearResize2D``.
    """
    if data.ndim != 4:
        raise RankError(
            f"_contrib_BilinearResize2D: data {data.shape} must have the axes (batch, channels, "
            f"height, width)."
        )
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise DTypeError(f"_contrib_BilinearResize2D: data are {data.dtype}; cast them to float32.")
    if mode == "like":
        size = like.shape[2:]
    else:
        scales = (scale_height, scale_width)
        requested_size = (height, width)
        if None in scales and (mode == "odd_scale" or scales != (None, None)):
            raise OperatorValueError(
                f"_contrib_BilinearResize2D: mode={mode!r} with scale_height={scale_height} and "
                f"scale_width={scale_width}; give both scales."
            )
        size = tuple(
            _extent(n, mode, target, scale)
            for n, target, scale in zip(data.shape[2:], requested_size, scales, strict=True)
        )
    if any(isinstance(each, int) and each < 1 for each in size):
        raise OperatorValueError(
            f"_contrib_BilinearResize2D: height and width {size} must be 1 or more."
        )
    for axis, out in zip((2, 3), size, strict=True):
        extent = data.shape[axis]
        if not isinstance(extent, int) or not isinstance(out, int):
            data = _open_axis(data, axis, out, align_corners)
            continue
        if align_corners:
            position = np.arange(out) * ((extent - 1) / max(out - 1, 1))
        elif out == 1:
            position = np.zeros(1)  # MXNet takes the first element, not the centre
        else:
            position = centred(extent, out)
        data = along(data, axis, linear_taps(position, extent))
    return data


def _open_axis(data: Any, axis: int, out: Any, align_corners: bool) -> Any:
    """Linear interpolation along an axis whose extent, or its new one, is a symbol."""
    before, after = (jnp.asarray(each).astype("float32") for each in (data.shape[axis], out))
    place = jax.lax.iota("float32", out)
    if align_corners:
        position = place * ((before - 1) / jnp.maximum(after - 1, 1))
    else:
        position = jnp.where(after == 1, 0, (place + 0.5) * (before / after) - 0.5)
    position = jnp.minimum(jnp.maximum(position, 0), before - 1)
    # A product with the weights: places in an array of unknown extent would have to be proved to be inside.
    places = jax.lax.iota("float32", data.shape[axis])
    weights = jnp.maximum(1 - jnp.abs(position[:, None] - places[None]), 0).astype(data.dtype)
    return jnp.moveaxis(jnp.tensordot(data, weights, ((axis,), (1,))), -1, axis)


def _extent(extent: int, mode: str, target: int, scale: float | None) -> int:
    if mode == "to_even_down":
        return extent - extent % 2
    if mode == "to_even_up":
        return extent + extent % 2
    if mode == "to_odd_down":
        return extent - 1 + extent % 2
    if mode == "to_odd_up":
        return extent + 1 - extent % 2
    if scale is None:
        return target
    if not isinstance(extent, int):
        return _scaled_symbol(extent, mode, scale)
    # Single precision decides where a product is cut to a whole number.
    by = np.float32(scale)
    if mode == "odd_scale" and extent % 2:
        return int(np.float32(extent - 1) * by) + 1
    return int(np.float32(extent) * by)


def _scaled_symbol(extent: Any, mode: str, scale: float) -> Any:
    """A symbol, for an extent, times a number."""
    by = Fraction(scale).limit_denominator(1000)
    if mode == "odd_scale" or np.float32(float(by)) != np.float32(scale):
        raise NotDefinedError(
            f"_contrib_BilinearResize2D: scale {scale} with mode={mode!r} of an open extent is not "
            f"supported; a ratio of small whole numbers, as 1.5, with mode='size' is."
        )
    return extent * by.numerator // by.denominator
