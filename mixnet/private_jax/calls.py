"""Primitives that only run another program, and that program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import jax

from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, opened

_CALLERS = frozenset([
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr", "checkpoint", "remat2", "composite",
])  # fmt: skip
_PARAMETERS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
# Operations that JAX 0.12 has made primitives. In simpler ones, as JAX computes them on devices, they
# are the same programs with every JAX.
_IN_SIMPLER_ONES: dict[str, Callable[..., Any]] = {
    "log2": lambda x, **_: jax.lax.log(x) * x.dtype.type(1.4426950408889634),
    "one_minus_square": lambda x, **_: (1 + x) * (1 - x),
    "polynomial": lambda x, *factors, **_: reduce(lambda y, each: y * x + each, factors[::-1]),
    "unstack": lambda x, axis, **_: [
        jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])
    ],
}


def called(equation: Equation) -> ClosedJaxpr | None:
    """The program that an equation runs on its inputs as they are; None if it does something of its own."""
    name, params = equation.primitive.name, equation.params
    if name in _CALLERS:
        return program_of_call(equation)
    function = None
    if name in _IN_SIMPLER_ONES:
        function = partial(_IN_SIMPLER_ONES[name], **params)
    elif name == "call_hi_primitive":  # since JAX 0.12; it expands itself into simpler ones
        function = params["_prim"].expand
    elif hasattr(equation.primitive, "definition"):  # of mixnet.ops.tracing.step
        function = partial(equation.primitive.definition, **params)
    if function is None:
        return None
    with jax.enable_x64(True):  # keeps the dtypes that the equation was traced with
        return jax.make_jaxpr(function)(*[v.aval for v in equation.invars])


def program_of_call(equation: Equation) -> ClosedJaxpr | None:
    """The program that a call runs, which it has among its attributes; None if the equation is no call."""
    if equation.primitive.name in _CALLERS:
        for each in _PARAMETERS:
            if each in equation.params:
                program = equation.params[each]
                return program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())
    return None


def primitives(program: Any) -> set[str]:
    """Names of the primitives of a jaxpr, closed or not, and of the programs within it."""
    names: set[str] = set()
    for equation in opened(program).eqns:
        inner = called(equation)
        if inner is not None:
            names |= primitives(inner)
            continue
        names.add(equation.primitive.name)
        for value in equation.params.values():
            for each in value if isinstance(value, tuple | list) else (value,):
                if hasattr(opened(each), "eqns"):
                    names |= primitives(each)
    return names


def counts_of_scan(equation: Equation) -> tuple[int, int]:
    """How many of a scan's inputs are constants, and how many are carried from round to round.

    Each JAX writes that down differently. Ranks say it too: what is stacked has one axis more
    than the body sees.
    """

    def alike(outside: Any, inside: Any) -> int:
        return sum(a.aval.ndim == b.aval.ndim for a, b in zip(outside, inside, strict=True))

    inside = opened(equation.params["jaxpr"])
    carried = alike(equation.outvars, inside.outvars)
    return alike(equation.invars, inside.invars) - carried, carried
