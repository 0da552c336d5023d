"""Recurrent cells: one step of a recurrent network, which ``unroll`` repeats over a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet.base import (
    AttributeTypeError,
    CheckError,
    NotDefinedError,
    ShapeError,
    StateCountError,
)
from mixnet.gluon.block import Block, HybridBlock
from mixnet.gluon.nn.activation import LeakyReLU
from mixnet.gluon.parameter import ParameterDict
from mixnet.gluon.rnn.sequence import first_states, masked, sequence
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import OPERATORS
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Count, Positive
from mixnet.util import is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer


class RecurrentCell(Block):
    """Base of cells: ``output, states = cell(inputs, states)``.

    A cell of your own defines ``state_info`` and ``forward(inputs, states)``, or, derived from
    ``HybridRecurrentCell``, ``hybrid_forward``.

    Args:
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the state of the cell object before another sequence."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if hasattr(cell, "reset"):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of each state.

        Args:
            batch_size: the number of samples; 0 leaves it open.
        """
        raise NotDefinedError(
            f"{type(self).__name__} does not define state_info(self, batch_size=0): a list with a "
            f"dict {{'shape': (batch_size, ...), '__layout__': 'NC'}} for each state."
        )

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = nd.zeros, **kwargs: object
    ) -> list[Any]:
        """Initial states.

        Args:
            batch_size: samples in a batch.
            func: creates a state: ``mx.nd.zeros``, ``mx.sym.zeros``, ``mx.nd.ones`` and so on.
            kwargs: further arguments for ``func``, such as ``ctx`` or ``dtype``.

        Raises:
            AssertionError: the cell is wrapped by a modifier.
        """
        self._mx_check_alone()
        if not callable(func):
            raise AttributeTypeError(
                f"begin_state: func must be a function that creates a state, such as "
                f"mx.nd.zeros, not {func!r:.60}; give the "
                f"number of samples as batch_size=..."
            )
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            arguments = {**(info or {}), **kwargs}
            state = func(name=f"{self._prefix}begin_state_{self._init_counter}", **arguments)
            states.append(state.as_np_ndarray() if is_np_array() else state)
        return states

    def _mx_check_alone(self) -> None:
        if self._modified:
            raise CheckError(
                f"{self.name} is inside a modifier cell (such as ZoneoutCell) and can no longer "
                f"be called directly. Call the modifier cell."
            )

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """Run the cell over all steps of a batch of sequences.

        Args:
            length: steps.
            inputs: an array or symbol in this ``layout``, or a list with one per step.
            begin_state: states before the first step, by default zeros.
            layout: axes of ``inputs`` and of merged outputs: ``NTC`` or ``TNC``.
            merge_outputs: outputs as one array (True) or as a list (False, None). With
                ``valid_length`` and None they are one array.
            valid_length: ``(batch,)``, steps of each sequence: outputs after them are 0, and the
                states are those after the last of them.

        Returns:
            Outputs, and the states after the last step.

        Raises:
            AssertionError: the inputs do not have ``length`` steps.
        """
        self.reset()
        steps, time, F, batch = sequence(length, inputs, layout, False)
        states = first_states(self, F, begin_state, steps, batch)
        outputs, passed = [], []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            passed.append(states)
        if valid_length is None:
            return sequence(length, outputs, layout, merge_outputs).data, states
        states = [
            F.SequenceLast(
                F.stack(*each, axis=0),
                sequence_length=valid_length,
                use_sequence_length=True,
                axis=0,
            )
            for each in zip(*passed, strict=True)
        ]
        merged = masked(F, outputs, length, valid_length, time, True)
        return sequence(length, merged, layout, merge_outputs).data, states

    def _get_activation(self, F: ModuleType, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation by name, as a layer, or any function of ``inputs`` and ``name``."""
        if isinstance(activation, str):
            operator = OPERATORS.get(activation)
            if operator is not None and operator.activation == activation:
                return getattr(F, activation)(inputs, **kwargs)
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        if isinstance(activation, Block):
            return activation(inputs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]) -> Any:
        """One step: output and new states.

        Raises:
            ShapeError: inputs and states do not match.
        """
        self._counter += 1
        try:
            return super().forward(inputs, states)
        except (IndexError, TypeError, AttributeError, ValueError):
            problem = self._mx_misfit(inputs, states)
            if problem is None:
                raise
            raise problem from None

    def _mx_misfit(
        self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]
    ) -> ShapeError | None:
        """The error for a step with such inputs and states; None if their shapes match."""
        if not isinstance(inputs, NDArray) or not inputs.ndim:
            return None
        batch, title = inputs.shape[0], type(self).__name__
        shapes = [each["shape"] for each in self.state_info(batch)]
        if not isinstance(states, (list, tuple)) or len(states) != len(shapes):
            count = len(states) if isinstance(states, (list, tuple)) else "no list"
            return StateCountError(
                f"{title} takes a list of {len(shapes)} state(s), as begin_state(batch_size={batch}) "
                f"makes it, but got {count}."
            )
        if shapes and inputs.ndim != len(shapes[0]):
            return ShapeError(
                f"{title} takes the inputs of one step, which have {len(shapes[0])} axes, not "
                f"{inputs.shape}. unroll(length, inputs) takes a sequence."
            )
        for i, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            if isinstance(state, NDArray) and state.shape != tuple(shape):
                return ShapeError(
                    f"{title}: state {i} has shape {state.shape}, inputs {inputs.shape} need "
                    f"{tuple(shape)}, as begin_state(batch_size={batch}) makes it."
                )
        return None


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base of cells that can be hybridized: override ``hybrid_forward(F, inputs, states, ...)``."""

    # A cell that carries other arrays than its states from step to step (the last output of zoneout,
    # masks of dropout) cannot be one graph, which would start again in each call. Its parts are graphs.
    _mx_carries = False

    def _mx_run(self, *args: Any) -> Any:
        return self.forward(*args) if _carries(self) else super()._mx_run(*args)

    def hybrid_forward(self, F: ModuleType, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Output and new states; to be overridden."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define hybrid_forward(self, F, inputs, states, ...)."
        )


def _carries(cell: Block) -> bool:
    carries = isinstance(cell, HybridRecurrentCell) and cell._mx_carries
    return carries or any(map(_carries, cell._children.values()))


class _GatedCell(HybridRecurrentCell):
    """A cell with one affine map of the inputs and one of the state, of ``gates`` parts each."""

    gates = 1
    i2h_weight: Any
    h2h_weight: Any
    i2h_bias: Any
    h2h_bias: Any

    @check_arguments
    def __init__(
        self,
        hidden_size: Positive,
        initializers: dict[str, Any],
        input_size: Count,
        prefix: str | None,
        params: ParameterDict | None,
        out_size: int = 0,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size = hidden_size, input_size
        rows = self.gates * hidden_size
        shapes = {
            "i2h_weight": (rows, input_size),
            "h2h_weight": (rows, out_size or hidden_size),
            "h2r_weight": (out_size, hidden_size),
            "i2h_bias": (rows,),
            "h2h_bias": (rows,),
        }
        for name, init in initializers.items():
            parameter = self.params.get(
                name, shape=shapes[name], init=init, allow_deferred_init=True
            )
            setattr(self, name, parameter)

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of each state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _mx_mapping(self) -> str:
        shape = self.i2h_weight.shape
        return f"{shape[1] if shape[1] else None} -> {shape[0]}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mx_mapping()})"

    def _mx_maps(
        self, F: Any, inputs: Any, state: Any, weights: tuple[Any, Any], biases: tuple[Any, Any]
    ) -> tuple[str, Any, Any]:
        """Prefix of the names of this step's nodes, and the maps of the inputs and of the state."""
        step = f"t{self._counter}_"
        rows = self._hidden_size * self.gates
        i2h, h2h = [
            F.FullyConnected(data=data, weight=weight, bias=bias, num_hidden=rows, name=step + name)
            for data, weight, bias, name in zip(
                (inputs, state), weights, biases, ("i2h", "h2h"), strict=True
            )
        ]
        return step, i2h, h2h


