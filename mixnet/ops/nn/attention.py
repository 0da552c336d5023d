"""Matrix products of multi-head attention on interleaved projections."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive


def _projections(name: str, projections: jax.Array, heads: int, parts: int) -> list[Any]:
    """The ``parts`` projections of ``(time, batch, heads * parts * size)``.

    Each is ``(time, batch, heads, size)``.
    """
    if projections.ndim != 3 or heads < 1 or projections.shape[2] % (heads * parts):
        raise ShapeError(
            f"contrib.{name}: the projections are {projections.shape} with heads={heads}; give "
            f"them (time, batch, heads * {parts} * size)."
        )
    time, batch, units = projections.shape
    split = projections.reshape(time, batch, heads, parts, units // (heads * parts))
    return [split[:, :, :, i] for i in range(parts)]


def _scores(name: str, queries: jax.Array, keys: jax.Array) -> Any:
    if queries.shape[1:] != keys.shape[1:]:
        raise ShapeError(
            f"contrib.{name}: queries {queries.shape} and keys {keys.shape}, both (time, batch, "
            f"heads, size), differ in more than time."
        )
    scaled = queries / math.sqrt(queries.shape[-1])
    scores = jnp.einsum("qnhd,knhd->nhqk", scaled, keys)
    return scores.reshape(math.prod(scores.shape[:2]), *scores.shape[2:])


def _weighted(name: str, attention: jax.Array, values: jax.Array) -> Any:
    time, batch, heads, _ = values.shape
    if attention.ndim != 3 or attention.shape[0::2] != (batch * heads, time):
        raise ShapeError(
            f"contrib.{name}: attention is {attention.shape}, but values {values.shape} (time, "
            f"batch, heads, size) need ({batch * heads}, queries, {time})."
        )
    weights = attention.reshape(batch, heads, *attention.shape[1:])
    out = jnp.einsum("nhqk,knhd->qnhd", weights, values)
    return out.reshape(*out.shape[:2], math.prod(out.shape[2:]))


_PRECISION: dict[str, Any] = {"floats": True, "precision": "widest", "bfloat16": "unlisted"}


@op("_contrib_interleaved_matmul_selfatt_qk", **_PRECISION)
def interleaved_matmul_selfatt_qk(queries_keys_values, *, heads: Positive):
    """Scores of self-attention: queries times keys, divided by the root of a head's size.

    Args:
        queries_keys_values: ``(time, batch, heads * 3 * size)``: of each head the query, the key
            and the value.

    Returns:
        ``(batch * heads, time, time)``.

    Raises:
        ShapeError: the last axis does not divide into ``heads * 3`` parts.

    Source: MXNet operator ``_contrib_interleaved_matmul_selfatt_qk``.
    """
    name = "interleaved_matmul_selfatt_qk"
    queries, keys, _ = _projections(name, queries_keys_values, heads, 3)
    return _scores(name, queries, keys)


@op("_contrib_interleaved_matmul_selfatt_valatt", one_dtype=True, **_PRECISION)
def interleaved_matmul_selfatt_valatt(queries_keys_values, attention, *, heads: Positive):
    """Self-attention: the sum of the values with the weights ``attention``.

    Args:
        queries_keys_values: ``(time, batch, heads * 3 * size)``: of each head the query, the key
            and the value.
        attention: ``(batch * heads, time, time)``.

    Returns:
        ``(time, batch, heads * size)``.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_contrib_interleaved_matmul_selfatt_valatt``.
    """
    name = "interleaved_matmul_selfatt_valatt"
    return _weighted(name, attention, _projections(name, queries_keys_values, heads, 3)[2])


@op("_contrib_interleaved_matmul_encdec_qk", one_dtype=True, **_PRECISION)
def interleaved_matmul_encdec_qk(queries, keys_values, *, heads: Positive):
    """Scores of attention to another sequence: queries times keys, divided by the root of a head's size.

    Args:
        queries: ``(queries, batch, heads * size)``.
        keys_values: ``(time, batch, heads * 2 * size)``: of each head the key and the value.

    Returns:
        ``(batch * heads, queries, time)``.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_contrib_interleaved_matmul_encdec_qk``.
    """
    name = "interleaved_matmul_encdec_qk"
    (query_heads,) = _projections(name, queries, heads, 1)
    return _scores(name, query_heads, _projections(name, keys_values, heads, 2)[0])


@op("_contrib_interleaved_matmul_encdec_valatt", one_dtype=True, **_PRECISION)
def interleaved_matmul_encdec_valatt(keys_values, attention, *, heads: Positive):
    """Attention to another sequence: the sum of its values with the weights ``attention``.

    Args:
        keys_values: ``(time, batch, heads * 2 * size)``: of each head the key and the value.
        attention: ``(batch * heads, queries, time)``.

    Returns:
        ``(queries, batch, heads * size)``.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_contrib_interleaved_matmul_encdec_valatt``.
    """
    name = "interleaved_matmul_encdec_valatt"
    return _weighted(name, attention, _projections(name, keys_values, heads, 2)[1])
