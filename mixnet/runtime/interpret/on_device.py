"""Running a segment on a GPU before it is compiled as a whole: as parts, each a program of its own.

XLA needs 20 s to compile a training step of ResNet-50 for a GPU. A part is a product, such as a convolution,
with the operations behind it. Networks repeat their layers, so most parts are equal: they are compiled once,
several at the same time, and the next program has many of them already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from mixnet.context import Context
from mixnet.ops.tracing.traced import Known, traced
from mixnet.private_jax.calls import primitives
from mixnet.runtime.compile.ahead import compile_for, forgetters
from mixnet.runtime.compile.options import is_product, part_options
from mixnet.runtime.interpret.interpreter import Interpreter, Step
from mixnet.runtime.interpret.runner import Applied
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.value import Spec

MOST_OPERATIONS = 32
"""Operations of a part: with more, fewer parts are equal, and no other thread can help to compile them."""
MOST_THREADS = 8
"""Threads that compile parts at the same time, if there are as many processors; more of them wait for XLA's
locks.
"""

_MOST_PROGRAMS = 5000


class Structure(NamedTuple):
    """What makes two parts equal: operations, how they are connected, and what the inputs are.

    Args:
        operations: each with the values that it reads: inputs of the part first, then results in their order.
        inputs: shapes and dtypes.
        outputs: the values that are returned.
    """

    operations: tuple[tuple[Applied, tuple[int, ...]], ...]
    inputs: tuple[Known, ...]
    outputs: tuple[int, ...]


class Part(NamedTuple):
    """A part of a program; values are numbered as in the whole.

    Args:
        structure: what its program computes.
        inputs: values from before.
        scalars: places in the vector of scalars as int, numbers as float.
        outputs: values for later.
        last_read: values that nothing reads after it.
    """

    structure: Structure
    inputs: tuple[int, ...]
    scalars: tuple[int | float, ...]
    outputs: tuple[int, ...]
    last_read: tuple[int, ...]


_programs: dict[tuple[Structure, Context], Future[Callable[..., Any]]] = {}
_pool: ThreadPoolExecutor | None = None
Result = TypeVar("Result")


class OnDevice:
    """A segment's program that runs on its device in parts, called like a compiled one.

    The first run compiles the parts that no program had before, and runs each as soon as it is ready.

    Args:
        interpreter: of the same program; gives the operations and the estimates.
        context: the device.
    """

    def __init__(self, interpreter: Interpreter, context: Context):
        self.cost = interpreter.cost
        self.parts = list(parts(interpreter.steps, interpreter.heads))
        self._context = context
        self._heads = interpreter.heads
        self._operations = len(interpreter)
        self._calls: list[Callable[..., Any]] = []  # of the parts, once all are compiled
        self._numbers: dict[int, Any] = {}  # part -> its numbers, if they are the same in each run

    def __len__(self) -> int:
        return self._operations

    def __call__(self, scalars: np.ndarray, *arrays: Any) -> list[Any]:
        """Arrays of the requested outputs, which the device may still have to compute."""
        count("run_in_parts", len(self.parts))
        if self._calls:
            return self._run(self._calls, scalars, arrays)
        programs = self.compile()
        calls: list[Callable[..., Any]] = []

        def call(number: int, *operands: Any) -> Any:
            calls.append(programs[number].result())
            return calls[-1](*operands)

        results = self._run([partial(call, i) for i in range(len(self.parts))], scalars, arrays)
        # Only now: after an interrupt, the next run begins anew with the programs that there are.
        self._calls = calls
        return results

    def _run(
        self, calls: Sequence[Callable[..., Any]], scalars: np.ndarray, arrays: Sequence[Any]
    ) -> list[Any]:
        values = dict(enumerate(arrays))
        for number, (call, part) in enumerate(zip(calls, self.parts, strict=True)):
            numbers = self._numbers.get(number)
            if numbers is None:
                numbers = self._numbers_of(number, scalars)
            results = call(numbers, *[values[i] for i in part.inputs])
            values.update(zip(part.outputs, results, strict=True))
            for (
                i
            ) in part.last_read:  # the device frees them when the programs that read them have run
                del values[i]
        return [values[head] for head in self._heads]

    def _numbers_of(self, number: int, scalars: np.ndarray) -> Any:
        places = self.parts[number].scalars
        numbers = np.array([scalars[i] if type(i) is int else i for i in places], np.float64)
        if all(
            type(i) is not int for i in places
        ):  # a transfer takes longer than launching a kernel
            numbers = self._numbers[number] = jax.device_put(numbers, self._context.device)
        return numbers

    def compile(self) -> list[Future[Callable[..., Any]]]:
        """Programs of the parts; several threads compile those that are missing, the largest first."""
        if len(_programs) >= _MOST_PROGRAMS:
            _programs.clear()
        structures = dict.fromkeys([part.structure for part in self.parts])
        futures = {
            each: _future(each, self._context)
            for each in sorted(structures, key=lambda each: -len(each.operations))
        }
        return [futures[part.structure] for part in self.parts]


def parts(steps: Sequence[Step], heads: Iterable[int]) -> Iterator[Part]:
    """The parts of a program, in the order in which they run.

    Args:
        steps: its operations.
        heads: the values that it returns.
    """
    last: dict[int, int] = {}  # value -> the last step that reads it
    for number, step in enumerate(steps):
        for value in (*step.inputs, *step.outputs):
            last[value] = number
    last.update(dict.fromkeys(heads, len(steps)))
    start = 0
    for end in [*_starts(steps), len(steps)]:
        if end > start:
            yield _part(steps[start:end], end, last)
        start = end


def _starts(steps: Sequence[Step]) -> Iterator[int]:
    """Where parts begin: at products, and where the part before is full."""
    start = 0
    for number, step in enumerate(steps):
        if number - start >= MOST_OPERATIONS or (number > start and is_product(step.applied.op)):
            yield number
            start = number


def _part(steps: Sequence[Step], end: int, last: dict[int, int]) -> Part:
    results = [each for step in steps for each in step.outputs]
    inputs: dict[int, Known] = {}
    for step in steps:
        for value, known in zip(step.inputs, step.applied.inputs, strict=True):
            if value not in results:
                inputs.setdefault(value, known)
    # Numbered anew from the first input, so that parts of different places of a network are equal.
    number = {value: i for i, value in enumerate(inputs)}
    operations = []
    for step in steps:
        operations.append((step.applied, tuple([number[value] for value in step.inputs])))
        for value in step.outputs:
            number[value] = len(number)
    outputs = tuple([value for value in results if last[value] >= end])
    return Part(
        Structure(
            tuple(operations), tuple(inputs.values()), tuple([number[each] for each in outputs])
        ),
        tuple(inputs),
        tuple([each for step in steps for each in step.scalars]),
        outputs,
        tuple([value for value in inputs if last[value] < end]),
    )


def _future(structure: Structure, context: Context) -> Future[Callable[..., Any]]:
    key = structure, context
    future = _programs.get(key)
    # What failed is tried again: memory may be free by then.
    if future is None or (future.done() and future.exception() is not None):
        # No lock: if two segments need the same part at once, each has it compiled, and either will do.
        future = _programs[key] = submit(partial(_compiled, structure, context))
    return future


def submit(job: Callable[[], Result]) -> Future[Result]:
    """Run a job on one of the threads that compile."""
    global _pool
    if _pool is None:
        threads = min(MOST_THREADS, os.cpu_count() or 1)
        _pool = ThreadPoolExecutor(threads, thread_name_prefix="mixnet compiling")
    return _pool.submit(job)


def _compiled(structure: Structure, context: Context) -> Callable[..., Any]:
    operations, inputs, outputs = structure

    def program(numbers: Any, *arrays: Any) -> list[Any]:
        values = list(arrays)
        at = 0
        for applied, places in operations:
            own = [numbers[i] for i in range(at, at + applied.scalars)]
            at += applied.scalars
            values += applied.op.apply(applied.statics, [values[i] for i in places], own)
        return [values[i] for i in outputs]

    count("programs_compiled")
    specs = [Spec.of(shape, dtype, context) for shape, dtype in inputs]
    scalars = sum(applied.scalars for applied, _ in operations)
    names = set().union(*[primitives(traced(*applied)) for applied, _ in operations])
    options = part_options(context.device.platform, names)
    return compile_for(program, scalars, specs, context, options=options)


def clear() -> None:
    """Forget the programs of parts."""
    _programs.clear()


def _start_anew() -> None:
    """Reset the state in a forked process, which has none of the threads."""
    global _pool
    _pool = None
    clear()


forgetters.append(clear)
os.register_at_fork(after_in_child=_start_anew)
