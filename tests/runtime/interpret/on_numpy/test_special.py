"""Functions that NumPy does not have, against the standard library's."""

from __future__ import annotations

import math
import subprocess
import sys

import jax
import numpy as np
import pytest
import scipy.special

import mixnet as mx
from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.interpret.on_numpy import special


def test_erf_of_single_precision_stays_within_one() -> None:
    x = np.linspace(-8, 8, 40001).astype(np.float32)
    truth = np.array([math.erf(each) for each in x])
    y = mx.nd.erf(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(y, truth, atol=4e-7)
    assert np.abs(y).max() == 1
    ends = mx.nd.erf(mx.nd.array([4, -6, np.inf, -np.inf, np.nan])).asnumpy()
    np.testing.assert_array_equal(ends, np.float32([1, -1, 1, -1, np.nan]))


@pytest.mark.parametrize(
    ("function", "truth"),
    [
        (jax.lax.erfc, scipy.special.erfc),
        (jax.lax.lgamma, scipy.special.gammaln),
        (jax.lax.digamma, scipy.special.psi),
    ],
)
@pytest.mark.parametrize("few", [True, False])
def test_functions_without_scipy_have_its_numbers(
    function: object, truth: object, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "scipy.special")
    monkeypatch.setattr(special, "_computed", 0)
    monkeypatch.setattr(special, "MOST_WITHOUT_SCIPY", 1 << 20 if few else 100)
    x = np.exp(np.random.RandomState(0).randn(20, 50) * 3).astype(np.float32)
    program = on_numpy.compiled(function, jax.ShapeDtypeStruct(x.shape, x.dtype))
    (y,) = program(x)
    assert special._computed == (x.size if few else 0)
    np.testing.assert_array_equal(y, truth(x))
    assert y.dtype == np.float32


def test_where_a_logarithm_of_gamma_has_poles_scipy_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(special, "_computed", 0)
    x = np.array([-1.5, 0, -2, 3, np.inf, np.nan], np.float32)
    for function, truth in ((jax.lax.lgamma, jax.lax.lgamma), (jax.lax.digamma, scipy.special.psi)):
        (y,) = on_numpy.compiled(function, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        np.testing.assert_allclose(y, truth(x), rtol=1e-6)
    assert special._computed == 0


def test_small_networks_do_not_import_scipy() -> None:
    program = """
import sys
import mixnet as mx
x = mx.nd.array([0.5, 1.5, 2.5])
x.attach_grad()
with mx.autograd.record():
    y = mx.nd.gammaln(x) + mx.nd.LeakyReLU(x, act_type="gelu")
y.backward()
y.asnumpy(), x.grad.asnumpy()
assert "scipy.special" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
