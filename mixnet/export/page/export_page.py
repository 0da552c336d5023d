"""``export_page``: one HTML file that runs a network, without a server or network access."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError
from mixnet.export.network import network_of
from mixnet.export.page.program import Program
from mixnet.files.whole_file import write_whole
from mixnet.ndarray.ndarray import NDArray

_HERE = Path(__file__).parent
_MOST_PICTURE = 1024  # pixels along a side that is drawn on
_MOST_EXAMPLES = 20
_FILL_OF_MNIST = 20 / 28


def export_page(
    sym: Any,
    params: Any,
    in_shapes: Any,
    path: str | os.PathLike[str] = "network.html",
    draw: bool | Sequence[int] = False,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    mean: Sequence[float] | float = 0.0,
    std: Sequence[float] | float = 1.0,
    fill: float = _FILL_OF_MNIST,
    examples: Any = None,
) -> str:
    """Write one HTML file in which visitors give a network a picture and see what it computes.

    The page has a small interpreter of JAX's primitives and the parameters in it: it needs
    neither a server nor a network. It shows the prediction, the graph, and what each layer makes
    of the picture.

    Args:
        sym: a symbol, or the path of its file.
        params: arrays by name, with or without ``arg:`` and ``aux:`` before it, or the path of their file.
        in_shapes: the shape of the input: ``(batch, channels, height, width)`` with 1 or 3 channels, or
            ``(batch, numbers)``; the page runs a batch of one.
        path: where the page goes.
        draw: whether the person draws, light on dark; of an input without axes of a picture, its
            height and width.
        labels: names of the classes; numbers by default.
        title: of the page.
        mean: subtracted from each channel of the picture, whose numbers are from 0 to 1.
        std: what each channel is divided by then.
        fill: the share of a side, above 0 and at most 1, that a drawing is scaled to, as the
            pictures were that the network learned from; 20/28 for digits of MNIST.
        examples: pictures that a person can choose, at most 20, numbers from 0 to 1 of shape
            ``(count, channels, height, width)``, or ``(count, ...)`` as the input is; the page
            opens with the first.

    Returns:
        ``path``.

    Raises:
        MXNetError: the page's interpreter does not have an operator; names it, its node and the user's line.
        ShapeError: the input is not a picture.
        AttributeValueError: an argument does not go with the network.
        FileError: the file cannot be written.
    """
    shapes = [in_shapes] if in_shapes and isinstance(in_shapes[0], int) else list(in_shapes)
    if len(shapes) != 1:
        raise AttributeValueError(
            f"export_page: the network has {len(shapes)} inputs; a page has one picture for one input."
        )
    network = network_of(sym, params, [(1, *shapes[0][1:])], np.float32, caller="export_page")
    channels, height, width = _picture(tuple(shapes[0]), draw)
    program = Program(network)
    described, constants = program.to_dict()
    count = int(np.prod(program.spec(program.outputs[0])[0][1:]))
    page = {
        "title": title or path_title(path),
        "parameters": sum(int(np.prod(each.shape)) for each in network.params.values()),
        "channels": channels,
        "height": height,
        "width": width,
        "draw": bool(draw),
        "labels": _labels(labels, count),
        "mean": _numbers("mean", mean, channels),
        "std": _numbers("std", std, channels),
        "fill": _fill(fill),
        "examples": _examples(examples, channels * height * width),
        "program": described,
    }
    write_whole(path, _html(page, constants).encode())
    return os.fspath(path)


def path_title(path: str | os.PathLike[str]) -> str:
    """A title from a file's name."""
    return Path(path).stem.replace("_", " ").replace("-", " ")


def _picture(shape: tuple[int, ...], draw: bool | Sequence[int]) -> tuple[int, int, int]:
    """Channels, height and width of the picture for an input."""
    if len(shape) == 4 and shape[1] in (1, 3):
        picture = shape[1:]
    elif len(shape) == 3:
        picture = (1, *shape[1:])
    elif not isinstance(draw, bool) and len(draw) == 2:
        picture = (1, int(draw[0]), int(draw[1]))
    else:
        raise ShapeError(
            f"export_page: an input of shape {shape} is not a picture. It can be (batch, 1 or "
            "3, height, width); or give "
            f"draw=(height, width) for a flat input of that size."
        )
    if int(np.prod(picture)) != int(np.prod(shape[1:])):
        raise ShapeError(
            f"export_page: a picture of {picture[1]} times {picture[2]} does not have as many "
            f"numbers as an input of shape {shape}."
        )
    if max(picture[1:]) > _MOST_PICTURE:
        raise ShapeError(
            f"export_page: a picture may have {_MOST_PICTURE} pixels per side, not {picture}."
        )
    return picture


def _labels(labels: Sequence[str] | None, count: int) -> list[str]:
    if labels is None:
        return [str(i) for i in range(count)]
    if isinstance(labels, str) or len(labels) != count:
        raise AttributeValueError(
            f"export_page: labels has {len(labels)} names, but the network has {count} "
            "outputs. Give one for each output."
        )
    return [str(each) for each in labels]


def _numbers(name: str, value: object, channels: int) -> list[float]:
    try:
        numbers = np.broadcast_to(np.asarray(value, np.float64), (channels,))
    except ValueError:
        raise AttributeTypeError(
            f"export_page: {name}={value!r:.60} is neither a number nor one for each of {channels} channels."
        ) from None
    if name == "std" and not (numbers > 0).all():
        raise AttributeValueError(
            f"export_page: std={value!r:.60} must contain only numbers above 0."
        )
    return [float(each) for each in numbers]


def _fill(fill: object) -> float:
    if not isinstance(fill, (int, float)) or not 0 < fill <= 1:
        raise AttributeValueError(
            f"export_page: fill={fill!r:.60} is not a fraction of a side; give a number above 0 "
            f"and at most 1."
        )
    return float(fill)


def _examples(examples: object, count: int) -> list[list[float]]:
    """Numbers of each example; four digits are more than a screen shows."""
    if examples is None:
        return []
    pictures = examples.asnumpy() if isinstance(examples, NDArray) else np.asarray(examples)
    rows = pictures.reshape(len(pictures), -1) if pictures.ndim > 1 else pictures
    if rows.ndim != 2 or rows.shape[1] != count or not 0 < len(rows) <= _MOST_EXAMPLES:
        raise ShapeError(
            f"export_page: examples has shape {pictures.shape}; expected 1 to {_MOST_EXAMPLES} "
            f"pictures of {count} "
            f"numbers each."
        )
    if not ((rows >= 0) & (rows <= 1)).all():
        raise AttributeValueError(
            f"export_page: examples has numbers from {rows.min():g} to {rows.max():g}; pictures "
            "have numbers from 0 to 1, and the page applies mean and std to them."
        )
    return [[round(float(x), 4) for x in row] for row in rows]


def _html(page: dict[str, Any], constants: str) -> str:
    data = json.dumps(page, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    engine = (
        _text("engine.js").replace("export function", "function").replace("export const", "const")
    )
    parts = {
        "TITLE": html.escape(page["title"]),
        "STYLE": _text("page.css"),
        "DATA": data,
        "CONSTANTS": constants,
        "SCRIPT": engine + _text("page.js"),
    }
    text = _text("page.html")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
