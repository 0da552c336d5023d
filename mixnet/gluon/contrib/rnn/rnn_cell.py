"""An LSTM cell with projection, dropout with one mask per sequence, and unrolling as one loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.gluon.parameter import ParameterDict
from mixnet.gluon.rnn.cell import RecurrentCell, _GatedCell
from mixnet.gluon.rnn.container import holds_bidirectional
from mixnet.gluon.rnn.modifier import ModifierCell
from mixnet.gluon.rnn.sequence import TENSORS, operators_of, sequence

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor
    from mixnet.initializer.initializer import Initializer

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """Dropout with the same mask at all steps of a sequence. Source: Gal and Ghahramani, 2016.

    ``reset`` samples new masks; ``unroll`` does so at its start.

    Args:
        base_cell: the cell.
        drop_inputs: probability that an element of the inputs becomes 0.
        drop_states: the same of the first state.
        drop_outputs: the same of the output.

    Raises:
        AssertionError: ``drop_states`` for a bidirectional cell, which has no steps.
    """

    _mx_carries = True

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ):
        if drop_states and holds_bidirectional(base_cell):
            raise CheckError(
                "VariationalDropoutCell cannot drop states of a BidirectionalCell, which cannot be "
                "stepped. Put a VariationalDropoutCell around each of its two cells."
            )
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states = drop_inputs, drop_states
        self.drop_outputs = drop_outputs
        self._forget_masks()

    def _forget_masks(self) -> None:
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def _alias(self) -> str:
        return "vardrop"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def reset(self) -> None:
        """Discard the masks."""
        super().reset()
        self._forget_masks()

    def _mask(self, F: ModuleType, part: str, like: Tensor) -> Any:
        """The mask of inputs, states or outputs, sampled at first use."""
        name = f"drop_{part}_mask"
        mask = getattr(self, name)
        if mask is None:
            mask = F.Dropout(F.ones_like(like), p=getattr(self, f"drop_{part}"))
            setattr(self, name, mask)
        return mask

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """A step of the cell with masked inputs, state and output."""
        if self.drop_states:
            states = [states[0] * self._mask(F, "states", states[0]), *states[1:]]
        if self.drop_inputs:
            inputs = inputs * self._mask(F, "inputs", inputs)
        output, after = self.base_cell(inputs, states)
        if self.drop_outputs:
            output = output * self._mask(F, "outputs", output)
        return output, after

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """The cell over the whole sequence; without ``drop_states`` the masks are applied at once."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        data, time, F, _ = sequence(length, inputs, layout, True)
        if self.drop_inputs:
            data = F.Dropout(data, p=self.drop_inputs, axes=(time,))
        outputs, states = self._with_base(
            lambda cell: cell.unroll(length, data, begin_state, layout, True, valid_length)
        )
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(time,))
        merge = isinstance(outputs, TENSORS) if merge_outputs is None else merge_outputs
        return sequence(length, outputs, layout, merge).data, states


class LSTMPCell(_GatedCell):
    """Long short-term memory whose output and state are projected. Source: Sak et al., 2014.

    Args:
        hidden_size: units of the cell state.
        projection_size: units of output and state.
        i2h_weight_initializer: initializer of the weight of the inputs.
        h2h_weight_initializer: initializer of the weight of the state.
        h2r_weight_initializer: initializer of the weight of the projection.
        i2h_bias_initializer: initializer of the bias of the inputs.
        h2h_bias_initializer: initializer of the bias of the state.
        input_size: inputs per sample; 0: inferred from the first data.
        prefix: prefix of its parameters' names.
        params: parameters to share.
    """

    gates = 4
    h2r_weight: Any

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Initializer | str | None = None,
        h2h_weight_initializer: Initializer | str | None = None,
        h2r_weight_initializer: Initializer | str | None = None,
        i2h_bias_initializer: Initializer | str | None = "zeros",
        h2h_bias_initializer: Initializer | str | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "h2r_weight": h2r_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
        }
        self._projection_size = projection_size
        super().__init__(hidden_size, initializers, input_size, prefix, params, projection_size)

    def _alias(self) -> str:
        return "lstmp"

    def _mx_mapping(self) -> str:
        return f"{super()._mx_mapping()} -> {self.h2r_weight.shape[0]}"

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the state and of the cell state."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(
        self,
        F: ModuleType,
        inputs: Tensor,
        states: Sequence[Tensor],
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        h2r_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> Any:
        """Output, and the new state and cell state."""
        weights, biases = (i2h_weight, h2h_weight), (i2h_bias, h2h_bias)
        step, i2h, h2h = self._mx_maps(F, inputs, states[0], weights, biases)
        parts = F.SliceChannel(i2h + h2h, num_outputs=4, name=step + "slice")
        enter, forget, new, leave = [
            F.Activation(part, act_type="tanh" if name == "c" else "sigmoid", name=step + name)
            for part, name in zip(parts, "ifco", strict=True)
        ]
        cell = F.elemwise_add(forget * states[1], enter * new, name=step + "state")
        hidden = F.elemwise_mul(leave, F.Activation(cell, act_type="tanh"), name=step + "hidden")
        output = F.FullyConnected(
            data=hidden,
            num_hidden=self._projection_size,
            weight=h2r_weight,
            no_bias=True,
            name=step + "out",
        )
        return output, [output, cell]


def dynamic_unroll(
    cell: RecurrentCell,
    inputs: Tensor | Sequence[Tensor],
    begin_state: Any,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Tensor | None = None,
) -> tuple[Any, list[Any]]:
    """A cell over a sequence of any length, as one loop of the graph (``contrib.foreach``).

    Args:
        cell: the cell.
        inputs: an array or symbol in this ``layout``.
        begin_state: states before the first step.
        drop_inputs: probability that an element of the inputs becomes 0 at all steps.
        drop_outputs: the same of the outputs.
        layout: axes of inputs and outputs: ``TNC`` or ``NTC``.
        valid_length: ``(batch,)``, steps of each sequence: outputs after them are 0, and the states
            are those after the last of them.

    Returns:
        Outputs as one array, and the states after the last step.
    """
    data, time, F, _ = sequence(None, inputs, layout, True, in_layout=layout)
    steps = sequence(None, data, "TNC" if time == 1 else layout, True, in_layout=layout).data
    if drop_inputs:
        steps = F.Dropout(steps, p=drop_inputs, axes=(0,))
    single = isinstance(begin_state, TENSORS)
    states = [begin_state] if single else list(begin_state)

    def body(step: Any, states: Any) -> Any:
        *states, number = states
        output, after = cell(step, states)
        if valid_length is not None:
            running = F.broadcast_greater(valid_length, number)
            after = [F.where(running, new, old) for new, old in zip(after, states, strict=True)]
        return output, [*after, number + 1]

    cell.reset()
    outputs, (*states, _) = F.contrib.foreach(body, steps, [*states, F.zeros((1,))])
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    if valid_length is not None:
        outputs = F.SequenceMask(
            outputs, sequence_length=valid_length, use_sequence_length=True, axis=0
        )
    if time == 1:
        outputs = operators_of(outputs).swapaxes(outputs, dim1=0, dim2=1)
    return outputs, states
