"""Random numbers. The key is an input: the same key and draw give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.attributes import DType, Scalar, Shape
from mixnet.ops.registry import op


def _as(number: Any, dtype: Any) -> Any:
    return jnp.asarray(number).astype(dtype)


@op("_random_uniform", aliases=["random_uniform", "uniform"], differentiable=False)
def random_uniform(
    *,
    low: Scalar = 0.0,
    high: Scalar = 1.0,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    key,
):
    """Uniform numbers in [low, high).

    Source: MXNet operator ``_random_uniform``.
    """
    dtype = dtype or "float32"
    numbers = jax.random.uniform(key, shape, dtype)
    return numbers * (_as(high, dtype) - _as(low, dtype)) + _as(low, dtype)


@op("_random_normal", aliases=["random_normal", "normal"], differentiable=False)
def random_normal(
    *,
    loc: Scalar = 0.0,
    scale: Scalar = 1.0,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    key,
):
    """Normal numbers with mean ``loc`` and standard deviation ``scale``.

    Source: MXNet operator ``_random_normal``.
    """
    dtype = dtype or "float32"
    return jax.random.normal(key, shape, dtype) * _as(scale, dtype) + _as(loc, dtype)


@op("_random_gamma", aliases=["random_gamma"], differentiable=False)
def random_gamma(
    *,
    alpha: Scalar = 1.0,
    beta: Scalar = 1.0,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    key,
):
    """Gamma numbers of shape ``alpha`` and scale ``beta``.

    Source: MXNet operator ``_random_gamma``.
    """
    dtype = dtype or "float32"
    return jax.random.gamma(key, _as(alpha, dtype), shape, dtype) * _as(beta, dtype)


@op("_random_exponential", aliases=["random_exponential", "exponential"], differentiable=False)
def random_exponential(
    *, lam: Scalar = 1.0, shape: Shape = (), ctx: str = "", dtype: DType | None = None, key
):
    """Exponential numbers of rate ``lam``.

    Source: MXNet operator ``_random_exponential``.
    """
    dtype = dtype or "float32"
    return jax.random.exponential(key, shape, dtype) / _as(lam, dtype)


@op("_random_poisson", aliases=["random_poisson", "poisson"], differentiable=False)
def random_poisson(
    *, lam: Scalar = 1.0, shape: Shape = (), ctx: str = "", dtype: DType | None = None, key
):
    """Poisson numbers of mean ``lam``.

    Source: MXNet operator ``_random_poisson``.
    """
    return jax.random.poisson(key, _as(lam, "float32"), shape).astype(dtype or "float32")


@op("_random_randint", aliases=["random_randint"], differentiable=False)
def random_randint(
    *,
    low: Scalar,
    high: Scalar,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    key,
):
    """Whole numbers in [low, high).

    Source: MXNet operator ``_random_randint``.
    """
    numbers = jax.random.randint(key, shape, _as(low, "int64"), _as(high, "int64"), "int64")
    return numbers.astype(dtype or "int32")


def _each(draw: Callable[[Any, tuple[int, ...]], Any], arrays: Any, shape: Any, dtype: Any) -> Any:
    """``shape`` numbers from each of the distributions whose parameters are in ``arrays``."""
    full = arrays[0].shape + tuple(shape)
    placed = [each.reshape(each.shape + (1,) * len(shape)) for each in arrays]
    return draw(placed, full).astype(dtype or arrays[0].dtype)


@op("_sample_uniform", aliases=["sample_uniform"], differentiable=False)
def sample_uniform(low, high, *, shape: Shape = (), dtype: DType | None = None, key):
    """``shape`` uniform numbers from each pair of ends.

    Source: MXNet operator ``_sample_uniform``.
    """

    def draw(p: Any, full: Any) -> Any:
        return jax.random.uniform(key, full, low.dtype) * (p[1] - p[0]) + p[0]

    return _each(draw, (low, high), shape, dtype)


@op("_sample_normal", aliases=["sample_normal"], differentiable=False)
def sample_normal(mu, sigma, *, shape: Shape = (), dtype: DType | None = None, key):
    """``shape`` normal numbers from each pair of mean and standard deviation.

    Source: MXNet operator ``_sample_normal``.
    """

    def draw(p: Any, full: Any) -> Any:
        return jax.random.normal(key, full, mu.dtype) * p[1] + p[0]

    return _each(draw, (mu, sigma), shape, dtype)


def _multinomial_outputs(get_prob: bool) -> int:
    return 2 if get_prob else 1


@op(
    "_sample_multinomial",
    aliases=["sample_multinomial"],
    outputs=_multinomial_outputs,
    differentiable=False,
)
def sample_multinomial(
    data, *, shape: Shape = (), get_prob: bool = False, dtype: DType = "int32", key
):
    """Category numbers drawn with the probabilities along the last axis; log-probabilities too.

    Source: MXNet operator ``_sample_multinomial``.
    """
    batch = data.shape[:-1]
    logits = jnp.log(data).reshape((*batch, *(1,) * len(shape), data.shape[-1]))
    drawn = jax.random.categorical(key, logits, -1, shape=(*batch, *shape))
    drawn = drawn.reshape((1,)) if drawn.ndim == 0 else drawn
    if not get_prob:
        return drawn.astype(dtype)
    every = jnp.broadcast_to(logits, (*drawn.shape, data.shape[-1]))
    chance = jnp.take_along_axis(every, drawn[..., None], -1)[..., 0]
    return drawn.astype(dtype), chance


@op("_shuffle", aliases=["shuffle"], differentiable=False)
def shuffle(data, *, key):
    """The first axis in random order.

    Source: MXNet operator ``_shuffle``.
    """
    return jax.random.permutation(key, data)
