"""Steps of optimizers: update rules that write several arrays at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from mixnet.ndarray.invoke import fitted_target, invoke, run_and_write
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
from mixnet.ops.registry import find
from mixnet.runtime.record.batch import Batch
from mixnet.runtime.record.moving import move
from mixnet.runtime.record.precision import current as precision
from mixnet.runtime.record.record import record
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value


class Step(NamedTuple):
    """An update rule with what it is called with, for parameters that have the same numbers.

    Args:
        rule: an operator that writes the first array, and the others that are its states.
        arrays: for each parameter its weight, gradient and states; the same number of arrays for all.
        numbers: its attributes.
    """

    rule: Op
    arrays: list[Sequence[NDArray]]
    numbers: dict[str, Any]

    @classmethod
    def of(cls, rule: Op | str, arrays: Sequence[NDArray], numbers: dict[str, Any]) -> Step:
        """The step of one parameter, with a rule or the name of one."""
        return cls(find(rule) if isinstance(rule, str) else rule, [arrays], numbers)


def run_steps(steps: Sequence[Step]) -> None:
    """Record steps as one change: all arrays are written or none.

    Steps with sparse arrays, parts of other arrays, or arrays that an earlier step has are written on
    their own.
    """
    arrays_of_all: list[NDArray] = []
    for _, arrays, _ in steps:
        for own in arrays:
            arrays_of_all += own
    if len({*map(id, arrays_of_all)}) == len(arrays_of_all) and _is_plain(arrays_of_all):
        _run_together(steps, arrays_of_all)
        return
    batch: list[Step] = []
    arrays_of_others: set[int] = set()
    for rule, arrays, numbers in steps:
        for own in arrays:
            identities = [id(each) for each in own]
            is_plain = _is_plain(own)
            if not is_plain or not arrays_of_others.isdisjoint(identities):
                _run_together(batch)
                batch, arrays_of_others = [], set()
                if not is_plain:
                    invoke(rule, own, dict(numbers), own[0])
                    continue
            batch.append(Step(rule, [own], numbers))
            arrays_of_others.update(identities)
    _run_together(batch)


def _is_plain(arrays: Sequence[NDArray]) -> bool:
    """Whether all are dense and none is a part of another array."""
    dense = None
    for each in arrays:
        if type(each) is not dense:
            if not isinstance(each, NDArray) or each._is_sparse:
                return False
            dense = type(each)
        link = each._link
        if link is not None and link.base is not None:
            return False
    return True


class _Bound(NamedTuple):
    """A step whose numbers have been checked.

    Args:
        rule, arrays: those of the step.
        statics: its attributes that the program depends on.
        scalars: its numbers that are inputs of the program.
    """

    rule: Op
    arrays: list[Sequence[NDArray]]
    statics: Statics
    scalars: tuple[float, ...]


def _run_together(steps: Sequence[Step], independent: Sequence[NDArray] = ()) -> None:
    """Record steps on plain arrays as one change.

    Args:
        steps: the steps.
        independent: all their arrays, if none is an array of two steps.
    """
    if steps:
        training = bool(state.training)
        bound = []
        previous = None
        for rule, arrays, numbers in steps:
            # Most parameters have the same numbers. Arrays, which == does not compare as one, are none.
            key = (rule, numbers) if _NUMBERS.issuperset(map(type, numbers.values())) else None
            if key is None or key != previous:
                previous, (statics, scalars) = key, rule.bind(numbers, training)
            bound.append(_Bound(rule, arrays, statics, scalars))
        work = partial(_run_and_write_batch, independent) if independent else _run_and_write_all
        change(partial(work, bound))


_NUMBERS = frozenset({int, float})


def _by_parameter(
    bound: Iterable[_Bound],
) -> Iterator[tuple[Op, Sequence[NDArray], Statics, tuple[float, ...]]]:
    """Rule, arrays, attributes and numbers of one parameter after the other."""
    for rule, arrays, statics, scalars in bound:
        for own in arrays:
            yield rule, own, statics, scalars


class _Together(NamedTuple):
    """How steps are recorded as one batch.

    Args:
        batch: records them.
        written: the places, among the arrays of all steps, of those that get its results.
    """

    batch: Batch
    written: tuple[int, ...]

    @classmethod
    def of(cls, bound: Sequence[_Bound], values: Sequence[Value]) -> _Together | None:
        """The batch of steps that have been recorded one by one; None if they have to be.

        Args:
            bound: the steps; no array is one of two steps.
            values: what their arrays held.
        """
        calls, written, results = [], [], []
        place, end = 0, len(values)
        for rule, own, statics, _ in _by_parameter(bound):
            places = range(place, place + len(own))
            call = rule.calls.get((statics, tuple([values[i].spec for i in places]), None))
            changed = rule.changed(statics, len(own)) if rule.states else {}
            is_plain = not (rule.takes_key or rule.calls_python)
            if call is None or not is_plain or rule.fraction_kept(statics) is not None:
                return None
            for position, output in {**changed, 0: 0}.items():
                if call.outputs[output] is not values[place + position].spec:
                    return None
                written.append(place + position)
                results.append(end + output)
            calls.append((call, places, True))
            place += len(own)
            end += len(call.outputs)
        if not Batch.accepts(call for call, _, _ in calls):
            return None
        in_order = sorted(range(len(results)), key=results.__getitem__)
        return cls(Batch(calls, results), tuple([written[i] for i in in_order]))


_known: dict[tuple[Any, ...], _Together | Literal["seen", "one by one"]] = {}
"""By the rules, their attributes and the specs of their arrays. The first step makes no batch: it may be the
last one of its kind."""

_MOST_KNOWN = 200


def _run_and_write_batch(
    arrays: Sequence[NDArray], bound: Sequence[_Bound], attempt: Change
) -> None:
    """``_run_and_write_all`` of steps whose arrays are all different: the same ones again are one batch."""
    if state.recording or precision.rule is not None:
        _run_and_write_all(bound, attempt)
        return
    values: list[Value] = []
    numbers: list[tuple[float, ...]] = []
    kind: list[Any] = []
    for each in arrays:
        value = each._value
        values.append(value)
        kind.append(value.spec)
    for rule, arrays_of_each, statics, scalars in bound:
        parameters = len(arrays_of_each)
        kind += (rule, statics, parameters, len(arrays_of_each[0]))
        numbers += [scalars] * parameters
    key = tuple(kind)
    together = _known.get(key)
    if together == "seen":
        together = _known[key] = _Together.of(bound, values) or "one by one"
    if isinstance(together, _Together):
        recorded = together.batch.record(values, numbers)
        if recorded is not None:
            targets, before = [], []
            for place in together.written:
                targets.append(arrays[place])
                before.append(values[place])
            attempt.write_all(targets, before, recorded)
            return
    _run_and_write_all(bound, attempt)
    if together is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = "seen"


def _run_and_write_all(bound: Sequence[_Bound], attempt: Change) -> None:
    """``run_and_write`` of rules that write their first arrays and their states, all plain arrays."""
    recording = state.recording  # then a variable that is read joins the tape
    for rule, arrays, statics, scalars in _by_parameter(bound):
        if precision.rule is not None or rule.takes_key or rule.calls_python:
            run_and_write(rule, arrays, statics, scalars, None, arrays[0], NDArray, attempt)
            continue
        weight = arrays[0]
        attempt.reads(weight)
        changed = rule.changed(statics, len(arrays)) if rule.states else None
        for place in changed or ():
            attempt.reads(arrays[place])
        values = []
        for each in arrays:
            values.append(each._read() if recording else each._value)
        outputs = record(rule, statics, scalars, tuple(values))
        output = outputs[0]
        if weight._value.spec is not output.spec:
            output = fitted_target(rule, weight, output)
        if changed:
            fraction = rule.fraction_kept(statics)
            for place, index in changed.items():
                move(arrays[place], values[place], outputs[index], fraction, attempt)
        attempt.write(weight, output)
