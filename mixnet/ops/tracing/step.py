"""Functions that are a single step of a jaxpr, for which the interpreter may have a faster rule.

A definition that suits a compiler, such as comparing all boxes and masking most of them, may do much more
work than the data requires. So a function with its own NumPy rule
(:mod:`mixnet.runtime.interpret.on_numpy`) is a primitive. XLA and everything else use its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad, batching, mlir

from mixnet.private_jax.jaxprs import Primitive


class Step(Primitive):
    """A primitive with a definition in simpler ones."""

    definition: Callable[..., Any]


def as_step(
    name: str, result: Callable[..., Any], stacks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of arrays, with one array as its result, to be a primitive.

    Its keyword arguments are parameters of the primitive. It is differentiated by its definition.

    Args:
        name: the name of the primitive.
        result: returns its shape and dtype, for the arguments.
        stacks: whether it takes stacks of its arguments, all with the same leading axes.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        step = Step(name)
        step.definition = function

        def specs(*avals: jax.core.ShapedArray, **params: Any) -> Any:
            return jax.core.ShapedArray(*result(*avals, **params))

        def differentiate(arrays: Any, tangents: Any, **params: Any) -> Any:
            tangents = [
                ad.instantiate_zeros(each) if type(each) is ad.Zero else each for each in tangents
            ]
            return jax.jvp(partial(function, **params), tuple(arrays), tuple(tangents))

        def batched(arrays: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
            if not stacks:
                return jax.vmap(partial(function, **params), axes)(*arrays), 0
            return step.bind(*_stacked(arrays, axes), **params), 0

        step.def_impl(lambda *arrays, **params: jax.jit(partial(function, **params))(*arrays))
        step.def_abstract_eval(specs)
        mlir.register_lowering(step, mlir.lower_fun(function, multiple_results=False))
        ad.primitive_jvps[step] = differentiate
        batching.primitive_batchers[step] = batched
        bind: Callable[..., Any] = step.bind
        return bind

    return declare


def _stacked(arrays: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    """The arrays with the batch as their first axis."""
    size = next(a.shape[i] for a, i in zip(arrays, axes, strict=True) if i is not None)
    return [
        jnp.broadcast_to(array, (size, *array.shape))
        if axis is None
        else jnp.moveaxis(array, axis, 0)
        for array, axis in zip(arrays, axes, strict=True)
    ]
