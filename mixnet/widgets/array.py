"""ArrayView: an array as a heat map of its slices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError
from mixnet.ndarray import display
from mixnet.ndarray.ndarray import NDArray
from mixnet.units import digits
from mixnet.widgets import live
from mixnet.widgets.svg import Svg
from mixnet.widgets.view import View

_SIDE = 48  # most cells along a side of a shown slice
_SLICES = 64  # most slices in the payload
MOST_VALUES = 24 * 24 * 8  # that are stored as numbers too: those of the small form of an array
NOT_FINITE = 255  # the cell of NaN and infinities


class ArrayView(View):
    """Shape, dtype, device, and the content as a heat map, one matrix at a time.

    Long sides are thinned, and only the first of many slices are stored; the view says so. An
    array that is still pending is not run; its view says so, and has a button that runs it.

    Args:
        array: any NDArray, or what NumPy takes.
        side: the largest number of cells along a side of a shown matrix.
        slices: the largest number of matrices that are stored.

    Source: the payload ``mixnet.array/1`` has ``shape, dtype, context, state, axes`` (indices
    shown along rows and columns), ``slices`` (leading indices), ``low, high`` (finite extremes of
    what is shown), ``finite`` (``all``, ``some`` or ``none`` of it), ``cells``: 0 to 254 between
    the extremes, 255 for NaN and infinities; and, where there are few, ``values``: three digits.
    """

    schema = "mixnet.array/1"
    bundle = "array"
    sight = (
        "The colours show the values; the bar above them shows the [spec]. An array that is "
        "[pending] has no values yet."
    )
    _array: Any = None  # a stored view has a payload alone

    def __init__(self, array: Any, side: int = _SIDE, slices: int = _SLICES):
        self._array, self._most = array, (side, slices)
        super().__init__(_facts(array, side, slices), {"slice": 0})

    def message(self, content: dict[str, Any]) -> None:
        """The page's button: run what is pending, and show it."""
        if content.get("do") == "compute" and isinstance(self._array, NDArray):
            self._array.wait_to_read()
            self.payload = _facts(self._array, *self._most)

    def summary(self) -> str:
        p = self.payload
        size = "×".join(map(str, p["shape"])) or "scalar"
        text = f"array {size}, {p['dtype']} on {p['context']}, {p['state']}"
        return f"{text}{_range(p)}"

    def table(self) -> tuple[list[str], list[list[Any]]]:
        p = self.payload
        columns = p["axes"][1]
        shown = p["cells"][0] if p["cells"] else []
        return (
            ["", *map(str, columns)],
            [
                [place, *(_value(p, 0, i, j) for j in range(len(row)))]
                for i, (place, row) in enumerate(zip(p["axes"][0], shown, strict=False))
            ],
        )

    def svg(self) -> str:
        p = self.payload
        rows, columns = max(len(p["axes"][0]), 1), max(len(p["axes"][1]), 1)
        side = max(6, min(18, 420 // max(rows, columns)))
        picture = Svg(max(260, columns * side + 20), rows * side + 52, self.summary())
        size = "×".join(map(str, p["shape"])) or "scalar"
        picture.text(10, 18, f"{size}  {p['dtype']}", bold=True)
        picture.text(10, 34, f"{p['context']}, {p['state']}{_range(p)}", "f-dim", 11)
        index = min(self.state.get("slice", 0), max(len(p["cells"]) - 1, 0))
        # Cells of nearly the same colour are one path: a small file. None: what is not finite.
        same: dict[float | None, list[str]] = {}
        for i, row in enumerate(p["cells"][index] if p["cells"] else []):
            for j, cell in enumerate(row):
                level = None if cell == NOT_FINITE else round(32 * _warmth(p, cell)) / 32
                same.setdefault(level, []).append(f"M{10 + j * side},{42 + i * side}")
        box = f"h{side - 1}v{side - 1}h-{side - 1}z"
        for level, corners in same.items():
            d = "".join(corner + box for corner in corners)
            fill = (128, 128, 128) if level is None else display.colour(level)
            picture.add(f'<path fill="rgb{fill}" d="{d}"/>')
        return str(picture)


def _facts(array: object, side: int, slices: int) -> dict[str, Any]:
    """The payload of an array as it is now."""
    if isinstance(array, NDArray):
        known = array.to_dict()
        dtype, context, state = known["dtype"], known["context"], known["state"]
        data = None if state == "pending" else array.asnumpy()
        shape = tuple(array.shape)
    else:
        data = np.asarray(array)
        if data.dtype.kind not in "biuf":
            raise AttributeTypeError(f"array: expected numbers, got dtype {data.dtype}.")
        shape, dtype, context, state = data.shape, data.dtype.name, "NumPy", "ready"
    facts = {"shape": list(shape), "dtype": str(dtype), "context": str(context), "state": state}
    return {**facts, **_cells(data, shape, side, slices)}


def _cells(
    data: np.ndarray | None, shape: tuple[int, ...], side: int, slices: int
) -> dict[str, Any]:
    if data is None or data.size == 0:
        return {"axes": [[], []], "slices": [], "low": None, "high": None, "cells": []}
    matrix = data.reshape((-1, *shape[-2:]) if len(shape) >= 2 else (1, 1, data.size))
    axes = [_thinned(extent, side) for extent in matrix.shape[1:]]
    # Thinned first, so that a large array costs what is shown of it.
    some = matrix[:slices][:, axes[0]][:, :, axes[1]].astype(np.float64)
    is_finite = np.isfinite(some)
    finite = some[is_finite]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    cells = np.full(some.shape, NOT_FINITE)
    if low is not None and high is not None:
        # By halves: the distance between two large numbers may be none.
        width = high / 2 - low / 2
        cells[is_finite] = ((finite / 2 - low / 2) / width * 254).round() if width else 127
    leading = shape[:-2]
    places = [
        [int(i) for i in np.unravel_index(k, leading)] if leading else []
        for k in range(min(len(matrix), slices))
    ]
    return {
        "axes": [axis.tolist() for axis in axes],
        "slices": places,
        "of": math.prod(leading),
        "low": low,
        "high": high,
        "finite": "all" if is_finite.all() else "some" if finite.size else "none",
        "cells": cells.tolist(),
        **({"values": _values(some)} if some.size <= MOST_VALUES else {}),
    }


def _values(some: np.ndarray) -> list[Any]:
    """Numbers with three digits, the most that a view shows; what is not finite as text."""
    return [[[_short(each) for each in row] for row in matrix] for matrix in some.tolist()]


def _short(number: float) -> float | str:
    if not math.isfinite(number):
        return str(number)
    rounded = float(f"{number:.2e}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e6 else rounded


def _thinned(extent: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, extent - 1, min(extent, most)).astype(int))


def live_form(array: NDArray) -> dict[str, Any] | None:
    """The view that a notebook shows in place of an array's card: a small live :class:`ArrayView`.

    Only where there is more to look at than the card shows: several matrices, or long sides. None where
    anywidget is missing, and for an array that is pending, which is not run for being shown.
    """
    shape = array.shape
    more = len(shape) > 2 or any(extent > display.CELLS for extent in shape)
    if not more or not array.size or array.to_dict()["state"] == "pending" or not live.available():
        return None
    data, _ = ArrayView(array, side=24, slices=8)._repr_mimebundle_()
    return {kind: value for kind, value in data.items() if kind != "text/plain"}


display.FORMS.append(live_form)


def _range(payload: dict[str, Any]) -> str:
    """Of the values that are shown (as in array.js)."""
    if payload.get("finite") == "none":
        return ", not finite"
    if payload["low"] is None:
        return ""
    rest = ", some not finite" if payload.get("finite") == "some" else ""
    return f", {digits(payload['low'])} … {digits(payload['high'])}{rest}"


def _value(payload: dict[str, Any], piece: int, row: int, column: int) -> str:
    """The number at a place; about, where there are too many to store each (as in array.js)."""
    if "values" in payload:
        value = payload["values"][piece][row][column]
        return value if isinstance(value, str) else digits(value)
    cell = payload["cells"][piece][row][column]
    if cell == NOT_FINITE:
        return "not finite"
    return f"≈ {digits(_about(payload, cell))}"


def _warmth(payload: dict[str, Any], cell: int) -> float:
    return display.warmth(_about(payload, cell), payload["low"], payload["high"])


def _about(payload: dict[str, Any], cell: int) -> float:
    """The number that a cell stands for."""
    t = cell / 254
    about: float = payload["low"] * (1 - t) + payload["high"] * t
    return about
