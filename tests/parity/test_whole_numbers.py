"""Operators on whole numbers, as in MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from tests.each_record import each_record

HISTOGRAMS: dict[tuple[int, tuple[float, float]], list[int]] = {
    (2, (0, 3)): [1, 4],
    (5, (1, 4)): [0, 1, 1, 0, 3],
    (10, (0, 7)): [0, 1, 1, 1, 0, 2, 1, 0, 1, 1],
    (2, (0.5, 3.5)): [1, 3],
}


@each_record("dtype", ["int32", "uint8", "int64"])
@each_record("bins", HISTOGRAMS)
def test_edges_of_integer_histograms_are_integers(bins: tuple[int, Any], dtype: str) -> None:
    data = nd.array([0, 1, 2, 3, 3, 4, 5, 7], dtype=dtype)
    counts, edges = nd.histogram(data, *bins)
    assert counts.asnumpy().tolist() == HISTOGRAMS[bins]
    assert edges.dtype == np.dtype(dtype)


def test_a_histogram_without_a_range_is_numpys() -> None:
    with pytest.warns(UserWarning, match="range"):
        counts, edges = nd.histogram(nd.array([0, 1, 2, 3, 3, 4, 5, 7], dtype="int32"), 3)
    assert (counts.dtype, edges.dtype) == (np.float32, np.float32)
    assert counts.asnumpy().tolist() == [3, 3, 2]


def ones(*shape: int) -> nd.NDArray:
    return nd.ones(shape, dtype="int32")


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.LeakyReLU(ones(2)),
        lambda: nd.L2Normalization(ones(1, 2)),
        lambda: nd.LRN(ones(1, 2, 1, 1), nsize=3),
        lambda: nd.InstanceNorm(ones(1, 2, 2), ones(2), ones(2)),
        lambda: nd.LayerNorm(ones(1, 2), ones(2), ones(2)),
        lambda: nd.SoftmaxOutput(ones(1, 2), ones(1)),
        lambda: nd.softmax_cross_entropy(ones(1, 2), ones(1)),
    ],
)
def test_layers_refuse_integers(call: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"int32; it must be floating point. Cast it"):
        call()
