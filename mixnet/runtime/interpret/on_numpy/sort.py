"""Stable sorting, with NaN after all numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import Run, rule, wide


@rule("sort")
def _sort(equation: Equation, dimension: int, num_keys: int, **_: object) -> Run:
    kinds = [wide(v.aval.dtype) for v in equation.invars[:num_keys]]
    dtype = equation.outvars[0].aval.dtype
    if len(equation.invars) == 1:
        return lambda x: np.sort(x.astype(kinds[0], copy=False), dimension, "stable").astype(
            dtype, copy=False
        )

    def run(*arrays: Any) -> Any:
        keys = [key.astype(kind, copy=False) for key, kind in zip(arrays, kinds, strict=False)]
        if num_keys == 1:
            order = np.argsort(keys[0], dimension, "stable")
        else:  # lexsort's last key is the first to decide
            order = np.lexsort(keys[::-1], axis=dimension)
        return [np.take_along_axis(each, order, dimension) for each in arrays]

    return run


@rule("top_k")
def _top_k(equation: Equation, k: int, axis: int = -1, **_: object) -> Run:
    kind = wide(equation.invars[0].aval.dtype)
    index = equation.outvars[1].aval.dtype

    def run(x: Any) -> Any:
        last = x.shape[axis] - 1
        # The order of the reversed array, reversed again: equal elements keep their order.
        order = np.argsort(np.flip(x.astype(kind, copy=False), axis), axis, "stable")
        places = last - np.flip(order, axis)
        places = places[(slice(None),) * (axis % x.ndim) + (slice(0, k),)]
        return [np.take_along_axis(x, places, axis), places.astype(index)]

    return run
