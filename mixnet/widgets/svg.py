"""A small SVG writer: shapes with classes whose colours follow the reader's light or dark theme."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

# Light, dark. The categories can be distinguished without colour: views write a letter or a name.
INK = {
    "fg": ("#1f2328", "#e6edf3"),
    "dim": ("#59636e", "#9198a1"),
    "line": ("#8c959f", "#6e7681"),
    "bg": ("#ffffff", "#0d1117"),
    "box": ("#f6f8fa", "#21262d"),
    "hot": ("#b3261e", "#ff8a80"),
}
CATEGORIES = [
    ("#cfe3f7", "#1f4b73"),
    ("#fbe2c4", "#6b4516"),
    ("#d9efd3", "#29562a"),
    ("#eadcf5", "#523270"),
    ("#f7d0d0", "#712b2b"),
    ("#d3eeee", "#1d5454"),
    ("#f3ecc0", "#585018"),
    ("#e3e3e3", "#474747"),
]
STRONG = [
    ("#1f6fb4", "#79b8f0"),
    ("#b35c00", "#f0a860"),
    ("#2f7d32", "#7fcf83"),
    ("#7b3fa8", "#c99bee"),
    ("#b3261e", "#ff8a80"),
    ("#0f7272", "#66cccc"),
    ("#77690a", "#dccb52"),
    ("#5b5b5b", "#b5b5b5"),
]


_CODE = "ui-monospace, DejaVu Sans Mono, monospace"
CODE_WIDTH = 0.61
"""The width of a letter of program text, in parts of its size."""


def _style() -> str:
    def rules(theme: int) -> str:
        lines = []
        for name, colours in INK.items():
            lines.append(f".f-{name}{{fill:{colours[theme]}}}.s-{name}{{stroke:{colours[theme]}}}")
        for i, colours in enumerate(CATEGORIES):
            lines.append(f".c{i}{{fill:{colours[theme]}}}")
        for i, colours in enumerate(STRONG):
            lines.append(f".k{i}{{stroke:{colours[theme]}}}.m{i}{{fill:{colours[theme]}}}")
        return "".join(lines)

    return f"<style>{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"


class Svg:
    """Elements of one picture, added in drawing order; ``str`` gives the file.

    Classes: ``f-NAME``, ``s-NAME`` fill and stroke with one of :data:`INK`; ``c0`` … ``c7`` fill with a
    pale category, ``m0`` … and ``k0`` … fill and stroke with a strong one.

    Args:
        width, height: size in pixels.
        label: what a screen reader says.
    """

    def __init__(self, width: float, height: float, label: str):
        self.width, self.height, self.label = width, height, label
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        """An element as text, as it is."""
        self._parts.append(text)

    def rect(
        self, x: float, y: float, width: float, height: float, style: str = "f-box s-line",
        title: str | None = None, radius: float = 0,
    ) -> None:  # fmt: skip
        """A rectangle, with a tooltip."""
        shape = f'<rect class="{style}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        shape += f' rx="{_n(radius)}"' if radius else ""
        self._titled(shape, "rect", title)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, style: str = "s-line", dashed: bool = False
    ) -> None:  # fmt: skip
        """A straight line."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.add(
            f'<line class="{style}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"{dash}/>'
        )

    def polyline(self, points: Iterable[tuple[float, float]], style: str = "k0") -> None:
        """Joined lines."""
        text = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.add(f'<polyline class="{style}" fill="none" stroke-width="1.6" points="{text}"/>')

    def path(
        self, d: str, style: str = "s-line", title: str | None = None, dashed: bool = False,
        arrow: bool = False,
    ) -> None:  # fmt: skip
        """A path that is not filled."""
        shape = f'<path class="{style}" fill="none" d="{d}"'
        shape += ' stroke-dasharray="4 3"' if dashed else ""
        shape += ' marker-end="url(#tip)"' if arrow else ""
        self._titled(shape, "path", title)

    def circle(
        self, x: float, y: float, r: float, style: str = "m0", title: str | None = None
    ) -> None:
        """A disc."""
        shape = f'<circle class="{style}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}"'
        self._titled(shape, "circle", title)

    def text(
        self, x: float, y: float, text: str, style: str = "f-fg", size: float = 12,
        anchor: str = "start", bold: bool = False, room: float | None = None, code: bool = False,
    ) -> None:  # fmt: skip
        """A line of text; ``anchor`` is ``start``, ``middle`` or ``end``. It is cut to ``room``
        pixels, by default to those up to the edge of the picture. ``code``: all letters are as wide.
        """
        if room is None:
            sides = {"start": self.width - x, "end": x, "middle": 2 * min(x, self.width - x)}
            room = sides[anchor] - 2
        if code:  # leading spaces count
            text = short(text, max(int(room / (CODE_WIDTH * size)), 1))
        else:
            text = fitted(text, size, room, bold)
        face = f' font-family="{_CODE}" xml:space="preserve"' if code else ""
        weight = ' font-weight="600"' if bold else ""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.add(
            f'<text class="{style}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{where}{weight}{face}>'
            f"{html.escape(text)}</text>"
        )

    def _titled(self, shape: str, tag: str, title: str | None) -> None:
        if title is None:
            self.add(shape + "/>")
        else:
            self.add(f"{shape}><title>{html.escape(title)}</title></{tag}>")

    def __str__(self) -> str:
        width, height = _n(self.width), _n(self.height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(self.label)}" '
            'font-family="system-ui, DejaVu Sans, sans-serif">'
            f"{_style()}"
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="f-line" d="M0,0 L8,4 L0,8 z"/></marker></defs>'
            f'<rect class="f-bg" width="{width}" height="{height}"/>{"".join(self._parts)}</svg>'
        )


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


