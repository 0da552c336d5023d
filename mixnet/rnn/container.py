"""Cells on symbols composed of cells: stacked, or bidirectional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet import symbol as sym
from mixnet.base import CheckError, NotDefinedError
from mixnet.rnn.cell import (
    BaseRNNCell,
    RNNParams,
    cells_begin_state,
    cells_pack_weights,
    cells_state_info,
    cells_unpack_weights,
    steps_of,
)
from mixnet.symbol.symbol import Symbol


def _share(params: RNNParams | None, container_params: RNNParams, cell: BaseRNNCell) -> None:
    """Make a cell and what holds it know each other's variables.

    Raises:
        AssertionError: both were given variables.
    """
    if params is not None:
        if not cell._own_params:
            raise CheckError(
                "Give params to the cell that contains others, or to those, not to both."
            )
        cell.params._params.update(params._params)
    container_params._params.update(cell.params._params)


class _Cells(BaseRNNCell):
    """The base of cells that contain cells."""

    _cells: list[BaseRNNCell]

    @property
    def state_info(self) -> Any:
        """Shape and layout of the states of all cells."""
        return cells_state_info(self._cells)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """First states of all cells."""
        self._mx_check_alone()
        return cells_begin_state(self._cells, **kwargs)

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the gates of all cells separated."""
        return cells_unpack_weights(self._cells, args)

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arrays by name with the gates of all cells joined again."""
        return cells_pack_weights(self._cells, args)


class SequentialRNNCell(_Cells):
    """Cells one above the other: each gets the output of the one below.

    Args:
        params: variables to share.
    """

    def __init__(self, params: RNNParams | None = None):
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells = []

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top."""
        self._cells.append(cell)
        _share(self._params if self._override_cell_params else None, self._params, cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """One step of all cells."""
        self._counter += 1
        after: list[Any] = []
        at = 0
        for cell in self._cells:
            if isinstance(cell, BidirectionalCell):
                raise CheckError(
                    "SequentialRNNCell holds a BidirectionalCell, which cannot be stepped: it needs "
                    "the whole sequence. Call unroll()."
                )
            count = len(cell.state_info)
            inputs, cell_states = cell(inputs, states[at : at + count])
            at += count
            after.append(cell_states)
        return inputs, [state for cell_states in after for state in cell_states]

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Run each cell over the whole sequence of outputs of the one below."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        after: list[Any] = []
        at = 0
        for number, cell in enumerate(self._cells, 1):
            count = len(cell.state_info)
            inputs, cell_states = cell.unroll(
                length,
                inputs=inputs,
                begin_state=states[at : at + count],
                layout=layout,
                merge_outputs=merge_outputs if number == len(self._cells) else None,
            )
            at += count
            after += cell_states
        return inputs, after


class BidirectionalCell(_Cells):
    """Two cells over a sequence, one of them backwards; outputs are concatenated.

    Source: Schuster and Paliwal, 1997.

    Args:
        l_cell: from the first step to the last.
        r_cell: from the last step to the first.
        params: variables to share.
        output_prefix: text before the names of the outputs.
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ):
        super().__init__("", params=params)
        self._output_prefix = output_prefix
        self._override_cell_params = params is not None
        for cell in (l_cell, r_cell):
            _share(params, self._params, cell)
        self._cells = [l_cell, r_cell]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """Not possible: it needs the whole sequence."""
        raise NotDefinedError("BidirectionalCell cannot be stepped. Call unroll().")

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Both cells over the whole sequence; the last states are a list for each of them."""
        self.reset()
        steps, axis = steps_of(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        forward, backward = self._cells
        count = len(forward.state_info)
        left, left_states = forward.unroll(length, steps, states[:count], layout, merge_outputs)
        right, right_states = backward.unroll(
            length, list(reversed(steps)), states[count:], layout, merge_outputs
        )
        if merge_outputs is None:
            merge_outputs = isinstance(left, Symbol) and isinstance(right, Symbol)
            left = steps_of(length, left, layout, merge_outputs)[0]
            right = steps_of(length, right, layout, merge_outputs)[0]
        name = self._output_prefix
        outputs: Any
        if merge_outputs:
            outputs = sym.Concat(left, sym.reverse(right, axis=axis), dim=2, name=name + "out")
        else:
            outputs = [
                sym.Concat(each, other, dim=1, name=f"{name}t{i}")
                for i, (each, other) in enumerate(zip(left, reversed(right), strict=True))
            ]
        return outputs, [left_states, right_states]
