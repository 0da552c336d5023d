"""Densities and probabilities of samples, differentiable except in counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, xlogy

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.derive import array, attribute, present
from mixnet.ops.registry import op


def _not_negative(sample: jax.Array) -> Any:
    """The sample, NaN where it is below 0."""
    return jnp.where(sample < 0, jnp.nan, sample)


def _uniform(sample: jax.Array, low: jax.Array, high: jax.Array) -> Any:
    """The density 1 / (high - low) of uniform numbers; samples are assumed to lie between."""
    return jnp.broadcast_to(-jnp.log(high - low), sample.shape)


def _normal(sample: jax.Array, mu: jax.Array, sigma: jax.Array) -> Any:
    """The density of normal numbers of mean ``mu`` and standard deviation ``sigma``."""
    return -jnp.square((sample - mu) / sigma) / 2 - jnp.log(sigma) - jnp.log(2 * jnp.pi) / 2


def _gamma(sample: jax.Array, alpha: jax.Array, beta: jax.Array) -> Any:
    """The density of gamma numbers of shape ``alpha`` and rate ``beta``."""
    powers = xlogy(alpha - 1, _not_negative(sample))
    return alpha * jnp.log(beta) + powers - beta * sample - gammaln(alpha)


def _exponential(sample: jax.Array, lam: jax.Array) -> Any:
    """The density of exponential numbers of rate ``lam``."""
    return jnp.log(lam) - lam * sample


def _poisson(sample: jax.Array, lam: jax.Array) -> Any:
    """The probability of Poisson counts of mean ``lam``."""
    sample = jax.lax.stop_gradient(sample)
    return xlogy(sample, lam) - lam - gammaln(sample + 1)


def _negative_binomial(sample: jax.Array, k: jax.Array, p: jax.Array) -> Any:
    """The probability of failures before success number ``k`` of probability ``p``."""
    sample = jax.lax.stop_gradient(sample)
    log_count = gammaln(sample + k) - gammaln(sample + 1) - gammaln(k)
    return log_count + k * jnp.log(p) + xlogy(sample, 1 - p)


def _generalized_negative_binomial(sample: jax.Array, mu: jax.Array, alpha: jax.Array) -> Any:
    """The probability of counts of mean ``mu`` and variance ``mu + alpha mu²``."""
    return _negative_binomial(sample, 1 / alpha, 1 / (1 + alpha * mu))


def _dirichlet(sample: jax.Array, alpha: jax.Array) -> Any:
    """The density of Dirichlet vectors, along the last axis, of concentrations ``alpha``."""
    powers = xlogy(alpha - 1, _not_negative(sample)) - gammaln(alpha)
    return jnp.sum(powers, -1) + gammaln(jnp.sum(alpha, -1))


def _uniform_itself(sample: jax.Array, low: jax.Array, high: jax.Array) -> Any:
    return jnp.broadcast_to(1 / (high - low), sample.shape)


def _normal_itself(sample: jax.Array, mu: jax.Array, sigma: jax.Array) -> Any:
    return jnp.exp(-jnp.square((sample - mu) / sigma) / 2) / (jnp.sqrt(2 * jnp.pi) * sigma)


def _exponential_itself(sample: jax.Array, lam: jax.Array) -> Any:
    return lam * jnp.exp(-lam * sample)


# The densities that MXNet does not compute by their logarithms, which differ for parameters below 0.
_ITSELF: dict[str, Callable[..., Any]] = {
    "uniform": _uniform_itself, "normal": _normal_itself, "exponential": _exponential_itself,
}  # fmt: skip

# name: logarithm of the density, parameters
_DENSITIES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "uniform": (_uniform, ("low", "high")),
    "normal": (_normal, ("mu", "sigma")),
    "gamma": (_gamma, ("alpha", "beta")),
    "exponential": (_exponential, ("lam",)),
    "poisson": (_poisson, ("lam",)),
    "negative_binomial": (_negative_binomial, ("k", "p")),
    "generalized_negative_binomial": (_generalized_negative_binomial, ("mu", "alpha")),
    "dirichlet": (_dirichlet, ("alpha",)),
}


def _placed(name: str, sample: jax.Array, parameters: Any, event: int) -> list[Any]:
    """Parameters with axes for the samples that were drawn from each of them.

    ``event`` is the number of axes of a single sample.
    """
    shape = parameters[0].shape
    batch = shape[: len(shape) - event]
    fits = all(each.shape == shape for each in parameters)
    fits = fits and sample.shape[: len(batch)] == batch
    fits = fits and sample.shape[sample.ndim - event :] == shape[len(batch) :]
    if not fits:
        shapes = " and ".join(str(each.shape) for each in parameters)
        raise ShapeError(
            f"{name}: sample is {sample.shape}, parameters are {shapes}; the sample's shape must "
            f"start with that of the parameters."
        )
    extra = (1,) * (sample.ndim - len(shape))
    return [each.reshape(batch + extra + shape[len(batch) :]) for each in parameters]


def _declare(distribution: str) -> None:
    logarithm, names = _DENSITIES[distribution]
    name = f"_random_pdf_{distribution}"
    event = 1 if distribution == "dirichlet" else 0

    def density(sample: jax.Array, *parameters: jax.Array, is_log: bool) -> Any:
        if not jnp.issubdtype(sample.dtype, jnp.floating):
            raise DTypeError(f"{name}: sample is {sample.dtype}; give floating point numbers.")
        dtype = sample.dtype
        placed = _placed(name, sample, parameters, event)
        if dtype == jnp.float16:
            sample, *placed = (each.astype(jnp.float32) for each in (sample, *placed))
        if is_log or distribution not in _ITSELF:
            result = logarithm(sample, *placed)
            result = result if is_log else jnp.exp(result)
        else:
            result = _ITSELF[distribution](sample, *placed)
        result = result.astype(dtype)
        return result.reshape(result.shape or (1,))

    text = (
        f"{logarithm.__doc__}\n\n"
        f"Args:\n"
        f"    sample: the parameters' shape, then any axes: samples from each of them.\n"
        f"    is_log: whether to give the logarithm.\n\n"
        f"Raises:\n"
        f"    ShapeError: the shapes are not compatible.\n"
        f"    DTypeError: the sample is not floating point."
    )
    arrays = [array("sample"), *map(array, names)]
    present(density, name, text, [*arrays, attribute("is_log", bool, False)])
    op(name, aliases=[name.removeprefix("_")], precision="widest")(density)


for _name in _DENSITIES:
    _declare(_name)
