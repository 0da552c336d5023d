"""Images sampled at given positions: warping, and sampling grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents

# Numbers from -1 to 1, rounded as MXNet does in each of the two operators. Under the identity, where
# networks begin, places lie on the pixels, and the last digit decides between which two of them the
# gradient is taken.


def _line_of_generator(extent: int, dtype: DTypeLike) -> Any:
    """``extent`` numbers from -1 to 1, each step rounded."""
    kind = np.dtype(dtype).type
    return kind(-1) + np.arange(extent, dtype=dtype) * kind(2 / max(extent - 1, 1))


def _line_of_transformer(extent: int, dtype: DTypeLike) -> Any:
    """``extent`` numbers from -1 to 1, rounded once."""
    return (-1.0 + np.arange(extent) * 2.0 / max(extent - 1, 1)).astype(dtype)


def _affine_grid(
    name: str,
    theta: jax.Array,
    target_shape: tuple[int, ...],
    line: Callable[[int, DTypeLike], Any],
) -> Any:
    if len(target_shape) != 2 or min(target_shape) <= 0:
        raise OperatorValueError(
            f"{name}: target_shape={target_shape} must be (height, width), above 0."
        )
    if theta.ndim != 2 or theta.shape[1] != 6:
        raise ShapeError(
            f"{name}: the transformation {theta.shape} must be (batch, 6): the rows of a 2 by 3 "
            f"matrix."
        )
    height, width = target_shape
    places = jnp.stack(
        [
            jnp.broadcast_to(line(width, theta.dtype), (height, width)),
            jnp.broadcast_to(line(height, theta.dtype)[:, None], (height, width)),
            jnp.ones((height, width), theta.dtype),
        ]
    )
    return jnp.einsum(
        "bij,jhw->bihw",
        theta.reshape(-1, 2, 3),
        places,
        precision=jax.lax.Precision.HIGHEST,
    )


@op("GridGenerator", floats=True)
def grid_generator(
    data, *, transform_type: Literal["affine", "warp"], target_shape: Extents = (0, 0)
):
    """Where to sample an image, for ``BilinearSampler``: x and y from -1 to 1 across it.

    Args:
        data: "affine": ``(batch, 6)``, the rows of a 2 by 3 matrix for each image; "warp":
            ``(batch, 2, height, width)``, by how many elements each place moves.
        target_shape: height and width of the grid of "affine".

    Returns:
        ``(batch, 2, height, width)``.

    Raises:
        ShapeError: the data have another shape.
        AttributeValueError: "affine" without a ``target_shape``.

    Source: MXNet operator ``GridGenerator``.
    """
    if transform_type == "affine":
        return _affine_grid("GridGenerator", data, target_shape, _line_of_generator)
    if data.ndim != 4 or data.shape[1] != 2:
        raise ShapeError(f"GridGenerator: the flow {data.shape} must be (batch, 2, height, width).")
    height, width = data.shape[2:]
    y, x = jnp.meshgrid(
        jnp.arange(height, dtype=data.dtype), jnp.arange(width, dtype=data.dtype), indexing="ij"
    )
    half = jnp.asarray([(width - 1) / 2, (height - 1) / 2], data.dtype).reshape(2, 1, 1)
    return (data + jnp.stack([x, y])) / half - 1


def _sample(images: jax.Array, grid: jax.Array) -> Any:
    """Images ``(batch, channels, height, width)`` at ``(batch, 2, ...)`` places; 0 outside of them.

    The four corners of all places are computed at once and by ``jax.lax``: one by one, by ``jax.numpy``,
    they took three times as long to trace.
    """
    batch, channels, height, width = images.shape
    dtype = grid.dtype
    extents = np.array([width, height], dtype).reshape(1, 2, 1, 1)
    places = (grid + 1) * (extents - 1) / np.array(2, dtype)
    before = jax.lax.stop_gradient(jax.lax.floor(places))
    share = places - before
    shares = jnp.stack([1 - share, share], 2)  # (batch, x and y, before and behind, ...)
    pixels = before[:, :, None] + np.array([0, 1], dtype).reshape(1, 1, 2, 1, 1)
    inside = (pixels >= 0) & (pixels < extents[:, :, None])
    # A place far outside has no whole number; it is masked, so any index will do.
    whole = jax.lax.select(inside, pixels, jnp.zeros_like(pixels)).astype(np.int32)
    corners = (batch, 2, 2, *grid.shape[2:])  # rows, then columns

    def combined(of_rows: jax.Array, of_columns: jax.Array) -> tuple[Any, ...]:
        return tuple(
            jax.lax.broadcast_in_dim(each, corners, (0, axis, 3, 4))
            for axis, each in ((1, of_rows), (2, of_columns))
        )

    row, column = combined(whole[:, 1], whole[:, 0])
    row_inside, column_inside = combined(inside[:, 1], inside[:, 0])
    below, right = combined(shares[:, 1], shares[:, 0])
    values = _elements(
        images.reshape(batch, channels, height * width), row * np.int32(width) + column
    )
    shape = (batch, channels, *corners[1:])
    is_inside, right, below = (
        jax.lax.broadcast_in_dim(each, shape, (0, 2, 3, 4, 5))
        for each in (row_inside & column_inside, right, below)
    )
    parts = jax.lax.select(is_inside, values, jnp.zeros_like(values)) * right * below
    upper, lower = parts[:, :, 0], parts[:, :, 1]
    return upper[:, :, 0] + upper[:, :, 1] + lower[:, :, 0] + lower[:, :, 1]


def _elements(images: jax.Array, index: jax.Array) -> Any:
    """Elements of ``(batch, channels, pixels)`` at ``(batch, ...)`` for all channels."""
    channels = images.shape[1]
    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=(1,),
        collapsed_slice_dims=(2,),
        start_index_map=(2,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    return jax.lax.gather(
        images,
        index[..., None],
        numbers,
        (1, channels, 1),
        mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


@op("BilinearSampler", floats=True, one_dtype=True)
def bilinear_sampler(data, grid, *, cudnn_off: bool | None = None):
    """Images sampled at the positions of ``grid``, with linear interpolation; 0 outside.

    Args:
        data: ``(batch, channels, height, width)``.
        grid: ``(batch, 2, out_height, out_width)``: x, then y, from -1 to 1 across the image.

    Returns:
        ``(batch, channels, out_height, out_width)``.

    Raises:
        ShapeError: the shapes do not fit.

    Source: MXNet operator ``BilinearSampler``.
    """
    if data.ndim != 4 or grid.ndim != 4 or grid.shape[:2] != (data.shape[0], 2):
        raise ShapeError(
            f"BilinearSampler: data {data.shape} and grid {grid.shape} must be (batch, channels, "
            f"height, width) and (batch, 2, out_height, out_width)."
        )
    return _sample(data, grid)


@op("SpatialTransformer", floats=True, one_dtype=True)
def spatial_transformer(
    data,
    loc,
    *,
    target_shape: Extents = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
):
    """Images sampled on a grid that an affine map moves, with linear interpolation; 0 outside.

    Args:
        data: ``(batch, channels, height, width)``.
        loc: ``(batch, 6)``: the rows of a 2 by 3 matrix for each image.
        target_shape: height and width of the result.

    Raises:
        ShapeError: the shapes do not fit.
        AttributeValueError: ``target_shape`` is not two numbers above 0.

    Source: MXNet operator ``SpatialTransformer``; Jaderberg et al., 2015.
    """
    if data.ndim != 4 or loc.shape[:1] != data.shape[:1]:
        raise ShapeError(
            f"SpatialTransformer: data {data.shape} and loc {loc.shape} must be (batch, channels, "
            f"height, width) and (batch, 6)."
        )
    return _sample(
        data, _affine_grid("SpatialTransformer", loc, target_shape, _line_of_transformer)
    )
