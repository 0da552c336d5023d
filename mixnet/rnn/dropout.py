"""Dropout between cells on symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet import symbol as sym
from mixnet.base import CheckError
from mixnet.rnn.cell import BaseRNNCell, RNNParams, steps_of
from mixnet.symbol.symbol import Symbol


class DropoutCell(BaseRNNCell):
    """Dropout of the inputs, as a cell without states to put between others.

    Args:
        dropout: probability that an element becomes 0.
        prefix: text before names.
        params: variables to share; it has none.

    Raises:
        AssertionError: ``dropout`` is not a number.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None):
        super().__init__(prefix, params)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise CheckError(f"DropoutCell: dropout must be a number, not {dropout!r}.")
        self.dropout = dropout

    @property
    def state_info(self) -> Any:
        """It has no states."""
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> Any:
        """The inputs with elements dropped."""
        if self.dropout > 0:
            return sym.Dropout(data=inputs, p=self.dropout), states
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol] | None,
        begin_state: Symbol | Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Dropout of all steps, at once where they are one symbol."""
        self.reset()
        steps, _ = steps_of(length, inputs, layout, merge_outputs)
        if isinstance(steps, Symbol):
            return tuple(self(steps, []))
        return super().unroll(length, steps, begin_state, layout, merge_outputs)
