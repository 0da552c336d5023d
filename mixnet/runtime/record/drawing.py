"""Draws that depend on values: how much MXNet's generators draw follows from arrays of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.ops.generators.source import DrawnNow
from mixnet.runtime.record.copy import to_host
from mixnet.runtime.record.keys import does_host_draw, draw_at_once
from mixnet.runtime.value.call import explained
from mixnet.runtime.value.state import is_tracing, state
from mixnet.runtime.value.value import Value, from_host


def drawn_by_values(
    op: Any, statics: Any, scalars: Sequence[float], values: Sequence[Value]
) -> list[Value] | None:
    """The results of an operator that draws by the values of its inputs, for which it waits.

    None where the numbers are not MXNet's, a graph is being traced, which has no values, or the inputs are on
    a tape, which needs the operator.

    Args:
        op: an operator with ``draws_by_value``.
        statics: its bound attributes.
        scalars: its numbers.
        values: its inputs.
    """
    context = values[0].spec.context
    specs = tuple([each.spec for each in values])
    if state.recording and any(each.node is not None for each in values):
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
    return [from_host(each, context) for each in results]
