"""Ahead-of-time compilation: one program for given shapes on one device.

A ``jax.jit`` function silently recompiles when an argument differs in any property that it checks, for
example whether it is committed to its device (results of programs without inputs are not). A program
compiled ahead of time accepts such arguments.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from mixnet.context import Context
from mixnet.private_jax.programs import bare_call
from mixnet.runtime.compile.scope import compiling_for
from mixnet.runtime.value.value import Spec

MOST_MAPS = 25_000
"""The number of memory maps above which programs are dropped; one that is needed again is read from disk.

Every program needs some memory maps, and Linux allows a process 65,530: XLA aborts a process that needs more.
"""

forgetters: list[Callable[[], object]] = []
"""Functions that release cached programs."""

refusal: Callable[[str], Exception] | None = None
"""Set in a forked process: the error of an action that needs XLA's threads."""

_EVERY = 50  # programs that are compiled between two counts of the memory maps
_compiled = itertools.count(1)


def make_room() -> None:
    """Drop programs if there are too many memory maps; at twice the limit, also those that JAX caches."""
    if _memory_maps() <= MOST_MAPS:
        return
    for forget in forgetters:
        forget()
    gc.collect()
    if _memory_maps() > 2 * MOST_MAPS:
        jax.clear_caches()
        gc.collect()


def _memory_maps() -> int:
    try:
        with open("/proc/self/maps", "rb") as file:
            return sum(1 for _ in file)
    except OSError:  # not Linux
        return 0


def check_threads() -> None:
    """Check that this process can run compiled programs.

    Raises:
        MXNetError: it was forked, and has none of XLA's threads.
    """
    if refusal is not None:
        raise refusal("run an operation that needs a compiled program")


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
        context: the device to run it on.
        donated: indices of the arrays whose buffers it may reuse.
        options: for XLA.

    Raises:
        MXNetError: this process was forked, and has none of XLA's threads.
    """
    check_threads()
    if not next(_compiled) % _EVERY:
        make_room()
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
    with compiling_for(device):
        return bare_call(jitted.lower(*structs).compile())
