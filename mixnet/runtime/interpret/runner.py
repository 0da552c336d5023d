"""How one operator runs in an interpreted program: by its own rule, on NumPy, or compiled alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from mixnet.context import Context
from mixnet.ops.generators.source import DrawnForHost
from mixnet.ops.lowering.host import ON_HOST
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing.shape_free import ShapeFree, common_shape, form_of
from mixnet.ops.tracing.traced import Known, traced
from mixnet.private_jax.jaxprs import ClosedJaxpr
from mixnet.runtime.compile.ahead import compile_for
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.interpret import on_numpy, patience
from mixnet.runtime.interpret.on_numpy.pieces import PIECE, in_pieces
from mixnet.runtime.interpret.on_numpy.work import (
    OF_PROGRAM,
    OF_RULE,
    Cost,
    elementwise,
)
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.value import Spec


class Applied(NamedTuple):
    """An operator and its arguments: the shapes and dtypes of arrays, and the number of scalars."""

    op: Operator
    statics: Statics
    inputs: tuple[Known, ...]
    scalars: int


class Runner(NamedTuple):
    """One operator on inputs of known specs.

    Args:
        run: a function of NumPy arrays and then numbers, which returns NumPy arrays.
        cost: the estimated seconds of a run, and of compiling it as a part of a program.
        calls_python: whether the operator runs Python code, which ``run`` calls directly.
    """

    run: Callable[..., Sequence[Any]]
    cost: Cost
    calls_python: bool = False


def _has_arbitrary_signs(jaxpr: ClosedJaxpr) -> bool:
    """Whether results have signs that must not change when XLA, whose LAPACK may choose others, takes over.

    Operators make the largest elements of the vectors of ``eigh`` and ``svd`` positive, and ``qr``
    has its signs from the matrix. The vectors of ``eig`` are what LAPACK returns.
    """
    return any(
        each.primitive.name == "eig" and each.params["compute_right_eigenvectors"]
        for each in jaxpr.jaxpr.eqns
    )


_runners: dict[Any, Runner] = {}
_MOST_RUNNERS = 10_000


def runner_of(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int, context: Context
) -> Runner:
    """The runner of an operator for such inputs: on NumPy, or compiled alone if NumPy has no rule."""
    key = (op, statics, inputs, scalars, context.device_typeid)
    runner = _runners.get(key)
    if runner is None:
        runner = _new_runner(op, statics, inputs, scalars, context)
        # Cleared rather than trimmed: making a runner again costs little, as its trace is cached.
        if len(_runners) >= _MOST_RUNNERS:
            _runners.clear()
        _runners[key] = runner
    return runner


def _new_runner(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int, context: Context
) -> Runner:
    rule = ON_HOST.get(op.name)
    if rule is not None and op.output_specs is not None:
        return _runner_of_rule(rule, op, statics, inputs, scalars)
    if op.draws_on_numpy and len(inputs) == 1 and inputs[0] != STREAM_SPEC:
        return _runner_of_draw(op, statics, inputs)
    try:
        form = form_of(op, statics, inputs, scalars)
        if form is not None:
            return _runner_of_form(form, common_shape(inputs) or ())
        jaxpr = traced(op, statics, inputs, scalars)
        names = {each.primitive.name for each in jaxpr.jaxpr.eqns}
        # Rejection sampling draws again until a number is accepted: the last bit of one changes
        # all later ones.
        rejects = op.takes_key and "while" in names and not op.draws_per_element
        if (rejects or _has_arbitrary_signs(jaxpr)) and not patience.is_only_way:
            raise on_numpy.NoRuleError("what must not depend on the last bit")
        return Runner(on_numpy.closed(jaxpr), on_numpy.cost(jaxpr), op.calls_python)
    except on_numpy.NoRuleError:
        # The operators around it are still interpreted, so only this one waits for the compiler.
        return _compiled_alone(op, statics, inputs, scalars, context)


_forms: dict[int, tuple[ShapeFree, Callable[..., Sequence[Any]]]] = {}  # by the form's identity


def _runner_of_form(form: ShapeFree, shape: tuple[int, ...]) -> Runner:
    known = _forms.get(id(form))
    if known is None or known[0] is not form:
        if len(_forms) >= _MOST_RUNNERS:
            _forms.clear()
        known = _forms[id(form)] = (form, on_numpy.closed(form.jaxpr))
    equations, elements = len(form.jaxpr.jaxpr.eqns), math.prod(shape)
    run = known[1]
    # Pieces keep intermediate results in the cache, and one equation has none.
    pieces = equations > 1 and elements >= 2 * PIECE and form.is_elementwise
    if pieces:
        run = in_pieces(run, shape, [aval.dtype for aval in form.jaxpr.out_avals])
    return Runner(run, elementwise(equations, elements, pieces))


def _runner_of_rule(
    rule: Callable[..., Any],
    op: Operator,
    statics: Statics,
    inputs: tuple[Known, ...],
    scalars: int,
) -> Runner:
    arrays = len(inputs)
    fixed = None if scalars else op.keywords(statics)

    def run(*values: object) -> tuple[Any, ...]:
        keywords = op.keywords(statics, values[arrays:]) if fixed is None else fixed
        results = rule(*values[:arrays], **keywords)
        return results if isinstance(results, tuple) else (results,)

    cost = OF_RULE if arrays else _cost_of_making(op, statics, inputs, 1)
    return Runner(run, cost, calls_python=op.calls_python)


def _cost_of_making(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], equations: int
) -> Cost:
    ((shape, _),) = op.output_specs(statics, inputs)  # type: ignore[misc]
    return elementwise(equations, math.prod(shape))


_EQUATIONS_OF_DRAW = 8


def _runner_of_draw(op: Operator, statics: Statics, inputs: tuple[Known, ...]) -> Runner:
    """Random numbers from a table that the host has drawn: without tracing, a piece at a time."""
    ((shape, dtype),) = op.output_specs(statics, inputs)  # type: ignore[misc]
    size = math.prod(shape)

    def run(table: Any, *numbers: Any) -> tuple[Any, ...]:
        *parameters, draw = numbers
        key = DrawnForHost(table, int(draw))
        result = np.empty(size, dtype)
        for start in range(0, size, PIECE):
            count = min(PIECE, size - start)
            result[start : start + count] = op.drawn_on_numpy(statics, parameters, count, key)
        return (result.reshape(shape),)

    return Runner(run, elementwise(_EQUATIONS_OF_DRAW, size, in_pieces=True))


def _compiled_alone(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int, context: Context
) -> Runner:
    specs = [Spec.of(shape, dtype, context) for shape, dtype in inputs]
    count("programs_compiled")

    def program(numbers: np.ndarray, *arrays: np.ndarray) -> tuple[Any, ...]:
        return op.apply(statics, arrays, [numbers[i] for i in range(scalars)])

    call = compile_for(program, scalars, specs, context)
    arrays = len(specs)

    def run(*values: Any) -> list[Any]:
        numbers = np.array(values[arrays:], np.float64)
        with jax.enable_x64(True):  # arrays and the vector of numbers keep dtypes of 64 bits
            # The numbers come after the arrays, and go into the vector of scalars.
            placed = [to_device(each, spec) for each, spec in zip(values, specs, strict=False)]
            return [np.asarray(each) for each in call(numbers, *placed)]

    return Runner(run, OF_PROGRAM)


def set_aside() -> dict[Any, Runner]:
    """Forget the runners without destroying their programs: the caller holds them."""
    global _runners
    runners, _runners = _runners, {}
    return runners


def clear() -> None:
    """Clear the cache of runners."""
    _runners.clear()
