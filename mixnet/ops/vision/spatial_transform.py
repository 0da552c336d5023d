"""Images sampled at given positions: warping, and sampling grids."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents


def _line(extent: int, dtype: DTypeLike) -> Any:
    """``extent`` numbers from -1 to 1, rounded as MXNet does.

    Under the identity, where networks begin, places lie on the pixels, and the last digit decides between
    which two of them the gradient is taken.
    """
    kind = np.dtype(dtype).type
    return kind(-1) + np.arange(extent, dtype=dtype) * kind(2 / max(extent - 1, 1))


def _affine_grid(name: str, theta: jax.Array, target_shape: tuple[int, ...]) -> Any:
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
            jnp.broadcast_to(_line(width, theta.dtype), (height, width)),
            jnp.broadcast_to(_line(height, theta.dtype)[:, None], (height, width)),
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
        return _affine_grid("GridGenerator", data, target_shape)
    if data.ndim != 4 or data.shape[1] != 2:
        raise ShapeError(f"GridGenerator: the flow {data.shape} must be (batch, 2, height, width).")
    height, width = data.shape[2:]
    y, x = jnp.meshgrid(
        jnp.arange(height, dtype=data.dtype), jnp.arange(width, dtype=data.dtype), indexing="ij"
    )
    half = jnp.asarray([(width - 1) / 2, (height - 1) / 2], data.dtype).reshape(2, 1, 1)
    return (data + jnp.stack([x, y])) / half - 1


def _sample(image: jax.Array, grid: jax.Array) -> Any:
    """One image ``(channels, height, width)`` at ``(2, ...)`` places; 0 outside of it."""
    height, width = image.shape[1:]
    x = (grid[0] + 1) * (width - 1) / 2
    y = (grid[1] + 1) * (height - 1) / 2
    left, top = jnp.floor(x), jnp.floor(y)

    def corner(row: jax.Array, column: jax.Array) -> Any:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        # A place far outside has no whole number; it is masked, so any index will do.
        i = jnp.where(inside, row, 0).astype(jnp.int32)
        j = jnp.where(inside, column, 0).astype(jnp.int32)
        return jnp.where(inside, image[:, i, j], 0)

    right, below = x - left, y - top
    return (
        corner(top, left) * (1 - right) * (1 - below)
        + corner(top, left + 1) * right * (1 - below)
        + corner(top + 1, left) * (1 - right) * below
        + corner(top + 1, left + 1) * right * below
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
    return jax.vmap(_sample)(data, grid)


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
    return jax.vmap(_sample)(data, _affine_grid("SpatialTransformer", loc, target_shape))
