"""Steps of optimizers: update rules that write several arrays at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from mixnet.ndarray.invoke import fitted_target, invoke, run_and_write
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
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


def run_steps(steps: Sequence[Step]) -> None:
    """Record steps as one change: all arrays are written or none.

    Steps with sparse arrays, parts of other arrays, or arrays that an earlier step has are written on
    their own.
    """
    together: list[Step] = []
    arrays_of_others: set[int] = set()
    for step in steps:
        identities = [id(each) for each in step.arrays]
        is_plain = _is_plain(step.arrays)
        if not is_plain or not arrays_of_others.isdisjoint(identities):
            _run_together(together)
            together, arrays_of_others = [], set()
            if not is_plain:
                invoke(step.rule, step.arrays, step.numbers, step.arrays[0])
                continue
        together.append(step)
        arrays_of_others.update(identities)
    _run_together(together)


def _is_plain(arrays: Sequence[NDArray]) -> bool:
    """Whether all are dense and none is a part of another array."""
    for each in arrays:
        if not isinstance(each, NDArray) or each._is_sparse:
            return False
        link = each._link
        if link is not None and link.base is not None:
            return False
    return True


def _run_together(steps: list[Step]) -> None:
    if steps:
        training = bool(state.training)
        bound = []
        previous = None
        for rule, arrays, numbers in steps:
            # Most parameters have the same numbers. Arrays, which == does not compare as one, are none.
            key = (rule, numbers) if _NUMBERS.issuperset(map(type, numbers.values())) else None
            if key is None or key != previous:
                previous, attributes = key, rule.bind(numbers, training)
            bound.append((rule, arrays, *attributes))
        change(partial(_run_and_write_all, bound))


_NUMBERS = frozenset({int, float})


def _run_and_write_all(bound: list[tuple[Any, ...]], attempt: Change) -> None:
    for rule, arrays, statics, scalars in bound:
        if precision.rule is not None or rule.takes_key or rule.calls_python:
            run_and_write(rule, arrays, statics, scalars, None, arrays[0], NDArray, attempt)
        else:
            _run_and_write(rule, arrays, statics, scalars, attempt)


def _run_and_write(
    rule: Op,
    arrays: Sequence[NDArray],
    statics: Statics,
    scalars: tuple[float, ...],
    attempt: Change,
) -> None:
    """``run_and_write`` of a rule that writes the first array and its states, all plain arrays."""
    changed = rule.changed(statics, len(arrays)) if rule.states else {}
    attempt.reads(arrays[0])
    for place in changed:
        attempt.reads(arrays[place])
    values = tuple([each._value if each._link is None else each._read() for each in arrays])
    outputs = record(rule, statics, scalars, values)
    weight = arrays[0]
    if weight._value.spec is not outputs[0].spec:
        outputs[0] = fitted_target(rule, weight, outputs[0])
    for place, index in changed.items():
        move(arrays[place], values[place], outputs[index], rule.fraction_kept(statics), attempt)
    attempt.write(weight, outputs[0])
