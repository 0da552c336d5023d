"""Recording: an operation is appended to the pending ones, and nothing runs.

Every operation of an imperative program takes this path. It costs about a microsecond and is written for
speed: look-ups and list appends, without checks that were made when the call was cached.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from mixnet import config
from mixnet.context import Context
from mixnet.engine.bulk import on_change
from mixnet.engine.current import current, on_switch
from mixnet.graph.node import Entry, Node
from mixnet.process.handlers import wrap_handlers
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.devices.meeting import is_over_others, meet_on_tape
from mixnet.runtime.record.copy import copy_across
from mixnet.runtime.record.segment import Segment
from mixnet.runtime.value.call import is_on_several_cpus, make_call
from mixnet.runtime.value.memory import late_failure
from mixnet.runtime.value.state import pending_segments, state
from mixnet.runtime.value.value import Value

if TYPE_CHECKING:
    from mixnet.ops.operator import Operator, Statics
    from mixnet.runtime.value.call import Call

_reference = weakref.ref
_entry = tuple.__new__  # twice as fast as Entry(node, index), which calls a Python function
_longest: int = config.get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN")
# The number of outputs after which a segment runs even if no result is needed.
_limit = 0 if current.naive else _longest
_one_by_one = False


def record(
    op: Operator,
    statics: Statics,
    scalars: tuple[float, ...],
    values: tuple[Value, ...],
    context: Context | None = None,
) -> list[Value]:
    """Append one operation; returns the values of all its outputs, states included.

    Args:
        op: what to compute.
        statics: its static attributes, bound.
        scalars: its numbers that are inputs of the program.
        values: its inputs, all on one context.
        context: where it runs if it has no inputs.

    Raises:
        MXNetError: the operator does not take these inputs; nothing was recorded.
    """
    local = state
    trace = local.trace
    outputs: list[Value]
    if trace is not None and trace.host:
        outputs = trace.run(op, statics, scalars, values, context)
        return outputs
    # Loops, here and elsewhere on this way, take less time than comprehensions, whose code is a function.
    listed = []
    for value in values:
        listed.append(value.spec)
    specs = tuple(listed)
    call = op.calls.get((statics, specs, context))
    if call is None:
        if trace is None and is_on_several_cpus(specs):
            moved = [_on_context(value, specs[0].context.compute) for value in values]
            return record(op, statics, scalars, tuple(moved), context)
        call = make_call(op, statics, specs, len(scalars), context)
    if trace is not None:
        outputs = trace.record(call, scalars, values)
        return outputs
    if (
        call.parties is not None
        and local.isolation is None  # an isolated recording has no other devices
        and is_over_others(call.parties[1])
    ):
        return _over_devices(call, scalars, values)
    return record_call(call, scalars, values)


def record_call(call: Call, scalars: tuple[float, ...], values: tuple[Value, ...]) -> list[Value]:
    """``record`` for a known call, if nothing is traced and no other device is involved."""
    local = state
    where = call.context
    if call.alone:  # runs Python: has a segment of its own, which is pushed at once
        segment = _new_segment(where)
    else:
        segment = local.segment
        if segment is None or segment.context is not where or segment.finished:
            segment = _open(where)
    # A single append makes the operation part of the segment: an interrupt comes before it or after it.
    item: list[Any] = [call]
    for value in values:
        item.append(value.slot if value.segment is segment else segment.leaf(value))
    entries = segment.entries
    number_before = len(entries)
    end = entries[-1][1] if number_before else 0
    if len(call.outputs) == 1:  # most: without loops
        output = Value(call.outputs[0], None, segment, end)
        end += 1
        outputs = [output]
        references: Sequence[Any] = (_reference(output),)
    else:
        outputs = []
        for spec in call.outputs:
            outputs.append(Value(spec, None, segment, end))
            end += 1
        references = [*map(_reference, outputs)]
    entry = (tuple(item), end, scalars, references)
    if len(entries) != number_before:  # a finalizer has recorded something
        return record_call(call, scalars, values)
    entries.append(entry)
    if segment.closing and not segment.took(entries, end):  # another thread handed it over just now
        return record_call(call, scalars, values)
    if local.recording:
        variables = local.variables or ()
        for value in values:
            if value.node is not None or value in variables:
                _tape(call, scalars, values, outputs, variables)
                break
    if call.alone:
        segment.finish("an operation in Python", wait=current.naive or call.in_caller)
    elif end >= _limit or local.bulk:
        _after(segment, end, local)
    return outputs


def _on_context(value: Value, context: Context) -> Value:
    """A value of another CPU context, used as if it were on this one."""
    return value if value.spec.context.compute is context else copy_across(value, context)


def _over_devices(call: Call, scalars: tuple[float, ...], values: tuple[Value, ...]) -> list[Value]:
    """Record an operation in which devices exchange data: its parts before and after, on this device."""
    plan, parties = call.op.over_devices, call.parties
    assert plan is not None and parties is not None
    name, count = parties
    (own,) = record(plan.own, (), (), values[:1])
    shared = meet_on_tape(name, count, plan.exchange, own)
    return record(plan.rest, call.statics, scalars, (*values, shared))


def record_small(call: Call, number: float | None, first: Value, second: Value | None) -> Value:
    """``record`` for a known call with one output, one or two inputs and at most one number.

    The fast path for Python's operators on arrays: the same as ``record`` without checks.
    """
    local = state
    if local.trace is not None or local.recording:
        scalars = () if number is None else (number,)
        values = (first,) if second is None else (first, second)
        return record(call.op, call.statics, scalars, values)[0]
    where = call.context
    segment = local.segment
    if segment is None or segment.context is not where or segment.finished:
        segment = _open(where)
    slot = first.slot if first.segment is segment else segment.leaf(first)
    if second is None:
        item: tuple[Call, int] | tuple[Call, int, int] = (call, slot)
    else:
        item = (call, slot, second.slot if second.segment is segment else segment.leaf(second))
    entries = segment.entries
    number_before = len(entries)
    end = entries[-1][1] if number_before else 0
    output = Value(call.outputs[0], None, segment, end)
    end += 1
    entry = (item, end, () if number is None else (number,), (_reference(output),))
    if len(entries) != number_before:  # a finalizer has recorded something
        return record_small(call, number, first, second)
    entries.append(entry)
    if segment.closing and not segment.took(entries, end):  # another thread handed it over just now
        return record_small(call, number, first, second)
    if end >= _limit or local.bulk:
        _after(segment, end, local)
    return output


def open_segment(context: Context) -> Segment:
    """This thread's open segment on a context."""
    return _open(context.compute)


