"""Images as arrays of height, width and channels: conversion to tensors, cropping, mirroring."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, RankError, ShapeError
from mixnet.ops.generators import source
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count, Positive
from mixnet.ops.schema.dtypes import Dtypes


def check_image(name: str, shape: tuple[int, ...], batch: bool = False) -> None:
    """Raise ShapeError unless the shape is an image's, or with ``batch`` that of several."""
    if len(shape) == 3 or (batch and len(shape) == 4):
        return
    also = " or (batch, height, width, channels)" if batch else "; take one image at a time"
    raise RankError(f"{name}: data {shape} must have the axes (height, width, channels){also}.")


def check_colors(name: str, shape: tuple[int, ...], batch: bool = False) -> None:
    """Raise ShapeError unless the shape is that of an image, or images, in colors or gray."""
    check_image(name, shape, batch)
    if shape[-1] not in (1, 3):
        raise ShapeError(
            f"{name}: data {shape} must have 3 channels (red, green, blue), or 1 (gray), on its last axis."
        )


@op("_image_to_tensor", aliases=["_npx__image_to_tensor"], dtypes=Dtypes(result="float32"))
def to_tensor(data):
    """Images with values from 0 to 255 as float32 from 0 to 1, channels first.

    Args:
        data: ``(height, width, channels)`` or ``(batch, height, width, channels)``.

    Returns:
        ``(channels, height, width)`` or ``(batch, channels, height, width)``.

    Raises:
        ShapeError: the data are not images.

    Source: MXNet operator ``_image_to_tensor``.
    """
    check_image("_image_to_tensor", data.shape, batch=True)
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    wide = data if floating else data.astype(jnp.float32)
    return (jnp.moveaxis(wide, -1, -3) / 255).astype(jnp.float32)


@op("_image_normalize", aliases=["_npx__image_normalize"])
def normalize(data, *, mean: tuple[float, ...] = (0.0,) * 4, std: tuple[float, ...] = (1.0,) * 4):
    """``(data - mean) / std`` with a mean and a standard deviation for each channel, or one for all.

    Args:
        data: ``(channels, height, width)`` or ``(batch, channels, height, width)``, one or three
            channels.

    Raises:
        ShapeError: the data have another shape.
        AttributeValueError: the number of means or deviations is not that of the channels.

    Source: MXNet operator ``_image_normalize``.
    """
    if data.ndim not in (3, 4) or data.shape[-3] not in (1, 3):
        raise ShapeError(
            f"_image_normalize: data {data.shape} must have the axes (channels, height, width) or "
            f"(batch, channels, height, width), with 1 or 3 channels; image.to_tensor makes them."
        )
    channels = data.shape[-3]
    parts = []
    for name, values in (("mean", mean), ("std", std)):
        # The defaults, for any number of channels, are four numbers that are all the same.
        numbers = values[:1] if len(values) == 4 and len(set(values)) == 1 else values
        if len(numbers) not in (1, channels):
            raise OperatorValueError(
                f"_image_normalize: {name}={values} must have 1 or {channels} number(s), as data "
                f"{data.shape} has channels."
            )
        parts.append(jnp.asarray(numbers, jnp.float32).reshape(-1, 1, 1))
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    wide = data if floating else data.astype(jnp.float32)
    return ((wide - parts[0].astype(wide.dtype)) / parts[1].astype(wide.dtype)).astype(data.dtype)


@op("_image_crop", aliases=["_npx__image_crop"])
def crop(data, *, x: Count, y: Count, width: Positive, height: Positive):
    """The rectangle of ``width`` and ``height`` whose upper left corner is at column ``x`` and row ``y``.

    Args:
        data: ``(height, width, channels)`` or ``(batch, height, width, channels)``, one or three
            channels.

    Raises:
        ShapeError: the data are not images.
        AttributeValueError: the rectangle is empty, or not within the image.

    Source: MXNet operator ``_image_crop``.
    """
    check_colors("_image_crop", data.shape, batch=True)
    rows, columns = data.shape[-3:-1]
    inside = 0 <= x <= columns - width and 0 <= y <= rows - height
    if width <= 0 or height <= 0 or not inside:
        raise OperatorValueError(
            f"_image_crop: x={x}, y={y}, width={width}, height={height} is not a rectangle within "
            f"images of {columns} columns and {rows} rows."
        )
    return data[..., y : y + height, x : x + width, :]


def _declare_flip(direction: str, axis: int, text: str) -> tuple[Op, Op]:
    name, chance = f"_image_flip_{direction}", f"_image_random_flip_{direction}"

    def flip(data: jax.Array) -> Any:
        check_colors(name, data.shape)
        return jnp.flip(data, axis)

    def random_flip(data: jax.Array, *, key: Any) -> Any:
        check_colors(chance, data.shape)
        heads = source.is_heads(key) if source.is_drawn_by_host(key) else jax.random.bernoulli(key)
        return jnp.where(heads, jnp.flip(data, axis), data)

    shape = (
        "Args:\n    data: ``(height, width, channels)``, one or three channels.\n\n"
        "Raises:\n    ShapeError: it is not."
    )
    flip.__doc__ = f"An image mirrored, {text}.\n\n{shape}\n\nSource: MXNet operator ``{name}``."
    random_flip.__doc__ = (
        f"An image unchanged or mirrored, {text}, with equal probability.\n\n{shape}\n\nSource: MXNet "
        f"operator ``{chance}``."
    )
    return (
        op(name, aliases=[f"_npx_{name}"])(flip),
        op(chance, aliases=[f"_npx_{chance}"], draws_as_mxnet=True)(random_flip),
    )


flip_left_right, random_flip_left_right = _declare_flip("left_right", -2, "left to right")
flip_top_bottom, random_flip_top_bottom = _declare_flip("top_bottom", -3, "upside down")
