"""Cells on symbols that modify other cells: zoneout, residual connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixnet import symbol as sym
from mixnet.base import CheckError
from mixnet.rnn.cell import BaseRNNCell, RNNParams, steps_of
from mixnet.rnn.container import BidirectionalCell, SequentialRNNCell
from mixnet.rnn.fused import FusedRNNCell
from mixnet.symbol.symbol import Symbol


class ModifierCell(BaseRNNCell):
    """Base of cells that modify another cell; variables and states are those of the other cell.

    Args:
        base_cell: the other, which can be called through this one only.
    """

    def __init__(self, base_cell: BaseRNNCell):
        base_cell._modified = True
        self.base_cell = base_cell
        super().__init__()

    @property
    def params(self) -> RNNParams:
        """Variables of the other cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> Any:
        """Shape and layout of the other cell's states."""
        return self.base_cell.state_info

    def begin_state(  # type: ignore[override]
        self, init_sym: Callable[..., Any] = sym.zeros, **kwargs: object
    ) -> list[Any]:
        """First states of the other cell, made by ``init_sym``."""
        self._mx_check_alone()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(init_sym, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the other cell's joined gates separated."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the other cell's gates joined again."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Elements of outputs and states that keep their last value at random. Krueger et al., 2016.

    Args:
        base_cell: the cell.
        zoneout_outputs: probability that an element of the output keeps its value.
        zoneout_states: probability that an element of a state keeps its value.

    Raises:
        AssertionError: the cell is fused or bidirectional, which has no steps.
    """

    def __init__(
        self,
        base_cell: BaseRNNCell,
        zoneout_outputs: float = 0.0,
        zoneout_states: float = 0.0,
    ):
        if isinstance(base_cell, FusedRNNCell):
            raise CheckError("ZoneoutCell takes no FusedRNNCell; call its unfuse() first.")
        cells = base_cell._cells if isinstance(base_cell, SequentialRNNCell) else [base_cell]
        if any(isinstance(cell, BidirectionalCell) for cell in cells):
            raise CheckError(
                "ZoneoutCell takes no BidirectionalCell, which cannot be stepped. Put a "
                "ZoneoutCell around each of its two cells."
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Any = None

    def reset(self) -> None:
        """Discard the last output."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output and states of the cell, some of whose elements stay."""
        output, after = self.base_cell(inputs, states)

        def mixed(rate: float, new: object, old: object) -> Any:
            return sym.where(sym.Dropout(sym.ones_like(new), p=rate), new, old)

        if self.zoneout_outputs != 0:
            before = sym.zeros((0, 0)) if self.prev_output is None else self.prev_output
            output = mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0:
            after = [
                mixed(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)
            ]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """The output of a cell plus its inputs. Source: Wu et al., 2016.

    Args:
        base_cell: a cell whose output has the shape of its inputs.
    """

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Output plus inputs, and the states of the cell."""
        output, states = self.base_cell(inputs, states)
        return _plus(output, inputs), states

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """The cell over the whole sequence, plus the inputs."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, merge_outputs
            )
        finally:
            self.base_cell._modified = True
        if merge_outputs is None:
            merge_outputs = isinstance(outputs, Symbol)
        steps, _ = steps_of(length, inputs, layout, merge_outputs)
        if merge_outputs:
            return _plus(outputs, steps), states
        return [_plus(*pair) for pair in zip(outputs, steps, strict=True)], states


def _plus(output: Any, inputs: Symbol | Sequence[Symbol] | None) -> Any:
    return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
