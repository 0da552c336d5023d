"""Running a segment on a GPU before it is compiled as a whole: as parts, each a program of its own.

XLA needs 20 s to compile a training step of ResNet-50 for a GPU. A part is a product, such as a
convolution, with the operations that follow it. Networks repeat their layers, so many parts are equal and
are compiled once, several parts at the same time; later programs share them.
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
"""The most operations in a part: larger parts are equal less often, and compile on one thread each."""
MOST_THREADS = 8
"""The most threads that compile parts at the same time; more would only wait for XLA's locks."""

_MOST_PROGRAMS = 5000


class Structure(NamedTuple):
    """The structure of a part: its operations, their connections and its inputs. Equal ones share a program.

    Args:
        operations: each with the numbers of the values that it reads; the inputs of the part are numbered
            first.
        inputs: their shapes and dtypes.
        outputs: the numbers of the values that it returns.
    """

    operations: tuple[tuple[Applied, tuple[int, ...]], ...]
    inputs: tuple[Known, ...]
    outputs: tuple[int, ...]


class Part(NamedTuple):
    """A part of a program; values are numbered as in the whole program.

    Args:
        structure: what its program computes.
        inputs: values that earlier parts computed.
        scalars: an int is an index into the vector of scalars, a float a number.
        outputs: values that later parts read, or the program returns.
        last_read: values that no later part reads.
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
    """A segment's program that runs on its device in parts; called like a compiled program.

    The first run compiles the parts that no earlier program had, and runs each as soon as it is ready.

    Args:
        interpreter: the interpreter of the same program, which has the operations and the estimates.
        context: the device.
    """

    def __init__(self, interpreter: Interpreter, context: Context):
        self.cost = interpreter.cost
        self.parts = list(parts(interpreter.steps, interpreter.heads))
        self._context = context
        self._heads = interpreter.heads
        self._operations = len(interpreter)
        self._calls: list[Callable[..., Any]] = []  # one for each part, once all are compiled
        self._numbers: dict[int, Any] = {}  # part -> its scalars, if they are the same in every run

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
        # Stored at the end: after an interrupt, the next run starts again with the parts compiled so far.
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
            for i in part.last_read:  # the device frees them after the programs that read them
                del values[i]
        return [values[head] for head in self._heads]

    def _numbers_of(self, number: int, scalars: np.ndarray) -> Any:
        places = self.parts[number].scalars
        numbers = np.array([scalars[i] if type(i) is int else i for i in places], np.float64)
        # A transfer takes longer than the launch of a kernel.
        if all(type(i) is not int for i in places):
            numbers = self._numbers[number] = jax.device_put(numbers, self._context.device)
        return numbers

    def compile(self) -> list[Future[Callable[..., Any]]]:
        """The programs of the parts; several threads compile the missing ones, the largest first."""
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
    """The steps at which parts begin: at products, and where the previous part is full."""
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
    # Renumbered from the first input, so that equal parts of a network have equal structures.
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
    # A failed job is tried again: memory may be free by then.
    if future is None or (future.done() and future.exception() is not None):
        # No lock: if two segments need the same part at once, both compile it, and either program will do.
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
            own_scalars = [numbers[i] for i in range(at, at + applied.scalars)]
            at += applied.scalars
            values += applied.op.apply(applied.statics, [values[i] for i in places], own_scalars)
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
