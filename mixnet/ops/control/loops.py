"""JAX's loops and branches for operators: they remain loops and branches in every jaxpr.

Operators are traced without nested jits (:mod:`mixnet.ops.tracing.traced`), where JAX would run
a loop in Python and write out each of its turns. Bodies are traced without nested jits all the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not jax.config.jax_disable_jit:  # type: ignore[attr-defined]
            return function(*args, **kwargs)
        with jax.disable_jit(False):
            return function(*map(_without_jits, args), **kwargs)

    return call


def _without_jits(argument: Any) -> Any:
    """A body that is traced without nested jits again, and every other argument as it is."""
    if isinstance(argument, (list, tuple)) and all(map(callable, argument)):  # branches of switch
        return type(argument)(map(_without_jits, argument))
    if not callable(argument):
        return argument

    @functools.wraps(argument)
    def body(*args: Any) -> Any:
        with jax.disable_jit():
            return argument(*args)

    return body


scan = _whole(jax.lax.scan)
while_loop = _whole(jax.lax.while_loop)
fori_loop = _whole(jax.lax.fori_loop)
cond = _whole(jax.lax.cond)
switch = _whole(jax.lax.switch)
map_rows = _whole(jax.lax.map)
