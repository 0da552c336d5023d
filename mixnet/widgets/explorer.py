"""OpExplorer: one operator with sliders, and an explanation of every number of its result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet import ndarray as nd
from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError
from mixnet.ndarray.ndarray import NDArray
from mixnet.units import digits
from mixnet.widgets.svg import Svg, text_width
from mixnet.widgets.view import View

OPERATORS = ("convolution", "pooling", "attention")
FILTERS = ("vertical edges", "horizontal edges", "blur", "sharpen")
SIDE, CHANNELS, TOKENS, SIZE = (
    24,
    4,
    12,
    32,
)  # most rows and columns, channels, tokens, numbers of a token
# What the sliders can be set to, besides what data and other sliders allow.
_SLIDERS: dict[str, dict[str, Any]] = {
    "convolution": {"kernel": 3, "stride": 1, "pad": 0, "dilate": 1, "channels": 1, "filter": 0},
    "pooling": {
        "kernel": 2, "stride": 2, "pad": 0, "type": "max", "convention": "valid", "include_pad": True,
    },
    "attention": {"queries": 0, "keys": 0, "heads": 1, "head": 0, "mask": "none", "length": 0},
}  # fmt: skip
_CHOICES = {
    "type": ("max", "avg"),
    "convention": ("valid", "full"),
    "mask": ("none", "causal", "length"),
}
# A seven with soft edges, from 0 to 9.
_PICTURE = "00000000 02888820 05775790 00000580 00002920 00007700 00029200 00059000"
_WORDS = ("the", "cat", "sat", "on", "the", "mat")


class OpExplorer(View):
    """The effect of an operator on small data, with sliders for its arguments.

    Choose a cell of the result: the cells that it is computed from and the numbers of the kernel
    light up, and the sum is written out. Everything is computed in the page, and the numbers are those of
    ``nd.Convolution``, ``nd.Pooling`` and ``nd.contrib.interleaved_matmul_encdec_*`` with
    ``nd.softmax``; the call that gives them is shown.

    Args:
        operator: ``"convolution"``, ``"pooling"`` or ``"attention"``.
        data: for the first two a picture ``(height, width)`` or ``(channels, height, width)`` of at most
            24 × 24 and 4 channels; for attention ``(tokens, size)`` of at most 12 × 32, which is
            queries, keys and values, or a tuple of these three. A small one is made by default.
        weight: for convolution ``(filters, channels, k, k)``; by default filters that find edges, blur
            and sharpen, for every kernel.
        words: for attention the names of the tokens.
        settings: initial values of the sliders: for convolution ``kernel, stride, pad, dilate,
            channels, filter``; for pooling ``kernel, stride, pad, type`` (max, avg), ``convention``
            (valid, full), ``include_pad``; for attention ``queries, keys, heads, head, mask`` (none,
            causal, length), ``length``.

    Raises:
        AttributeValueError: there is no such operator or setting, or the value is not allowed.
        ShapeError: the data is too large or has another number of axes.
        AttributeTypeError: the data is not numeric.

    Source: the payload ``mixnet.op/1`` has ``operator``, its data (``input`` and ``weight``, or ``queries,
    keys, values, words``) as nested lists, and the state holds the settings and ``at``, the chosen cell.
    """

    schema = "mixnet.op/1"
    bundle = "explorer"
    sight = (
        "Select one number of the result: the lines show which inputs it is computed from, "
        "and its [gradient] if there is one."
    )

    def __init__(
        self,
        operator: str,
        data: object = None,
        weight: Any = None,
        words: Any = None,
        **settings: object,
    ):
        if operator not in OPERATORS:
            raise AttributeValueError(
                f"operator: expected one of {', '.join(OPERATORS)}, got {operator!r}."
            )
        payload: dict[str, Any] = {"operator": operator}
        if operator == "attention":
            payload |= _tokens(data, words)
        else:
            payload["input"] = _picture(data).tolist()
            if operator == "convolution" and weight is not None:
                payload["weight"] = _filters(weight).tolist()
            elif weight is not None:
                raise AttributeValueError("weight: pooling has no weight.")
        super().__init__(payload, _settings(payload, settings))

    def result(self) -> np.ndarray:
        """The array that is shown, by mixnet's operators: the output of the chosen filter, of pooling of
        the first channel, or of the chosen head.
        """
        return _result(self.payload, self.state)[0]

    def summary(self) -> str:
        _, call, size = _result(self.payload, self.state)
        return f"{self.payload['operator']}: {call} gives {size}"

    def table(self) -> tuple[list[str], list[list[Any]]]:
        out = self.result()
        return ["", *map(str, range(out.shape[1]))], [
            [i, *map(digits, row)] for i, row in enumerate(out)
        ]

    def svg(self) -> str:
        p, s = self.payload, self.state
        out, call, size = _result(p, s)
        if p["operator"] == "attention":
            shown = [("weights", _weights(p, s)), ("result", out)]
        else:
            shown = [("input", np.array(p["input"][0])), ("result", out)]
        side = 22
        width = sum(side * each.shape[1] + 50 for _, each in shown) + 20
        height = max(side * each.shape[0] for _, each in shown) + 80
        line = f"{call} → {size}"
        picture = Svg(max(width, text_width(line, 10.5) + 30), height, self.summary())
        picture.text(14, 22, p["operator"], bold=True)
        picture.text(14, 40, line, "f-dim", 10.5)
        x = 14
        for name, each in shown:
            picture.text(x, 62, name, "f-dim", 11)
            _heat(picture, x, 68, side, each)
            x += side * each.shape[1] + 50
        return str(picture)


# ---- data ------------------------------------------------------------------------------------


def _numbers(name: str, data: object) -> np.ndarray:
    array = data.asnumpy() if isinstance(data, NDArray) else np.asarray(data)
    if array.dtype.kind not in "biuf" or array.size == 0:
        raise AttributeTypeError(
            f"{name}: expected numbers, got dtype {array.dtype}, shape {array.shape}."
        )
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    if not np.isfinite(numbers).all():
        index = tuple(map(int, np.argwhere(~np.isfinite(numbers))[0]))
        raise AttributeValueError(
            f"{name}: expected finite float32 numbers, got {array[index]} at {list(index)}."
        )
    return numbers


def _picture(data: object) -> np.ndarray:
    if data is None:
        image = np.array([list(row) for row in _PICTURE.split()], np.float32)
        return np.stack([image, image.T])
    image = _numbers("data", data)
    if image.ndim == 4 and image.shape[0] == 1:
        image = image[0]
    if image.ndim == 2:
        image = image[None]
    if image.ndim != 3 or image.shape[0] > CHANNELS or max(image.shape[1:]) > SIDE:
        raise ShapeError(
            f"data: expected (height, width) or (channels, height, width), at most {SIDE} × {SIDE} and "
            f"{CHANNELS} channels, got {image.shape}. Crop it: data[:{CHANNELS}, :{SIDE}, :{SIDE}]."
        )
    return image


def _filters(weight: object) -> np.ndarray:
    values = _numbers("weight", weight)
    if values.ndim != 4 or values.shape[2] != values.shape[3] or values.shape[2] > 7:
        raise ShapeError(
            f"weight: expected (filters, channels, k, k), k up to 7, got {values.shape}."
        )
    return values


def _tokens(data: Any, words: Any) -> dict[str, Any]:
    if data is None:
        random = np.random.RandomState(4)
        parts = [random.normal(size=(len(_WORDS), 8)).round(2) for _ in range(3)]
        words = words or _WORDS
    else:
        parts = list(data) if isinstance(data, tuple) else [data] * 3
    if len(parts) != 3:
        raise ShapeError(f"data: expected queries, keys and values, got {len(parts)} arrays.")
    queries, keys, values = (_numbers("data", part) for part in parts)
    for part in (queries, keys, values):
        if part.ndim != 2 or part.shape[0] > TOKENS or part.shape[1] > SIZE:
            raise ShapeError(
                f"data: expected (tokens, size), at most {TOKENS} × {SIZE}, got {part.shape}."
            )
    if queries.shape[1] != keys.shape[1] or keys.shape != values.shape:
        raise ShapeError(
            f"data: queries {queries.shape}, keys {keys.shape} and values {values.shape} do not match: "
            f"all have the same size, and there are as many values as keys."
        )
    count = max(len(queries), len(keys))
    names = [str(word) for word in words] if words else [str(i) for i in range(count)]
    if len(names) < count:
        raise ShapeError(f"words: expected {count}, got {len(names)}.")
    return {
        "queries": queries.tolist(),
        "keys": keys.tolist(),
        "values": values.tolist(),
        "words": names[:count],
    }


def limits(payload: dict[str, Any], state: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Least and largest value of each slider that counts (as ``limits`` in explorer.js)."""
    if payload["operator"] == "attention":
        size = len(payload["queries"][0])
        return {
            "queries": (1, len(payload["queries"])),
            "keys": (1, len(payload["keys"])),
            "heads": (1, size),
            "head": (0, state["heads"] - 1),
            "length": (1, state["keys"]),
        }
    extent = min(len(payload["input"][0]), len(payload["input"][0][0]))
    fixed = len(payload["weight"][0][0]) if "weight" in payload else 0
    largest = min(7, extent)
    figures = {
        "kernel": (fixed, fixed) if fixed else (1, largest),
        "stride": (1, 4),
        "pad": (0, 3),
    }
    if payload["operator"] == "pooling":
        figures["pad"] = (0, min(3, state["kernel"] - 1))
        return figures
    room = extent + 2 * state["pad"] - 1  # a kernel that is spread still fits
    figures["dilate"] = (1, max(1, min(3, room // max(state["kernel"] - 1, 1))))
    channels = len(payload["input"])
    figures["channels"] = (1, min(channels, len(payload["weight"][0])) if fixed else channels)
    figures["filter"] = (0, (len(payload["weight"]) if fixed else len(FILTERS)) - 1)
    return figures


def _settings(payload: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    known = _SLIDERS[payload["operator"]]
    if unknown := set(changes) - set(known):
        raise AttributeValueError(
            f"{payload['operator']} has no {', '.join(sorted(unknown))}; it has {', '.join(known)}."
        )
    state = {**known}
    if payload["operator"] == "attention":
        state |= {"queries": len(payload["queries"]), "keys": len(payload["keys"])}
        state["length"] = changes.get("keys", state["keys"])
    elif "weight" in payload:
        state |= {"kernel": len(payload["weight"][0][0])}
        state["channels"] = min(len(payload["input"]), len(payload["weight"][0]))
    else:  # no kernel is larger than the data
        largest = limits(payload, state)["kernel"][1]
        state["kernel"] = min(state["kernel"], largest)
    state |= changes
    for name, choices in _CHOICES.items():
        if name in state and state[name] not in choices:
            raise AttributeValueError(
                f"{name}: expected {' or '.join(choices)}, got {state[name]!r}."
            )
    for name, (least, most) in limits(payload, state).items():
        if isinstance(state[name], bool) or not least <= state[name] <= most:
            raise AttributeValueError(f"{name}: expected {least} to {most}, got {state[name]!r}.")
    if state.get("heads", 1) and payload["operator"] == "attention":
        size = len(payload["queries"][0])
        if size % state["heads"]:
            raise AttributeValueError(f"heads: {state['heads']} does not divide the size {size}.")
    return {**state, "at": [2, 2]}


def filter_of(name: str, size: int) -> np.ndarray:
    """A filter that shows something, ``(size, size)`` (as ``filterOf`` in compute.js)."""
    middle = (size - 1) / 2
    i, j = np.mgrid[:size, :size]
    if name in ("vertical edges", "horizontal edges"):
        along = j if name == "vertical edges" else i
        return (np.ones((1, 1)) if size == 1 else (along - middle) / size).astype(np.float32)
    values = np.full((size, size), 1 / size**2)
    if name == "sharpen":
        values = -values
        values[math.floor(middle), math.floor(middle)] += 2
    return values.astype(np.float32)


# ---- the numbers, by mixnet's operators ---------------------------------------------------------


def _result(payload: dict[str, Any], state: dict[str, Any]) -> tuple[np.ndarray, str, str]:
    """The array that is shown, the call that computes it, and its size as text."""
    if payload["operator"] == "attention":
        weights = _weights(payload, state)
        values = _head(payload["values"], state)[: state["keys"]]
        out = nd.dot(nd.array(weights), nd.array(values)).asnumpy()
        call = f"softmax(Q·Kᵀ/√{values.shape[1]})·V, mask {state['mask']}"
        return out, call, f"{out.shape[0]}×{out.shape[1]}"
    kernel, stride, pad = ((state[name],) * 2 for name in ("kernel", "stride", "pad"))
    if payload["operator"] == "pooling":
        data = nd.array(np.array(payload["input"], np.float32)[None])
        out = nd.Pooling(
            data, kernel=kernel, stride=stride, pad=pad, pool_type=state["type"],
            pooling_convention=state["convention"], count_include_pad=state["include_pad"],
        ).asnumpy()[0, 0]  # fmt: skip
        call = (
            f"Pooling(x, {kernel=}, {stride=}, {pad=}, pool_type={state['type']!r}, "
            f"pooling_convention={state['convention']!r})"
        )
        return out, call, f"{out.shape[0]}×{out.shape[1]}"
    channels = state["channels"]
    data = nd.array(np.array(payload["input"], np.float32)[None, :channels])
    dilate = (state["dilate"],) * 2
    out = nd.Convolution(
        data, nd.array(_kernel(payload, state)[None]), kernel=kernel, stride=stride, pad=pad,
        dilate=dilate, num_filter=1, no_bias=True,
    ).asnumpy()[0, 0]  # fmt: skip
    call = f"Convolution(x, w, {kernel=}, {stride=}, {pad=}, {dilate=}, num_filter=1, no_bias=True)"
    return out, call, f"{out.shape[0]}×{out.shape[1]}"


def _kernel(payload: dict[str, Any], state: dict[str, Any]) -> np.ndarray:
    """The weights of the chosen filter: ``(channels, kernel, kernel)``."""
    channels = state["channels"]
    if "weight" in payload:
        return np.array(payload["weight"][state["filter"]], np.float32)[:channels]
    return np.stack([filter_of(FILTERS[state["filter"]], state["kernel"])] * channels)


def _head(rows: object, state: dict[str, Any]) -> np.ndarray:
    array = np.array(rows, np.float32)
    size = array.shape[1] // state["heads"]
    return array[:, state["head"] * size : (state["head"] + 1) * size]


def _weights(payload: dict[str, Any], state: dict[str, Any]) -> np.ndarray:
    queries = _head(payload["queries"], state)[: state["queries"]]
    keys = _head(payload["keys"], state)[: state["keys"]]
    scores = nd.dot(nd.array(queries), nd.array(keys), transpose_b=True).asnumpy()
    scores = scores / math.sqrt(queries.shape[1])
    q, k = np.mgrid[: len(queries), : len(keys)]
    hidden = {"none": k < 0, "causal": k > q, "length": k >= state["length"]}[state["mask"]]
    weights: np.ndarray = nd.softmax(nd.array(np.where(hidden, -np.inf, scores))).asnumpy()
    return weights


def _heat(picture: Svg, x: float, y: float, side: int, values: np.ndarray) -> None:
    finite = values[np.isfinite(values)]
    most = float(np.abs(finite).max()) if finite.size else 1.0
    # What rounding alone leaves of terms that cancel is 0, as the live view has it in float64.
    values = np.where(np.abs(values) < 1e-6 * most, 0.0, values)
    for i, row in enumerate(values):
        for j, number in enumerate(row):
            style = "c7" if not np.isfinite(number) else "c0" if number < 0 else "c1"
            strength = abs(float(number)) / (most or 1) if np.isfinite(number) else 1
            left, top = x + j * side, y + i * side
            picture.add(
                f'<rect class="{style}" opacity="{0.15 + 0.85 * strength:.2f}" x="{left:g}" y="{top:g}" '
                f'width="{side - 1}" height="{side - 1}"><title>[{i}, {j}] {number:.5g}</title></rect>'
            )
            text = _brief(float(number))
            smaller = min(8, 8 * (side - 1) / text_width(text, 8))
            picture.text(left + side / 2, top + side / 2 + 3, text, size=smaller, anchor="middle")


def _brief(number: float) -> str:
    """A number for a small cell, with as many digits as fit (as ``brief`` in scene.js)."""
    for places in (2, 1, 0):
        text = digits(float(f"{number:.{places}e}"))
        if len(text) <= 5:
            return text
    return f"{number:.0e}".replace("e+", "e")
