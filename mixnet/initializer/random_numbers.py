"""Initializers with random numbers."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError, DTypeError, ShapeError
from mixnet.initializer.initializer import Initializer, register
from mixnet.ndarray import random
from mixnet.ndarray.create import array
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.util import is_np_array


def uniform(low: float, high: float, arr: NDArray) -> None:
    """Fill an array with uniform numbers in [low, high)."""
    check_drawn(arr)
    if is_np_array():
        arr._write_all(_by_numpy("_npi_uniform", arr, low=low, high=high))
        return
    arr._write_all(random.uniform(low, high, arr.shape, arr.dtype, arr.context))


def normal(sigma: float, arr: NDArray) -> None:
    """Fill an array with normal numbers of mean 0 and standard deviation ``sigma``."""
    check_drawn(arr)
    if is_np_array():
        arr._write_all(_by_numpy("_npi_normal", arr, loc=0, scale=sigma))
        return
    arr._write_all(random.normal(0, sigma, arr.shape, arr.dtype, arr.context))


def check_drawn(arr: NDArray) -> None:
    """Raise DTypeError for an array of whole numbers: small random numbers would become 0."""
    if not jnp.issubdtype(arr.dtype, jnp.floating):
        raise DTypeError(
            f"Random numbers of an initializer have a floating point dtype, not {arr.dtype.__name__}; "
            f"use mx.init.Zero or mx.init.Constant, or a float dtype."
        )


def _by_numpy(op: str, arr: NDArray, **parameters: float) -> NDArray:
    """Numbers of ``mx.np.random``, which MXNet draws from another generator."""
    return invoke(find(op), (), {**parameters, "size": arr.shape, "ctx": arr.context})


@register
class Uniform(Initializer):
    """Uniform numbers in [-scale, scale).

    Args:
        scale: the bound.
    """

    def __init__(self, scale: float = 0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        uniform(-self.scale, self.scale, arr)


@register
class Normal(Initializer):
    """Normal numbers with mean 0.

    Args:
        sigma: their standard deviation.
    """

    def __init__(self, sigma: float = 0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        normal(self.sigma, arr)


@register
class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns, times ``scale``. Source: Saxe et al., 2013.

    Args:
        scale: factor.
        rand_type: numbers that the matrix is made of: ``uniform`` or ``normal``.

    Raises:
        AttributeValueError: ``rand_type`` is neither.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform"):
        if rand_type not in ("uniform", "normal"):
            raise AttributeValueError(
                f"Orthogonal: rand_type={rand_type!r} is not one of 'uniform' and 'normal'."
            )
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(
                f"Orthogonal: parameter {str(desc)!r} of shape {arr.shape} is not a matrix; "
                f"it needs two axes."
            )
        rows, columns = arr.shape[0], math.prod(arr.shape[1:])
        if self.rand_type == "uniform":
            drawn = random.uniform(-1.0, 1.0, (rows, columns), ctx=arr.context)
        else:
            drawn = random.normal(0.0, 1.0, (rows, columns), ctx=arr.context)
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        basis = left if left.shape == (rows, columns) else right
        arr._write_all(array(self.scale * basis.reshape(arr.shape), arr.context))


@register
class Xavier(Initializer):
    """Random weights that keep the scale of signals: variance ``magnitude`` / factor.

    The factor is the number of inputs (``in``) or outputs (``out``) of a unit, or their mean
    (``avg``). Source: Glorot and Bengio, 2010.

    Args:
        rnd_type: ``uniform`` or ``gaussian``.
        factor_type: ``avg``, ``in`` or ``out``.
        magnitude: scale of the random numbers.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise AttributeValueError(
                f"{type(self).__name__} takes weights of at least 2 axes; {str(desc)!r} has shape "
                f"{shape}. Give it an initializer of its own."
            )
        window = math.prod(shape[2:])
        inputs, outputs = shape[1] * window, shape[0] * window
        factors = {"avg": (inputs + outputs) / 2.0, "in": inputs, "out": outputs}
        if self.factor_type not in factors:
            raise AttributeValueError(
                f"factor_type={self.factor_type!r} is not 'avg', 'in' or 'out'."
            )
        scale = math.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            uniform(-scale, scale, arr)
        elif self.rnd_type == "gaussian":
            normal(scale, arr)
        else:
            raise AttributeValueError(f"rnd_type={self.rnd_type!r} is not 'uniform' or 'gaussian'.")


@register
class MSRAPrelu(Xavier):
    """Xavier for networks of (leaky) rectifiers. Source: He et al., 2015.

    Args:
        factor_type: ``avg``, ``in`` or ``out``.
        slope: slope of the rectifier below 0.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}
