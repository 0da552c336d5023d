"""Conversion of recurrent networks: one ONNX operator per layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.table import Call, NotHere, converts
from mixnet.ops.nn.recurrent import part_shapes

# Where ONNX's gates are among MXNet's: in, out, forget, cell; update, reset, new.
_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_relu": (0,), "rnn_tanh": (0,)}
_OPERATORS = {"lstm": "LSTM", "gru": "GRU", "rnn_relu": "RNN", "rnn_tanh": "RNN"}


@converts("RNN")
def _(b: Builder, call: Call) -> Any:
    mode, size, layers = call["mode"], call["state_size"], call["num_layers"]
    directions = 1 + bool(call["bidirectional"])
    clipped = call["lstm_state_clip_min"] is not None and call["lstm_state_clip_max"] is not None
    units = call.shapes[0][2]
    if call["projection_size"] or clipped or units is None:
        raise NotHere
    parts = _parts(b, call, units)
    lengths = call.argument("sequence_length")
    if lengths is not None:
        place = call.inputs.index(lengths)
        lengths = b.cast(lengths, np.int32, call.dtypes[place])
    states = [call.argument("state"), call.argument("state_cell")]
    split = [None if s is None else b.split(s, 0, [directions] * layers) for s in states]
    x, last = call.x, []
    for layer in range(layers):
        initial = [None if s is None else s[layer] for s in split]
        outputs = _layer(b, mode, size, directions, x, parts[layer], lengths, initial)
        x = b.Reshape(b.Transpose(outputs[0], perm=[0, 2, 1, 3]), [0, 0, -1])
        last.append(outputs[1:])
    if not call["state_outputs"]:
        return x
    joined = [
        each[0] if layers == 1 else b.Concat(*each, axis=0) for each in zip(*last, strict=True)
    ]
    return [x, *joined]


def _layer(
    b: Builder, mode: str, size: int, directions: int, x: str, part: Any, lengths: Any, initial: Any
) -> Any:
    more: dict[str, Any] = {
        "hidden_size": size,
        "direction": "bidirectional" if directions == 2 else None,
    }
    if mode == "gru":
        more["linear_before_reset"] = 1
    if mode == "rnn_relu":
        more["activations"] = ["Relu"] * directions
    cell = initial[1:] if mode == "lstm" else []
    inputs = (x, *part, lengths, initial[0], *cell)
    return b.add_several(_OPERATORS[mode], inputs, 3 if mode == "lstm" else 2, more)


def _parts(b: Builder, call: Call, units: int) -> list[tuple[str, str, str]]:
    """Weights of inputs, of states, and biases of every layer, directions side by side."""
    mode, size, layers = call["mode"], call["state_size"], call["num_layers"]
    shapes = part_shapes(units, size, layers, call["bidirectional"], mode, None)
    pieces = b.split(call.inputs[1], 0, [int(np.prod(shape)) for _, shape in shapes])
    named = {}
    for (name, shape), piece in zip(shapes, pieces, strict=True):
        value = b.Reshape(piece, list(shape)) if len(shape) == 2 else piece
        named[name] = _ordered(b, value, mode, size)
    stacked = []
    for layer in range(layers):
        sides = range(1 + bool(call["bidirectional"]))
        weights = [[named[kind, layer, side] for side in sides] for kind in ("i2h", "h2h")]
        biases = [
            b.Concat(named["i2h_bias", layer, side], named["h2h_bias", layer, side], axis=0)
            for side in sides
        ]
        stacked.append(tuple(_side_by_side(b, each) for each in (*weights, biases)))
    return stacked  # type: ignore[return-value]


def _ordered(b: Builder, value: str, mode: str, size: int) -> str:
    """The gates in ONNX's order."""
    order = _GATES[mode]
    if len(order) == 1:
        return value
    gates = b.split(value, 0, [size] * len(order))
    return b.Concat(*[gates[i] for i in order], axis=0)


def _side_by_side(b: Builder, values: list[str]) -> str:
    rows = [b.Unsqueeze(each, [0]) for each in values]
    return rows[0] if len(rows) == 1 else b.Concat(*rows, axis=0)
