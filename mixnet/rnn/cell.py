"""Recurrent cells on symbols: one step of a recurrent network, which ``unroll`` repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixnet import initializer
from mixnet import symbol as sym
from mixnet.base import CheckError, NotDefinedError
from mixnet.ndarray import concatenate
from mixnet.process.docstrings import inherit_arguments
from mixnet.symbol.symbol import Symbol, Variable


class RNNParams:
    """Variables of cells by name, made when they are first requested.

    Args:
        prefix: text before the names.
    """

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable ``prefix + name``; ``kwargs`` as of ``mx.sym.Variable`` if it is made."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = Variable(full, **kwargs)
        return self._params[full]


def cells_state_info(cells: Sequence[BaseRNNCell]) -> list[Any]:
    """Shape and layout of the states of several cells."""
    return [info for cell in cells for info in cell.state_info]


def cells_state_shape(cells: Sequence[BaseRNNCell]) -> list[tuple[int, ...]]:
    """Shapes of the states of several cells; 0 stands for the batch."""
    return [shape for cell in cells for shape in cell.state_shape]


def cells_begin_state(cells: Sequence[BaseRNNCell], **kwargs: Any) -> list[Any]:
    """First states of several cells; ``kwargs`` as of ``begin_state``."""
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def cells_unpack_weights(cells: Sequence[BaseRNNCell], args: dict[str, Any]) -> dict[str, Any]:
    """Arrays by name with the gates of several cells separated."""
    for cell in cells:
        args = cell.unpack_weights(args)
    return args


def cells_pack_weights(cells: Sequence[BaseRNNCell], args: dict[str, Any]) -> dict[str, Any]:
    """Arrays by name with the gates of several cells joined again."""
    for cell in cells:
        args = cell.pack_weights(args)
    return args


def steps_of(
    length: int,
    inputs: Symbol | Sequence[Symbol] | None,
    layout: str,
    merge: bool | None,
    in_layout: str | None = None,
) -> tuple[Any, int]:
    """A sequence as one symbol (``merge``), as a list (``False``) or as it is; its axis of time.

    Args:
        length: number of steps.
        inputs: a symbol with an axis of time, or one symbol for each step.
        layout: of the result: ``"NTC"`` or ``"TNC"``.
        merge: see above; ``None`` leaves a symbol and a list what they are.
        in_layout: of ``inputs``, if it is another one.

    Raises:
        AssertionError: there are not ``length`` steps, or several outputs in one symbol.
    """
    if inputs is None:
        raise CheckError(
            "unroll: inputs=None; make the inputs outside and give them: a symbol with an axis of "
            "time, or a list with one for each step."
        )
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        in_axis = axis if in_layout is None else in_layout.find("T")
        if merge is not False:
            if in_axis != axis:
                inputs = sym.swapaxes(inputs, dim1=axis, dim2=in_axis)
            return inputs, axis
        if len(inputs) != 1:
            raise CheckError(
                f"unroll takes a symbol of one output, not of {len(inputs)}; make a list of it, "
                f"list(inputs), to give each step as one output."
            )
        steps = sym.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=1)
        return list(steps), axis
    if length is not None and len(inputs) != length:
        raise CheckError(f"unroll over {length} steps, but inputs has {len(inputs)}.")
    if merge:
        parts = [sym.expand_dims(each, axis=axis) for each in inputs]
        return sym.Concat(*parts, dim=axis), axis
    return inputs, axis


class BaseRNNCell:
    """Base of cells of symbols: ``output, states = cell(inputs, states)``.

    Args:
        prefix: text before the names of its variables and operations.
        params: variables to share.
    """

    _cells: Sequence[BaseRNNCell] = ()
    """The cells that it consists of."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)

    def __init__(self, prefix: str = "", params: RNNParams | None = None):
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Restart the count of steps, before another graph."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._cells:
            cell.reset()

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """One step: output and new states, from ``inputs`` ``(batch, units)`` and the last ``states``."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define __call__(self, inputs, states)."
        )

    @property
    def params(self) -> RNNParams:
        """Its variables."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> Any:
        """Shape and layout of each state; 0 stands for the batch."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define state_info: a list with a dict "
            f"{{'shape': (0, units), '__layout__': 'NC'}} for each state."
        )

    @property
    def state_shape(self) -> Any:
        """Shape of each state; 0 stands for the batch."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Any:
        return ()

    def _mx_next_step(self) -> str:
        """Prefix of the names of the next step's nodes."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _mx_maps(
        self, inputs: Symbol | Sequence[Symbol] | None, state: object, name: str
    ) -> tuple[Any, Any]:
        """The affine maps of the inputs and of the state."""
        raise NotDefinedError(f"{type(self).__name__} does not define _mx_maps.")

    def begin_state(self, func: Callable[..., Any] = sym.zeros, **kwargs: object) -> list[Any]:
        """First states.

        Args:
            func: makes a state: ``mx.sym.zeros``, ``mx.sym.Variable`` and the like.
            kwargs: further arguments for ``func``.

        Raises:
            AssertionError: the cell is within a modifier.
        """
        self._mx_check_alone()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            arguments = {**(info or {}), **kwargs}
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **arguments))
        return states

    def _mx_check_alone(self) -> None:
        if self._modified:
            raise CheckError(
                f"{type(self).__name__} {self._prefix!r} is inside a modifier cell (such as "
                f"ZoneoutCell) and can no longer be called directly. Call the modifier cell."
            )

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the joined gates separated: ``i2h_weight`` to ``i2h_i_weight``, ...

        Args:
            args: arrays of parameters by name; others are passed on.
        """
        args = dict(args)
        if not self._gate_names:
            return args
        units = self._num_hidden  # type: ignore[attr-defined]
        for part in ("i2h", "h2h"):
            weight = args.pop(f"{self._prefix}{part}_weight")
            bias = args.pop(f"{self._prefix}{part}_bias")
            for i, gate in enumerate(self._gate_names):
                rows = slice(i * units, (i + 1) * units)
                args[f"{self._prefix}{part}{gate}_weight"] = weight[rows].copy()
                args[f"{self._prefix}{part}{gate}_bias"] = bias[rows].copy()
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the gates joined again, the reverse of ``unpack_weights``.

        Args:
            args: arrays of parameters by name; others are passed on.
        """
        args = dict(args)
        if not self._gate_names:
            return args
        for part in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                names = [f"{self._prefix}{part}{gate}_{kind}" for gate in self._gate_names]
                joined = concatenate([args.pop(name) for name in names])
                args[f"{self._prefix}{part}_{kind}"] = joined
        return args

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """The cell over all steps of a sequence.

        Args:
            length: steps.
            inputs: a symbol in the given ``layout``, or a list with one for each step.
            begin_state: states before the first step, by default zeros.
            layout: axes of ``inputs`` and of merged outputs: ``NTC`` or ``TNC``.
            merge_outputs: outputs as one symbol (True) or as a list (False, None).

        Returns:
            Outputs, and the states after the last step.

        Raises:
            AssertionError: the inputs do not have ``length`` steps.
        """
        self.reset()
        steps, _ = steps_of(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else [*begin_state]
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return steps_of(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(
        self, inputs: Symbol | Sequence[Symbol] | None, activation: str, **kwargs: object
    ) -> Any:
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


class _GatedCell(BaseRNNCell):
    """A cell of one affine map of the inputs and one of the state."""

    def __init__(
        self,
        num_hidden: int,
        prefix: str,
        params: RNNParams | None,
        bias_init: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        options = {} if bias_init is None else {"init": bias_init}
        self._iB = self.params.get("i2h_bias", **options)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> Any:
        """Shape and layout of the state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _mx_maps(
        self, inputs: Symbol | Sequence[Symbol] | None, state: object, name: str
    ) -> tuple[Any, Any]:
        rows = self._num_hidden * max(1, len(self._gate_names))
        i2h = sym.FullyConnected(
            data=inputs, weight=self._iW, bias=self._iB, num_hidden=rows, name=name + "i2h"
        )
        h2h = sym.FullyConnected(
            data=state, weight=self._hW, bias=self._hB, num_hidden=rows, name=name + "h2h"
        )
        return i2h, h2h


