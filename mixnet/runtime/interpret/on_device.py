"""Running a segment on a GPU before it is compiled: each of its operations is a program of its own.

XLA needs 20 s to compile a training step of ResNet-50 for a GPU. Only 134 of its 566 operations differ. Each
is compiled alone, several at the same time, and the next program has most of them already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.runtime.compile.ahead import forgetters
from mixnet.runtime.compile.options import quick_options_of
from mixnet.runtime.interpret.interpreter import Interpreter
from mixnet.runtime.interpret.runner import Applied, compiled_alone
from mixnet.runtime.value.counters import count

MOST_THREADS = 16
"""Threads that compile operations at the same time, if there are as many processors."""

_MOST_PROGRAMS = 5000
_programs: dict[tuple[Applied, Context], Callable[..., Any]] = {}


class OnDevice:
    """A segment's program that runs on its device operation by operation, called like a compiled one.

    The first run compiles the operations that no program had before, and runs each as soon as it is ready.

    Args:
        interpreter: of the same program; gives the operations and the estimates.
        context: the device.
    """

    def __init__(self, interpreter: Interpreter, context: Context):
        self.cost = interpreter.cost
        self._context = context
        self._heads = interpreter.heads
        self._steps = interpreter.steps
        self._calls: list[Callable[..., Any]] = []  # of the steps, once all are compiled
        self._numbers: dict[int, Any] = {}  # step -> its numbers, if they are the same in each run

    def __len__(self) -> int:
        return len(self._steps)

    def __call__(self, scalars: np.ndarray, *arrays: Any) -> list[Any]:
        """Arrays of the requested outputs, which the device may still have to compute."""
        count("run_by_operator", len(self._steps))
        if self._calls:
            return self._run(self._calls, scalars, arrays)
        programs = self._compiling()
        calls: list[Callable[..., Any]] = []

        def call(step: int, *operands: Any) -> Any:
            calls.append(programs[step].result())
            return calls[-1](*operands)

        results = self._run([partial(call, i) for i in range(len(self._steps))], scalars, arrays)
        self._calls = calls
        return results

    def _run(
        self, calls: Sequence[Callable[..., Any]], scalars: np.ndarray, arrays: Sequence[Any]
    ) -> list[Any]:
        values = dict(enumerate(arrays))
        for number, (call, step) in enumerate(zip(calls, self._steps, strict=True)):
            numbers = self._numbers.get(number)
            if numbers is None:
                numbers = self._numbers_of(number, scalars)
            results = call(numbers, *[values[i] for i in step.inputs])
            values.update(zip(step.outputs, results, strict=True))
            for i in step.last_read:
                del values[i]
        return [values[head] for head in self._heads]

    def _numbers_of(self, number: int, scalars: np.ndarray) -> Any:
        places = self._steps[number].scalars
        numbers = np.array([scalars[i] if type(i) is int else i for i in places], np.float64)
        if not any(
            type(i) is int for i in places
        ):  # a transfer takes longer than to launch a small operation
            numbers = self._numbers[number] = jax.device_put(numbers, self._context.device)
        return numbers

    def _compiling(self) -> list[Future[Callable[..., Any]]]:
        """Programs of the steps; several threads compile those that are missing, the first ones first."""
        if len(_programs) >= _MOST_PROGRAMS:
            _programs.clear()
        options = quick_options_of(self._context.device.platform)  # before the threads all try them
        futures: dict[Applied, Future[Callable[..., Any]]] = {}
        threads = min(MOST_THREADS, os.cpu_count() or 1)
        pool = ThreadPoolExecutor(threads, thread_name_prefix="mixnet compiling")
        try:
            for step in self._steps:
                applied = step.applied
                if applied not in futures:
                    futures[applied] = pool.submit(_program, applied, self._context, options)
        finally:
            pool.shutdown(wait=False)
        return [futures[step.applied] for step in self._steps]


def _program(applied: Applied, context: Context, options: dict[str, str]) -> Callable[..., Any]:
    key = applied, context
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = compiled_alone(applied, context, options)
    return program


def clear() -> None:
    """Forget the programs of operations."""
    _programs.clear()


forgetters.append(clear)
