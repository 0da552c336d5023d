"""The tape: marked variables, and backward as the gradient pass over the recorded operations."""

from __future__ import annotations

import math
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from mixnet.autograd import plan as plans
from mixnet.autograd.scope import RecordingScope, unrecorded
from mixnet.base import CheckError, GradientError, NotAnArrayError
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes.differentiate import KeptBackwardOp, Rows, differentiate
from mixnet.process.collector import collector_paused
from mixnet.runtime.record.moving import StateArray, move_all
from mixnet.runtime.record.record import record as record_operation
from mixnet.runtime.record.record import record_call
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import state
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.runtime.value.value import Spec, Value

Array = TypeVar("Array", bound=Handle)

REQUESTS = ("write", "add", "null")

_FREED = object()  # replaces the mark in nodes of a tape that was freed


class _RequestError(GradientError, KeyError, mxnet_name="KeyError"):
    """A kind of gradient that does not exist."""

    __str__ = Exception.__str__  # KeyError would show the repr of the message


_without_request: dict[int, weakref.ref[Handle]] = {}
"""The arrays that were marked with ``null``, until backward frees a tape that read them."""


class Mark:
    """The mark of a variable: where its gradient is written (``gradient``, a handle) and how (``request``).

    ``fresh`` says that backward has written the gradient since it was last used.
    """

    __slots__ = ("fresh", "gradient", "request")

    def __init__(self, gradient: Handle, request: str):
        if request not in REQUESTS:
            raise _RequestError(f"grad_req={request!r} is not one of {', '.join(REQUESTS)}.")
        self.gradient = gradient
        self.request = request
        self.fresh = False

    def on(self, value: Value) -> None:
        """Make ``value`` a variable of the tape. Each version of the array is a separate variable.

        If no gradient is requested, it stays a constant.
        """
        if self.request == "null":
            return
        node = value.node
        if node is None or node.statics is not self:
            value.index = 0
            # Set last, so that a node always has its index.
            value.node = Node(None, self, (), (), "variable")

    def owns(self, value: Value) -> bool:
        """Whether ``value`` is a version of this variable only; a value that is on no tape becomes one."""
        if value.node is None:
            self.on(value)
        return value.node is not None and value.node.statics is self


def keep_mark(handle: Handle, mark: Mark) -> None:
    """Remember an array that was just marked, if no gradient is requested."""
    number = id(handle)
    if mark.request == "null":
        _without_request[number] = weakref.ref(handle, lambda _: _without_request.pop(number, None))
    else:
        _without_request.pop(number, None)


def _drop_marks(nodes: Iterable[Node]) -> None:
    """Unmark arrays without requests that a freed tape has read, as in MXNet."""
    values = {id(value) for node in nodes if node.op is not None for value in node.values}
    # A copy, not a list of the items: making their tuples may collect garbage, which drops others.
    for number, reference in _without_request.copy().items():
        handle = reference()
        if handle is not None and id(handle._value) in values:
            handle._drop_mark()
            _without_request.pop(number, None)


def on_tape(value: Value) -> bool:
    """Whether a value belongs to a variable, or was computed on a tape that has not been freed."""
    return value.node is not None and value.node.statics is not _FREED


