"""The data of a training board: curves of bounded size, histograms, small images."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.ndarray.ndarray import NDArray

CAPACITY = 400  # points of a curve; then neighbours are joined
RECENT = 200  # the newest points are kept as they are
_BINS = 32
_SIDE = 96  # most pixels along a side of a shown image
_SET = re.compile(
    r"^(training|train|validation|valid|val|testing|test|eval)[ _\-/.]+", re.IGNORECASE
)


@dataclass(slots=True)
class Point:
    """Some neighbouring values of a curve: where they end, their mean and extremes."""

    step: int
    total: float
    count: int
    low: float
    high: float
    bad: bool  # one of them was not finite


class Series:
    """A curve over the whole run in at most ``CAPACITY`` points.

    When they are used up, neighbours are joined: the mean stays, and so do the extremes, so that no spike is
    lost. The newest ``RECENT`` values are kept as they are.
    """

    def __init__(self, name: str):
        self.name = name
        self.points: list[Point] = []
        self.recent: deque[tuple[int, float]] = deque(maxlen=RECENT)
        self._each = 1  # values of a full point

    @property
    def group(self) -> str:
        """The quantity of the curve: ``accuracy`` for ``training accuracy`` and ``val_accuracy``."""
        return _SET.sub("", self.name) or self.name

    def add(self, step: int, value: float) -> None:
        """Take the next value."""
        self.recent.append((step, value))
        bad = not math.isfinite(value)
        last = self.points[-1] if self.points else None
        new = (
            Point(step, 0.0, 0, math.inf, -math.inf, True)
            if bad
            else Point(step, value, 1, value, value, False)
        )
        if last is not None and last.count < self._each and not (last.bad or bad):
            self.points[-1] = _joined(last, new)
            return
        self.points.append(new)
        if len(self.points) > CAPACITY:
            pairs = zip(self.points[::2], [*self.points[1::2], None], strict=False)
            self.points = [a if b is None else _joined(a, b) for a, b in pairs]
            self._each *= 2

    def to_dict(self) -> dict[str, Any]:
        """Columns ``step, value, low, high`` (null: not finite), and ``recent`` with ``step, value``."""
        points = self.points
        mean = [None if p.bad or not p.count else _short(p.total / p.count) for p in points]
        spread = self._each > 1
        return {
            "name": self.name,
            "group": self.group,
            "step": [p.step for p in points],
            "value": mean,
            "low": [_short(p.low) if p.count else None for p in points] if spread else [],
            "high": [_short(p.high) if p.count else None for p in points] if spread else [],
            "recent": {
                "step": [step for step, _ in self.recent],
                "value": [_short(v) if math.isfinite(v) else None for _, v in self.recent],
            },
        }


def _joined(a: Point, b: Point) -> Point:
    return Point(
        b.step,
        a.total + b.total,
        a.count + b.count,
        min(a.low, b.low),
        max(a.high, b.high),
        a.bad or b.bad,
    )


def _short(value: float) -> float:
    return float(f"{value:.5g}")


# ---- values that may still be pending ------------------------------------------------------------


def held(value: object, name: str) -> Any:
    """The present content, without waiting: a number, or arrays off the tape that are never written.

    Raises:
        AttributeTypeError: it is neither a number nor an array nor a list of arrays.
    """
    if isinstance(value, NDArray):
        # The version of this moment: `total += loss` makes another, and no graph is kept alive.
        return [type(value)._wrap(value._read().alias())]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, NDArray) for v in value):
        return [item for each in value for item in held(each, name)]
    try:
        return float(np.mean(np.asarray(value, dtype=np.float64)))
    except (TypeError, ValueError):
        raise AttributeTypeError(
            f"{name}: expected a number, an array or a list of arrays, got {type(value).__name__} "
            f"{value!r:.60}."
        ) from None


def ready(value: Any) -> bool:
    """Whether reading a held value waits for nothing that is still to be run."""
    return isinstance(value, float) or all(each.to_dict()["state"] == "ready" for each in value)


def number(value: Any) -> float:
    """The mean of a held value; computed now if it is pending."""
    if isinstance(value, float):
        return value
    with np.errstate(all="ignore"):
        return float(
            np.mean(np.concatenate([each.asnumpy().astype(np.float64).ravel() for each in value]))
        )


# ---- histograms and images ---------------------------------------------------------------------


def histogram(name: str, step: int, data: np.ndarray) -> dict[str, Any]:
    """Counts of the finite values in 32 equal bins."""
    values = data.astype(np.float64).ravel()
    finite = values[np.isfinite(values)]
    counts, edges = (
        np.histogram(finite, bins=_BINS) if finite.size else (np.zeros(0, int), np.zeros(2))
    )
    return {
        "layer": name,
        "step": step,
        "low": _short(edges[0]),
        "high": _short(edges[-1]),
        "counts": counts.tolist(),
        "bad": int(values.size - finite.size),
    }


def check_image(name: str, shape: tuple[int, ...]) -> None:
    """Raises:
    AttributeValueError: no shape of an image.
    """
    fits = len(shape) == 2 or (len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3)))
    if not fits or 0 in shape:
        raise AttributeValueError(
            f"{name}: expected an image (height, width), (height, width, 1 or 3) or (1 or 3, height, width), "
            f"got shape {shape}."
        )


def image(name: str, step: int, data: np.ndarray) -> dict[str, Any]:
    """A PNG of at most 96 pixels a side; numbers that are no bytes are scaled from their least
    to their largest.
    """
    if data.ndim == 2:
        data = data[:, :, None]
    elif data.shape[2] not in (1, 3):
        data = data.transpose(1, 2, 0)
    stride = max(1, math.ceil(max(data.shape[:2]) / _SIDE))
    data = data[::stride, ::stride]
    if data.dtype != np.uint8:
        values = np.nan_to_num(data.astype(np.float64))
        low, high = values.min(), values.max()
        data = ((values - low) / max(high - low, 1e-12) * 255).round().astype(np.uint8)
    height, width = data.shape[:2]
    source = "data:image/png;base64," + base64.b64encode(png(data)).decode()
    return {"name": name, "step": step, "width": width, "height": height, "src": source}


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of bytes ``(height, width, 1 or 3)``. Source: the PNG specification, W3C."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )
