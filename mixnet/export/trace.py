"""The JAX program that an operator computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.interpreters.partial_eval import dce_jaxpr

from mixnet.private_jax.jaxprs import ClosedJaxpr


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
