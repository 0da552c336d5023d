"""Convolutions: data windows as matrix rows, and a BLAS matrix product.

Here data has the axes ``(groups, batch, features, *places)`` and a kernel ``(groups, filters,
features, *taps)``. Their order in memory may differ; windows are copied along the axes that are
contiguous. The gradient of the kernel is such a convolution with many taps and a small result. The
gradient of the data has gaps between its elements (``lhs_dilation``); ``_spread`` computes it by
adding what each element contributes, without the zeros in the gaps. The gradient of the kernel of a
transposed convolution has both: there data and kernel change roles, so that the gaps become strides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.product import matmul
from mixnet.runtime.interpret.on_numpy.shape import padded
from mixnet.runtime.interpret.on_numpy.table import Run, rule, wide
from mixnet.runtime.interpret.on_numpy.tiles import Tiles, products_saved

_CHUNK = 1 << 21
"""The most elements of a matrix of windows; a larger one is created in parts."""
_LARGE_RESULT = 1 << 17
"""The number of elements from which a gradient of a kernel is computed in the layout of the kernel.

Small products take up to 1.8 times as long that way, large ones a tenth longer; putting a large result
in order afterwards would take longer still, since it does not fit in a cache.
"""
_FAR = 8
"""The stride from which adding whole runs of taps is faster in NumPy than adding single taps."""
_LARGE = 8
"""How many times more taps than data elements a kernel has whose taps are added together."""


@rule("conv_general_dilated")
def _convolution(
    equation: Equation,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: object,
) -> Run:
    numbers = dimension_numbers
    aval = equation.outvars[0].aval
    dtype, kind = aval.dtype, wide(aval.dtype)
    shape = [aval.shape[axis] for axis in numbers.out_spec]
    permutation = [numbers.out_spec.index(axis) for axis in range(len(shape))]
    groups = feature_group_count * batch_group_count
    places = tuple(shape[2:])
    convolve = _Convolution(window_strides, padding, lhs_dilation, rhs_dilation, places)

    def run(data: Any, weight: Any) -> Any:
        x = data.astype(kind, copy=False).transpose(numbers.lhs_spec)
        w = weight.astype(kind, copy=False).transpose(numbers.rhs_spec)
        w = w.reshape(groups, -1 if w.size else w.shape[0] // groups, *w.shape[1:])
        if not x.size or not w.size or not math.prod(shape):
            return np.zeros(aval.shape, dtype)
        if groups == 1:
            x = x[None]
        elif batch_group_count > 1:
            x = x.reshape(groups, -1, *x.shape[1:])
        else:
            x = x.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(0, 1)
        result = convolve(x, w)  # (groups, batch, filters, *places)
        result = result[0] if groups == 1 else result.swapaxes(0, 1).reshape(shape)
        return result.transpose(permutation).astype(dtype, copy=False)

    return run


def skips_zeros(spread: Sequence[int], extents: Sequence[int], places: Sequence[int]) -> bool:
    """Whether to spread data with gaps between its elements, instead of filling the gaps with zeros.

    Spreading multiplies every tap with every element; windows multiply every tap at every place of the
    result, which has few places in the gradient of a kernel.
    """
    return any(d > 1 for d in spread) and math.prod(extents) <= math.prod(places)


class _Convolution:
    """A convolution of grouped arrays; called with data and kernel."""

    def __init__(
        self,
        strides: Sequence[int],
        pads: Any,
        spread: Any,
        dilation: Sequence[int],
        places: tuple[int, ...],
    ):
        self.strides, self.pads, self.dilation = strides, pads, dilation
        self.spread, self.places = spread, places

    def __call__(self, x: Any, w: np.ndarray) -> Any:
        if self._changes_roles(x, w):
            return self._exchanged(x, w)
        if self._takes_tiles(x, w):
            result = Tiles(self.pads, self.dilation, w.shape[3:], self.places)(x, w)
            # An infinite element would spoil the sums of its neighbours, to which it does not contribute.
            if np.isfinite(result.max()) and np.isfinite(result.min()):
                return result
        spreads = all(s == 1 for s in self.strides) and (
            skips_zeros(self.spread, x.shape[3:], self.places) or self._spreads_less(x, w)
        )
        if spreads:
            return self._spread(x, w)
        if any(d > 1 for d in self.spread) or any(any(p) for p in self.pads):
            config = [
                (low, high, d - 1) for (low, high), d in zip(self.pads, self.spread, strict=True)
            ]
            x = padded(x, 0, [(0, 0, 0)] * 3 + config)
        return self._correlate(x, w)

    def _spreads_less(self, x: np.ndarray, w: np.ndarray) -> bool:
        """Whether spreading copies fewer elements than windows do; kernels may need a copy, too."""
        filters: int
        batch, filters, features = x.shape[1], w.shape[1], w.shape[2]
        if math.prod(w.shape[3:]) == 1 or any(d > 1 for d in self.spread):
            return False
        # Every element is multiplied by every tap, outside the result too: wasteful if the result is small.
        if math.prod(x.shape[3:]) > 2 * math.prod(self.places):
            return False
        windows: int = batch * features * math.prod(self.places)
        turned = 0 if w.flags.c_contiguous else 3 * filters * features
        spread: int = 2 * batch * filters * math.prod(x.shape[3:])
        return spread < windows + turned

    def _takes_tiles(self, x: np.ndarray, w: np.ndarray) -> bool:
        """Whether tiles save more products than their sums cost; features must not be the innermost axis in
        memory.
        """
        plain = x.dtype.kind == "f" and all(s == 1 for s in (*self.strides, *self.spread))
        if not plain or (x.strides[2] <= min(x.strides[3:]) and x.shape[2] > 1):
            return False
        batch, features = x.shape[1:3]
        return products_saved(features, w.shape[1], w.shape[3:], batch, self.places) > 0

    # ---- data and kernel exchanged --------------------------------------------------------------

    def _changes_roles(self, x: np.ndarray, w: np.ndarray) -> bool:
        """Whether to swap data and kernel, for data with gaps between its elements."""
        return (
            any(d > 1 for d in self.spread)
            and all(s == 1 for s in self.strides)
            and all(d == 1 for d in self.dilation)
            and max(math.prod(x.shape[3:]), math.prod(self.places)) < math.prod(w.shape[3:])
        )

    def _exchanged(self, x: np.ndarray, w: np.ndarray) -> Any:
        """The data as a kernel with gaps, moved over the kernel; positions come out in reverse order.

        Place ``p`` sums ``x[i] w[apart i + low - p]`` over ``i``.
        """
        pads = [
            (places - 1 - low, low + (extent - 1) * dilation + 1 - taps)
            for (low, _), extent, dilation, taps, places in zip(
                self.pads, x.shape[3:], self.spread, w.shape[3:], self.places, strict=True
            )
        ]
        ones = (1,) * len(pads)
        convolve = _Convolution(ones, pads, ones, self.spread, self.places)
        return np.flip(convolve(w, x).swapaxes(1, 2), list(range(3, x.ndim)))

    # ---- from windows ---------------------------------------------------------------------------

    def _correlate(self, x: np.ndarray, w: np.ndarray) -> Any:
        """Products of windows with kernels; the data is padded."""
        groups, batch, features = x.shape[:3]
        filters, taps = w.shape[1], w.shape[3:]
        if groups > 1 and filters == 1:
            # The gradient of a kernel has few places, and that of a single image no features either.
            if batch == 1 and (features > 1 or math.prod(self.places) < math.prod(taps)):
                return self._by_places(x, w)
            if features == 1:
                return self._by_taps(x, w)
        windows = _windows(x, self.places, taps, self.strides, self.dilation)
        count, size = math.prod(self.places), math.prod(taps)
        each = groups * features * size * count
        if count < size and batch * each > _CHUNK:
            parts = list(_slices(features, _CHUNK // max(1, batch * each // features)))
            total = 0
            for part in parts:
                total = total + _product(windows[:, :, part], w[:, :, part], x.strides)
            return total
        if batch * each <= _CHUNK or batch == 1:
            return _product(windows, w, x.strides)
        result = None
        for part in _slices(batch, _CHUNK // each):
            total = _product(windows[:, part], w, x.strides)
            if result is None:
                result = np.empty_like(total, shape=(groups, batch, filters, *self.places))
            result[:, part] = total
        return result

    def _by_taps(self, x: Any, w: Any) -> Any:
        """One filter for each feature: sums of shifted data, each times one tap."""
        taps = w.shape[3:]
        result = None
        spare = None
        for tap in itertools.product(*map(range, taps)):
            met = x[(..., *self._met(tap))]
            factor = w[(slice(None), slice(None), slice(None), *tap)]
            factor = factor.reshape(factor.shape + (1,) * len(taps))
            if result is None:
                result = met * factor
                spare = np.empty_like(result)
            else:
                np.multiply(met, factor, out=spare)
                result += spare
        return result

    def _by_places(self, x: Any, w: np.ndarray) -> Any:
        """The gradient of such a kernel: for each place a sum over the data that it was multiplied with."""
        groups = x.shape[0]
        result = np.empty((*self.places, groups), x.dtype)
        axes = list(range(x.ndim - 1))
        for place in itertools.product(*map(range, self.places)):
            key = tuple(
                slice(p * s, p * s + (k - 1) * d + 1, d)
                for p, s, d, k in zip(place, self.strides, self.dilation, w.shape[3:], strict=True)
            )
            met = x[(slice(None), 0, slice(None), *key)]
            result[place] = np.einsum(met, axes, w[:, 0], axes, [0])
        return np.moveaxis(result, -1, 0).reshape(groups, 1, 1, *self.places)

    def _met(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """The data that a tap is multiplied with."""
        return tuple(
            slice(t * d, t * d + (p - 1) * s + 1, s)
            for t, d, p, s in zip(tap, self.dilation, self.places, self.strides, strict=True)
        )

    # ---- by spreading the data ------------------------------------------------------------------

    def _spread(self, x: Any, w: Any) -> Any:
        """The contributions of each data element to the positions around it, added up. No strides.

        Element ``i`` and tap ``t``, counted from the last, reach place ``apart i + dilation t`` of a
        result that is cropped afterwards. With large gaps, several taps are added at once; of a large kernel
        all of them, for one element at a time.
        """
        groups, batch = x.shape[:2]
        filters, taps, extents = w.shape[1], w.shape[3:], x.shape[3:]
        axes = range(len(taps))
        last = x.strides[2] == min(x.strides[2:]) and extents != (1,) * len(extents)
        by_elements = math.prod(taps) > _LARGE * math.prod(extents)
        together = [
            a if a >= _FAR and d == 1 and not by_elements else 1
            for a, d in zip(self.spread, self.dilation, strict=True)
        ]
        reached = [
            (-(-k // c) - 1) * c * d + (n - 1) * a + c
            for k, c, d, n, a in zip(
                taps, together, self.dilation, extents, self.spread, strict=True
            )
        ]
        if last:  # features are contiguous in memory, and will be in the result
            spread_out = np.moveaxis(np.zeros((groups, batch, *reached, filters), x.dtype), -1, 2)
        else:
            spread_out = np.zeros((groups, batch, filters, *reached), x.dtype)
        each = groups * filters * math.prod(taps) * math.prod(extents)
        for part in _slices(batch, _CHUNK // each):
            contributions = self._contributions(x[:, part], w, last)
            if by_elements:
                self._add_kernels(spread_out[:, part], contributions, taps)
                continue
            for first in itertools.product(*[range(0, taps[i], together[i]) for i in axes]):
                to = tuple(
                    slice(f * d, f * d + (n - 1) * a + c, a if c == 1 else 1)
                    for f, d, n, a, c in zip(
                        first, self.dilation, extents, self.spread, together, strict=True
                    )
                )
                runs = [slice(f, f + c) for f, c in zip(first, together, strict=True)]
                places = spread_out[:, part][(slice(None),) * 3 + to]
                _add_runs(
                    places, contributions[(slice(None),) * 3 + tuple(runs)], extents, together
                )
        return self._cut(spread_out, taps)

    def _add_kernels(self, places: Any, contributions: Any, taps: Sequence[int]) -> None:
        """Add the contributions of all taps, for one data element after the other; changes ``places``."""
        extents = contributions.shape[3 + len(taps) :]
        for element in itertools.product(*map(range, extents)):
            to = tuple(
                slice(i * a, i * a + (k - 1) * d + 1, d)
                for i, a, k, d in zip(element, self.spread, taps, self.dilation, strict=True)
            )
            view = places[(slice(None),) * 3 + to]
            view += contributions[(..., *element)]

    def _cut(self, full: Any, taps: Sequence[int]) -> Any:
        """Crop a result that covers every position that the data reaches."""
        config = []
        for (low, _), k, d, places, reached in zip(
            self.pads, taps, self.dilation, self.places, full.shape[3:], strict=True
        ):
            before = low - d * (k - 1)
            config.append((before, places - reached - before, 0))
        if all(before <= 0 and after <= 0 for before, after, _ in config):
            cut = tuple(
                slice(-before, n + after)
                for (before, after, _), n in zip(config, full.shape[3:], strict=True)
            )
            return full[(slice(None),) * 3 + cut]
        return padded(full, 0, [(0, 0, 0)] * 3 + config)

    def _contributions(self, x: Any, w: Any, last: bool) -> Any:
        """The data times each tap, counted from the last: (groups, batch, filters, *taps, *extents)."""
        groups, batch, features, *extents = x.shape
        filters, taps = w.shape[1], w.shape[3:]
        # The kernel of a gradient is reversed; the original has the memory layout that BLAS reads.
        turned = all(step < 0 for step in w.strides[3:])
        if turned:
            w = np.flip(w, list(range(3, w.ndim)))
        kernel = w.reshape(groups, filters, features, -1)
        if last:
            kernel = kernel.transpose(0, 2, 3, 1).reshape(groups, features, -1)
            rows = np.moveaxis(x, 2, -1).reshape(groups, -1, features)
            products = matmul(rows, kernel).reshape(groups, batch, *extents, *taps, filters)
            spatial = range(2, 2 + len(taps))
            products = products.transpose(
                0, 1, products.ndim - 1, *[len(taps) + i for i in spatial], *spatial
            )
        else:
            kernel = kernel.transpose(0, 2, 1, 3).reshape(groups, 1, features, -1).swapaxes(2, 3)
            columns = x.reshape(groups, batch, features, -1)
            products = matmul(kernel, columns).reshape(groups, batch, filters, *taps, *extents)
        return products if turned else np.flip(products, list(range(3, 3 + len(taps))))


def _add_runs(
    places: Any, contributions: Any, extents: Sequence[int], together: Sequence[int]
) -> None:
    """Add the contributions of data elements to runs of adjacent positions.

    Args:
        places: ``(groups, batch, filters, *(extent * together))``; changed.
        contributions: ``(groups, batch, filters, *taps, *extents)``, at most ``together`` taps.
        extents: of the data.
        together: how many places each element has.
    """
    axes = range(len(extents))
    split = [n for each in zip(extents, together, strict=True) for n in each]
    view = places.reshape(*places.shape[:3], *split)  # a view: each axis is only divided
    reached = [each for i in axes for each in (slice(None), slice(contributions.shape[3 + i]))]
    view = view[(slice(None),) * 3 + tuple(reached)]
    view += contributions.transpose(
        0, 1, 2, *[axis for i in axes for axis in (3 + len(axes) + i, 3 + i)]
    )


def _slices(count: int, length: int) -> Iterator[slice]:
    length = max(1, length)
    return (slice(i, min(count, i + length)) for i in range(0, count, length))


def _windows(
    x: Any,
    places: Sequence[int],
    taps: Sequence[int],
    strides: Any,
    dilation: Any,
) -> Any:
    """A view of the data with the axes ``(groups, batch, features, *places, *taps)``."""
    steps = x.strides[3:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:3], *places, *taps),
        (
            *x.strides[:3],
            *[step * s for step, s in zip(steps, strides, strict=True)],
            *[step * d for step, d in zip(steps, dilation, strict=True)],
        ),
        writeable=False,
    )


def _product(windows: Any, w: np.ndarray, strides: Sequence[int]) -> Any:
    """The sum over features and taps of windows times kernels: (groups, batch, filters, *places).

    Windows are copied to a matrix whose innermost axes are those that are contiguous in memory.
    """
    groups, batch, features = windows.shape[:3]
    spatial = (windows.ndim - 3) // 2
    places, taps = windows.shape[3 : 3 + spatial], windows.shape[3 + spatial :]
    filters = w.shape[1]
    count, size = math.prod(places), math.prod(taps)
    p = list(range(3, 3 + spatial))
    k = list(range(3 + spatial, 3 + 2 * spatial))
    extents = (batch, features, count * size)
    closest = min(
        (step, axis) for axis, step in enumerate(strides[1:]) if axis > 1 or extents[axis] > 1
    )[1]
    columns = (groups, filters, features * size)
    if closest == 0:  # the batch
        matrix = windows.transpose(0, 2, *k, *p, 1).reshape(groups, features * size, -1)
        product = matmul(w.reshape(columns), matrix)
        return np.moveaxis(product.reshape(groups, filters, *places, batch), -1, 1)
    if closest == 1:  # features
        matrix = windows.transpose(0, 1, *p, *k, 2).reshape(groups, -1, size * features)
        kernel = np.moveaxis(w, 2, -1).reshape(groups, filters, -1)
        product = matmul(matrix, kernel.swapaxes(1, 2))
        return np.moveaxis(product.reshape(groups, batch, *places, filters), -1, 2)
    if size == 1 or places[-1] >= taps[-1]:
        if size == 1 and batch > 1:  # nothing is copied if the data is contiguous
            matrix = windows.reshape(groups, batch, features, count)
            product = matmul(w.reshape(groups, 1, filters, features), matrix)
            return product.reshape(groups, batch, filters, *places)
        matrix = windows.transpose(0, 2, *k, 1, *p).reshape(groups, features * size, -1)
        product = matmul(w.reshape(columns), matrix)
        return product.reshape(groups, filters, batch, *places).swapaxes(1, 2)
    matrix = windows.transpose(0, 1, *p, 2, *k).reshape(groups, -1, features * size)
    kernel = w.reshape(columns)
    if batch * count * filters >= _LARGE_RESULT:
        product = matmul(kernel, matrix.swapaxes(1, 2))
        return product.reshape(groups, filters, batch, *places).swapaxes(1, 2)
    product = matmul(matrix, kernel.swapaxes(1, 2))
    return np.moveaxis(product.reshape(groups, batch, *places, filters), -1, 2)
