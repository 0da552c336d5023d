"""Choosing between two arrays gives the bits of ``np.where``."""

from __future__ import annotations

import numpy as np

from mixnet.runtime.interpret.on_numpy.elementwise import choose
from tests.each_record import each_record

SHAPE = (70, 90)  # more elements than are left to np.where
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]


def numbers(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(SHAPE) > 0.5
    if dtype[0] in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, SHAPE, dtype, endpoint=True)
    values = rng.normal(size=SHAPE).astype(dtype)
    values[::7, ::5] = rng.choice(SPECIAL, values[::7, ::5].shape)
    return values


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.ascontiguousarray(a).tobytes() == b.tobytes()
    )


@each_record(
    "dtype",
    ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool", "complex64"],
)
def test_the_bits_are_those_of_where(dtype: str) -> None:
    condition = np.random.default_rng(0).random(SHAPE) > 0.3
    a, b = numbers(dtype, 1), numbers(dtype, 2)
    zero = np.broadcast_to(np.zeros((), dtype), SHAPE)
    one = np.broadcast_to(np.ones((), dtype), SHAPE)
    for yes, no in ((a, b), (a, zero), (zero, b), (zero, zero), (one, zero), (zero, one), (a, one)):
        assert same_bits(choose(condition, no, yes), np.where(condition, yes, no))


def test_a_negative_zero_is_not_taken_for_zero() -> None:
    condition = np.random.default_rng(0).random(SHAPE) > 0.3
    a, zero = numbers("float32", 1), np.broadcast_to(np.float32(-0.0), SHAPE)
    assert same_bits(choose(condition, zero, a), np.where(condition, a, zero))
    assert same_bits(choose(condition, a, zero), np.where(condition, zero, a))


def test_views_with_other_strides() -> None:
    condition = (np.random.default_rng(0).random(SHAPE[::-1]) > 0.3).T
    a, b = numbers("float32", 1), numbers("float32", 2)
    reverse = b[::-1, ::-1]
    row = np.broadcast_to(b[:1], SHAPE)
    for yes, no in ((a, reverse), (row, a), (reverse, row)):
        assert same_bits(choose(condition, no, yes), np.where(condition, yes, no))