def mark_variables(
    variables: Handle | Sequence[Handle],
    gradients: Handle | Sequence[Handle],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Set the arrays to which backward writes the gradients of ``variables``.

    Args:
        variables: an array or a list.
        gradients: as many, of the same shapes.
        grad_reqs: ``write``, ``add`` or ``null``, for all or one each.

    Raises:
        CheckError: there are not as many gradients or requests as variables.
    """
    variables, gradients = _arrays(variables), _arrays(gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise CheckError(
            f"mark_variables: {len(variables)} variable(s), {len(gradients)} gradient(s) and "
            f"{len(requests)} request(s); give one gradient for each variable, and one request for "
            f"all or one for each."
        )
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        variable._set_mark(Mark(gradient, request))


def backward(
    heads: Handle | Sequence[Handle],
    head_grads: Handle | Sequence[Handle | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Gradients of ``heads`` for all marked variables they were computed from.

    Args:
        heads: an array or a list that was computed while recording.
        head_grads: gradients of the heads, None (for one, or all) is ones.
        retain_graph: keep the tape, so that backward can run again.
        train_mode: False for the gradients of prediction: statistics such as those of ``BatchNorm`` are
            constants, and moving ones stay as they are.

    Raises:
        GradientError: a head was not recorded, or its tape has been freed.
    """
    heads = _arrays(heads)
    if not heads:
        raise GradientError(
            "backward: no head was given; give an array, or a list of at least one."
        )
    entries = _entries_of(heads)
    nodes = None
    if train_mode:
        nodes = unrecorded(partial(_repeat_backward, entries, heads, head_grads))
    if nodes is None:
        tape = Tape(heads)
        unrecorded(partial(_backward, tape, heads, head_grads, train_mode))
        nodes = tape.nodes
    if not retain_graph:
        _release(nodes)


def _repeat_backward(
    entries: Sequence[Entry],
    heads: Sequence[Handle],
    head_grads: Handle | Sequence[Handle | None] | None,
) -> list[Node] | None:
    """Backward of a tape that has the structure of the last one with such heads: returns its nodes.

    Returns None, and writes nothing, if the tape has to be looked at.
    """
    latest = None if state.trace is not None else plans.latest(entries)
    if latest is None:
        return None
    plan, structure = latest
    nodes = structure.nodes_below(entries)
    if nodes is None:
        return None
    marks: list[Mark] = []
    for number, is_requested in structure.leaves:
        node = nodes[number]
        mark = node.statics
        if type(mark) is Mark:
            if node.op is not None or mark.gradient._is_sparse:
                return None
            if (mark.request != "null") is not is_requested:
                return None
            if is_requested:
                marks.append(mark)
        elif node.op is not None or is_requested or mark is _FREED:
            return None
    starts = _head_values(heads, head_grads)
    for number, start in enumerate(starts):
        if start.spec is not structure.gradients[number]:
            return None
    _take_gradients(marks, _values_of(plan, nodes, starts))
    return nodes


def _backward(
    tape: Tape,
    heads: Sequence[Handle],
    head_grads: Handle | Sequence[Handle | None] | None,
    train_mode: bool,
) -> None:
    variables = [node for node in tape.marked if node.statics.request != "null"]
    starts = _head_values(heads, head_grads)
    gradients: list[Any] | None = tape.planned(starts, variables) if train_mode else None
    if gradients is None:
        entries = [Entry(node) for node in variables]
        by_rows = [Entry(n) for n in variables if n.statics.gradient.stype == "row_sparse"]
        gradients = tape.gradients(starts, entries, row_sparse=by_rows, train_mode=train_mode)
    marks: list[Mark] = []
    is_dense = True
    for node in variables:
        mark = node.statics
        marks.append(mark)
        if mark.gradient._is_sparse:
            is_dense = False
    if is_dense:  # one change writes them all
        _take_gradients(marks, gradients)
    else:
        all_or_nothing(partial(_take_gradients, marks, gradients))


def _take_gradients(marks: Sequence[Mark], gradients: Sequence[Any]) -> None:
    """Write gradients, one for each version of a variable, and mark the variables fresh."""
    totals: dict[Mark, Value] = {}
    reached: set[Mark] = set()
    unreached: list[Mark] = []  # on the tape, but behind operators that stop gradients
    for number, value in enumerate(gradients):
        mark = marks[number]
        if value is None:
            unreached.append(mark)
            continue
        if isinstance(value, Rows):
            reached.add(mark)
            mark.gradient._write_rows(value.parts, mark.request == "add")
            continue
        if mark in totals:  # several versions of one array were used
            (value,) = record_operation(find("add_n"), (), (), (totals[mark], value))
        totals[mark] = value
    for mark in unreached:
        if mark not in totals and mark not in reached and mark.request == "write":
            zeros = mark.gradient._zeros_like()
            totals[mark] = zeros._read()
    change(partial(_write_gradients, totals, marks))


def _write_gradients(totals: Mapping[Mark, Value], marks: Sequence[Mark], attempt: Change) -> None:
    """Write, or add, the gradients of all variables at once, and mark the variables fresh."""
    attempt.set_flags(marks, "fresh", True)
    for mark, value in totals.items():
        if mark.request == "add":
            attempt.reads(mark.gradient)
            before = mark.gradient._read()
            (value,) = record_operation(find("add_n"), (), (), (before, value))
        if not mark.gradient._is_sparse and mark.gradient._value.spec is not value.spec:
            _check_fits(mark.gradient._value.spec, value.spec)
        attempt.write(mark.gradient, value)


def _check_fits(own: Spec, spec: Spec) -> None:
    """Refuse to turn the array for a gradient into one of another shape or dtype.

    Raises:
        GradientError: names both.
    """
    if (own.shape, own.dtype) != (spec.shape, spec.dtype):
        raise GradientError(
            f"The array for a gradient is {own.shape} of {own.dtype.name}, the gradient {spec.shape} of "
            f"{spec.dtype.name}; give the variable's shape and dtype, as attach_grad() does."
        )


def grad(
    heads: Handle | Sequence[Handle],
    variables: Array | Sequence[Array],
    head_grads: Handle | Sequence[Handle | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[Array]:
    """Gradients of ``heads`` with respect to ``variables``, as new arrays.

    Args:
        heads: an array or a list that was computed while recording.
        variables: an array or a list; marked ones, or any that the heads were computed from.
        head_grads: gradients of the heads, None is ones.
        retain_graph: keep the tape; by default as ``create_graph``.
        create_graph: record the gradients too, so that they have gradients.
        train_mode: as for :func:`backward`.

    Returns:
        A list, for a single variable too.

    Raises:
        GradientError: a head was not recorded, or does not depend on a variable.
    """
    heads, variables = _arrays(heads), _arrays(variables, "variable")
    if not variables:
        raise CheckError("grad: no variable was given; give an array, or a list of at least one.")
    tape = Tape(heads)
    entries = []
    for i, variable in enumerate(variables):
        value = variable._read()
        if value.node is None or value.node not in tape.positions:
            raise GradientError(
                f"Variable {i} of grad() was not used to compute the heads while recording. "
                f"Call attach_grad() on it before autograd.record(), and use it inside."
            )
        entries.append(Entry(value.node, value.index))
    with RecordingScope(create_graph, None):
        starts = _head_values(heads, head_grads)
        gradients = tape.gradients(starts, entries, create_graph, train_mode=train_mode)
        results: list[Array] = []
        for variable, value in zip(variables, gradients, strict=True):
            if value is None:
                if create_graph:  # a constant gradient, which must be on the tape like the others
                    (value,) = record_operation(find("zeros_like"), (), (), (variable._read(),))
                else:
                    value = variable._zeros_like()._read()
            results.append(variable._wrap(value))
    if not (create_graph if retain_graph is None else retain_graph):
        tape.release()
    return results


class _HeadsError(GradientError, CheckError, mxnet_name="AssertionError"):
    """The number of head gradients is not that of the heads."""


def _entries_of(heads: Sequence[Handle]) -> list[Entry]:
    """The heads on their tape.

    Raises:
        GradientError: a head was not recorded.
    """
    entries = []
    for i, head in enumerate(heads):
        value = head._head_value()
        if value.node is None:
            raise GradientError(
                f"Cannot differentiate head {i} of shape {value.spec.shape}: it was not "
                f"computed from a variable inside autograd.record(). Call attach_grad() on "
                f"the inputs, and compute it inside `with autograd.record():`."
            )
        entries.append(Entry(value.node, value.index))
    return entries


class Tape:
    """The recorded operations below some heads; ``marked`` are the nodes of variables."""

    def __init__(self, heads: Sequence[Handle]):
        self.heads = _entries_of(heads)
        self.positions, self._walked = plans.walk([entry.node for entry in self.heads])
        self.nodes = nodes = list(self.positions)
        self.marked = []
        freed = None
        for node in nodes:
            if node.op is None:
                statics = node.statics
                if type(statics) is Mark:
                    self.marked.append(node)
                elif statics is _FREED and freed is None:  # freed nodes have become variables
                    freed = node
        has_freed_head = freed is not None and any(e.node.statics is _FREED for e in self.heads)
        if freed is not None and (not self.marked or has_freed_head):
            raise GradientError(
                f"The graph of {freed.name} was freed by an earlier backward(). Pass "
                f"retain_graph=True to the earlier one to differentiate the graph again."
            )

    def planned(
        self, head_gradients: Sequence[Value], variables: Sequence[Node]
    ) -> list[Value | None] | None:
        """``gradients`` of variables, recorded like those of an earlier tape of the same structure.

        Returns None, and records nothing, if gradients must be derived in every call, such as gradients by
        rows and those written in Python: ``gradients`` does that.
        """
        if state.trace is not None:
            return None
        for node in variables:
            if node.statics.gradient._is_sparse:
                return None
        if self._walked is None:
            return None
        nodes = self.nodes
        key = plans.structure(self._walked, self.positions, self.heads, head_gradients, variables)
        plan = plans.known(key)
        if plan is None:
            with collector_paused():
                plan_and_gradients = self._plan(head_gradients, variables)
            if plan_and_gradients is None:
                return None
            plan, values = plan_and_gradients
            structure = plans.Structure.of(self.positions, self.heads, head_gradients, variables)
            plan = plan._replace(structure=structure)
            plans.keep(key, plan, len(nodes))
            _move_passed(plan, nodes)
        else:
            values = _values_of(plan, nodes, head_gradients)
        plans.note_latest(plan, self.heads)
        return values

    def _plan(
        self, head_gradients: Sequence[Value], variables: Sequence[Node]
    ) -> tuple[plans.Plan, list[Value | None]] | None:
        """The plan of this tape's structure, and the values of its first run; None if there is no plan."""
        nodes = self.nodes
        starts = [Node(None, name="head gradient") for _ in head_gradients]
        entries = [Entry(node) for node in variables]
        passed: list[Node] = []
        results = differentiate(
            self.heads, [Entry(node) for node in starts], entries, passed=passed
        )
        have = {entry for node in nodes if node.op is not None for entry in _entries_kept_by(node)}
        order = _order(results, {*have, *[Entry(node) for node in starts]})
        return plans.make(nodes, starts, head_gradients, results, passed, order, _entries_kept_by)

    def gradients(
        self,
        head_gradients: Sequence[Value],
        variables: Sequence[Entry],
        keep: bool = False,
        row_sparse: Sequence[Entry] = (),
        train_mode: bool = True,
    ) -> list[Any]:
        """The values of the gradients; with ``keep``, they are on the tape themselves.

        Those of ``row_sparse`` may be :class:`Rows` of values.
        """
        starts = [Node(None, name="head gradient") for _ in head_gradients]
        passed: list[Node] = []
        entries = differentiate(
            self.heads,
            [Entry(node) for node in starts],
            variables,
            row_sparse,
            None if train_mode else lambda node, _: node.differentiated_in_prediction(),
            passed,
        )
        known: dict[Entry, Value] = {}
        for node in self.nodes:
            if node.op is None:
                continue
            known.update(zip(_entries_kept_by(node), node.values, strict=True))
        for node, value in zip(starts, head_gradients, strict=True):
            known[Entry(node)] = value
        rows = {i: each for i, each in enumerate(entries) if isinstance(each, Rows)}
        flat = [entry for each in rows.values() for part in each.parts for entry in part]
        plain = [None if i in rows else each for i, each in enumerate(entries)]
        values = _evaluate([*plain, *flat], known, keep)
        results: list[Any] = values[: len(entries)]
        rest = iter(values[len(entries) :])
        for i, each in rows.items():
            results[i] = Rows(tuple((next(rest), next(rest)) for _ in each.parts))  # type: ignore[misc]
        if train_mode:
            with RecordingScope(False, None):
                move_all(passed)
        return results

    def release(self) -> None:
        """Drop the values that the tape holds; a second backward is an error afterwards."""
        _release(self.nodes)


def _values_of(
    plan: plans.Plan, nodes: Sequence[Node], head_gradients: Sequence[Value]
) -> list[Value | None]:
    """The gradients of a tape that a plan is for."""
    values = plan.run(nodes, head_gradients)
    _move_passed(plan, nodes)
    return values


def _move_passed(plan: plans.Plan, nodes: Sequence[Node]) -> None:
    if plan.passed:
        move_all([nodes[number] for number in plan.passed])


def _release(nodes: Iterable[Node]) -> None:
    """Drop the values that a tape holds.

    Its results are constants from then on: a recurrent network that continues from the last states of one
    batch is trained on the next batch only.
    """
    if _without_request:
        _drop_marks(nodes)
    for node in nodes:
        if node.op is not None:
            node.op, node.statics, node.values, node.inputs = None, _FREED, None, ()  # type: ignore[assignment]
            node.moves = ()


def _entries_kept_by(node: Node) -> list[Entry]:
    """The entries whose values a node of a tape holds: its inputs, and the residuals among its outputs."""
    entries = list(node.inputs)
    residuals = len(node.values) - len(entries)
    if residuals:
        outputs = node.op.num_outputs(node.statics)
        first = residuals if node.op.keeps_outputs else outputs + len(node.op.states)
        entries += [Entry(node, first + i) for i in range(residuals)]
    return entries


def _evaluate(
    entries: Iterable[Entry | None], known: dict[Entry, Value], keep: bool
) -> list[Value | None]:
    """Record the operations that ``entries`` need beyond the known ones."""
    entries = list(entries)
    for node in _order(entries, known):
        _run_node(node, known, keep)
    return [None if entry is None else known[entry] for entry in entries]


def _order(entries: Sequence[Entry | None], known: Collection[Entry]) -> list[Node]:
    """The nodes that ``entries`` need in addition to the known ones, inputs before their users."""
    order: list[Node] = []
    done = {entry.node for entry in known}
    stack = [entry.node for entry in reversed(entries) if entry is not None]
    while stack:
        node = stack[-1]
        missing = [e.node for e in node.inputs if e not in known and e.node not in done]
        if node in done or not missing:
            stack.pop()
            if node not in done:
                done.add(node)
                order.append(node)
        else:
            stack.extend(missing)
    return order


def _run_node(node: Node, known: dict[Entry, Value], keep: bool) -> None:
    values = tuple(known[entry] for entry in node.inputs)
    outputs = node.op.run_values(node.statics, values)  # a gradient written in Python
    if outputs is None:
        with RecordingScope(False, None):
            outputs = _recorded(node, values)
    for i, value in enumerate(outputs):
        known[Entry(node, i)] = value
        if keep:
            value.node, value.index = node, i
    if keep:
        node.values = values


def _recorded(node: Node, values: tuple[Value, ...]) -> list[Value]:
    """Record a node of the backward graph; returns its outputs.

    A gradient that writes states of its operation reads the present contents of their arrays.
    """
    op = node.op
    arrays: list[StateArray] = []
    forward = op.forward if isinstance(op, KeptBackwardOp) else None
    if forward is not None and forward.states_in_backward:
        arrays = [each for each in node.inputs[-1].node.moves if isinstance(each, StateArray)]
    if forward is None or not arrays:
        return record_operation(op, node.statics, node.scalars, values)
    forward_statics, _, wrt = node.statics
    states = list(forward.written_in_backward(forward_statics))
    handles = {states.index(each.place): each.handle for each in arrays}
    changed = list(values)
    for number, handle in handles.items():  # the last values that forward has left are its states
        changed[len(changed) - len(states) + number] = handle._read()
    outputs = record_operation(op, node.statics, node.scalars, tuple(changed))
    for number, handle in handles.items():
        handle._write(outputs[len(wrt) + number])
    return outputs


def _head_values(
    heads: Sequence[Handle], head_grads: Handle | Sequence[Handle | None] | None
) -> list[Value]:
    gradients: list[Any] = [None] * len(heads)
    if head_grads is not None:
        gradients = _listed(head_grads)
        for i, each in enumerate(gradients):
            if each is not None:
                _check_array(each, "head gradient", i)
    if len(gradients) != len(heads):
        raise _HeadsError(
            f"{len(heads)} head(s) but {len(gradients)} head gradient(s); give one each, or None."
        )
    values = []
    for head, gradient in zip(heads, gradients, strict=True):
        spec = head._read().spec
        if gradient is None:
            values += _ones(spec)
            continue
        value = gradient._read()
        if value.spec.dtype != spec.dtype:
            raise GradientError(
                f"A head gradient is {value.spec.dtype.name}, its head {spec.dtype.name}; give it the head's "
                f"dtype with astype({spec.dtype.name!r})."
            )
        values.append(_in_shape(value, spec.shape))
    return values


_ONES = find("_ones")
_ones_known: dict[Spec, tuple[Any, Any]] = {}  # attributes and the call, if it was made
_MOST_ONES = 1000


def _ones(spec: Spec) -> list[Value]:
    known = _ones_known.get(spec)
    if known is None:
        if len(_ones_known) >= _MOST_ONES:
            _ones_known.clear()
        statics, _ = _ONES.bind({"shape": spec.shape, "dtype": spec.dtype})
        ones = record_operation(_ONES, statics, (), (), spec.context)
        _ones_known[spec] = statics, _ONES.calls.get((statics, (), spec.context))
        return ones
    statics, call = known
    if call is None or state.trace is not None:
        return record_operation(_ONES, statics, (), (), spec.context)
    return record_call(call, (), ())


def _in_shape(gradient: Value, shape: tuple[int, ...]) -> Value:
    """A head gradient in the shape of its head; as in MXNet, only the number of elements must agree.

    Raises:
        GradientError: it has more or fewer elements than the head.
    """
    gradient_shape = gradient.spec.shape
    if gradient_shape == shape:
        return gradient
    if math.prod(gradient_shape) != math.prod(shape):
        raise GradientError(
            f"A head gradient has shape {gradient_shape}, its head {shape}; give it the head's shape, or "
            f"one with the same number of elements."
        )
    reshape = find("_np_reshape")
    statics, _ = reshape.bind({"newshape": shape})
    return record_operation(reshape, statics, (), (gradient,))[0]


def _arrays(arrays: Array | Sequence[Array], role: str = "head") -> list[Array]:
    """The arrays as a list.

    Raises:
        NotAnArrayError: an item is not an array.
    """
    listed = _listed(arrays)
    for i, each in enumerate(listed):
        _check_array(each, role, i)
    return listed


def _listed(arrays: object) -> list[Any]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _check_array(array: object, role: str, i: int) -> None:
    if not isinstance(array, Handle):
        raise NotAnArrayError(f"{role} {i} must be an NDArray, not {type(array).__name__}.")
