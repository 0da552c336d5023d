"""Random changes of an image's brightness, contrast, saturation, hue and lighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import OperatorValueError
from mixnet.ops.control import loops
from mixnet.ops.generators import source
from mixnet.ops.math.quotient import quotient
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.vision.image import check_colors

# How much red, green and blue add to the brightness of gray: ITU-R BT.601.
_GRAY = np.array([0.299, 0.587, 0.114], "float32")

# Principal directions of the colours of ImageNet's pixels, each times its standard deviation
# (Krizhevsky, Sutskever and Hinton, 2012).
_LIGHTING = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    "float32",
)


def _wide(data: jax.Array) -> Any:
    return data.astype(jnp.promote_types(data.dtype, jnp.float32))


def _narrow(values: jax.Array, dtype: DTypeLike) -> Any:
    """Back in the image's dtype: whole numbers are cut to its range and towards zero."""
    if not jnp.issubdtype(dtype, jnp.floating):
        limits = np.iinfo(dtype)
        values = jnp.clip(values, limits.min, limits.max)
    return values.astype(dtype)


def _gray(image: jax.Array) -> Any:
    if image.shape[-1] == 1:
        return image
    return jnp.sum(image * _GRAY.astype(image.dtype), -1, keepdims=True)


def _brightness(image: jax.Array, factor: jax.Array) -> Any:
    return image * factor


def _contrast(image: jax.Array, factor: jax.Array) -> Any:
    return image * factor + (1 - factor) * jnp.mean(_gray(image))


def _saturation(image: jax.Array, factor: jax.Array) -> Any:
    if image.shape[-1] == 1:
        return image
    return image * factor + (1 - factor) * _gray(image)


def _hue(image: jax.Array, turn: jax.Array) -> Any:
    """The colour wheel turned by ``turn`` rounds, lightness and saturation kept.

    Extremes come back from lightness and saturation, as in MXNet: whole numbers are cut, so that the
    rounding of each step decides on a level.
    """
    if image.shape[-1] == 1:
        return image
    red, green, blue = (quotient(image[..., i], np.float32(255)) for i in range(3))
    top = jnp.maximum(jnp.maximum(red, green), blue)
    bottom = jnp.minimum(jnp.minimum(red, green), blue)
    spread = top - bottom
    is_gray = spread <= np.finfo("float32").eps
    light = (top + bottom) * 0.5
    range_of_spread = jnp.where(light < 0.5, top + bottom, 2 - top - bottom)
    saturation = jnp.where(is_gray, 0, quotient(spread, jnp.where(is_gray, 1, range_of_spread)))
    scale = quotient(60, jnp.where(is_gray, 1, spread))
    degrees = jnp.where(
        top == red,
        (green - blue) * scale,
        jnp.where(top == green, (blue - red) * scale + 120, (red - green) * scale + 240),
    )
    degrees = jnp.where(is_gray, 0, jnp.where(degrees < 0, degrees + 360, degrees)) + turn * 360

    high = jnp.where(
        light <= 0.5, light * (1 + saturation), light + saturation - light * saturation
    )
    low = 2 * light - high
    sixth = jnp.mod(degrees * (1 / 60), 6)
    sector = jnp.floor(sixth)
    share = sixth - sector
    rising, falling = low + (high - low) * share, low + (high - low) * (1 - share)

    def channel(offset: int) -> Any:
        place = jnp.mod(sector + offset, 6)
        edge = jnp.where((place == 0) | (place == 5), high, low)
        return jnp.where(place == 1, falling, jnp.where(place == 4, rising, edge))

    return jnp.stack([channel(0), channel(4), channel(2)], -1) * 255


def _lighting(image: jax.Array, alpha: jax.Array) -> Any:
    if image.shape[-1] == 1:
        return image
    # No matrix product, which accelerators may round to fewer digits.
    return image + jnp.sum(_LIGHTING.astype(image.dtype) * alpha, -1)


def _declare(quantity: str, change: Callable[[Any, Any], Any], text: str) -> Op:
    name = f"_image_random_{quantity}"

    def random_change(data: jax.Array, *, min_factor: float, max_factor: float, key: Any) -> Any:
        check_colors(name, data.shape)
        if min_factor < 0 or max_factor < 0:
            raise OperatorValueError(
                f"{name}: min_factor={min_factor} and max_factor={max_factor} must be 0 or more."
            )
        image = _wide(data)
        share = _share(key, (), image.dtype)
        factor = share * (max_factor - min_factor) + min_factor
        return _narrow(change(image, factor), data.dtype)

    random_change.__doc__ = (
        f"{text}, by a factor drawn from [min_factor, max_factor).\n\nArgs:\n    data: ``(height, "
        f"width, channels)``, one or three channels.\n\nReturns:\n    dtype of ``data``; whole "
        f"numbers are cut to its range.\n\nRaises:\n    ShapeError: the data are not an image.\n    "
        f"AttributeValueError: a factor below 0.\n\nSource: MXNet operator ``{name}``."
    )
    return op(name, aliases=[f"_npx_{name}"], draws_as_mxnet=True)(random_change)


