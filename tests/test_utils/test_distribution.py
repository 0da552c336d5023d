"""Tests of drawn numbers against a distribution. The probabilities and counts are MXNet 1.9.1's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import mixnet as mx
from mixnet import test_utils


@pytest.fixture
def normal():
    mx.random.seed(5)
    return lambda count: mx.nd.random.normal(0, 1, shape=count).asnumpy()


def test_probabilities_of_one_generator(normal) -> None:
    quantiles = test_utils.gen_buckets_probs_with_ppf(scipy.stats.norm.ppf, 5)
    actual = test_utils.verify_generator(normal, *quantiles, nsamples=1000, nrepeat=3)
    np.testing.assert_allclose(actual, [0.03027803, 0.93844806, 0.38478506], rtol=1e-6)
    probability, counts, expected = test_utils.chi_square_check(normal, *quantiles, nsamples=1000)
    np.testing.assert_allclose(probability, 0.06849216, rtol=1e-6)
    assert (counts.tolist(), expected.tolist()) == ([174, 191, 231, 205, 199], [200] * 5)


def test_buckets_that_leave_out_numbers_are_refused(normal) -> None:
    with pytest.raises(
        ValueError, match=r"of 100 numbers are in the buckets, where 50 are expected"
    ):
        test_utils.chi_square_check(normal, [(0, 1)], [0.5], nsamples=100)
