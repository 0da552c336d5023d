"""Graphs that are cut, since parameters of draws are values, draw in the order of MXNet's graphs."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx

# Recorded with MXNet 1.9.1: `gamma + normal` and `normal + gamma`, called in the same order.
GAMMA_FIRST = [[3.98219, 2.06605], [4.38277, 3.42711]]
NORMAL_FIRST = [[3.17091, 0.24818], [6.00118, 7.23331]]


@pytest.mark.parametrize(("is_swapped", "expected"), [(False, GAMMA_FIRST), (True, NORMAL_FIRST)])
def test_the_walk_from_the_output_says_what_draws_first(
    is_swapped: bool, expected: list[list[float]]
) -> None:
    first, second = mx.sym.var("first"), mx.sym.var("second")
    gamma = mx.sym.sample_gamma(first, second, shape=(2,))
    normal = mx.sym.sample_normal(first, second, shape=(2,))
    total = normal + gamma if is_swapped else gamma + normal
    mx.random.seed(7)
    parameters = {name: mx.nd.array([1.0, 2.0]) for name in ("first", "second")}
    (actual,) = total.bind(mx.cpu(), parameters).forward()
    np.testing.assert_allclose(actual.asnumpy(), expected, atol=1e-5)
