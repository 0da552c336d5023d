"""Loops and branches: nested programs."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.private_jax.calls import counts_of_scan
from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.run import Program, closed
from mixnet.runtime.interpret.on_numpy.table import Run, rule, shape_of


def _result(run: Program, equation: Equation) -> Run:
    if len(equation.outvars) == 1:
        return lambda *arrays: run(*arrays)[0]
    return run


@rule("cond")
def _cond(equation: Equation, branches: Any, **_: object) -> Run:
    runs = [closed(branch) for branch in branches]

    def run(which: Any, *arrays: Any) -> list[Any]:
        return runs[min(max(int(which), 0), len(runs) - 1)](*arrays)

    return _result(run, equation)


@rule("pure_callback")
def _call_back(equation: Equation, callback: Any, **_: object) -> Run:
    """Calls the Python function, without the interpreter's settings of NumPy."""
    dtypes = [each.aval.dtype for each in equation.outvars]

    def run(*arrays: Any) -> list[np.ndarray]:
        try:
            results = contextvars.Context().run(callback, *arrays)
        except KeyboardInterrupt as error:
            # As from XLA: what a program's own Python is interrupted in is not started again.
            raise RuntimeError("KeyboardInterrupt in Python") from error
        return [np.asarray(each, dtype) for each, dtype in zip(results, dtypes, strict=True)]

    return _result(run, equation)


@rule("platform_index")
def _platform(equation: Equation, platforms: Any, **_: object) -> Run:
    dtype = equation.outvars[0].aval.dtype
    branch = next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
    number = np.array(branch, dtype)
    return lambda: number


@rule("custom_linear_solve")
def _linear_solve(equation: Equation, const_lengths: Any, jaxprs: Any, **_: object) -> Run:
    solve = closed(jaxprs.solve)
    first = const_lengths.matvec + const_lengths.vecmat
    second = first + const_lengths.solve
    rest = second + const_lengths.transpose_solve

    def run(*arrays: Any) -> list[Any]:
        return solve(*arrays[first:second], *arrays[rest:])

    return _result(run, equation)


@rule("while")
def _while(
    equation: Equation,
    cond_jaxpr: Any,
    body_jaxpr: Any,
    cond_nconsts: int,
    body_nconsts: int,
    **_: object,
) -> Run:
    test, body = closed(cond_jaxpr), closed(body_jaxpr)

    def run(*arrays: Any) -> list[Any]:
        of_test = arrays[:cond_nconsts]
        of_body = arrays[cond_nconsts : cond_nconsts + body_nconsts]
        carried = list(arrays[cond_nconsts + body_nconsts :])
        while True:
            running = test(*of_test, *carried)[0]
            if not running.any():
                return carried
            results = body(*of_body, *carried)
            if running.ndim:  # several loops side by side: those that have ended stay as they are
                results = _where_going(running, results, carried)
            carried = results

    return _result(run, equation)


def _where_going(going: Any, results: Sequence[Any], carried: Sequence[Any]) -> list[Any]:
    shapes = [going.shape + (1,) * (each.ndim - going.ndim) for each in results]
    return [
        np.where(going.reshape(shape), new, old)
        for shape, new, old in zip(shapes, results, carried, strict=True)
    ]


@rule("scan")
def _scan(equation: Equation, jaxpr: Any, length: int, reverse: bool, **_: object) -> Run:
    body = closed(jaxpr)
    num_consts, num_carry = counts_of_scan(equation)
    stacked = [(shape_of(v.aval), v.aval.dtype) for v in equation.outvars[num_carry:]]

    def run(*arrays: Any) -> list[Any]:
        constants = arrays[:num_consts]
        carried: Sequence[Any] = arrays[num_consts : num_consts + num_carry]
        rows = arrays[num_consts + num_carry :]
        stacks = [np.empty(shape, dtype) for shape, dtype in stacked]
        for i in reversed(range(length)) if reverse else range(length):
            results = body(*constants, *carried, *[each[i, ...] for each in rows])
            carried = results[:num_carry]
            for each, value in zip(stacks, results[num_carry:], strict=True):
                each[i] = value
        return [*carried, *stacks]

    return _result(run, equation)
