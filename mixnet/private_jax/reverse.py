"""Reverse mode in half the tracing time of ``jax.vjp``, for functions that only call plain primitives.

``jax.vjp`` makes, evaluates and discards one jaxpr for every primitive that is differentiated. Here there is
one for the whole function: its derivatives are traced together with its values, what does not depend
on tangents is evaluated, and the rest is transposed. JAX's own rules do both, so the resulting equations are
the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal
from mixnet.private_jax.tracing import flat_tracer

try:
    from jax._src.interpreters.ad import (
        UndefinedPrimal,
        backward_pass,
        fancy_transposes,
        instantiate_zeros,
        primitive_transposes,
    )
except ImportError:  # another JAX
    backward_pass = None  # type: ignore[assignment]

_trace = flat_tracer()


class _NotPlainError(Exception):
    """A loop, a branch or a call mixes values with tangents: ``jax.vjp`` divides it."""


def vjp(
    function: Callable[..., Any], *primals: object, reads_results: bool = True
) -> tuple[Any, Callable[[Any], Any], Any]:
    """What ``jax.vjp(function, *primals, has_aux=True)`` gives.

    Args:
        function: gives what is differentiated, and other results.
        primals: its inputs: arrays of real numbers, or trees of them.
        reads_results: whether the caller reads the numbers of the results. If not, what no gradient needs
            may be left out, and results may be shapes and dtypes alone.

    Returns:
        The first, a function from its cotangents to a tuple of those of the primals, and the other results.
    """
    # Where calls are not written out, their values and tangents would be mixed.
    calls_are_written_out = jax.config.jax_disable_jit  # type: ignore[attr-defined]
    if _trace is not None and backward_pass is not None and calls_are_written_out:
        try:
            return _vjp(_trace, function, primals, reads_results)
        except Exception:  # what the function itself raises, it raises again
            pass
    return jax.vjp(function, *primals, has_aux=True)


def _vjp(
    trace: Any, function: Callable[..., Any], primals: Any, reads_results: bool
) -> tuple[Any, Any, Any]:
    arrays, structure = jax.tree.flatten(primals)
    parts: list[tuple[list[Any], Any]] = []  # dtypes and structure of each part of the results

    def with_tangents(*values: object) -> list[Any]:
        first = jax.tree.unflatten(structure, values[: len(arrays)])
        second = jax.tree.unflatten(structure, values[len(arrays) :])
        outputs, tangents, others = jax.jvp(function, first, second, has_aux=True)
        flat = [jax.tree.flatten(each) for each in (outputs, others, tangents)]
        parts[:] = [([leaf.dtype for leaf in leaves], tree) for leaves, tree in flat]
        return [leaf for leaves, _ in flat for leaf in leaves]

    avals = [jax.core.ShapedArray(each.shape, each.dtype) for each in arrays]
    whole, constants = trace(with_tangents, avals * 2)
    (outputs, of_outputs), (others, of_others), (tangents, _) = parts
    if jax.dtypes.float0 in tangents:  # of whole numbers
        raise _NotPlainError
    heads, results = len(outputs), len(outputs) + len(others)
    known, linear = _divided(whole, len(arrays), results)
    if reads_results:
        values = list(jax.core.eval_jaxpr(known, (), *constants, *arrays))
        residuals = values[results:]
    else:
        values = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in known.outvars[:results]]
        needed = _without_results(known, results)
        residuals = list(jax.core.eval_jaxpr(needed, (), *constants, *arrays))

    def pull(cotangents: object) -> Any:
        unknown = [UndefinedPrimal(each.aval) for each in linear.invars[len(residuals) :]]
        flat = jax.tree.leaves(cotangents)
        slopes = backward_pass(linear, False, (), [*residuals, *unknown], flat)[len(residuals) :]
        return jax.tree.unflatten(structure, list(map(instantiate_zeros, slopes)))

    return (
        jax.tree.unflatten(of_outputs, values[:heads]),
        pull,
        jax.tree.unflatten(of_others, values[heads:results]),
    )


def _divided(jaxpr: Any, primals: int, results: int) -> tuple[Any, Any]:
    """What does not depend on tangents, and what does.

    The inputs of the former are the constants and the primals, those of the latter what it reads of the
    former and the tangents: since JAX 0.12, a jaxpr has no constants without values.

    Args:
        jaxpr: its inputs are primals, then tangents; its outputs are results, then tangents.
        primals: how many primals there are.
        results: how many results there are.
    """
    depends = set(jaxpr.invars[primals:])
    first, linear = [], []
    for equation in jaxpr.eqns:
        if depends.isdisjoint([each for each in equation.invars if type(each) is not Literal]):
            first.append(equation)
        else:
            _check_plain(equation)
            linear.append(equation)
            depends.update(equation.outvars)
    if not depends.isdisjoint(
        [each for each in jaxpr.outvars[:results] if type(each) is not Literal]
    ):
        raise _NotPlainError
    heads = jaxpr.outvars[results:]
    read = [each for equation in linear for each in equation.invars] + heads
    residuals = list(
        dict.fromkeys([e for e in read if type(e) is not Literal and e not in depends])
    )
    info = jaxpr.debug_info.with_unknown_names()
    known = Jaxpr(
        [],
        [*jaxpr.constvars, *jaxpr.invars[:primals]],
        [*jaxpr.outvars[:results], *residuals],
        first,
        debug_info=info,
    )
    inputs = [*residuals, *jaxpr.invars[primals:]]
    return known, Jaxpr([], inputs, heads, linear, debug_info=info)


def _without_results(jaxpr: Any, results: int) -> Any:
    """The jaxpr without its first outputs and what only they need."""
    outputs = jaxpr.outvars[results:]
    needed = {each for each in outputs if type(each) is not Literal}
    equations = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or not needed.isdisjoint(equation.outvars):
            equations.append(equation)
            needed.update([each for each in equation.invars if type(each) is not Literal])
    return Jaxpr([], jaxpr.invars, outputs, equations[::-1], debug_info=jaxpr.debug_info)


def _check_plain(equation: Any) -> None:
    """Whether an equation between tangents is linear in all of them.

    Raises:
        _NotPlainError: it runs other jaxprs, whose values and tangents may be mixed, or has no transpose.
    """
    primitive = equation.primitive
    is_transposed = primitive in primitive_transposes or primitive in fancy_transposes
    if not is_transposed or any(map(_has_jaxpr, equation.params.values())):
        raise _NotPlainError


def _has_jaxpr(value: object) -> bool:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return any(isinstance(each, (Jaxpr, ClosedJaxpr)) for each in parts)
