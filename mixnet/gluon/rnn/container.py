"""Cells composed of cells: stacked, or bidirectional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError, NotDefinedError
from mixnet.gluon.block import Block
from mixnet.gluon.rnn.cell import HybridRecurrentCell, RecurrentCell
from mixnet.gluon.rnn.sequence import (
    TENSORS,
    backwards,
    first_states,
    masked,
    sequence,
)

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


def _state_info(cells: Any, batch_size: int) -> list[Any]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _begin_states(cells: Any, **kwargs: object) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


class _Composed:
    """The base of cells that contain cells."""

    _children: Any

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the states of all cells, the first cell's first."""
        return _state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: object) -> list[Any]:
        """Initial states of all cells."""
        self._mx_check_alone()  # type: ignore[attr-defined]
        return _begin_states(self._children.values(), **kwargs)


class _Stack(_Composed):
    """The base of both stacks."""

    def add(self, cell: object) -> None:
        """Add a cell on top."""
        self.register_child(cell)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __repr__(self) -> str:
        rows = [f"({i}): " + repr(c).replace("\n", "\n  ") for i, c in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """Run each cell over the whole sequence, on the output of the one below."""
        self.reset()  # type: ignore[attr-defined]
        data, _, F, batch = sequence(length, inputs, layout, None)
        states = first_states(self, F, begin_state, data, batch)
        after: list[Any] = []
        at = 0
        for number, cell in enumerate(self._children.values(), 1):
            count = len(cell.state_info())
            data, cell_states = cell.unroll(
                length,
                inputs=data,
                begin_state=states[at : at + count],
                layout=layout,
                merge_outputs=merge_outputs if number == len(self) else None,
                valid_length=valid_length,
            )
            at += count
            after += cell_states
        return data, after

    def _check_steps(self) -> None:
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                raise CheckError(
                    f"{type(self).__name__} holds a BidirectionalCell, which cannot be stepped: it "
                    f"needs the whole sequence. Call unroll()."
                )

    def _step(self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]) -> Any:
        after: list[Any] = []
        at = 0
        for cell in self._children.values():
            count = len(cell.state_info())
            inputs, cell_states = cell(inputs, states[at : at + count])
            at += count
            after += cell_states
        return inputs, after


class SequentialRNNCell(_Stack, RecurrentCell):  # type: ignore[misc]
    """Stacked cells: each gets the output of the one below.

    Args:
        prefix: of the names of parameters.
        params: parameters to share.
    """

    def __call__(self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]) -> Any:
        """One step of all cells."""
        self._counter += 1
        self._check_steps()
        return self._step(inputs, states)

    def hybrid_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: use HybridSequentialRNNCell."""
        raise NotDefinedError("SequentialRNNCell is not hybrid; use HybridSequentialRNNCell.")


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):  # type: ignore[misc]
    """Stacked hybrid cells: each gets the output of the one below.

    Args:
        prefix: of the names of parameters.
        params: parameters to share.
    """

    def __call__(self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]) -> Any:
        """One step of all cells."""
        self._check_steps()
        return super().__call__(inputs, states)

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """Output of the top cell, and all new states."""
        return self._step(inputs, states)


class BidirectionalCell(_Composed, HybridRecurrentCell):  # type: ignore[misc]
    """Two cells over a sequence, one of them backwards; their outputs are concatenated.

    Source: Schuster and Paliwal, 1997.

    Args:
        l_cell: from the first step to the last.
        r_cell: from the last step to the first.
        output_prefix: prefix of the outputs' names.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_"):
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Tensor | Sequence[Tensor], states: Sequence[Tensor]) -> Any:
        """Not possible: it needs the whole sequence."""
        raise NotDefinedError("BidirectionalCell cannot be stepped. Call unroll().")

    def __repr__(self) -> str:
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """Run both cells over the whole sequence."""
        self.reset()
        steps, time, F, batch = sequence(length, inputs, layout, False)
        turned = backwards(F, steps, length, valid_length)
        states = first_states(self, F, begin_state, steps, batch)
        forward, backward = self._children.values()
        count = len(forward.state_info(batch))
        options = {"layout": layout, "valid_length": valid_length}
        left, left_states = forward.unroll(
            length, steps, states[:count], merge_outputs=merge_outputs, **options
        )
        right, right_states = backward.unroll(
            length, turned, states[count:], merge_outputs=False, **options
        )
        if merge_outputs is None:
            merge_outputs = isinstance(left, TENSORS)
        right = backwards(F, right, length, valid_length)
        name = self._output_prefix
        outputs: Any
        if merge_outputs:
            right = sequence(length, right, layout, True).data
            outputs = F.concat(left, right, dim=2, name=name + "out")
        else:
            left = sequence(length, left, layout, False).data
            outputs = [
                F.concat(each, other, dim=1, name=f"{name}t{i}")
                for i, (each, other) in enumerate(zip(left, right, strict=True))
            ]
        if valid_length is not None:
            outputs = masked(F, outputs, length, valid_length, time, merge_outputs)
        return outputs, left_states + right_states


def holds_bidirectional(cell: Block) -> bool:
    """Whether a cell, or one within it, needs the whole sequence."""
    return isinstance(cell, BidirectionalCell) or any(
        map(holds_bidirectional, cell._children.values())
    )
