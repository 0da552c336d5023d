"""Compiling ahead of the first call: one program for given shapes on one device, and no other.

A ``jax.jit`` function compiles again, unasked and unseen, when an argument differs in anything that it
looks at: whether an array is bound to its device, say, which results of programs without inputs are
not. What is compiled ahead takes such arguments as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from mixnet.context import Context
from mixnet.runtime.value import Spec


def compile_for(
    function: Callable[..., Any],
    scalars: int,
    specs: Sequence[Spec],
    context: Context,
    donated: Sequence[int] = (),
    options: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """The program of ``function(scalars, *arrays)``; its results are bound to the device.

    Args:
        function: of a float64 vector and arrays.
        scalars: length of the vector.
        specs: of the arrays.
        context: whose device runs it.
        donated: numbers of the arrays whose buffers it may take over.
        options: for XLA.
    """
    device = context.device
    where = SingleDeviceSharding(device)
    structs = [
        jax.ShapeDtypeStruct(shape, dtype, sharding=where)
        for shape, dtype in [
            ((scalars,), np.dtype("float64")),
            *[(spec.shape, spec.dtype) for spec in specs],
        ]
    ]
    jitted = jax.jit(
        function,
        donate_argnums=tuple(1 + i for i in donated),
        keep_unused=True,
        compiler_options=dict(options or {}),
    )
    with jax.enable_x64(True), jax.default_device(device):
        return _bare(jitted.lower(*structs).compile())


def _bare(compiled: Any) -> Callable[..., Any]:
    """The function in C of a compiled program, which JAX would make when it is first called.

    Python takes an interrupt between two calls of Python code: one function in C either has not run or has
    returned what it computed. If this JAX has none, the program itself.
    """
    try:
        made: Callable[..., Any] | None = compiled._executable.create_cpp_call(compiled._params)
    except AttributeError:
        made = None
    return made or compiled  # type: ignore[no-any-return]
