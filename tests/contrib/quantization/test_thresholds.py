"""Thresholds of histograms, against the numbers of MXNet 1.9.1."""

import numpy as np
import pytest

import mixnet as mx
from mixnet.contrib.quantization import _get_optimal_threshold, _get_optimal_thresholds


def histogram(values: np.ndarray) -> tuple:
    counts, edges = np.histogram(values, bins=8001, range=(-4.5, 4.5))
    return counts, edges, values.min(), values.max(), 4.5


@pytest.fixture(scope="module")
def normal() -> np.ndarray:
    return np.random.RandomState(0).randn(10000).astype("float32")


@pytest.mark.parametrize(
    ("bins", "threshold", "divergence"), [(255, 3.4100113, 0.11034508), (127, 3.429134, 0.1139297)]
)
def test_thresholds_of_histograms_are_mxnets(
    normal: np.ndarray, bins: int, threshold: float, divergence: float
) -> None:
    least, most, actual, lost = _get_optimal_threshold(histogram(normal), "int8", bins)
    assert (least, most) == (normal.min(), normal.max())
    np.testing.assert_allclose(actual, [threshold], rtol=1e-6)
    np.testing.assert_allclose(lost, [divergence], rtol=5e-4)  # MXNet sums in float32


def test_numbers_without_a_sign_have_twice_as_many_integers(normal: np.ndarray) -> None:
    positive = histogram(np.abs(normal))
    assert _get_optimal_threshold(positive, "uint8")[2] == np.float32(3.132171)
    histograms = {"signed": histogram(normal), "unsigned": positive}
    ranges = _get_optimal_thresholds(histograms, "auto")
    assert histograms == {}
    assert ranges["signed"][0] == -ranges["signed"][1] == np.float32(-3.4100113)
    assert ranges["unsigned"] == (0, np.float32(3.132171))


def test_invalid_histograms_are_refused() -> None:
    with pytest.raises(mx.MXNetError, match=r"counts, edges, smallest, largest, end"):
        _get_optimal_threshold(([1, 2, 3], [0, 1, 2, 3]), "int8")
    with pytest.raises(mx.MXNetError, match="4 bins; an odd number"):
        _get_optimal_threshold((np.ones(4), np.arange(5), 0, 1, 2), "int8")
    with pytest.raises(mx.MXNetError, match="not list"):
        _get_optimal_thresholds([], "int8")
