"""Reader of pooling: the operator ``Pooling``, or slices of the data where it has no such windows.

Windows with gaps, and the places of maxima, are made of one slice for each element of a window.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.extents import is_open
from mixnet.onnx.load.layers import padded, window
from mixnet.onnx.load.table import Call, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_KINDS = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "sum"}


@reads(*_KINDS)
def _(g: Reading, call: Call) -> Any:
    kind = _KINDS[call.node.op_type]
    windows = _Windows(g, call)
    if len(call.node.output) > 1 and call.node.output[1]:
        return windows.largest_with_places(g, call.x, call.get("storage_order", 0))
    if g.dtype(call.x).kind != "f" and kind == "max":
        return windows.combined(g, call.x, "broadcast_maximum", windows.least(g.dtype(call.x)))
    power = float(call.get("p", 2))
    x = call.x
    if kind == "sum":
        x = g.op("_npi_power_scalar", g.op("_npi_absolute", x), scalar=power)
    pooled = windows.pooled(g, x, kind, bool(call.get("count_include_pad", 0)))
    return g.op("_npi_power_scalar", pooled, scalar=1 / power) if kind == "sum" else pooled


class _Windows:
    """Where the windows of a node are.

    Args:
        g: the graph.
        call: a pooling node.
    """

    def __init__(self, g: Reading, call: Call):
        self.kernel = list(call.get("kernel_shape"))
        self.strides, self.dilate, self.before, self.after = window(g, call, self.kernel)
        self.extents = list(g.shape(call.x)[2:])
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilate, strict=True)]
        self.rounds_up = bool(call.get("ceil_mode", 0))
        rest = [
            n + b + a - r
            for n, b, a, r in zip(self.extents, self.before, self.after, self.reach, strict=True)
        ]
        self.hangs_over = self.rounds_up and any(
            self._hangs_over(*each)
            for each in zip(rest, self.strides, self.extents, self.before, self.reach, strict=True)
        )
        """Whether rounding up gives windows that start in the data and end after its padding."""
        self.count = [
            self._count(left, *each)
            for left, each in zip(
                rest, zip(self.strides, self.extents, self.before, strict=True), strict=True
            )
        ]

    @staticmethod
    def _hangs_over(left: Any, stride: int, extent: Any, before: int, reach: int) -> bool:
        if not is_open(extent):
            return bool(left % stride and (left // stride + 1) * stride < extent + before)
        if before or reach < stride:
            raise NotDefinedError("where the last window of an open axis starts is not known")
        return True  # it starts in the data, wherever that ends

    def _count(self, left: Any, stride: int, extent: Any, before: int) -> Any:
        """How many windows an axis has; the last one starts in the data or in the padding before it."""
        if not self.rounds_up:
            return left // stride + 1
        count = -(-left // stride) + 1
        if is_open(extent):
            return count
        return count - ((count - 1) * stride >= extent + before)

    @staticmethod
    def least(dtype: np.dtype) -> float:
        """A number that no element is below."""
        return -np.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)

    def pooled(self, g: Reading, x: object, kind: str, counts_padding: bool) -> Any:
        """Maxima, means or sums of the windows."""
        gaps = any(each != 1 for each in self.dilate)
        uneven = self.before != self.after
        if not gaps and not (uneven and (kind == "avg" or self.hangs_over)):
            return self._by_operator(g, x, kind, counts_padding)
        if kind == "max":
            return self.combined(g, x, "broadcast_maximum", -np.inf)
        total = self.combined(g, x, "_npi_add", 0.0)
        if kind == "sum":
            return total
        return g.op("_npi_true_divide", total, self._elements(counts_padding).astype(g.dtype(x)))

    def _by_operator(self, g: Reading, x: object, kind: str, counts_padding: bool) -> Any:
        pad = self.before
        if self.before != self.after:
            value = -np.inf if kind == "max" else 0.0
            x, pad = padded(g, x, self.before, self.after, value), [0] * len(pad)
        more = {"count_include_pad": counts_padding} if kind == "avg" else {}
        convention = "full" if self.hangs_over else "valid"
        return g.op(
            "Pooling", x, kernel=tuple(self.kernel), stride=tuple(self.strides), pad=tuple(pad),
            pool_type=kind, pooling_convention=convention, **more,
        )  # fmt: skip

    def _ends(self) -> list[int]:
        """Padding after the data that the last windows reach into, those that hang over among them."""
        axes = zip(self.count, self.strides, self.reach, self.extents, self.before, strict=True)
        return [max((c - 1) * s + r - n - b, 0) for c, s, r, n, b in axes]

    def combined(self, g: Reading, x: object, op: str, value: float) -> Any:
        """The elements of each window, combined along one axis after another.

        Args:
            g: the graph.
            x: data.
            op: an operator of two arrays.
            value: of the padding.
        """
        x = self._padded(g, x, value)
        for i, size in enumerate(self.kernel):
            parts = [self._slice(g, x, i, place) for place in range(size)]
            x = parts[0]
            for each in parts[1:]:
                x = g.op(op, x, each)
        return x

    def _padded(self, g: Reading, x: object, value: float) -> Any:
        ends = self._ends()
        return padded(g, x, self.before, ends, value) if any(self.before + ends) else x

    def _slice(self, g: Reading, x: object, i: int, place: int) -> Any:
        """The elements at a place of the windows along a spatial axis."""
        begin = place * self.dilate[i]
        end = begin + (self.count[i] - 1) * self.strides[i] + 1
        rest = (None,) * (len(self.kernel) - i - 1)
        steps = (1,) * (i + 2) + (self.strides[i],) + (1,) * len(rest)
        head = (None,) * (i + 2)
        return g.op("slice", x, begin=(*head, begin, *rest), end=(*head, end, *rest), step=steps)

    def _elements(self, counts_padding: bool) -> np.ndarray:
        """How many elements each window has."""
        total = np.ones((1, 1))
        for i, size in enumerate(self.kernel):
            first = np.arange(self.count[i])[:, None] * self.strides[i] - self.before[i]
            at = first + np.arange(size) * self.dilate[i]
            low, high = (
                (-self.before[i], self.extents[i] + self.after[i])
                if counts_padding
                else (0, self.extents[i])
            )
            inside = ((at >= low) & (at < high)).sum(1)
            total = total[..., None] * np.maximum(inside, 1)
        return total

    def largest_with_places(self, g: Reading, x: object, columns_first: int) -> list[Any]:
        """Maxima, and their places in the flattened data.

        Args:
            g: the graph.
            x: data.
            columns_first: 1 for places that count along the first spatial axis first.
        """
        shape, dtype = g.shape(x), g.dtype(x)
        padded = self._padded(g, x, self.least(dtype))
        numbers = np.arange(math.prod(self.extents))
        if columns_first:
            numbers = numbers.reshape(self.extents[::-1]).T
        numbers = numbers.reshape(self.extents)
        rows = np.arange(math.prod(shape[:2])).reshape(*shape[:2], *(1,) * len(self.kernel))
        best = None
        where = None
        for places in itertools.product(*map(range, self.kernel)):
            part = padded
            for i, place in enumerate(places):
                part = self._slice(g, part, i, place)
            at = self._numbers_at(numbers, places) + rows * numbers.size
            if best is None:
                best, where = part, at
                continue
            above = g.op("_npi_greater", part, best)
            best = g.op("broadcast_maximum", best, part)
            where = g.op("_npi_where", above, at, where)
        return [best, where]

    def _numbers_at(self, numbers: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
        """The numbers of the elements at a place of all windows; any number for padding."""
        grid = [
            np.clip(np.arange(c) * s - b + p * d, 0, n - 1)
            for c, s, b, p, d, n in zip(
                self.count, self.strides, self.before, places, self.dilate, self.extents,
                strict=True,
            )
        ]  # fmt: skip
        return numbers[np.ix_(*grid)]


@reads("MaxUnpool")
def _(g: Reading, call: Call) -> Any:
    shape = list(g.shape(call.x))
    kernel = list(call.get("kernel_shape"))
    count = len(kernel)
    strides = list(call.get("strides") or [1] * count)
    pads = list(call.get("pads") or [0] * 2 * count)
    inner = shape[:2] + [
        (n - 1) * s + k - b - a
        for n, s, k, b, a in zip(
            shape[2:], strides, kernel, pads[:count], pads[count:], strict=True
        )
    ]
    size = math.prod(inner)
    zeros = np.zeros(g.checked_shape([size]), g.dtype(call.x))
    flat = g.op("Reshape", call.x, shape=(-1,))
    at = g.op("Reshape", g.op("Cast", call.inputs[1], dtype="int64"), shape=(1, -1))
    filled = g.op("_scatter_set_nd", zeros, flat, at, shape=(size,))
    out = g.op("Reshape", filled, shape=tuple(inner))
    if call.input(2) is None:
        return out
    larger = g.ints(call.inputs[2], "the shape of the output")
    if larger == inner:
        return out
    return padded(g, out, [0] * count, [b - a for a, b in zip(inner, larger, strict=True)][2:])
