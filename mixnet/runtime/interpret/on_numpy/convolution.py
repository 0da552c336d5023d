"""Convolutions: the windows of the data as rows of a matrix, and a product of matrices by BLAS.

Inside, data has the axes ``(groups, batch, features, *places)`` and a kernel ``(groups, filters,
features, *taps)``, whatever their order in memory, which decides how windows are copied: along
what lies side by side. A gradient of the kernel is such a convolution with many taps and few places
of the result; one of the data has its elements set apart by ``lhs_dilation``, which ``_spread``
computes from the data side, without the zeros between. The gradient of the kernel of a transposed convolution has both,
and is computed with the zeros.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mixnet.runtime.interpret.on_numpy.product import matmul
from mixnet.runtime.interpret.on_numpy.shape import padded
from mixnet.runtime.interpret.on_numpy.table import Run, rule, wide

_CHUNK = 1 << 21
"""Elements of a matrix of windows: larger ones are made in parts."""


@rule("conv_general_dilated")
def _convolution(
    equation: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> Run:
    numbers = dimension_numbers
    aval = equation.outvars[0].aval
    dtype, kind = aval.dtype, wide(aval.dtype)
    shape = [aval.shape[axis] for axis in numbers.out_spec]
    back = [numbers.out_spec.index(axis) for axis in range(len(shape))]
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
        return result.transpose(back).astype(dtype, copy=False)

    return run


def skips_zeros(apart: Sequence[int], extents: Sequence[int], places: Sequence[int]) -> bool:
    """Whether data whose elements are set apart is better spread than filled with zeros.

    Spreading multiplies every tap with every element, windows every tap at every place of the result: of which there are few
    in the gradient of a kernel.
    """
    return any(d > 1 for d in apart) and math.prod(extents) <= math.prod(places)


class _Convolution:
    """A convolution of grouped arrays; called with data and kernel."""

    def __init__(self, strides: Any, pads: Any, apart: Any, dilation: Any, places: tuple[int, ...]):
        self.strides, self.pads, self.dilation = strides, pads, dilation
        self.apart, self.places = apart, places

    def __call__(self, x: Any, w: Any) -> Any:
        spreads = all(s == 1 for s in self.strides) and (
            skips_zeros(self.apart, x.shape[3:], self.places) or self._spreads_less(x, w)
        )
        if spreads:
            return self._spread(x, w)
        if any(d > 1 for d in self.apart) or any(any(p) for p in self.pads):
            config = [
                (low, high, d - 1) for (low, high), d in zip(self.pads, self.apart, strict=True)
            ]
            x = padded(x, 0, [(0, 0, 0)] * 3 + config)
        return self._correlate(x, w)

    def _spreads_less(self, x: Any, w: Any) -> bool:
        """Whether fewer elements are copied from the data's side; kernels may need a copy too."""
        batch, filters, features = x.shape[1], w.shape[1], w.shape[2]
        if math.prod(w.shape[3:]) == 1 or any(d > 1 for d in self.apart):
            return False
        windows = batch * features * math.prod(self.places)
        turned = 0 if w.flags.c_contiguous else 3 * filters * features
        return 2 * batch * filters * math.prod(x.shape[3:]) < windows + turned

    # ---- from windows ---------------------------------------------------------------------------

    def _correlate(self, x: Any, w: Any) -> Any:
        """Products of windows with kernels; the data is padded."""
        groups, batch, features = x.shape[:3]
        filters, taps = w.shape[1], w.shape[3:]
        if groups > 1 and filters == 1:
            if features == 1:
                return self._by_taps(x, w)
            if batch == 1:
                return self._by_places(x, w)
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
        made = None
        for part in _slices(batch, _CHUNK // each):
            total = _product(windows[:, part], w, x.strides)
            if made is None:
                made = np.empty_like(total, shape=(groups, batch, filters, *self.places))
            made[:, part] = total
        return made

    def _by_taps(self, x: Any, w: Any) -> Any:
        """One filter for each feature: sums of shifted data, each times one tap."""
        taps = w.shape[3:]
        made = None
        spare: Any = None
        for tap in itertools.product(*map(range, taps)):
            met = x[(..., *self._met(tap))]
            factor = w[(slice(None), slice(None), slice(None), *tap)]
            factor = factor.reshape(factor.shape + (1,) * len(taps))
            if made is None:
                made = met * factor
                spare = np.empty_like(made)
            else:
                np.multiply(met, factor, out=spare)
                made += spare
        return made

    def _by_places(self, x: Any, w: Any) -> Any:
        """The gradient of such a kernel: for each place a sum over all that it met."""
        groups = x.shape[0]
        made: Any = np.empty((groups, 1, 1, *self.places), x.dtype)
        axes = list(range(x.ndim - 1))
        for place in itertools.product(*map(range, self.places)):
            key = tuple(
                slice(p * s, p * s + (k - 1) * d + 1, d)
                for p, s, d, k in zip(place, self.strides, self.dilation, w.shape[3:], strict=True)
            )
            met = x[(slice(None), 0, slice(None), *key)]
            made[(slice(None), 0, 0, *place)] = np.einsum(met, axes, w[:, 0], axes, [0])
        return made

    def _met(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """The data that a tap meets."""
        return tuple(
            slice(t * d, t * d + (p - 1) * s + 1, s)
            for t, d, p, s in zip(tap, self.dilation, self.places, self.strides, strict=True)
        )

    # ---- from the data's side -------------------------------------------------------------------

    def _spread(self, x: Any, w: Any) -> Any:
        """What each element of the data gives to the places around it, added up. No strides."""
        groups, batch = x.shape[:2]
        filters, taps, extents = w.shape[1], w.shape[3:], x.shape[3:]
        last = x.strides[2] == min(x.strides[2:]) and extents != (1,) * len(extents)
        shape = (groups, batch, filters, *self.places)
        made = np.zeros(shape, x.dtype)
        if last:  # features side by side, and so they will be in the result
            made = np.zeros((groups, batch, *self.places, filters), x.dtype)
            made = np.moveaxis(made, -1, 2)
        each = groups * filters * math.prod(taps) * math.prod(extents)
        for part in _slices(batch, _CHUNK // each):
            given = self._given(x[:, part], w, last)
            for i, tap in enumerate(itertools.product(*map(range, taps))):
                to, take = self._reached(tap, extents)
                made[(slice(None), part, slice(None), *to)] += given[i][(..., *take)]
        return made

    def _given(self, x: Any, w: Any, last: bool) -> list[Any]:
        """For each tap what the data times that tap is: (groups, batch, filters, *extents)."""
        groups, batch, features, *extents = x.shape
        filters, taps = w.shape[1], math.prod(w.shape[3:])
        # A gradient's kernel is turned around; the one it comes from lies in memory as BLAS reads it.
        turned = all(step < 0 for step in w.strides[3:])
        if turned:
            w = np.flip(w, list(range(3, w.ndim)))
        order = range(taps)[::-1] if turned else range(taps)
        kernel = w.reshape(groups, filters, features, taps)
        if last:
            kernel = kernel.transpose(0, 2, 3, 1).reshape(groups, features, -1)
            rows = np.moveaxis(x, 2, -1).reshape(groups, -1, features)
            products = matmul(rows, kernel).reshape(groups, batch, *extents, taps, filters)
            return [np.moveaxis(products[..., i, :], -1, 2) for i in order]
        kernel = kernel.transpose(0, 2, 1, 3).reshape(groups, 1, features, -1).swapaxes(2, 3)
        columns = x.reshape(groups, batch, features, -1)
        products = matmul(kernel, columns).reshape(groups, batch, filters, taps, *extents)
        return [products[:, :, :, i] for i in order]

    def _reached(
        self, tap: Sequence[int], extents: Sequence[int]
    ) -> tuple[list[slice], list[slice]]:
        """Slices of the result that a tap writes, and of the data that it comes from."""
        to, take = [], []
        for t, dilation, apart, (low, _), out, extent in zip(
            tap, self.dilation, self.apart, self.pads, self.places, extents, strict=True
        ):
            begin = low - t * dilation  # where the first element goes
            first = max(0, -(begin // apart))
            last = min(extent, (out - 1 - begin) // apart + 1)
            take.append(slice(first, max(first, last)))
            start = begin + first * apart
            to.append(slice(start, start + (last - first - 1) * apart + 1, apart)
                      if last > first else slice(0, 0))  # fmt: skip
        return to, take


def _slices(count: int, length: int) -> Iterator[slice]:
    length = max(1, length)
    return (slice(i, min(count, i + length)) for i in range(0, count, length))


def _windows(
    x: Any, places: Sequence[int], taps: Sequence[int], strides: Any, dilation: Any
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


def _product(windows: Any, w: Any, strides: Sequence[int]) -> Any:
    """The sum over features and taps of windows times kernels: (groups, batch, filters, *places).

    Windows are copied to a matrix whose innermost axes are those that lie side by side.
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
        if size == 1 and batch > 1:  # nothing is copied where data has no gaps
            matrix = windows.reshape(groups, batch, features, count)
            product = matmul(w.reshape(groups, 1, filters, features), matrix)
            return product.reshape(groups, batch, filters, *places)
        matrix = windows.transpose(0, 2, *k, 1, *p).reshape(groups, features * size, -1)
        product = matmul(w.reshape(columns), matrix)
        return product.reshape(groups, filters, batch, *places).swapaxes(1, 2)
    matrix = windows.transpose(0, 1, *p, 2, *k).reshape(groups, -1, features * size)
    product = matmul(matrix, w.reshape(columns).swapaxes(1, 2))
    return np.moveaxis(product.reshape(groups, batch, *places, filters), -1, 2)
