"""Display of arrays: MXNet's text form, and an HTML form for notebooks."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.process.source import notebook_shell
from mixnet.units import digits

CELLS = 16  # cells of the heat map along each side
WRITTEN = 64  # numbers that a card shows, at most

# What else notebooks are given of an array: forms by MIME type that take the place of the card, or None.
# Layers above this one add their functions here (``mixnet.widgets`` does).
FORMS: list[Callable[[NDArray], dict[str, Any] | None]] = []


def as_text(self: NDArray) -> str:
    """Content, then ``<NDArray 2x3 @cpu(0)>``."""
    shape = "x".join(str(extent) for extent in self.shape)
    return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self.context}>"


def as_html(self: NDArray) -> str:
    """A small card: shape, dtype, context, pending or ready; once it is ready also a heat map, and the
    numbers if they are few.

    Looking at a pending array does not run it: the card says that it is pending.
    """
    facts = self.to_dict()
    title = f"{type(self).__name__} {'×'.join(map(str, self.shape)) or 'scalar'}"
    line = f"{facts['dtype']} · {facts['context']} · {facts['state']}"
    picture = ""
    if facts["state"] == "pending":
        line += ": print() computes it"
    else:
        data = self.asnumpy()
        picture = _heat_map(data) + _numbers(data)
    return (
        '<div style="display:inline-block;border:1px solid #8888;border-radius:6px;padding:6px 10px;'
        f'font:13px sans-serif"><b>{html.escape(title)}</b><br><span style="opacity:.7">'
        f"{html.escape(line)}</span>{picture}</div>"
    )


def as_bundle(self: NDArray, include: object = None, exclude: object = None) -> dict[str, Any]:
    """The representations that a notebook shows. A pending array stays pending: reading it would run it.

    In a terminal, where text is all there is, it is the content.
    """
    notebook = _in_notebook()
    if self.to_dict()["state"] == "pending" and notebook:
        shape = "x".join(map(str, self.shape))
        text = f"<{type(self).__name__} {shape} @{self.context}, pending>"
    else:
        text = as_text(self)
    bundle = {"text/plain": text, "text/html": as_html(self)}
    return {**bundle, **_forms(self)} if notebook else bundle


def _forms(array: NDArray) -> dict[str, Any]:
    """The forms of :data:`FORMS`; one that fails is left out with a warning, as no display may end a cell."""
    forms: dict[str, Any] = {}
    for form in FORMS:
        try:
            forms.update(form(array) or {})
        except Exception as error:
            warnings.warn(f"An array is shown without its {form.__name__}: {error}", stacklevel=2)
    return forms


def _in_notebook() -> bool:
    return notebook_shell() is not None


def _numbers(data: np.ndarray) -> str:
    """The numbers of a small array, as NumPy prints them."""
    if not 0 < data.size <= WRITTEN:
        return ""
    return f'<pre style="margin:4px 0 0;font-size:12px">{html.escape(str(data))}</pre>'


def _heat_map(data: np.ndarray) -> str:
    """An SVG of the first matrix of ``data``, thinned to a few cells; each has its number as its title."""
    if data.size == 0:
        return ""
    matrix = data
    while matrix.ndim > 2:
        matrix = matrix[0]
    matrix = np.atleast_2d(matrix)
    rows, columns = (
        np.unique(np.linspace(0, n - 1, min(n, CELLS)).astype(int)) for n in matrix.shape
    )
    shown = matrix[np.ix_(rows, columns)].astype(np.float64)  # only what is shown
    low, high, others = _range(data)
    side = 11
    cells = []
    for i, row in enumerate(shown):
        for j, number in enumerate(row):
            cells.append(
                f'<rect x="{j * side}" y="{i * side}" width="{side - 1}" height="{side - 1}" '
                f'fill="{_colour(number, low, high)}"><title>[{rows[i]}, {columns[j]}] {number:.5g}'
                "</title></rect>"
            )
    width, height = side * shown.shape[1], side * shown.shape[0]
    span = [f"{digits(low)} … {digits(high)}"] if others < data.size else []
    span += [f"{others:,} not finite"] if others else []
    return (
        f'<br><svg width="{width}" height="{height}" role="img" aria-label="heat map from '
        f'{digits(low)} to {digits(high)}" style="margin-top:4px">{"".join(cells)}</svg>'
        f'<br><span style="opacity:.7">{", ".join(span)}</span>'
    )


def _range(data: np.ndarray) -> tuple[float, float, int]:
    """The least and the largest finite number, 0 where there is none, and how many are not finite."""
    low, high = float(data.min()), float(data.max())
    if np.isfinite(low) and np.isfinite(high):
        return low, high, 0
    finite = data[np.isfinite(data)]
    if not finite.size:
        return 0.0, 0.0, data.size
    return float(finite.min()), float(finite.max()), data.size - finite.size


def _colour(number: float, low: float, high: float) -> str:
    if not np.isfinite(number):
        return "#888"
    return "#" + "".join(f"{part:02x}" for part in colour(warmth(number, low, high)))


def warmth(number: float, low: float, high: float) -> float:
    """From -1 to 1: where a number lies between extremes; 0 is 0 where both signs occur."""
    if low < 0 < high:
        return number / max(-low, high)
    # By halves: the distance between two large numbers may be infinite.
    width = high / 2 - low / 2
    return 2 * (number / 2 - low / 2) / width - 1 if width else 0.0


def colour(warmth: float) -> tuple[int, int, int]:
    """Blue for -1, white for 0, red for 1 (as in array.js)."""
    middle, end = (247, 247, 247), (33, 102, 172) if warmth < 0 else (178, 24, 43)
    r, g, b = (round(a + (z - a) * abs(warmth)) for a, z in zip(middle, end, strict=True))
    return r, g, b


def install(cls: Any) -> None:
    """Give a class of arrays its text and HTML forms."""
    cls.__repr__ = as_text
    cls.__str__ = as_text
    cls._repr_html_ = as_html
    cls._repr_mimebundle_ = as_bundle
