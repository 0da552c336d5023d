"""Reader of recurrent layers: the operator ``RNN`` with the weights packed into one vector, or a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.load.recurrent_steps import USUAL, activations_of, read_steps
from mixnet.onnx.load.table import Call, reads
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

# Where mixnet's gates are among ONNX's: in, forget, cell, out; reset, update, new.
_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


@reads("LSTM", "GRU", "RNN")
def _(g: Reading, call: Call) -> Any:
    kind, size = call.node.op_type, call.get("hidden_size")
    direction = call.get("direction", "forward")
    sides = 2 if direction == "bidirectional" else 1
    by_batch = bool(call.get("layout", 0))
    x = _turned(g, call.x) if by_batch else call.x
    steps, batch, _ = g.shape(x)
    states = [call.input(5), call.input(6)][: 2 if kind == "LSTM" else 1]
    zeros = g.filled((sides, batch, size), 0, g.dtype(call.x))
    oriented = _turned if by_batch else lambda g, each: each
    states = [zeros if _is_zero(g, each) else oriented(g, each) for each in states]
    lengths = call.input(4)
    if isinstance(lengths, np.ndarray) and (lengths == steps).all():
        lengths = None
    mode = _mode(call, kind, sides)
    if mode is None or (lengths is not None and direction == "reverse"):
        out, *last = read_steps(g, call, x, states, lengths)
        out = g.op("_np_transpose", out, axes=(2, 0, 1, 3)) if by_batch else out
        return [out, *(_turned(g, each) if by_batch else each for each in last)]
    x = g.op("_npi_flip", x, axis=0) if direction == "reverse" else x
    arrays = [x, _vector(g, call, kind, size, sides), *states]
    named = {}  # the place of the lengths is that of an LSTM, after a second state
    if lengths is not None:
        named["sequence_length"] = g.op("Cast", lengths, dtype="float32")
    outputs = g.op(
        "RNN",
        *arrays,
        state_size=size,
        num_layers=1,
        mode=mode,
        bidirectional=sides == 2,
        state_outputs=True,
        use_sequence_length=lengths is not None,
        **named,
    )
    out = outputs[0]
    out = g.op("_npi_flip", out, axis=0) if direction == "reverse" else out
    out = g.op("Reshape", out, shape=(0, 0, sides, -1))
    last = [outputs[i] for i in range(1, 3 if kind == "LSTM" else 2)]
    if by_batch:
        return [g.op("SwapAxis", out, dim1=0, dim2=1), *[_turned(g, each) for each in last]]
    return [g.op("_np_transpose", out, axes=(0, 2, 1, 3)), *last]


_REPEATED = {"broadcast_like", "_npi_broadcast_to", "_with_extents"}


def _is_zero(g: Reading, state: object) -> bool:
    """Whether a first state is zero, also where a file says so or repeats zeros: nobody has learned it."""
    if isinstance(state, Symbol):
        node = state._heads[0].node
        while node.op is not None and node.op.name in _REPEATED and node.inputs:
            node = node.inputs[0].node
        array = g.arrays.used.get(node.name) if node.op is None else None
        return array is not None and array.dtype.kind == "f" and not array.any()
    return state is None or (isinstance(state, np.ndarray) and not state.any())


def _turned(g: Reading, value: object) -> Any:
    """Move the batch from the first axis to the second, or back."""
    return g.op("SwapAxis", value, dim1=0, dim2=1)


def _mode(call: Call, kind: str, sides: int) -> str | None:
    """The mode of the operator ``RNN``; None where it has no such layer."""
    named = activations_of(call, kind, sides)
    weights = [call.input(i) for i in (1, 2, 3)]
    if any(not isinstance(each, (np.ndarray, type(None))) for each in weights):
        return None
    if call.get("clip") or call.get("input_forget", 0) or call.input(7) is not None:
        return None
    if kind == "GRU" and not call.get("linear_before_reset", 0):
        return None
    if kind == "RNN" and named == ["Relu"] * sides:
        return "rnn_relu"
    if named != USUAL[kind] * sides:
        return None
    return "rnn_tanh" if kind == "RNN" else kind.lower()


def _vector(g: Reading, call: Call, kind: str, size: int, sides: int) -> Any:
    """All weights, then all biases; a parameter if they are constants."""
    w, r = (g.constant(each, "a weight") for each in call.inputs[1:3])
    gates = len(_ORDER[kind])
    bias = call.input(3)
    bias = (
        np.zeros((sides, 2 * gates * size), w.dtype) if bias is None else g.constant(bias, "a bias")
    )

    def ordered(rows: np.ndarray) -> np.ndarray:
        parts = np.split(rows, gates)
        joined: np.ndarray = np.concatenate([parts[i] for i in _ORDER[kind]])
        return joined.reshape(-1)

    weights = [ordered(each[side]) for side in range(sides) for each in (w, r)]
    biases = [ordered(half) for side in range(sides) for half in np.split(bias[side], 2)]
    return g.arrays.named(
        np.concatenate(weights + biases), f"{call.node.name or call.node.output[0]}_parameters"
    )
