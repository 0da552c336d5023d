"""Recurrent layers over whole sequences, as one operator on symbols."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet import initializer
from mixnet import symbol as sym
from mixnet.base import CheckError, IndexingError, MXNetError, NotDefinedError
from mixnet.ndarray import concatenate
from mixnet.ops.nn.recurrent import GATES, part_shapes
from mixnet.rnn.cell import BaseRNNCell, GRUCell, LSTMCell, RNNCell, RNNParams, steps_of
from mixnet.rnn.container import BidirectionalCell, SequentialRNNCell
from mixnet.rnn.dropout import DropoutCell

if TYPE_CHECKING:
    from mixnet.symbol.symbol import Symbol

_GATE_NAMES: dict[str, list[str]] = {
    "rnn_relu": [""],
    "rnn_tanh": [""],
    "lstm": ["_i", "_f", "_c", "_o"],
    "gru": ["_r", "_z", "_o"],
}


class FusedRNNCell(BaseRNNCell):
    """Layers of a recurrent network in one operator (``RNN``), which is faster than cells.

    Args:
        num_hidden: units of a layer.
        num_layers: layers, each on the outputs of the one below.
        mode: ``rnn_relu``, ``rnn_tanh``, ``lstm`` or ``gru``.
        bidirectional: whether each layer also runs backwards.
        dropout: probability that an output of a layer does not reach the one above, in training.
        get_next_state: whether ``unroll`` hands out the last states.
        forget_bias: first value of the bias of the gate forget of ``lstm``.
        prefix: text before names, by default the mode.
        params: variables to share.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ):
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state, self._forget_bias = get_next_state, forget_bias
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self) -> Any:
        """Shape and layout of the state and, of ``lstm``, of the cell state."""
        rows = self._num_layers * len(self._directions)
        info = {"shape": (rows, 0, self._num_hidden), "__layout__": "LNC"}
        return [dict(info) for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Any:
        return _GATE_NAMES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _parts(self, units: int) -> list[tuple[str, tuple[int, ...]]]:
        """Name and shape of each gate's arrays in the parameter vector, in order."""
        parts = []
        layout = part_shapes(
            units, self._num_hidden, self._num_layers, self._bidirectional, self._mode, None
        )
        for (part, layer, direction), shape in layout:
            kind = "bias" if part.endswith("bias") else "weight"
            start = f"{self._prefix}{self._directions[direction]}{layer}_{part[:3]}"
            for gate in self._gate_names:
                parts.append((f"{start}{gate}_{kind}", (self._num_hidden, *shape[1:])))
        return parts

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the parameter vector split, a part for each gate.

        Args:
            args: arrays of parameters by name; others are passed on.

        Raises:
            MXNetError: the vector has a size that no number of inputs gives.
        """
        args = dict(args)
        vector = args.pop(self._prefix + "parameters")
        units = self._units_of(vector.size)
        at = 0
        for name, shape in self._parts(units):
            size = math.prod(shape)
            args[name] = vector[at : at + size].reshape(shape).copy()
            at += size
        return args

    def _units_of(self, size: int) -> int:
        """Inputs of the lowest layer, from the size of the parameter vector."""

        def count(units: int) -> int:
            return sum(math.prod(shape) for _, shape in self._parts(units))

        first = count(0)
        units, rest = divmod(size - first, count(1) - first)
        if rest or units < 0:
            raise MXNetError(
                f"{self._prefix}parameters has {size} elements, which no number of inputs gives for "
                f"num_hidden={self._num_hidden}, num_layers={self._num_layers}, "
                f"mode={self._mode!r}, bidirectional={self._bidirectional}."
            )
        return units

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the gates' parts joined to the parameter vector again.

        Args:
            args: arrays of parameters by name; others are passed on.
        """
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        parts = [args.pop(name).reshape((-1,)) for name, _ in self._parts(first.shape[1])]
        args[self._prefix + "parameters"] = concatenate(parts)
        return args

    def __call__(
        self, inputs: Symbol | Sequence[Symbol] | None, states: Symbol | Sequence[Symbol] | None
    ) -> Any:
        """Not possible: it runs whole sequences."""
        raise NotDefinedError(
            "FusedRNNCell cannot be stepped. Call unroll(), or unfuse() and step its cells."
        )

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """All layers over the whole sequence; no states without ``get_next_state``.

        Raises:
            AssertionError: the layout is neither ``'TNC'`` nor ``'NTC'``.
            IndexError: there are fewer states than the mode has.
        """
        self.reset()
        data, axis = steps_of(length, inputs, layout, True)
        if layout not in ("TNC", "NTC"):
            raise CheckError(f"Unsupported layout {layout}: use 'TNC' or 'NTC'.")
        if axis == 1:
            warnings.warn(
                "FusedRNNCell computes in the layout TNC: with NTC, data and outputs are transposed.",
                stacklevel=2,
            )
            data = sym.swapaxes(data, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        if len(states) < len(self.state_info):
            raise IndexingError(
                f"FusedRNNCell: {len(states)} states for mode {self._mode!r}, which has "
                f"{len(self.state_info)}."
            )
        named: dict[str, Any] = dict(zip(("state", "state_cell"), states, strict=False))
        if self._get_next_state:
            named["attr"] = {"__layout__": "LNC"}  # of the states, for who binds them
        rnn = sym.RNN(
            data=data,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=self._prefix + "rnn",
            **named,
        )
        outputs, *after = list(rnn)
        if axis == 1:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return steps_of(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self) -> SequentialRNNCell:
        """The same network of cells, which ``unpack_weights`` here and ``pack_weights`` there fill."""
        if self._mode not in GATES:
            raise MXNetError(f"mode={self._mode!r} is not one of {', '.join(GATES)}.")

        def cell(prefix: str) -> BaseRNNCell:
            if self._mode == "lstm":
                return LSTMCell(self._num_hidden, prefix=prefix, forget_bias=self._forget_bias)
            if self._mode == "gru":
                return GRUCell(self._num_hidden, prefix=prefix)
            activation = self._mode.removeprefix("rnn_")
            return RNNCell(self._num_hidden, activation=activation, prefix=prefix)

        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [cell(f"{self._prefix}{side}{layer}_") for side in self._directions]
            if self._bidirectional:
                prefix = f"{self._prefix}bi_l{layer}_"
                stack.add(BidirectionalCell(cells[0], cells[1], output_prefix=prefix))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack
