"""Division that XLA does not replace by a multiplication.

XLA multiplies by the inverse of a constant or of a number that is repeated, turns ``a / sqrt(b)`` into
``a * rsqrt(b)`` and ``(a / b) / c`` into ``a / (b * c)``. The result then is off by a unit in the last
place, and ``floor(x / 7)`` by a whole one. What a program divides is divided here: on a CPU both sides
stand behind a barrier while XLA simplifies, which is gone again before it fuses. XLA's programs for
GPUs divide float32 with an error of two units, and a barrier would keep them from fusing, so the error is
corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad, batching, mlir

from mixnet.private_jax.jaxprs import Primitive

_quotient = Primitive("quotient")


def quotient(x: Any, y: Any) -> Any:
    """``x / y`` of floating-point arrays, rounded once; shapes broadcast, dtypes are promoted."""
    arrays = isinstance(x, jax.Array) and hasattr(y, "dtype")
    if arrays and x.dtype == y.dtype and x.shape == y.shape:
        return _quotient.bind(x, y)
    dtype = jnp.result_type(x, y)
    shape = jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
    sides = [jnp.broadcast_to(jnp.asarray(each, dtype), shape) for each in (x, y)]
    return _quotient.bind(*sides)


def _behind_barrier(x: jax.Array, y: jax.Array) -> Any:
    return jax.lax.div(*jax.lax.optimization_barrier((x, y)))


def _corrected(x: jax.Array, y: jax.Array) -> Any:
    """A quotient on a GPU: its remainder, which float64 holds exactly, gives what it lacks.

    Dividing in float64 would not do: LLVM knows that two rounded quotients are equal, and divides float32.
    """
    if x.dtype == jnp.float64:
        return jax.lax.div(x, y)
    if x.dtype != jnp.float32:
        return jax.lax.div(x.astype(jnp.float32), y.astype(jnp.float32)).astype(x.dtype)
    rough = jax.lax.div(x, y)
    with jax.enable_x64(True):
        wide_x, wide_y, wide_rough = (each.astype(jnp.float64) for each in (x, y, rough))
        remainder = (wide_x - wide_rough * wide_y).astype(jnp.float32)
    lacking = jax.lax.div(remainder, y)
    return jnp.where(jnp.isfinite(lacking), rough + lacking, rough)


def _tangent_of_divisor(tangent: jax.Array, out: jax.Array, x: jax.Array, y: jax.Array) -> Any:
    return -_quotient.bind(tangent * out, y)


def _transpose(cotangent: jax.Array, x: jax.Array, y: jax.Array) -> Any:
    return _quotient.bind(cotangent, y), None


def _batched(arrays: jax.Array, axes: Sequence[int]) -> Any:
    size = next(
        array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None
    )
    sides = [
        jnp.broadcast_to(array, (size, *array.shape))
        if axis is None
        else jnp.moveaxis(array, axis, 0)
        for array, axis in zip(arrays, axes, strict=True)
    ]
    return _quotient.bind(*sides), 0


_quotient.def_impl(jax.jit(_quotient.bind))
_quotient.def_abstract_eval(lambda x, y: jax.core.ShapedArray(x.shape, x.dtype))
mlir.register_lowering(_quotient, mlir.lower_fun(jax.lax.div, multiple_results=False))
mlir.register_lowering(
    _quotient, mlir.lower_fun(_behind_barrier, multiple_results=False), platform="cpu"
)
for _platform in ("cuda", "rocm"):
    mlir.register_lowering(
        _quotient, mlir.lower_fun(_corrected, multiple_results=False), platform=_platform
    )
ad.defjvp2(
    _quotient,
    lambda tangent, out, x, y: _quotient.bind(tangent, y),
    _tangent_of_divisor,
)
ad.primitive_transposes[_quotient] = _transpose
batching.primitive_batchers[_quotient] = _batched
