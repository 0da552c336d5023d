"""Inlining: jaxprs without calls and without unread results.

A call has derivative functions that belong to one trace. Inlined equations can be compared with those of
another trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.private_jax.calls import program_of_call
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, Var


def inlined(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same program without calls and without unread equations, in bodies too.

    A call whose program has constants remains.
    """
    jaxpr = closed.jaxpr
    equations: list[Any] = []
    outputs = _inline(jaxpr, jaxpr.invars, equations)
    body = Jaxpr(
        jaxpr.constvars,
        jaxpr.invars,
        outputs,
        _read(equations, outputs),
        effects=jaxpr.effects,
        debug_info=jaxpr.debug_info,
    )
    return ClosedJaxpr(body, closed.consts)


def _read(equations: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The equations whose results are read."""
    needed = {each for each in outputs if type(each) is not Literal}
    live = []
    for equation in reversed(equations):
        if equation.effects or not needed.isdisjoint(equation.outvars):
            live.append(equation)
            needed.update([each for each in equation.invars if type(each) is not Literal])
    return live[::-1]


def _inline(jaxpr: Any, inputs: Sequence[Any], equations: list[Any]) -> list[Any]:
    """Add the equations of a jaxpr with these inputs; returns its outputs."""
    place: dict[Any, Any] = dict(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Any) -> Any:
        return atom if type(atom) is Literal else place.get(atom, atom)

    for equation in jaxpr.eqns:
        operands = [read(each) for each in equation.invars]
        inner = program_of_call(equation)
        if inner is not None and not inner.consts:
            results = _inline(inner.jaxpr, operands, equations)
        else:
            # A program may be called twice, so its variables are renamed each time.
            results = [Var(each.aval) for each in equation.outvars]
            params = {name: _without_calls(each) for name, each in equation.params.items()}
            equations.append(equation.replace(invars=operands, outvars=results, params=params))
        place.update(zip(equation.outvars, results, strict=True))
    return [read(each) for each in jaxpr.outvars]


def _without_calls(attribute: Any) -> Any:
    if isinstance(attribute, ClosedJaxpr):
        return inlined(attribute)
    if type(attribute) is tuple and any(isinstance(each, ClosedJaxpr) for each in attribute):
        return tuple([_without_calls(each) for each in attribute])
    return attribute
