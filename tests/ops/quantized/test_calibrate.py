"""Thresholds by entropy: NumPy's way and the compiled one agree."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ndarray import contrib

RNG = np.random.default_rng(0)
NORMAL, SHARP = RNG.normal(size=500), np.zeros(31)
SHARP[[15, 2]] = 5, 1
HISTOGRAMS = {
    "every bin filled": (RNG.uniform(1, 5, 9), 3),
    "few samples": (np.histogram(NORMAL, bins=101, range=(-4, 4))[0], 15),
    "after relu": (np.histogram(np.maximum(NORMAL, 0), bins=101, range=(-4, 4))[0], 31),
    "two bins filled": (SHARP, 7),
    "one quantized bin": (RNG.uniform(1, 5, 9), 1),
    "nothing counted": (np.zeros(9), 3),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_both_calibration_implementations_agree(name: str) -> None:
    counts, quantized = HISTOGRAMS[name]
    hist, edges = nd.array(counts), nd.array(np.linspace(-4, 4, len(counts) + 1))

    def calibrated() -> list[float]:
        results = contrib.calibrate_entropy(hist, edges, num_quantized_bins=quantized)
        return [each.asscalar() for each in results]

    mx.runtime.reset_counters()
    with_numpy = calibrated()
    assert mx.runtime.counters()["programs_compiled"] == 0
    with mx.runtime.compiling_at_once():
        np.testing.assert_allclose(calibrated(), with_numpy, rtol=1e-6)
