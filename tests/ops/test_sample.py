"""Random operators: their distributions, and that a seed repeats them."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd

SIZE = 20000
# name: draw, mean, standard deviation
DRAWS = {
    "uniform": (lambda: nd.random.uniform(-1, 3, SIZE), 1.0, 4 / np.sqrt(12)),
    "normal": (lambda: nd.random.normal(2, 0.5, SIZE), 2.0, 0.5),
    "gamma": (lambda: nd.random.gamma(4, 0.5, SIZE), 2.0, 1.0),
    "exponential": (lambda: nd.random.exponential(2.0, SIZE), 2.0, 2.0),
    "poisson": (lambda: nd.random.poisson(4.0, SIZE), 4.0, 2.0),
    "randint": (lambda: nd.random.randint(0, 11, SIZE), 5.0, np.sqrt(10)),
    "sample_normal": (
        lambda: nd.random.normal(nd.array([2.0]), nd.array([0.5]), SIZE), 2.0, 0.5,
    ),
    "sample_uniform": (
        lambda: nd.random.uniform(nd.array([-1.0]), nd.array([3.0]), SIZE), 1.0, 4 / np.sqrt(12),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_mean_and_deviation(name: str) -> None:
    draw, mean, deviation = DRAWS[name]
    found = draw().asnumpy().astype("float64")
    # five standard errors: fails once in a million seeds, and the seed is fixed
    assert abs(found.mean() - mean) < 5 * deviation / np.sqrt(SIZE)
    assert found.std() == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_the_numbers(name: str) -> None:
    draw = DRAWS[name][0]
    mx.random.seed(3)
    first, second = draw().asnumpy(), draw().asnumpy()
    mx.random.seed(3)
    np.testing.assert_array_equal(draw().asnumpy(), first)
    assert not np.array_equal(first, second)


def test_shuffle_is_a_permutation() -> None:
    found = nd.shuffle(nd.arange(100)).asnumpy()
    assert not np.array_equal(found, np.arange(100))
    np.testing.assert_array_equal(np.sort(found), np.arange(100))


def test_multinomial_draws_by_probability_and_tells_it() -> None:
    drawn, chance = nd.random.multinomial(nd.array([0.2, 0.0, 0.8]), shape=5000, get_prob=True)
    counts = np.bincount(drawn.asnumpy(), minlength=3) / 5000
    np.testing.assert_allclose(counts, [0.2, 0, 0.8], atol=0.03)
    np.testing.assert_allclose(chance.asnumpy(), np.log([0.2, 1, 0.8])[drawn.asnumpy()], rtol=1e-5)


def test_dropout_drops_in_training_alone() -> None:
    data = nd.ones((100, 100))
    np.testing.assert_array_equal(nd.Dropout(data, p=0.3).asnumpy(), 1)
    with mx.autograd.record():
        found = nd.Dropout(data, p=0.3).asnumpy()
    assert set(np.unique(found.round(4))) == {0.0, np.float32(1 / 0.7).round(4)}
    assert (found == 0).mean() == pytest.approx(0.3, abs=0.02)
