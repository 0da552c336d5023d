"""Numbers drawn by rejection: every kind of parameter, in every dtype, interpreted and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record

SIZE = 20000
SURE = 1e-4  # fails once in ten thousand seeds, and the seed is fixed


@pytest.fixture(autouse=True)
def threefry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")


@each_record("dtype", ["float16", "float32", "float64"])
@each_record("alpha", [0.05, 0.9, 1.0, 30.0, 1e6])
def test_gamma_of_every_shape(alpha: float, dtype: str) -> None:
    mx.random.seed(11)
    numbers = nd.random.gamma(alpha, 1 / alpha, SIZE, dtype=dtype)
    assert np.dtype(numbers.dtype) == dtype
    numbers = numbers.asnumpy().astype("float64")
    if dtype == "float16":  # too coarse for a test of the distribution
        assert numbers.mean() == pytest.approx(1, abs=5 / np.sqrt(alpha * SIZE) + 1e-3)
    else:
        assert (
            scipy.stats.kstest(numbers, scipy.stats.gamma(alpha, scale=1 / alpha).cdf).pvalue > SURE
        )


@each_record("dtype", ["float32", "float64"])
@each_record("mean", [0.01, 1.0, 9.99, 10.0, 37.5, 1e4, 1e6])
def test_poisson_of_every_mean(mean: float, dtype: str) -> None:
    mx.random.seed(11)
    numbers = nd.random.poisson(mean, SIZE, dtype=dtype).asnumpy().astype("float64")
    assert (numbers == np.floor(numbers)).all() and numbers.min() >= 0
    ends = np.unique(scipy.stats.poisson(mean).ppf(np.linspace(0.02, 0.98, 25)))
    counts = np.histogram(numbers, [-1, *ends, np.inf])[0]
    # A bin of the histogram is [start, end), so its share counts what is below its ends.
    below = scipy.stats.poisson(mean).cdf(np.array([-2, *(ends - 1), np.inf]))
    expected = np.diff(below) * SIZE
    large = expected > 5
    chi = ((counts - expected)[large] ** 2 / expected[large]).sum()
    assert scipy.stats.chi2(max(int(large.sum()) - 1, 1)).sf(chi) > SURE


def test_parameters_that_have_nothing_to_draw() -> None:
    values = nd.array([0.0, np.inf, np.nan, -1.0, 2.0])
    with mx.autograd.record():  # where numbers that are not there yet cannot be checked
        gammas = nd.random.gamma(values * 1, nd.ones(5)).asnumpy()
        counts = nd.random.poisson(values * 1).asnumpy()
    for drawn in (gammas, counts):
        assert drawn[0] == 0 and drawn[1] == np.inf
        assert np.isnan(drawn[2:4]).all()
        assert np.isfinite(drawn[4])


@pytest.mark.parametrize(
    "draw",
    [lambda: nd.random.gamma(0.7, 2, 3000), lambda: nd.random.poisson(3, 3000),
     lambda: nd.random.poisson(300, 3000), lambda: nd.random.negative_binomial(3, 0.4, 3000)],
    ids=["gamma", "small counts", "large counts", "negative binomial"],
)  # fmt: skip
def test_interpreted_and_compiled_numbers_agree(draw) -> None:
    mx.random.seed(3)
    interpreted = draw().asnumpy()
    with mx.runtime.compiling_at_once():
        mx.random.seed(3)
        compiled = draw().asnumpy()
    close = np.isclose(interpreted, compiled, rtol=1e-4)
    assert (~close).sum() <= 1  # rounding may decide otherwise about one candidate


def test_an_element_does_not_depend_on_the_others() -> None:
    means = nd.array([3.0, 50.0, 7.0])
    mx.random.seed(5)
    together = nd.random.poisson(means, 4).asnumpy()
    mx.random.seed(5)
    others = nd.random.poisson(nd.array([3.0, 2.0, 7.0]), 4).asnumpy()
    assert (together[[0, 2]] == others[[0, 2]]).all()
