"""The first run of a new segment: compiled as a whole, or operator by operator.

Compiling takes a few milliseconds per operation. A notebook cell with new operations is cheapest as one
program. A long loop that repeats a few operations is cheaper with a program for each operation, until the
same segment recurs and deserves a program of its own. The choice is estimated from measured times
(docs/concepts/lazy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.runtime.compile.ahead import compile_for
from mixnet.runtime.compile.options import quick_options_of
from mixnet.runtime.value.counters import count

if TYPE_CHECKING:
    import jax

    from mixnet.runtime.value.call import Call

SINGLE_SECONDS = 0.020
"""Seconds to compile a program of one operation."""
WHOLE_SECONDS = 0.020
"""Seconds to compile a program without operations."""
EACH_SECONDS = 0.0035
"""Seconds to compile one more operation of a program."""
DISPATCH_SECONDS = 0.00003
"""Seconds to run a compiled program of one operation."""

_ran_once: set[int] = set()  # hashes of keys that ran operator by operator
_singles: dict[Any, Callable[..., Any]] = {}  # call -> its compiled program


def runs_by_operator(key: tuple[Any, ...], program: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a segment that is new to the cache runs operator by operator this time.

    Never twice: the second time it is compiled. Segments with a whole graph, such as a hybridized
    block, are compiled at once.

    Args:
        key: the segment's key in the cache of programs.
        program: its operations.
    """
    number = hash(key)
    if number in _ran_once:
        return False
    operations = len(program)
    if operations * EACH_SECONDS < SINGLE_SECONDS:
        return False
    calls = {item[0] for item in program}
    if any(call.op.graph is not None for call in calls):
        return False
    new = sum(call not in _singles for call in calls)
    stepwise = new * SINGLE_SECONDS + operations * DISPATCH_SECONDS
    if stepwise >= WHOLE_SECONDS + operations * EACH_SECONDS:
        return False
    _ran_once.add(number)
    return True


def stepwise(program: Sequence[tuple[Any, ...]], slots: Sequence[int]) -> Callable[..., Any]:
    """A function ``(scalars, *arrays) -> arrays of slots`` that runs one operation at a time.

    Args:
        program: operations with the slots of their inputs, as in a segment.
        slots: the requested outputs.
    """
    last: dict[int, int] = {}  # slot -> the last operation that reads it
    for number, item in enumerate(program):
        for place in item[1:]:
            last[place] = number
    returned = set(slots)

    def run(scalars: Any, *arrays: Any) -> list[Any]:
        count("run_by_operator", len(program))
        known: dict[int, Any] = {-1 - i: array for i, array in enumerate(arrays)}
        slot = at = 0
        for number, item in enumerate(program):
            call = item[0]
            operands = [known[place] for place in item[1:]]
            numbers = scalars[at : at + call.num_scalars]
            at += call.num_scalars
            results = _single(call)(numbers, *operands)
            for result in results:
                if slot in last or slot in returned:
                    known[slot] = result
                slot += 1
            # Results are dropped after their last reader, so that a long loop does not hold all of them at
            # once; leaves (negative slots) belong to the caller.
            for place in item[1:]:
                if place >= 0 and last[place] == number and place not in returned:
                    known.pop(place, None)
        return [known[each] for each in slots]

    return run


_MOST_SINGLES = 2000
"""The most cached programs of one operation; each needs some of the process's limited memory maps."""


def _single(call: Call) -> Callable[..., Any]:
    known = _singles.get(call)
    if known is None:
        count("programs_compiled")
        op, statics, length = call.op, call.statics, call.num_scalars

        def program(scalars: Sequence[Any], *arrays: jax.Array) -> tuple[Any, ...]:
            return op.apply(statics, arrays, [scalars[i] for i in range(length)])

        if len(_singles) >= _MOST_SINGLES:
            _singles.clear()
        options = quick_options_of(call.context.device.platform)  # it runs in few segments
        known = compile_for(program, length, call.specs, call.context, options=options)
        _singles[call] = known
    return known


def clear() -> None:
    """Clear the history."""
    _ran_once.clear()
    _singles.clear()
