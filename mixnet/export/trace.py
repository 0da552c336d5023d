"""The JAX program that an operator computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.interpreters.partial_eval import dce_jaxpr

from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr

CALLERS = {
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr", "checkpoint", "remat2",
}  # fmt: skip
"""Primitives that only call another program."""
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def called(equation: Equation) -> ClosedJaxpr:
    """The program that an equation of one of :data:`CALLERS` calls."""
    program = next(equation.params[key] for key in _CALLED if key in equation.params)
    return program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, ())


def traced(
    function: Callable[..., Any], structs: Sequence[tuple[Any, Any]]
) -> tuple[ClosedJaxpr, list[Any]]:
    """The program of a function, and shapes and dtypes of its results.

    Args:
        function: of arrays.
        structs: shape and dtype of each.
    """
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in structs]
    with jax.enable_x64(True):
        closed, out = jax.make_jaxpr(function, return_shape=True)(*arguments)
    # What nobody reads, also inside of loops: streams of random numbers that bodies do not draw from.
    needed, _ = dce_jaxpr(closed.jaxpr, True, instantiate=True)
    return ClosedJaxpr(needed, closed.consts), jax.tree.leaves(out)