def _four(
    i2h_weight: Initializer | str | None,
    h2h_weight: Initializer | str | None,
    i2h_bias: Initializer | str | None,
    h2h_bias: Initializer | str | None,
) -> dict[str, Any]:
    return {
        "i2h_weight": i2h_weight,
        "h2h_weight": h2h_weight,
        "i2h_bias": i2h_bias,
        "h2h_bias": h2h_bias,
    }


class RNNCell(_GatedCell):
    """Elman's cell: ``activation(W_i x + b_i + W_h h + b_h)``. Source: Elman, 1990.

    Args:
        hidden_size: units.
        activation: name of an activation, a layer, or a function of data and name.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        input_size: inputs per sample; 0: inferred from the first data.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: str | Callable[..., Any] | None = "tanh",
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        initializers = _four(
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, initializers, input_size, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mx_mapping()}, {self._activation})"

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output and new state, which are the same."""
        weights, biases = (i2h_weight, h2h_weight), (i2h_bias, h2h_bias)
        step, i2h, h2h = self._mx_maps(F, inputs, states[0], weights, biases)
        total = F.elemwise_add(i2h, h2h, name=step + "plus0")
        output = self._get_activation(F, total, self._activation, name=step + "out")
        return output, [output]


class LSTMCell(_GatedCell):
    """Long short-term memory. Source: Hochreiter and Schmidhuber, 1997; Gers et al., 1999.

    The rows of the weights are those of the input gate, the forget gate, the new content and the output gate.

    Args:
        hidden_size: units.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        input_size: inputs per sample; 0: inferred from the first data.
        prefix: prefix of its parameters' names.
        params: parameters to share.
        activation: of the new content and of the output.
        recurrent_activation: of the gates.
    """

    gates = 4

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: str | Callable[..., Any] | None = "tanh",
        recurrent_activation: str | None = "sigmoid",
    ):
        initializers = _four(
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, initializers, input_size, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the state and of the cell state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(2)]

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output, and the new state and cell state."""
        weights, biases = (i2h_weight, h2h_weight), (i2h_bias, h2h_bias)
        step, i2h, h2h = self._mx_maps(F, inputs, states[0], weights, biases)
        total = F.elemwise_add(i2h, h2h, name=step + "plus0")
        parts = F.SliceChannel(total, num_outputs=4, name=step + "slice")

        def gate(index: int, name: str) -> Any:
            return self._get_activation(
                F, parts[index], self._recurrent_activation, name=step + name
            )

        enter, forget = gate(0, "i"), gate(1, "f")
        new = self._get_activation(F, parts[2], self._activation, name=step + "c")
        leave = gate(3, "o")
        cell = F.elemwise_add(
            F.elemwise_mul(forget, states[1], name=step + "mul0"),
            F.elemwise_mul(enter, new, name=step + "mul1"),
            name=step + "state",
        )
        shown = F.Activation(cell, act_type=self._activation, name=step + "activation0")
        output = F.elemwise_mul(leave, shown, name=step + "out")
        return output, [output, cell]


class GRUCell(_GatedCell):
    """Gated recurrent unit, with the reset gate after the product. Source: Cho et al., 2014.

    The rows of the weights are those of the reset gate, the update gate and the new content.

    Args:
        hidden_size: units.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        input_size: inputs per sample; 0: inferred from the first data.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    gates = 3

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        initializers = _four(
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, initializers, input_size, prefix, params)

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output and new state, which are the same."""
        before = states[0]
        weights, biases = (i2h_weight, h2h_weight), (i2h_bias, h2h_bias)
        step, i2h, h2h = self._mx_maps(F, inputs, before, weights, biases)
        reset_in, update_in, new_in = F.SliceChannel(i2h, num_outputs=3, name=step + "i2h_slice")
        reset_h, update_h, new_h = F.SliceChannel(h2h, num_outputs=3, name=step + "h2h_slice")

        def act(kind: str, left: Tensor, right: Tensor, number: int, name: str) -> Any:
            total = F.elemwise_add(left, right, name=f"{step}plus{number}")
            return F.Activation(total, act_type=kind, name=step + name)

        reset = act("sigmoid", reset_in, reset_h, 0, "r_act")
        update = act("sigmoid", update_in, update_h, 1, "z_act")
        scaled = F.elemwise_mul(reset, new_h, name=step + "mul0")
        new = act("tanh", new_in, scaled, 2, "h_act")
        ones = F.ones_like(update, name=step + "ones_like0")
        share = F.elemwise_sub(ones, update, name=step + "minus0")
        output = F.elemwise_add(
            F.elemwise_mul(share, new, name=step + "mul1"),
            F.elemwise_mul(update, before, name=step + "mul20"),
            name=step + "out",
        )
        return output, [output]
