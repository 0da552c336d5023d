"""Boxes and regions of images (:mod:`mixnet.ops.vision`), with shortcuts that depend on the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.product import matmul
from mixnet.runtime.interpret.on_numpy.table import Run, rule, wide

_TILE = 128
"""The number of boxes that are compared with each other at once; survivors are compared with all later
boxes.
"""


@rule("survivors")
def _survivors(equation: Equation, **overlap: Any) -> Run:
    def run(candidates: Any, boxes: Any) -> Any:
        result = np.array(candidates)
        keep = result.reshape(-1, result.shape[-1])
        for each, rows in zip(keep, boxes.reshape(-1, *boxes.shape[-2:]), strict=True):
            _suppress(each, rows, **overlap)
        return result

    return run


def _suppress(keep: Any, boxes: np.ndarray, **overlap: Any) -> None:
    """Remove from ``keep`` the boxes that overlap an earlier one that stays."""
    columns = np.ascontiguousarray(boxes.T)
    waiting = np.flatnonzero(keep)
    while waiting.size:
        some, waiting = waiting[:_TILE], waiting[_TILE:]
        first = columns[:, some]
        stays = _settled(np.triu(_clashes(first, first, **overlap), 1))
        keep[some[~stays]] = False
        if waiting.size:
            beaten = _clashes(first[:, stays], columns[:, waiting], **overlap).any(0)
            keep[waiting[beaten]] = False
            waiting = waiting[~beaten]


def _settled(beats: np.ndarray) -> Any:
    """A mask of the boxes that stay: a box that stays removes the later ones that it beats."""
    before, stays = None, np.ones(len(beats), bool)
    while before is None or (before != stays).any():
        before, stays = stays, ~beats[stays].any(0)
    return stays


def _clashes(
    some: Any, every: Any, threshold: float, inclusive: bool, pixel: int, by_class: bool
) -> Any:
    """A matrix that says which of ``some`` boxes overlap which of ``every`` too much; boxes are columns."""
    kind = some.dtype.type
    some = some[:, :, None]
    both = _shared_area(some, every[:, None], pixel)
    union = some[4] + every[4] - both
    shared = np.where(both > 0, both / np.where(union > 0, union, kind(1)), kind(0))
    limit = kind(threshold)
    clashes = shared >= limit if inclusive else shared > limit
    return clashes & (some[5] == every[5]) if by_class else clashes


def _shared_area(one: Any, other: Any, pixel: int) -> Any:
    """The area that boxes share."""
    zero, more = one.dtype.type(0), one.dtype.type(pixel)
    area = None
    for axis in range(2):
        side = np.minimum(one[2 + axis], other[2 + axis]) - np.maximum(one[axis], other[axis])
        side = np.maximum(side + more if pixel else side, zero)
        area = side if area is None else area * side
    return area


@rule("weighted_regions")
def _weighted_regions(equation: Equation, own: Any, **_: object) -> Run:
    aval = equation.outvars[0].aval
    kind = wide(aval.dtype)

    def run(data: Any, number: Any, rows: Any, columns: Any) -> Any:
        result = np.zeros(aval.shape, kind)
        pictures = np.minimum(number, data.shape[0] - 1)
        across, down = _reached(rows), _reached(columns)
        for i in np.flatnonzero(number >= 0):
            y, x = slice(*across[i]), slice(*down[i])
            features = data[pictures[i], :, y, x].astype(kind, copy=False)
            tall, wide_ = rows[i, :, y].astype(kind), columns[i, :, x].astype(kind)
            result[i] = _of_own(features, tall, wide_, own) if own else _sums(features, tall, wide_)
        return result.astype(aval.dtype, copy=False)

    return run


def _reached(weights: np.ndarray) -> Any:
    """The range of elements with a weight, for each region: ``(regions, 2)``, the end excluded."""
    used = (weights != 0).any(1)
    first = used.argmax(1)
    last = used.shape[1] - used[:, ::-1].argmax(1)
    return np.stack([first, np.where(used.any(1), last, first)], 1).tolist()


def _sums(features: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    channels, height, width = features.shape
    inner = matmul(features.reshape(channels * height, width), columns.T)
    return matmul(rows, inner.reshape(channels, height, len(columns)))


def _of_own(features: Any, rows: np.ndarray, columns: np.ndarray, own: tuple[int, int]) -> Any:
    channels, *extents = features.shape
    features = features.reshape(channels // math.prod(own), *own, *extents)
    return np.einsum("cpqhw,ph,qw->cpq", features, rows, columns)