class _PlainStep(BaseRNNCell):
    """The step of cells without gates, whatever computes their two maps."""

    _activation: Any

    @property
    def _gate_names(self) -> Any:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output and new state, which are the same."""
        name = self._mx_next_step()
        i2h, h2h = self._mx_maps(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=name + "out")
        return output, [output]


class RNNCell(_PlainStep, _GatedCell):
    """Elman's cell: ``activation(W_i x + b_i + W_h h + b_h)``. Source: Elman, 1990.

    Args:
        num_hidden: units.
        activation: name of an activation, or a function of a symbol and ``name``.
        prefix: text before the names of its variables and operations.
        params: variables to share.
    """

    def __init__(
        self,
        num_hidden: int,
        activation: str = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation


class LSTMCell(_GatedCell):
    """Long short-term memory. Source: Hochreiter and Schmidhuber, 1997; Gers et al., 1999.

    Args:
        num_hidden: units.
        prefix: text before the names of its variables and operations.
        params: variables to share.
        forget_bias: first value of the bias of the gate forget.
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ):
        bias = initializer.LSTMBias(forget_bias=forget_bias)
        super().__init__(num_hidden, prefix, params, bias)

    @property
    def state_info(self) -> Any:
        """Shape and layout of the state and of the cell state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(2)]

    @property
    def _gate_names(self) -> Any:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output, and the new state and cell state."""
        name = self._mx_next_step()
        i2h, h2h = self._mx_maps(inputs, states[0], name)
        return lstm_step(i2h + h2h, states[1], name, "tanh", self._get_activation)


