"""Boxes in columns with arrows between them, as SVG; a box may stand for a file, which must be there."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import mixnet
from mixnet.widgets.svg import Svg

PACKAGE = Path(mixnet.__file__).parent
GAP, ROW, LINE = 46, 16, 15
WIDEST = 900
"""Wider pictures wrap their texts earlier, since a page shrinks them to 736 pixels."""


class Box(NamedTuple):
    """What a box says: its title, a line below, a file of the folder, and its colour (0 to 7)."""

    key: str
    title: str
    text: str = ""
    file: str = ""
    kind: int = 0


class Arrow(NamedTuple):
    """From one box to another; the word stands beside it."""

    start: str
    end: str
    word: str = ""
    dashed: bool = False


def lines_of(box: Box, letters: int) -> list[str]:
    """The lines below the title, of so many letters at most; the file is named unless the title does."""
    wrapped = textwrap.wrap(box.text, letters) if box.text else []
    return [*wrapped, *([box.file] if box.file not in ("", box.title) else [])]


def draw(folder: str, label: str, columns: Sequence[Sequence[Box]], arrows: Sequence[Arrow]) -> str:
    """The picture of a folder.

    Args:
        folder: below ``mixnet``; files of boxes are looked for there.
        label: what a screen reader says.
        columns: boxes from left to right, in each from top to bottom.
        arrows: between boxes, by their keys.

    Raises:
        FileNotFoundError: a box names a file that is not there: the code has moved on.
    """
    for box in (box for column in columns for box in column):
        if box.file and not (PACKAGE / folder / box.file).exists():
            raise FileNotFoundError(
                f"mixnet/{folder}/{box.file}, in the picture of {folder}, is not there."
            )
    order = {box.key: i for i, column in enumerate(columns) for box in column}
    words: dict[int, int] = {}  # the widest word between a column and the next
    for arrow in arrows:
        if order[arrow.end] == order[arrow.start] + 1:
            left = order[arrow.start]
            words[left] = max(words.get(left, 0), round(len(arrow.word) * 5.7) + 18)
    gaps = [max(GAP, words.get(i, 0)) for i in range(len(columns) - 1)]
    for letters in (30, 22, 16):
        widths = [max(_width(box, letters) for box in column) for column in columns]
        if sum(widths) + sum(gaps) <= WIDEST:
            break
    lines = {box.key: lines_of(box, letters) for column in columns for box in column}
    heights = {key: 26 + LINE * len(each) for key, each in lines.items()}
    high = max(sum(heights[b.key] for b in c) + (ROW + 8) * (len(c) - 1) for c in columns)
    back = any(order[a.end] < order[a.start] for a in arrows)
    x, places = 12.0, {}
    for i, column in enumerate(columns):
        y = 12 + (high - sum(heights[b.key] for b in column) - (ROW + 8) * (len(column) - 1)) / 2
        for box in column:
            places[box.key] = (x, y, widths[i], heights[box.key])
            y += heights[box.key] + ROW + 8
        x += widths[i] + (gaps[i] if i < len(gaps) else 0)
    picture = Svg(x + 12, high + 24 + (30 if back else 0), label)
    for arrow in arrows:
        _arrow(picture, arrow, places, order, high)
    for box in (box for column in columns for box in column):
        left, top, width, height = places[box.key]
        picture.rect(left, top, width, height, f"c{box.kind} s-line", radius=6)
        middle = left + width / 2
        picture.text(middle, top + 18, box.title, anchor="middle", bold=True, size=13)
        for i, line in enumerate(lines[box.key]):
            of_file = line == box.file and i == len(lines[box.key]) - 1
            picture.text(
                middle,
                top + 18 + LINE * (i + 1),
                line,
                "f-dim" if of_file else "f-fg",
                11,
                "middle",
            )
    return str(picture)


def _width(box: Box, letters: int) -> int:
    texts = max((len(line) * 6.1 for line in lines_of(box, letters)), default=0)
    return round(max(len(box.title) * 7.6, texts)) + 22


def _arrow(picture: Svg, arrow: Arrow, places: dict, order: dict, high: float) -> None:
    x1, y1, w1, h1 = places[arrow.start]
    x2, y2, w2, h2 = places[arrow.end]
    if order[arrow.start] < order[arrow.end]:
        start, end = (x1 + w1, y1 + h1 / 2), (x2 - 1, y2 + h2 / 2)
        bend = min(GAP, end[0] - start[0]) * 0.6
        d = (
            f"M{start[0]:.0f},{start[1]:.0f} C{start[0] + bend:.0f},{start[1]:.0f} "
            f"{end[0] - bend:.0f},{end[1]:.0f} {end[0]:.0f},{end[1]:.0f}"
        )
        word = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 6)
    elif order[arrow.start] == order[arrow.end]:
        down = y1 < y2
        start = (x1 + w1 / 2, y1 + h1 if down else y1)
        end = (x2 + w2 / 2, y2 - 1 if down else y2 + h2 + 1)
        d = f"M{start[0]:.0f},{start[1]:.0f} L{end[0]:.0f},{end[1]:.0f}"
        word = (start[0] + 8 + len(arrow.word) * 2.9, (start[1] + end[1]) / 2 + 4)
    else:
        low = high + 32
        start, end = (x1 + w1 / 2, y1 + h1), (x2 + w2 / 2, y2 + h2 + 1)
        d = (
            f"M{start[0]:.0f},{start[1]:.0f} L{start[0]:.0f},{low:.0f} L{end[0]:.0f},{low:.0f} "
            f"L{end[0]:.0f},{end[1]:.0f}"
        )
        word = ((start[0] + end[0]) / 2, low - 5)
    picture.path(d, "s-line", dashed=arrow.dashed, arrow=True)
    if arrow.word:
        picture.text(*word, arrow.word, "f-dim", 11, "middle")
