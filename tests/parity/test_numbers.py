"""Symbols of arrays and numbers in the NumPy interface, and powers of whole numbers, against MXNet 1.9.1."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mixnet as mx
from tests.parity.record_numbers import FIXTURE, answer

ROWS = json.loads(FIXTURE.read_text())


@pytest.mark.parametrize("dtype", sorted({row[1] for row in ROWS}))
def test_a_symbol_with_a_number_has_mxnets_dtype_and_values(dtype: str) -> None:
    wrong = []
    with mx.util.np_array(True), mx.util.np_shape(True):
        for *call, expected in ROWS:
            if call[1] != dtype:
                continue
            actual = answer(mx, call)
            if "raises" in (actual, expected):
                same = actual == expected
            else:
                same = actual[0] == expected[0] and np.allclose(actual[1], expected[1], rtol=1e-5)
            if not same:
                wrong.append(f"{call}: {actual} in place of {expected}")
    assert not wrong, "\n".join(wrong)


def test_a_block_of_whole_numbers_computes_as_mxnet_when_hybridized() -> None:
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x + 0.5, 1 - x, x <= -1.5, 1 + x

    with mx.util.np_array(True), mx.util.np_shape(True):
        block, x = Block(), mx.np.array([1, 2], dtype="uint8")
        plain = [each.dtype for each in block(x)]
        block.hybridize()
        half, rest, below, more = block(x)
    assert plain == [np.uint8, np.uint8, np.bool_, np.uint8]
    assert [half.dtype, rest.dtype, more.dtype] == [np.float64, np.float64, np.uint8]
    assert half.asnumpy().tolist() == [1.5, 2.5]
    assert below.asnumpy().tolist() == [False, False]


# base, exponent, result: of int32, uint8, int8 and int64
POWERS = [
    ("int32", [2, 100, 3, -3, 0, 1], -1, [0, 0, 0, 0, -(2**31), 1]),
    ("int32", [2, 100, 3, -3, 0, 1], 8, [256, -(2**31), 6561, 6561, 0, 1]),
    ("uint8", [2, 100, 3, 253, 0, 1], -2, [0, 0, 0, 0, 0, 1]),
    ("uint8", [2, 100, 3, 253, 0, 1], 3, [8, 64, 27, 229, 0, 1]),
    ("int8", [2, 100, 3, -3, 0, 1], 40, [0, 0, 0, 0, 0, 1]),
    ("int64", [2, 100, 3, -3, 0, 1], 40, [2**40, -(2**63), -(2**63), -(2**63), 0, 1]),
]


@pytest.mark.parametrize(("dtype", "base", "exponent", "expected"), POWERS)
def test_powers_of_whole_numbers_are_mxnets(
    dtype: str, base: list[int], exponent: int, expected: list[int]
) -> None:
    x = mx.nd.array(base, dtype="int32").astype(dtype)
    exponents = mx.nd.array([exponent] * len(base), dtype="int32").astype(dtype)
    assert (x**exponent).asnumpy().tolist() == expected
    assert mx.nd.broadcast_power(x, exponents).asnumpy().tolist() == expected
    assert (x.as_np_ndarray() ** exponent).asnumpy().tolist() == expected
    assert (mx.nd.array([3], dtype="int64") ** 39).asnumpy().tolist() == [
        3**39
    ]  # to the last digit
