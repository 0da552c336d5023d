"""Steps of optimizers: update rules that write several arrays at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from mixnet.ndarray.invoke import fitted_target, invoke, run_and_write
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.runtime.record.moving import move
from mixnet.runtime.record.precision import current as precision
from mixnet.runtime.record.record import record
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.state import state


class Step(NamedTuple):
    """An update rule with what it is called with.

    Args:
        rule: an operator that writes the first array, and the others that are its states.
        arrays: weight, gradient, states.
        numbers: its attributes.
    """

    rule: Op
    arrays: Sequence[NDArray]
    numbers: dict[str, Any]

    @classmethod
    def of(cls, rule: Op | str, arrays: Sequence[NDArray], numbers: dict[str, Any]) -> Step:
        """A step with a rule, or the name of one."""
        return cls(find(rule) if isinstance(rule, str) else rule, arrays, numbers)


def new_step(rule: Op, arrays: Sequence[NDArray], numbers: dict[str, Any]) -> Step:
    """``Step(...)`` in half the time: a step of training makes one for every parameter."""
    return _new_tuple(Step, (rule, arrays, numbers))


_new_tuple = tuple.__new__


def run_steps(steps: Sequence[Step]) -> None:
    """Record steps as one change: all arrays are written or none.

    Steps with sparse arrays, parts of other arrays, or arrays that an earlier step has are written on
    their own.
    """
    if _are_independent(steps):
        _run_together(steps)
        return
    batch: list[Step] = []
    arrays_of_others: set[int] = set()
    for step in steps:
        identities = [id(each) for each in step.arrays]
        is_plain = _is_plain(step.arrays)
        if not is_plain or not arrays_of_others.isdisjoint(identities):
            _run_together(batch)
            batch, arrays_of_others = [], set()
            if not is_plain:
                invoke(step.rule, step.arrays, dict(step.numbers), step.arrays[0])
                continue
        batch.append(step)
        arrays_of_others.update(identities)
    _run_together(batch)


def _are_independent(steps: Sequence[Step]) -> bool:
    """Whether all arrays of steps are plain, and none is an array of two steps."""
    identities: set[int] = set()
    number, dense = 0, None
    for _, arrays, _ in steps:
        for each in arrays:  # as _is_plain does, without calls
            if type(each) is not dense:
                if not isinstance(each, NDArray) or each._is_sparse:
                    return False
                dense = type(each)
            link = each._link
            if link is not None and link.base is not None:
                return False
            identities.add(id(each))
            number += 1
    return len(identities) == number


def _is_plain(arrays: Sequence[NDArray]) -> bool:
    """Whether all are dense and none is a part of another array."""
    for each in arrays:
        if not isinstance(each, NDArray) or each._is_sparse:
            return False
        link = each._link
        if link is not None and link.base is not None:
            return False
    return True


def _run_together(steps: Sequence[Step]) -> None:
    if steps:
        training = bool(state.training)
        bound = []
        previous = previous_rule = previous_numbers = None
        for rule, arrays, numbers in steps:
            if numbers is not previous_numbers or rule is not previous_rule:
                previous_rule, previous_numbers = rule, numbers
                # Most parameters have the same numbers. Arrays, which == does not compare as one, are none.
                key = (rule, numbers) if _NUMBERS.issuperset(map(type, numbers.values())) else None
                if key is None or key != previous:
                    previous, (statics, scalars) = key, rule.bind(numbers, training)
            bound.append((rule, arrays, statics, scalars))
        change(partial(_run_and_write_all, bound))


_NUMBERS = frozenset({int, float})


def _run_and_write_all(bound: list[tuple[Any, ...]], attempt: Change) -> None:
    """``run_and_write`` of rules that write their first arrays and their states, all plain arrays."""
    recording = state.recording  # then a variable that is read joins the tape
    for rule, arrays, statics, scalars in bound:
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
