"""PowerSGD: sends a gradient as the product of two thin matrices; the error is added to the next gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.schema.over_devices import AXIS


@dataclass(frozen=True)
class PowerSGD:
    """A matrix ``(n, m)`` is sent as ``(n, rank)`` and ``(m, rank)``; the error is stored in the residual.

    One step of a power iteration finds the two: with M the gradient and its residual, and Q of the last step,

        P = Σ M Q over all processes, made orthonormal;  Q' = Σ Mᵀ P;
        the sum is P Q'ᵀ;  the new residual is M - P Pᵀ M

    so the sum and all new residuals together are the sum of all M. The first axis of an array
    gives the rows, the others together the columns. Arrays that would not get smaller, such as
    vectors, are summed uncompressed.

    Source: Vogels, Karimireddy, Jaggi, "PowerSGD: practical low-rank gradient compression for
        distributed optimization", 2019.

    Args:
        rank: columns of the thin matrices, 1 or more.
    """

    rank: int

    def state_shapes(self, shape: Sequence[int]) -> tuple[tuple[int, ...], ...] | None:
        """Shapes of the state for the next step: residual and Q. None: the array is summed uncompressed."""
        rows, columns = _matrix(shape)
        if self.rank * (rows + columns) >= rows * columns:
            return None
        return tuple(shape), (columns, self.rank)

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation of a device in an exchange.

        Args:
            arrays: gradient, residual, and Q ``(m, rank)`` of the last step; all zeros in the first step.

        Returns:
            The sum over all devices, the new residual, and the new Q, whose columns have length 1.
        """
        gradient, residual, before = arrays
        exact = jnp.promote_types(gradient.dtype, jnp.float32)
        total = (gradient.astype(exact) + residual.astype(exact)).reshape(_matrix(gradient.shape))
        # The same in all processes.
        start = jax.random.normal(jax.random.key(0), before.shape, exact)
        q = jnp.where(jnp.any(before != 0, axis=0), before.astype(exact), start)
        p, _ = jnp.linalg.qr(jax.lax.psum(total @ q, AXIS))
        mine = total.T @ p
        q = jax.lax.psum(mine, AXIS)
        rest = total - p @ mine.T
        length = jnp.linalg.norm(q, axis=0)
        following = jnp.where(length > 0, q / jnp.where(length > 0, length, 1), 0)
        approximation = (p @ q.T).reshape(gradient.shape), rest.reshape(gradient.shape), following
        return tuple(each.astype(gradient.dtype) for each in approximation)


def _matrix(shape: Sequence[int]) -> tuple[int, int]:
    """The numbers of rows and columns of an array as a matrix."""
    return (shape[0], math.prod(shape[1:])) if shape else (1, 1)
