"""Cells that modify other cells: dropout, zoneout, residual connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mixnet import symbol as sym
from mixnet.base import AttributeTypeError, CheckError, NotDefinedError
from mixnet.gluon.parameter import ParameterDict
from mixnet.gluon.rnn.cell import HybridRecurrentCell, RecurrentCell
from mixnet.gluon.rnn.container import holds_bidirectional
from mixnet.gluon.rnn.sequence import TENSORS, masked, sequence
from mixnet.ops.schema.arguments import check_arguments
from mixnet.ops.schema.attributes import Share

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


Result = TypeVar("Result")


class DropoutCell(HybridRecurrentCell):
    """Dropout of the inputs, as a stateless cell to put between others.

    Args:
        rate: probability that an element becomes 0.
        axes: axes along which elements are dropped together.
        prefix: prefix of its operations' names.
        params: parameters to share; it has none.

    Raises:
        AssertionError: ``rate`` is not a number.
    """

    def __init__(
        self,
        rate: float,
        axes: Sequence[int] = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix, params)
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise CheckError(f"DropoutCell: rate must be a number, not {rate!r}.")
        self._rate, self._axes = rate, axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> Any:
        """It has no states."""
        return []

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """The inputs with elements dropped."""
        if self._rate > 0:
            inputs = F.Dropout(
                data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd"
            )
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """Dropout of all steps, in one operation if they are one array; all of them are valid."""
        self.reset()
        data, _, F, _ = sequence(length, inputs, layout, merge_outputs)
        if isinstance(data, TENSORS):
            dropped: tuple[Any, list[Any]] = self.hybrid_forward(F, data, begin_state or [])
            return dropped
        return super().unroll(length, data, begin_state, layout, merge_outputs, None)


class ModifierCell(HybridRecurrentCell):
    """Base of cells that modify another cell; parameters and states are those of the other cell.

    Args:
        base_cell: the other cell, which can then be called only through this one.
    """

    base_cell: RecurrentCell

    def __init__(self, base_cell: RecurrentCell):
        if not isinstance(base_cell, RecurrentCell):
            raise AttributeTypeError(
                f"{type(self).__name__} takes a cell, such as rnn.LSTMCell(...), not {base_cell!r:.60}."
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """Parameters of the other cell."""
        return self.base_cell.params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"

    def state_info(self, batch_size: int = 0) -> Any:
        """Shape and layout of the other cell's states."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Callable[..., Any] | None = sym.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """Initial states of the other cell."""
        self._mx_check_alone()
        return self._with_base(lambda cell: cell.begin_state(func=func, **kwargs))

    def _with_base(self, call: Callable[[RecurrentCell], Result]) -> Result:
        """Call a function with the other cell, which may be called inside."""
        self.base_cell._modified = False
        try:
            return call(self.base_cell)
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """Output and new states; to be overridden."""
        raise NotDefinedError(
            f"{type(self).__name__} does not define hybrid_forward(self, F, inputs, states)."
        )


class ZoneoutCell(ModifierCell):
    """Zoneout: elements of outputs and states randomly keep their last value. Krueger et al., 2016.

    Args:
        base_cell: the cell.
        zoneout_outputs: probability that an element of the output keeps its value.
        zoneout_states: probability that an element of a state keeps its value.

    Raises:
        AssertionError: the cell is bidirectional, which has no steps.
    """

    @check_arguments
    def __init__(
        self,
        base_cell: RecurrentCell,
        zoneout_outputs: Share = 0.0,
        zoneout_states: Share = 0.0,
    ):
        if holds_bidirectional(base_cell):
            raise CheckError(
                "ZoneoutCell takes no BidirectionalCell, which cannot be stepped. Put a "
                "ZoneoutCell around each of its two cells."
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self._prev_output: Any = None
        self._mx_carries = zoneout_outputs != 0

    def _alias(self) -> str:
        return "zoneout"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, "
            f"{self.base_cell})"
        )

    def reset(self) -> None:
        """Discard the last output."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """Output and states of the cell; some elements keep their previous values."""
        output, after = self.base_cell(inputs, states)

        def mixed(rate: float, new: object, old: object) -> Any:
            return F.where(F.Dropout(F.ones_like(new), p=rate), new, old)

        if self.zoneout_outputs != 0:
            before = self._prev_output
            before = F.zeros_like(output) if before is None else before
            output = mixed(self.zoneout_outputs, output, before)
            self._prev_output = output
        if self.zoneout_states != 0:
            after = [
                mixed(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)
            ]
        return output, after


class ResidualCell(ModifierCell):
    """The output of a cell plus its inputs. Source: Wu et al., 2016.

    Args:
        base_cell: a cell whose output has the shape of its inputs.
    """

    def hybrid_forward(self, F: ModuleType, inputs: Tensor, states: Sequence[Tensor]) -> Any:
        """Output plus inputs, and the states of the cell."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self,
        length: int,
        inputs: Tensor | Sequence[Tensor],
        begin_state: Sequence[Tensor] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor | None = None,
    ) -> tuple[Any, list[Any]]:
        """Run the cell over the whole sequence, and add the inputs."""
        self.reset()
        outputs, states = self._with_base(
            lambda cell: cell.unroll(
                length, inputs, begin_state, layout, merge_outputs, valid_length
            )
        )
        if merge_outputs is None:
            merge_outputs = isinstance(outputs, TENSORS)
        data, time, F, _ = sequence(length, inputs, layout, merge_outputs)
        if valid_length is not None:
            data = masked(F, data, length, valid_length, time, merge_outputs)
        if merge_outputs:
            return F.elemwise_add(outputs, data), states
        return [F.elemwise_add(o, i) for o, i in zip(outputs, data, strict=True)], states
