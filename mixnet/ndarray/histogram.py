"""``mx.nd.histogram``: counts by value, as ``numpy.histogram``."""

from __future__ import annotations

from typing import Any

from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> Any:
    """How many elements lie in each bin, and the edges of the bins.

    Args:
        a: the elements.
        bins: number of bins, or an array of their edges.
        range: left edge of the first and right edge of the last bin; by default the least and the
            greatest element, which are waited for.

    Returns:
        A list of the counts, int64, and the edges.
    """
    if isinstance(bins, NDArray):
        return invoke(find("_histogram"), (a, bins), {})
    if range is None:
        range = (a.min().asscalar(), a.max().asscalar())
    return invoke(find("_histogram"), (a,), {"bin_cnt": bins, "range": range})