class GRUCell(_GatedCell):
    """Gated recurrent unit, with the reset gate after the product. Source: Cho et al., 2014.

    Args:
        num_hidden: units.
        prefix: text before the names of its variables and operations.
        params: variables to share.
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None):
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Any:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output and new state, which are the same."""
        name = self._mx_next_step()
        i2h, h2h = self._mx_maps(inputs, states[0], name + "_")
        output = gru_step(i2h, h2h, states[0], name, "tanh", self._get_activation)
        return output, [output]


def lstm_step(
    maps: Symbol, before: Any, name: str, activation: Any, activate: Any, **slicing: int
) -> tuple[Symbol, list[Symbol]]:
    """The gates of an LSTM: output and new states from the sum of both maps and the cell state before.

    Args:
        maps: of the inputs and of the state, the four gates joined.
        before: the cell state.
        name: prefix of the names of the nodes.
        activation: of the new values and of the cell state.
        activate: applies an activation.
        slicing: ``axis`` of the gates, where it is not the default.
    """
    parts = sym.SliceChannel(maps, num_outputs=4, name=name + "slice", **slicing)
    enter, forget, leave = [
        sym.Activation(parts[index], act_type="sigmoid", name=name + gate)
        for index, gate in ((0, "i"), (1, "f"), (3, "o"))
    ]
    new = activate(parts[2], activation, name=name + "c")
    cell = sym.elemwise_add(forget * before, enter * new, name=name + "state")
    output = sym.elemwise_mul(leave, activate(cell, activation), name=name + "out")
    return output, [output, cell]


def gru_step(
    i2h: Symbol | Sequence[Symbol] | None,
    h2h: Symbol | Sequence[Symbol] | None,
    before: Any,
    name: str,
    activation: str,
    activate: Any,
) -> Any:
    """The gates of a GRU: the new state from the maps of the inputs and of the state before."""
    reset_in, update_in, new_in = sym.SliceChannel(i2h, num_outputs=3, name=name + "_i2h_slice")
    reset_h, update_h, new_h = sym.SliceChannel(h2h, num_outputs=3, name=name + "_h2h_slice")
    reset = sym.Activation(reset_in + reset_h, act_type="sigmoid", name=name + "_r_act")
    update = sym.Activation(update_in + update_h, act_type="sigmoid", name=name + "_z_act")
    new = activate(new_in + reset * new_h, activation, name=name + "_h_act")
    return sym.elemwise_add((1.0 - update) * new, update * before, name=name + "out")
