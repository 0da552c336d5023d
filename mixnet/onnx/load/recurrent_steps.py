"""Recurrent layers as loops over their steps: what the operator ``RNN`` has no option for.

That is a GRU with ``linear_before_reset=0``, peephole weights, activations other than the usual ones,
clipped sums, coupled gates, and a backward direction of sequences with lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mixnet import symbol as sym
from mixnet.base import NotDefinedError
from mixnet.onnx.load.table import Call

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

Function = Callable[["Reading", Any], Any]

USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
"""Activations of a direction."""
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0, None),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01, None),
    "ScaledTanh": (1.0, 1.0),
    "ThresholdedRelu": (1.0, None),
}
"""Defaults of an activation's alpha and beta; None for a number that it has not."""


def _plain(name: str, **attributes: str) -> Callable[[Any, Any], Function]:
    return lambda alpha, beta: lambda g, x: g.op(name, x, **attributes)


def _affine(alpha: float, beta: float) -> Function:
    return lambda g, x: g.op(
        "_npi_add_scalar", g.op("_npi_multiply_scalar", x, scalar=alpha), scalar=beta
    )


def _scaled_tanh(alpha: float, beta: float) -> Function:
    def function(g: Reading, x: object) -> Any:
        inner = g.op("_npi_tanh", g.op("_npi_multiply_scalar", x, scalar=beta))
        return g.op("_npi_multiply_scalar", inner, scalar=alpha)

    return function


def _thresholded(alpha: float, beta: object) -> Function:
    def function(g: Reading, x: object) -> Any:
        above = g.op("_npi_greater_scalar", x, scalar=alpha)
        return g.op("_npi_multiply", x, g.op("Cast", above, dtype=g.dtype(x).name))

    return function


_ACTIVATIONS: dict[str, Callable[[Any, Any], Function]] = {
    "Affine": _affine,
    "Elu": lambda alpha, beta: lambda g, x: g.op("LeakyReLU", x, act_type="elu", slope=alpha),
    "HardSigmoid": lambda alpha, beta: lambda g, x: g.op("hard_sigmoid", x, alpha=alpha, beta=beta),
    "LeakyRelu": lambda alpha, beta: (
        lambda g, x: g.op("LeakyReLU", x, act_type="leaky", slope=alpha)
    ),
    "Relu": _plain("relu"),
    "ScaledTanh": _scaled_tanh,
    "Sigmoid": _plain("sigmoid"),
    "Softplus": _plain("Activation", act_type="softrelu"),
    "Softsign": _plain("softsign"),
    "Tanh": _plain("_npi_tanh"),
    "ThresholdedRelu": _thresholded,
}


def activations_of(call: Call, kind: str, sides: int) -> list[str]:
    """The names of a layer's activations, those of the backward direction last."""
    named = [n.decode() if isinstance(n, bytes) else n for n in call.get("activations", [])]
    return named or USUAL[kind] * sides


def _functions(call: Call, kind: str, sides: int) -> list[Function]:
    """The activations with their numbers, which are listed for those that have some."""
    alphas, betas = (list(call.get(f"activation_{n}") or []) for n in ("alpha", "beta"))
    functions = []
    for name in activations_of(call, kind, sides):
        usual = {each.lower(): each for each in _ACTIVATIONS}.get(name.lower())
        if usual is None:
            raise NotDefinedError(
                f"activation {name!r} is unknown; known are {', '.join(_ACTIVATIONS)}"
            )
        alpha, beta = _NUMBERS.get(usual, (None, None))
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        functions.append(_ACTIVATIONS[usual](alpha, beta))
    return functions


