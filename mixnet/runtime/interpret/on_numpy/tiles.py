"""Convolutions with three taps by Winograd's minimal filtering F(2, 3).

Two adjacent results of a kernel of three taps take six products, or four products of sums of elements with
sums of taps. In two dimensions, 16 products replace 36, in three 64 replace 216. They are products of
matrices, as in other convolutions. The sums cost time, too, so this pays for many features.

S. Winograd, "Arithmetic complexity of computations" (1980); A. Lavin and S. Gray, "Fast algorithms for
convolutional neural networks" (2016).

Here every spatial axis is split in two, ``(tiles, dilation)``: the two results of a tile are ``dilation``
elements apart. Each also has an axis in front, for the halves, sums or results of its tiles, which has
length 1 if the kernel has one tap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from mixnet.runtime.compile import blas
from mixnet.runtime.interpret.on_numpy.product import matmul
from mixnet.runtime.interpret.on_numpy.threads import in_parts

_CHUNK = 1 << 21
"""The number of sums or products in memory at a time, for each thread: as many as the cache holds."""
_COLUMNS = 64
"""The tiles that are multiplied with the kernels at a time, at least: several small images."""
_PRODUCTS_AN_ELEMENT = 150
"""The products that take as long as the sums for one element of the data or result, in two dimensions."""
_PRODUCTS_A_KERNEL = 800
"""The products that take as long as the sums of the taps between one feature and one filter."""


def products_saved(
    features: int, filters: int, taps: Sequence[int], batch: int, places: Sequence[int]
) -> int:
    """The products that tiles save, minus those that would take as long as the sums."""
    axes = sum(tap == 3 for tap in taps)
    small = any(tap == 3 and extent < 4 for tap, extent in zip(taps, places, strict=True))
    if not axes or small or any(tap not in (1, 3) for tap in taps):
        return 0
    results = batch * math.prod(places)
    growth: float = 2.0 ** (axes - 2)
    of_kernels = features * filters * int(_PRODUCTS_A_KERNEL * growth)
    of_elements = (features + filters) * results * int(_PRODUCTS_AN_ELEMENT * growth)
    saved: int = features * filters * results * (3**axes - 2**axes)
    return max(0, saved - of_kernels - of_elements)


_OF_TAPS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])


class Tiles:
    """A convolution without strides of grouped arrays; called with data and kernel.

    Args:
        pads: elements before and after each spatial axis.
        dilation: of the kernel.
        taps: of the kernel, 1 or 3 along each axis.
        places: spatial extents of the result.
    """

    def __init__(
        self,
        pads: Sequence[tuple[int, int]],
        dilation: Sequence[int],
        taps: Sequence[int],
        places: tuple[int, ...],
    ):
        self.low = [low for low, _ in pads]
        self.places = places
        # Spatial axes that are divided into tiles.
        self.axes = [i for i, tap in enumerate(taps) if tap == 3]
        self.dilation = [d if tap == 3 else 1 for d, tap in zip(dilation, taps, strict=True)]
        self.results = [2 if tap == 3 else 1 for tap in taps]  # results of a tile along each axis
        self.tiles = [
            -(-n // (r * d)) for n, r, d in zip(places, self.results, self.dilation, strict=True)
        ]

    def __call__(self, x: np.ndarray, w: np.ndarray) -> Any:
        groups, batch, features = x.shape[:3]
        filters, rank = w.shape[1], len(self.places)
        kernels = self._kernels(w)
        stack = kernels.shape[:rank]
        kernels = kernels.reshape(-1, groups, filters, features)
        cut = list(zip(self.tiles, self.results, self.dilation, strict=True))
        result = np.empty((groups, batch, filters, *itertools.chain(*cut)), x.dtype)

        def compute(part: tuple[slice, list[slice]]) -> None:
            pictures, tiles = part
            data = self._data(x[:, pictures].swapaxes(1, 2), tiles)
            extents = data.shape[rank + 2 :]
            products = np.matmul(kernels, data.reshape(len(kernels), groups, features, -1))
            del data
            sums = self._results(products.reshape(*stack, groups, filters, *extents))
            into = result[:, pictures].swapaxes(1, 2)
            for each in itertools.product(*map(range, self.results)):
                place = [key for i in range(rank) for key in (tiles[i], each[i], slice(None))]
                into[(slice(None), slice(None), slice(None), *place)] = sums[each]

        size = math.prod(stack) * groups * max(features, filters)
        in_parts(compute, self._parts(batch, size), blas.threads())
        result = result.reshape(groups, batch, filters, *map(math.prod, cut))
        return result[(slice(None),) * 3 + tuple(map(slice, self.places))]

    def _parts(self, batch: int, size: int) -> Iterator[tuple[slice, list[slice]]]:
        """Ranges of images, with ranges of their tiles.

        Args:
            batch: number of images.
            size: elements in memory for each tile.
        """
        first = self.axes[0]
        ranges = [slice(0, n) for n in self.tiles]
        tiles = math.prod(self.tiles) * math.prod(self.dilation)
        together = min(-(-_COLUMNS // tiles), max(1, _CHUNK // (size * tiles)))
        length = max(1, _CHUNK // (size * tiles // self.tiles[first]))
        for picture in range(0, batch, together):
            for start in range(0, self.tiles[first], length):
                ranges[first] = slice(start, min(self.tiles[first], start + length))
                yield slice(picture, picture + together), list(ranges)

    # ---- sums of elements -----------------------------------------------------------------------

    def _data(self, x: np.ndarray, tiles: list[slice]) -> Any:
        """The four sums of elements of each tile: ``(*sums, groups, features, images, *extents)``."""
        sums, rank = self._halves(x, tiles), len(self.places)
        for i in self.axes:
            axis = rank + 2 + 2 * i  # the axis of tiles, once the axis of halves is gone
            first, last = _along(axis, slice(None, -1)), _along(axis, slice(1, None))
            even, odd = sums[_along(i, 0)], sums[_along(i, 1)]
            a, b, c, d = even[first], odd[first], even[last], odd[last]
            sums = np.empty((*a.shape[:i], 4, *a.shape[i:]), x.dtype)
            np.subtract(a, c, out=sums[_along(i, 0)])
            np.add(b, c, out=sums[_along(i, 1)])
            np.subtract(c, b, out=sums[_along(i, 2)])
            np.subtract(b, d, out=sums[_along(i, 3)])
        return sums

    def _halves(self, x: np.ndarray, tiles: list[slice]) -> Any:
        """Even and odd elements, with one more tile: a tile also reads the two elements of the next."""
        counts = [t.stop - t.start + (r == 2) for t, r in zip(tiles, self.results, strict=True)]
        extents = itertools.chain(*zip(counts, self.dilation, strict=True))
        halves = np.zeros((*self.results, *x.shape[:3], *extents), x.dtype)
        sources = [
            list(self._sources(i, x.shape[3 + i], tiles[i].start, counts[i]))
            for i in range(len(tiles))
        ]
        for choice in itertools.product(*sources):
            half = [each[0] for each in choice]
            to = [key for each in choice for key in (each[1], each[2])]
            key = (slice(None), slice(None), slice(None), *[each[3] for each in choice])
            halves[(*half, slice(None), slice(None), slice(None), *to)] = x[key]
        return halves

    def _sources(
        self, i: int, extent: int, start: int, count: int
    ) -> Iterator[tuple[int, slice, int, slice]]:
        """Half, tiles and position in the dilation of elements along an axis, and the elements."""
        step = self.results[i] * self.dilation[i]
        for half in range(self.results[i]):
            for place in range(self.dilation[i]):
                # The element of the first window.
                element = half * self.dilation[i] + place - self.low[i] + start * step
                first = max(0, -(element // step))
                last = max(first, min(count, -((element - extent) // step)))
                begin = element + first * step
                elements = slice(begin, begin + (last - first) * step, step)
                yield half, slice(first, last), place, elements if last > first else slice(0, 0)

    # ---- sums of taps and of products -----------------------------------------------------------

    def _kernels(self, w: np.ndarray) -> Any:
        """The four sums of taps along each axis: ``(*sums, groups, filters, features)``."""
        weights = reduce(np.kron, [_OF_TAPS if r == 2 else np.ones((1, 1)) for r in self.results])
        taps = w.reshape(-1, weights.shape[1])
        sums = matmul(weights.astype(w.dtype), taps.T)
        return sums.reshape(*[4 if r == 2 else 1 for r in self.results], *w.shape[:3])

    def _results(self, products: np.ndarray) -> Any:
        """The two results from the four products of each tile."""
        sums = products
        for i in self.axes:
            a, b, c, d = (sums[_along(i, place)] for place in range(4))
            sums = np.empty((*a.shape[:i], 2, *a.shape[i:]), products.dtype)
            even, odd = sums[_along(i, 0)], sums[_along(i, 1)]
            np.add(b, c, out=even)
            even += a
            np.subtract(b, c, out=odd)
            odd -= d
        return sums


def _along(axis: int, place: int | slice) -> tuple[int | slice, ...]:
    """The index of one or more places along an axis."""
    return (*[slice(None)] * axis, place)
