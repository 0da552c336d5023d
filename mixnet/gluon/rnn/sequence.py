"""Input formats of unrolled cells: one array with a time axis, or a list with one array per step."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.base import CheckError
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor

TENSORS = (Symbol, NDArray)


class Sequence(NamedTuple):
    """A sequence in the requested form, with its properties."""

    data: Any  # an array or symbol, or a list of them
    time: int  # the axis of time
    F: Any  # mx.nd or mx.sym
    batch: int  # 0 if unknown


def operators_of(data: object) -> Any:
    """``mx.sym`` for symbols, ``mx.nd`` for arrays; also of nested lists of them."""
    while isinstance(data, (list, tuple)):
        data = data[0]
    return sym if isinstance(data, Symbol) else nd


def as_list(value: object) -> list[Any]:
    """One array or several as a list."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def split(F: ModuleType, data: Tensor, length: int, axis: int, squeeze: object = 1) -> list[Any]:
    """The steps of a sequence, without the time axis."""
    parts = F.split(data, axis=axis, num_outputs=length, squeeze_axis=squeeze)
    return list(parts) if isinstance(parts, (list, tuple, Symbol)) else [parts]


def sequence(
    length: int | None,
    data: Any,
    layout: str,
    merge: bool | None,
    in_layout: str | None = None,
) -> Sequence:
    """A sequence as one array (``merge``), as a list of steps (``False``), or unchanged (``None``).

    Args:
        length: number of steps; None: taken from the data.
        data: an array or symbol with a time axis, or a list of steps without it.
        layout: axis order of the result, such as ``NTC``: batch, time, channels.
        merge: the form of the result.
        in_layout: axis order of ``data``, by default the same.

    Raises:
        AssertionError: there are not ``length`` steps, or the layout has no time or batch axis.
        TypeError: ``length`` is not a whole number.
    """
    if data is None:
        raise CheckError(
            "unroll: inputs=None; give the sequence, or a list with an array for each step."
        )
    if length is not None:
        operator.index(length)  # a TypeError, as of range()
    axes = {"T": layout.find("T"), "N": layout.find("N")}
    if min(axes.values()) < 0:
        raise CheckError(f"layout={layout!r} needs both N (batch) and T (time), such as 'NTC'.")
    time, batch = axes["T"], 0
    time_in = time if in_layout is None else in_layout.find("T")
    F = operators_of(data)
    if isinstance(data, TENSORS):
        if isinstance(data, Symbol):
            if len(data) != 1 and merge is False:
                raise CheckError(
                    f"unroll takes a symbol of one output, not of {len(data)}. Make a list of it, "
                    f"list(symbol), to give each step as one output."
                )
        else:
            batch = data.shape[axes["N"]]
            if length is not None and length != data.shape[time_in]:
                raise CheckError(
                    f"unroll over {length} steps, but data {data.shape} has {data.shape[time_in]} "
                    f"along axis {time_in} (layout {in_layout or layout})."
                )
            length = data.shape[time_in]
        if merge is False:
            assert length is not None
            return Sequence(split(F, data, length, time_in), time, F, batch)
        if time != time_in:
            data = F.swapaxes(data, dim1=time, dim2=time_in)
        return Sequence(data, time, F, batch)
    steps = list(data)
    if length is not None and len(steps) != length:
        raise CheckError(f"unroll over {length} steps, but inputs has {len(steps)}.")
    if not isinstance(steps[0], Symbol):
        batch = steps[0].shape[0]
    if merge:
        return Sequence(F.stack(*steps, axis=time), time, F, batch)
    return Sequence(steps, time, F, batch)


def masked(F: Any, data: Any, length: int, valid_length: Any, time: int, merge: bool | None) -> Any:
    """A sequence with zeros after the valid length of each sample, merged or a list."""
    if not isinstance(data, TENSORS):
        data = F.stack(*data, axis=time)
    data = F.SequenceMask(data, sequence_length=valid_length, use_sequence_length=True, axis=time)
    return data if merge else split(F, data, length, time)


def backwards(
    F: ModuleType, steps: list[Any], length: int, valid_length: Tensor | None
) -> list[Any]:
    """Steps from the last to the first; with valid lengths, those after them stay at the end."""
    if valid_length is None:
        return steps[::-1]
    turned = F.SequenceReverse(
        F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    return split(F, turned, length, 0, True)


def first_states(cell: Any, F: ModuleType, states: object, data: object, batch: int) -> Any:
    """The given states, or zeros on the data's context."""
    if states is not None:
        return states
    if F is sym:
        return cell.begin_state(func=sym.zeros, batch_size=batch)
    with as_list(data)[0].context:
        return cell.begin_state(func=nd.zeros, batch_size=batch)