def most_outputs() -> int:
    """The number of outputs after which a segment runs even if no result is needed; 0: at once."""
    return _limit


def _open(context: Context) -> Segment:
    local = state
    segment = local.segments.get(context)
    if segment is None or segment.finished:
        segment = local.segments[context] = _new_segment(context)
    local.segment = segment
    return segment


def _new_segment(context: Context) -> Segment:
    wrap_handlers()
    isolation = state.isolation
    return Segment(context) if isolation is None else isolation.segment(context)


def _after(segment: Segment, end: int, local: Any) -> None:
    if segment.joint is not None:  # pushed when it is complete
        return
    if current.naive:
        segment.finish("naive engine")
    elif end >= _limit or len(segment.entries) >= local.bulk:
        segment.finish("bulk size", wait=False)


@on_change
def _set_bulk(size: object) -> None:
    flush("bulk size")
    state.bulk = size


@on_switch
def _set_engine(naive: bool) -> None:
    global _limit
    _limit = 0 if naive or _one_by_one else _longest


def run_one_by_one(on: bool) -> None:
    """Run every operation of every thread as a separate program from now on, or stop doing so.

    This is for profilers, which time each operation. They run what is pending before: see ``hand_over_all``.
    """
    global _one_by_one
    _one_by_one = on
    _set_engine(current.naive)


def _tape(
    call: Call,
    scalars: tuple[Any, ...],
    values: tuple[Value, ...],
    outputs: list[Value],
    variables: Any,
) -> None:
    """Put an operation on the tape.

    A node holds the values of its inputs, never of its outputs, so an unreferenced tape is freed at
    once rather than by the cycle collector. Residuals, hidden outputs that only backward reads, are
    stored after the inputs.
    """
    inputs = []
    for value in values:
        node = value.node
        if variables and value in variables:
            inputs.append(_entry(Entry, (variables[value], 0)))
        elif node is None:  # a constant on the tape is a variable without a gradient
            inputs.append(_entry(Entry, (Node(None, (), (), (), "constant"), 0)))
        else:
            inputs.append(_entry(Entry, (node, value.index)))
    op, hidden = call.op, call.residuals
    residuals = (*values, *outputs[-hidden:]) if hidden else values
    node = Node(op, call.statics, scalars, tuple(inputs), op.name, None, residuals)
    node.call = call
    for index, value in enumerate(outputs[:-hidden] if hidden else outputs):
        value.index = index
        value.node = node


def put_on_tape(
    op: Operator,
    statics: Statics,
    scalars: tuple[float, ...],
    values: tuple[Value, ...],
    outputs: list[Value],
) -> None:
    """Put an operation on the tape whose results were not computed by ``record``; same arguments."""
    specs = tuple([value.spec for value in values])
    call = op.calls.get((statics, specs, None)) or make_call(op, statics, specs, len(scalars), None)
    _tape(call, scalars, values, outputs, state.variables)


def flush(reason: str = "asked for") -> None:
    """Push everything that this thread has recorded to the engine."""
    if state.isolation is not None:
        state.isolation.cut(reason)
        return
    for segment in list(state.segments.values()):
        if not segment.finished:
            segment.finish(reason, wait=False)


def hand_over_all(reason: str) -> None:
    """Push everything that any thread has recorded to the engine."""
    for segment in pending_segments():
        segment.finish(reason, wait=False)


def wait_for_all() -> None:
    """Run everything that any thread has recorded or pushed, and wait until it has finished.

    Raises:
        BaseException: the first error that has not been raised yet.
    """
    hand_over_all("waitall")
    current.engine.wait_for_all()
    try:
        in_flight.wait()
    except jax.errors.JaxRuntimeError as error:
        raise late_failure(error, None) from error
