"""Draws that depend on values: arrays of parameters determine how many numbers MXNet's generators draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixnet.context import Context
from mixnet.ops.generators.source import DrawnNow, does_host_draw
from mixnet.runtime.record.copy import to_host
from mixnet.runtime.record.keys import draw_at_once, next_draw
from mixnet.runtime.record.record import put_on_tape, record
from mixnet.runtime.value.call import explained
from mixnet.runtime.value.state import is_tracing, state, tape_entry
from mixnet.runtime.value.value import Value, from_host

if TYPE_CHECKING:
    from mixnet.ops.op import Op
    from mixnet.ops.operator import Statics


def record_drawn(
    op: Op,
    statics: Statics,
    scalars: tuple[float, ...],
    values: tuple[Value, ...],
    context: Context | None = None,
) -> tuple[list[Value], tuple[Value, ...]]:
    """``record`` for an operator that draws: the values of its outputs, and all values that it reads."""
    outputs = _drawn_by_values(op, statics, scalars, values) if op.draws_by_value else None
    if outputs is not None:
        return outputs, values
    stream, first = next_draw(
        context or values[0].spec.context,
        op.draws(statics),
        lambda: [(0, op.demands(statics, [(v.spec.shape, v.spec.dtype) for v in values], scalars))],
    )
    values = (*values, stream)
    return record(op, statics, (*scalars, first), values), values


def _drawn_by_values(
    op: Op, statics: Statics, scalars: tuple[float, ...], values: tuple[Value, ...]
) -> list[Value] | None:
    """The results of an operator whose draws depend on the values of its inputs, for which it waits.

    None if there are no inputs, the numbers are not MXNet's, a graph is being traced (it has no values), or
    a tape needs the gradient.

    Args:
        op: an operator with ``draws_by_value``.
        statics: its bound attributes.
        scalars: its numbers.
        values: its inputs.
    """
    if not values:
        return None
    context = values[0].spec.context
    specs = tuple([each.spec for each in values])
    is_taped = state.recording and any(tape_entry(each) is not None for each in values)
    if is_taped and op.differentiable:
        return None
    if is_tracing() or not does_host_draw(context) or any(0 in spec.shape for spec in specs):
        return None
    arrays = [to_host(each, "parameters of random numbers") for each in values]
    try:
        results = draw_at_once(
            lambda generator: op.drawn_at_once(statics, arrays, scalars, DrawnNow(generator))
        )
    except Exception as error:
        problem = explained(op, statics, specs, error)
        raise problem from problem.__cause__
    outputs = [from_host(each, context) for each in results]
    if is_taped:
        stream, first = next_draw(context, 0)
        put_on_tape(op, statics, (*scalars, first), (*values, stream), outputs)
    return outputs
