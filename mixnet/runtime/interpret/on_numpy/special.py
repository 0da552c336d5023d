"""Functions that NumPy does not have.

SciPy, a dependency of JAX, is imported on first use: the import takes longer than most programs here. Until
then, the most frequent functions are computed for a limited number of elements with Python's ``math``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import Run, in_dtype, rule, wide

_SCIPY = {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "psi",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e", "igamma": "gammainc", "igammac": "gammaincc",
    "regularized_incomplete_beta": "betainc", "zeta": "zeta", "polygamma": "polygamma",
}  # fmt: skip


def _lgamma(function: Run) -> Run:
    """The logarithm of gamma: infinite at infinities of both signs, unlike SciPy's."""
    return lambda x: np.where(np.isinf(x), np.inf, function(x)).astype(x.dtype, copy=False)


@rule(*_SCIPY)
def _special(equation: Equation, **_: object) -> Run:
    name = equation.primitive.name
    if name in _SINGLE and equation.outvars[0].aval.dtype == np.float32:
        return _SINGLE[name]
    kind = wide(equation.outvars[0].aval.dtype)
    if name in _WITHOUT_SCIPY and kind == np.float32:
        return in_dtype(equation, lambda x: _single(name, x.astype(kind, copy=False)))
    function = _of_scipy(name)
    return in_dtype(
        equation, lambda *arrays: function(*[x.astype(kind, copy=False) for x in arrays])
    )


def _of_scipy(name: str) -> Run:
    from scipy import special

    function: Run = getattr(special, _SCIPY[name])
    return _lgamma(function) if name == "lgamma" else function


MOST_WITHOUT_SCIPY = 1 << 20
"""The elements that are computed without SciPy, which takes about 100 ns each: longer than to import it."""
_computed = 0


def _single(name: str, x: np.ndarray) -> Any:
    """Of single precision, rounded from double as by SciPy."""
    global _computed
    compute, is_defined = _WITHOUT_SCIPY[name]
    few = _computed + x.size <= MOST_WITHOUT_SCIPY and "scipy.special" not in sys.modules
    if not few or not is_defined(x):
        return _of_scipy(name)(x)
    _computed += x.size
    return compute(x.astype(np.float64)).astype(np.float32)


def _each(function: Callable[[float], float]) -> Run:
    def run(x: np.ndarray) -> np.ndarray:
        return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)

    return run


def _digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of the logarithm of gamma, by its recurrence and, from 10 on, its asymptotic series."""
    total = np.zeros_like(x)
    for step in range(10):
        total += 1 / (x + step)
    inverse = 1 / (x + 10)
    square = inverse * inverse
    series = np.zeros_like(x)
    for bernoulli in _BERNOULLI[::-1]:
        series = square * (bernoulli + series)
    digamma: np.ndarray = -np.log(inverse) - inverse / 2 - series - total
    return digamma


_BERNOULLI = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]  # B(2k) / 2k


def _is_positive(x: np.ndarray) -> bool:
    return bool(((x > 0) & (x < np.inf)).all())


_WITHOUT_SCIPY: dict[str, tuple[Run, Callable[[np.ndarray], bool]]] = {
    "erfc": (_each(math.erfc), lambda x: True),
    "lgamma": (_each(math.lgamma), _is_positive),
    "digamma": (_digamma, _is_positive),
}


# M. Giles, "Approximating the erfinv function" (2010), single precision: the numbers of XLA.
_NEAR = [np.float32(each) for each in (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)]  # fmt: skip
_FAR = [np.float32(each) for each in (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)]  # fmt: skip


def _inverse(x: np.ndarray) -> Any:
    """The inverse of erf, rounded as in XLA, since random numbers depend on its bits."""
    w = -np.log1p(-x * x)
    small = w < 5
    w = np.where(small, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    p = np.where(small, _NEAR[0], _FAR[0])
    for near, far in zip(_NEAR[1:], _FAR[1:], strict=True):
        p = np.where(small, near, far) + p * w
    return np.where(np.abs(x) == 1, x * np.float32(np.inf), p * x)


def _erf(x: np.ndarray) -> Any:
    """A quotient of polynomials in the square, for single precision; 1 beyond 3.8."""
    x = np.clip(x, np.float32(-3.832506856900711), np.float32(3.832506856900711))
    square = x * x
    above, below = square * _ABOVE[0] + _ABOVE[1], square * _BELOW[0] + _BELOW[1]
    for each in _ABOVE[2:]:
        above = above * square + each
    for each in _BELOW[2:]:
        below = below * square + each
    # Rounding leaves some quotients just above 1, whose inverse or logarithm of 1 - erf would be NaN.
    return np.clip(x * above / below, np.float32(-1), np.float32(1))


_ABOVE = [np.float32(each) for each in (
    2.2905065861350646e-4, 3.4082910107109506e-3, 5.0955695062380861e-2, 1.8520832239976145e-1,
    1.128379143519084)]  # fmt: skip
_BELOW = [np.float32(each) for each in (
    -1.1791602954361697e-7, 2.3547966471313185e-5, 1.0179625278914885e-3,
    1.4070470171167667e-2, 1.1098505178285362e-1, 4.9746925110067538e-1, 1.0)]  # fmt: skip
_SINGLE: dict[str, Run] = {"erf_inv": _inverse, "erf": _erf}