# Widths of characters, in the size of the font; all others have 0.65. They are those of DejaVu
# Sans, which is wider than what most systems have.
_WIDTHS = {
    each: width
    for width, characters in (
        (0.3, "'IJijl"), (0.35, " ,./:;\\|"), (0.4, "()-[]ft!r"), (0.5, '"*_`'), (0.55, "?cszFLkvxy"),
        (0.7, "ABCKRVXZ"), (0.8, "NUDGHOQ&"), (0.85, "#+<=>^w~×→"), (1.0, "@WMm%…"),
    )
    for each in characters
}  # fmt: skip


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how many pixels a line of text takes; East Asian characters are as wide as high."""
    ems = sum(_WIDTHS.get(each, 1.0 if each > "\u2e7f" else 0.65) for each in text)
    return ems * size * (1.12 if bold else 1.0)


def columns(text: str) -> float:
    """How many letters of usual width are as wide as ``text``; ``columns`` of ``format.js`` too."""
    return sum(1.6 if each > "\u2e7f" or each in "MW@" else 1.0 for each in text)


def fitted(text: str, size: float, room: float, bold: bool = False) -> str:
    """``text``, cut to a width in pixels."""
    wide = text_width(text, size, bold)
    if wide <= room:
        return text
    length = max(math.ceil(len(text) * max(room, 0) / wide), 1)
    while length > 1 and text_width(short(text, length), size, bold) > room:
        length -= 1
    return short(text, length)


def wrapped(text: str, size: float, room: float) -> list[str]:
    """``text`` in lines of at most ``room`` pixels; a longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def shorter_name(name: str, length: int) -> str:
    """A name in at most ``length`` characters: its beginning and its end, as names differ in their
    ends (``quantized_sg…conv_act_1``).
    """
    end = (length - 1) // 2
    return name if len(name) <= length else f"{name[: length - 1 - end]}…{name[-end:]}"


def short(text: str, length: int) -> str:
    """``text`` in at most ``length`` characters."""
    return text if len(text) <= length else text[: length - 1] + "…"
