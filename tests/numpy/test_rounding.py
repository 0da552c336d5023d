"""Rounding to digits after the point gives MXNet's numbers, to the last bit."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from mixnet import np
from mixnet.runtime.interpret import patience

_NUMBERS = [0.47, 0.64199, -0.4711, 123.456, 0.29, 0.57, 8.125, -77.0307]
_BITS = {  # of MXNet 1.9.1
    2: [1055957974, 1059313418, -1091525674, 1123478405, 1049918178, 1058139013, 1090644869, -1030090916],
    3: [1055957974, 1059346972, -1091492118, 1123477880, 1049918178, 1058139013, 1090650112, -1030090785],
    4: [1055957974, 1059346972, -1091488763, 1123477880, 1049918178, 1058139013, 1090650112, -1030090824],
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("decimals", _BITS)
def test_rounding_moves_the_point_digit_by_digit(decimals: int, compiled: bool) -> None:
    with patience.compiling_at_once() if compiled else nullcontext():
        rounded = np.array(_NUMBERS).round(decimals).asnumpy()
        wide = np.around(np.array([0.47, 0.29], dtype="float64"), 2).asnumpy()
    assert rounded.view("int32").tolist() == _BITS[decimals]
    assert wide.view("int64").tolist() == [4602138387217362453, 4598895795485655695]


def test_rounding_to_more_digits_than_numbers_have() -> None:
    # MXNet 1.9.1
    assert np.around(np.array([1.5, 0, -2e30]), 60).tolist() == [float("inf"), 0, -float("inf")]
    assert np.around(np.array([1.5, 1e30]), -60).tolist() == [0, 0]
    assert np.around(np.array([1.5]), 10**6).tolist() == [float("inf")]
