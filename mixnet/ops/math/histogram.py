"""Histograms."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive
from mixnet.ops.schema.dtypes import PLACES
from mixnet.ops.schema.shape_constraints import counted


def _arguments(bin_cnt: int | None) -> tuple[str, ...]:
    return ("data", "bins") if bin_cnt is None else ("data",)


@op(
    "_histogram",
    dtypes=PLACES,
    shape_constraint=counted,
    aliases=["_npi_histogram"],
    arguments=_arguments,
    outputs=2,
    output_names=["output0", "output1"],
    differentiable=False,
)
def histogram(
    data, bins=None, *, bin_cnt: Positive | None = None, range: tuple[float, ...] | None = None
):
    """Number of elements in each bin; the last bin includes its right edge.

    Args:
        data: elements outside of all bins are not counted.
        bins: edges of the bins in ascending order; or give ``bin_cnt`` and ``range``.
        bin_cnt: number of bins of equal width.
        range: left edge of the first and right edge of the last bin.

    Returns:
        Counts as int64, and the edges.

    Raises:
        AttributeValueError: one of ``bin_cnt`` and ``range`` without the other, or a bad range.
        ShapeError: ``bins`` is not a list of two edges or more.

    Source: MXNet operator ``_histogram``.
    """
    if (bin_cnt is None) != (range is None):
        raise OperatorValueError(
            f"_histogram: bin_cnt={bin_cnt} and range={range} must both be given, or neither and "
            f"an array of bins."
        )
    if bin_cnt is not None and range is not None:
        if bin_cnt < 1 or len(range) != 2 or range[0] >= range[1]:
            raise OperatorValueError(
                f"_histogram: bin_cnt={bin_cnt} must be 1 or more, and range={range} two numbers, "
                f"the first below the second."
            )
        edges = jnp.asarray(np.linspace(*range, bin_cnt + 1)).astype(data.dtype)
        return _counts_of_equal_bins(data.reshape(-1), edges, bin_cnt, *range), edges
    if bins.ndim != 1 or bins.shape[0] < 2:
        raise ShapeError(f"_histogram: bins {bins.shape} must be a list of two edges or more.")
    edges = bins
    flat = data.reshape(-1)
    place = jnp.searchsorted(edges, flat, side="right") - 1
    last = edges.shape[0] - 2
    place = jnp.where(flat == edges[-1], last, place)
    inside = (place >= 0) & (place <= last)
    counts = jnp.zeros(last + 1, jnp.int64).at[jnp.where(inside, place, 0)].add(inside)
    return counts, edges


def _counts_of_equal_bins(flat: Any, edges: Any, count: int, low: float, high: float) -> Any:
    """How many numbers lie in each bin: by division, then one bin on where the edges say so.

    Edges between whole numbers are whole, so they may lie apart from where the division puts them.
    """
    wide = flat.astype(jnp.promote_types(flat.dtype, jnp.float32))
    inside = (wide >= low) & (wide <= high)
    place = jnp.where(inside, jnp.floor((wide - low) * count / (high - low)), 0)
    place = jnp.clip(place.astype(jnp.int32), 0, count - 1)
    place -= flat < edges[place]
    place += (flat >= edges[place + 1]) & (place < count - 1)
    return jnp.zeros(count, jnp.int64).at[place].add(inside)
