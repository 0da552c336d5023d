"""JAX's loops and branches for operators: they remain loops and branches in every jaxpr.

Operators are traced without nested jits (:mod:`mixnet.ops.tracing.traced`), where JAX would run
a loop in Python and write out each of its turns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with jax.disable_jit(False):
            return function(*args, **kwargs)

    return call


scan = _whole(jax.lax.scan)
while_loop = _whole(jax.lax.while_loop)
fori_loop = _whole(jax.lax.fori_loop)
cond = _whole(jax.lax.cond)
switch = _whole(jax.lax.switch)
map_rows = _whole(jax.lax.map)