class _Layer:
    """One direction of a layer.

    Args:
        g: the graph.
        call: the node.
        side: 0 for the first direction, 1 for the second.
        functions: activations of this direction.
    """

    def __init__(self, g: Reading, call: Call, side: int, functions: list[Function]):
        self.g, self.call, self.functions = g, call, functions
        self.kind, self.size = call.node.op_type, call.get("hidden_size")
        self.count = _GATES[self.kind]
        self.weight, self.recurrent = (self._side(call.inputs[i], side) for i in (1, 2))
        bias = None if call.input(3) is None else self._side(call.inputs[3], side)
        self.bias, self.own_bias = (
            None if bias is None else self._part(bias, half, self.count * self.size)
            for half in (0, 1)
        )
        peepholes = call.input(7) if self.kind == "LSTM" else None
        self.peepholes = None if peepholes is None else self._side(peepholes, side)

    def _side(self, value: object, side: int) -> Any:
        shape = self.g.shape(value)
        picked = self.g.op("slice_axis", value, axis=0, begin=side, end=side + 1)
        return self.g.reshaped(picked, tuple(shape[1:]))

    def _part(self, value: object, place: int, size: int | None = None) -> Any:
        """A part of the last axis, of one gate by default."""
        size = size or self.size
        return self.g.op("slice_axis", value, axis=-1, begin=place * size, end=(place + 1) * size)

    def _sum(self, *parts: object) -> Any:
        total = parts[0]
        for each in parts[1:]:
            total = total if each is None else self.g.op("_npi_add", total, each)
        return total

    def _times(self, x: object, weight: object) -> Any:
        return self.g.op("_npi_matmul", x, self.g.op("_np_transpose", weight))

    def _product(self, a: object, b: object) -> Any:
        return self.g.op("_npi_multiply", a, b)

    def _activated(self, place: int, x: object) -> Any:
        limit = self.call.get("clip")
        if limit:
            x = self.g.op("clip", x, a_min=-limit, a_max=limit)
        return self.functions[place](self.g, x)

    def projected(self, x: object) -> Any:
        """The input's share of all gates at all steps, ``(time, batch, gates)``."""
        return self._sum(self._times(x, self.weight), self.bias)

    def step(self, x: object, states: list[Any]) -> list[Any]:
        """New states from a step's share of the gates and the old states; the first is the output."""
        kinds: dict[str, Callable[..., Any]] = {
            "RNN": self._rnn,
            "GRU": self._gru,
            "LSTM": self._lstm,
        }
        return list(kinds[self.kind](x, *states))

    def _rnn(self, x: object, hidden: object) -> Any:
        total = self._sum(x, self._times(hidden, self.recurrent), self.own_bias)
        return [self._activated(0, total)]

    def _gru(self, x: object, hidden: object) -> Any:
        both = 2 * self.size  # update and reset
        rows = self.g.op("slice_axis", self.recurrent, axis=0, begin=0, end=both)
        new_rows = self.g.op("slice_axis", self.recurrent, axis=0, begin=both, end=both + self.size)
        bias = self.own_bias
        gates = self._sum(
            self._part(x, 0, both),
            self._times(hidden, rows),
            None if bias is None else self._part(bias, 0, both),
        )
        gates = self._activated(0, gates)
        update, reset = (self._part(gates, place) for place in (0, 1))
        new_bias = None if bias is None else self._part(bias, 2)
        if self.call.get("linear_before_reset", 0):
            before = self._product(reset, self._sum(self._times(hidden, new_rows), new_bias))
        else:
            before = self._sum(self._times(self._product(reset, hidden), new_rows), new_bias)
        new = self._activated(1, self._sum(self._part(x, 2), before))
        change = self._product(update, self.g.op("_npi_subtract", hidden, new))
        return [self.g.op("_npi_add", new, change)]

    def _lstm(self, x: object, hidden: object, cell: object) -> Any:
        total = self._sum(x, self._times(hidden, self.recurrent), self.own_bias)
        into, out, forget, new = (self._part(total, place) for place in range(4))
        into = self._activated(0, self._sum(into, self._peep(0, cell)))
        if self.call.get("input_forget", 0):
            forget = self.g.op("_npi_rsubtract_scalar", into, scalar=1.0)
        else:
            forget = self._activated(0, self._sum(forget, self._peep(2, cell)))
        new = self._activated(1, new)
        cell = self._sum(self._product(forget, cell), self._product(into, new))
        out = self._activated(0, self._sum(out, self._peep(1, cell)))
        return [self._product(out, self.functions[2](self.g, cell)), cell]

    def _peep(self, place: int, cell: object) -> Any:
        return (
            None
            if self.peepholes is None
            else self._product(cell, self._part(self.peepholes, place))
        )


def read_steps(g: Reading, call: Call, x: object, states: list[Any], lengths: object) -> list[Any]:
    """The outputs of a layer, ``(time, directions, batch, size)``, and its last states.

    Args:
        g: the graph.
        call: the node.
        x: ``(time, batch, features)``.
        states: the first ones, each ``(directions, batch, size)``.
        lengths: of the sequences; None if all are of full length.
    """
    direction = call.get("direction", "forward")
    sides = [direction == "reverse"] if direction != "bidirectional" else [False, True]
    functions = _functions(call, call.node.op_type, len(sides))
    each_has = len(functions) // len(sides)
    outs, lasts = [], []
    for side, backwards in enumerate(sides):
        side_functions = functions[side * each_has :][:each_has]
        layer = _Layer(g, call, side, side_functions)
        first = [layer._side(each, side) for each in states]
        out, last = _direction(g, layer, x, first, lengths, backwards)
        outs.append(out)
        lasts.append(last)
    stacked = [g.op("stack", *parts, axis=0) for parts in zip(*lasts, strict=True)]
    return [g.op("stack", *outs, axis=1), *stacked]


def _direction(
    g: Reading, layer: _Layer, x: object, first: list[Any], lengths: object, backwards: bool
) -> tuple[Any, list[Any]]:
    steps = g.shape(x)[0]
    x = _reversed(g, x, lengths) if backwards else x
    scanned = [layer.projected(x)]
    if lengths is not None:
        clock = g.op("Cast", g.places((steps, 1, 1), 0), dtype="float32")
        ends = g.op("Reshape", g.op("Cast", lengths, dtype="float32"), shape=(1, -1, 1))
        scanned.append(g.op("Cast", g.op("_npi_less", clock, ends), dtype=g.dtype(x).name))
    kinds = [(g.shape(each), g.dtype(each)) for each in first]

    def step(slices: Any, states: Any) -> Any:
        for each, value in zip(slices, scanned, strict=True):
            g.variable(each, g.shape(value)[1:], g.dtype(value), False)
        for each, (shape, dtype) in zip(states, kinds, strict=True):
            g.variable(each, shape, dtype, False)
        new = layer.step(slices[0], list(states))
        if lengths is None:
            return [new[0]], new
        going = slices[1]  # after its end a sequence keeps its states, and its outputs are 0
        lasting = [
            g.op("_npi_add", old, g.op("_npi_multiply", going, g.op("_npi_subtract", each, old)))
            for each, old in zip(new, states, strict=True)
        ]
        return [g.op("_npi_multiply", going, new[0])], lasting

    outputs, last = sym.contrib.foreach(step, scanned, first, name=g.scope)
    out = outputs[0]
    return (_reversed(g, out, lengths) if backwards else out), list(last)


def _reversed(g: Reading, x: object, lengths: object) -> Any:
    """Sequences backwards, each within its length."""
    if lengths is None:
        return g.op("_npi_flip", x, axis=0)
    return g.op(
        "SequenceReverse", x, g.op("Cast", lengths, dtype="float32"), use_sequence_length=True
    )