def _share(key: Any, shape: Sequence[int], dtype: DTypeLike) -> Any:
    if source.is_drawn_by_host(key):
        return source.uniform(key, shape, np.float32).astype(dtype)
    return jax.random.uniform(key, shape, dtype)


random_brightness = _declare("brightness", _brightness, "An image made brighter or darker")
random_contrast = _declare(
    "contrast", _contrast, "An image moved away from its mean gray, or towards it"
)
random_saturation = _declare(
    "saturation", _saturation, "An image moved away from its gray version, or towards it"
)
random_hue = _declare("hue", _hue, "An image whose colours are turned around the colour wheel")


def _jitters(brightness: float, contrast: float, saturation: float, hue: float) -> bool:
    return max(brightness, contrast, saturation, hue) > 0


@op(
    "_image_random_color_jitter",
    aliases=["_npx__image_random_color_jitter"],
    draws=_jitters,
    draws_as_mxnet=True,
)
def random_color_jitter(
    data, *, brightness: float, contrast: float, saturation: float, hue: float, key
):
    """Brightness, contrast, saturation and hue changed in a random order.

    Args:
        data: ``(height, width, channels)``, one or three channels.
        brightness: the factor is drawn from [1 - brightness, 1 + brightness); no change if 0.
        contrast: likewise.
        saturation: likewise.
        hue: the rotation is drawn from [-hue, hue) turns of the colour wheel.

    Raises:
        ShapeError: the data are not an image.

    Source: MXNet operator ``_image_random_color_jitter``.
    """
    check_colors("_image_random_color_jitter", data.shape)
    widths = (brightness, contrast, saturation, hue)
    changes = [
        _step(change, middle, width, data.dtype)
        for change, middle, width in zip(
            (_brightness, _contrast, _saturation, _hue), (1, 1, 1, 0), widths, strict=True
        )
        if width > 0
    ]
    if not changes:
        return data
    count = len(changes)
    if source.is_drawn_by_host(key):
        # MXNet also gives a place to those that change nothing.
        every, shares = source.order_and_uniform(key, len(widths), (count,))
        changing = np.array([width > 0 for width in widths])
        places = jnp.argsort(~jnp.asarray(changing)[every], stable=True)[:count]
        order = (jnp.cumsum(jnp.asarray(changing)) - 1)[every[places]]
    else:
        order_key, share_key = jax.random.split(key)
        order = jax.random.permutation(order_key, count)
        shares = jax.random.uniform(share_key, (count,), _wide(data).dtype)
    for place in range(count):
        data = loops.switch(order[place], changes, data, shares[place])
    return data


def _step(
    change: Callable[..., Any], middle: int, width: float, dtype: DTypeLike
) -> Callable[[Any, Any], Any]:
    def step(data: jax.Array, share: jax.Array) -> Any:
        image = _wide(data)
        factor = middle - width + 2 * width * share.astype(image.dtype)
        return _narrow(change(image, factor), dtype)

    return step


@op("_image_adjust_lighting", aliases=["_npx__image_adjust_lighting"])
def adjust_lighting(data, *, alpha: tuple[float, ...]):
    """A colour added to all pixels: ``alpha`` times the principal colours of ImageNet.

    Args:
        data: ``(height, width, 3)``; an image of one channel is unchanged.
        alpha: three numbers.

    Raises:
        ShapeError: the data are not an image.
        AttributeValueError: not three numbers.

    Source: MXNet operator ``_image_adjust_lighting``.
    """
    check_colors("_image_adjust_lighting", data.shape)
    if len(alpha) != 3:
        raise OperatorValueError(
            f"_image_adjust_lighting: alpha={alpha} must have 3 numbers, one for each principal "
            f"colour."
        )
    image = _wide(data)
    return _narrow(_lighting(image, jnp.asarray(alpha, image.dtype)), data.dtype)


@op("_image_random_lighting", aliases=["_npx__image_random_lighting"], draws_as_mxnet=True)
def random_lighting(data, *, alpha_std: float = 0.05, key):
    """``_image_adjust_lighting`` by normal random numbers of deviation ``alpha_std``.

    Args:
        data: ``(height, width, 3)``; an image of one channel is unchanged.

    Raises:
        ShapeError: the data are not an image.

    Source: MXNet operator ``_image_random_lighting``.
    """
    check_colors("_image_random_lighting", data.shape)
    image = _wide(data)
    if source.is_drawn_by_host(key):
        alpha = source.normal(key, (3,), np.float32).astype(image.dtype) * alpha_std
    else:
        alpha = jax.random.normal(key, (3,), image.dtype) * alpha_std
    return _narrow(_lighting(image, alpha), data.dtype)
