"""Functions that NumPy does not have, against the standard library's."""

from __future__ import annotations

import math

import numpy as np

import mixnet as mx


def test_erf_of_single_precision_stays_within_one() -> None:
    x = np.linspace(-8, 8, 40001).astype(np.float32)
    truth = np.array([math.erf(each) for each in x])
    y = mx.nd.erf(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(y, truth, atol=4e-7)
    assert np.abs(y).max() == 1
    ends = mx.nd.erf(mx.nd.array([4, -6, np.inf, -np.inf, np.nan])).asnumpy()
    np.testing.assert_array_equal(ends, np.float32([1, -1, 1, -1, np.nan]))
