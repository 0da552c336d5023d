"""The user's source lines, and the lines that each row of a graph comes from."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.process.source import known_as
from mixnet.stages.stages import lines_of_code
from mixnet.widgets.svg import short

LINE = 240  # most characters of a line


def source_of(
    target: object, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """Files with their lines, and for each row the places ``[file, line]`` that it comes from.

    The lines are the code of the target, and all lines that rows come from: where an operation is called,
    and where the layer that called it was made.
    """
    lines_of = {} if target is None else lines_of_code(target)
    places = [_places(row["source"]) for row in rows]
    for place in places:
        for file, line in place:
            lines_of.setdefault(file, set()).add(line)
    number = {file: i for i, file in enumerate(lines_of)}
    files = [
        {
            "file": os.path.basename(known_as(file)),
            "lines": [
                [line, short(linecache.getline(file, line).rstrip("\n"), LINE)]
                for line in sorted(lines)
            ],
        }
        for file, lines in lines_of.items()
    ]
    return files, [[[number[file], line] for file, line in place] for place in places]


def _places(source: Mapping[str, Any] | None) -> list[tuple[str, int]]:
    """The line of a row, then where its layer was made, and the layer around that."""
    places: list[tuple[str, int]] = []
    while source is not None:
        place = (str(source["file"]), int(source["line"]))
        if place not in places:
            places.append(place)
        source = source["layer"]
    return places
