"""Floats wrap as in MXNet 1.9.1 wherever they become integers.

The numbers are those of MXNet 1.9.1 on x86.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, npx
from tests.each_record import each_record

NUMBERS = [1e10, 3e9, -3e9, np.nan, np.inf, -np.inf, -1.5, 300, -130, 2.9, -0.5, 65000, 1e19]
LEAST, LEAST_LONG = -(2**31), -(2**63)
SMALL = [-1, 300, -130, 2, 0, 65000]
INTEGERS = {
    "int32": [LEAST] * 6 + [*SMALL, LEAST],
    "int64": [10**10, 3 * 10**9, -3 * 10**9] + [LEAST_LONG] * 3 + [*SMALL, LEAST_LONG],
    "uint8": [0] * 6 + [255, 44, 126, 2, 0, 232, 0],
    "int8": [0] * 6 + [-1, 44, 126, 2, 0, -24, 0],
}


def _written(data: nd.NDArray, dtype: str, key: Any) -> nd.NDArray:
    into = nd.zeros((2, data.size), dtype=dtype)
    into[key] = data
    return into[1]


def _copied(data: nd.NDArray, dtype: str) -> nd.NDArray:
    return data.copyto(nd.zeros(data.shape, dtype=dtype))


WAYS: dict[str, Callable[[nd.NDArray, str], nd.NDArray]] = {
    "astype": lambda data, dtype: data.astype(dtype),
    "astype of mx.np": lambda data, dtype: data.as_np_ndarray().astype(dtype).as_nd_ndarray(),
    "all": lambda data, dtype: _written(data, dtype, slice(None)),
    "a row": lambda data, dtype: _written(data, dtype, 1),
    "every second row": lambda data, dtype: _written(data, dtype, slice(1, None, 2)),
    "rows by an array": lambda data, dtype: _written(data, dtype, nd.array([1])),
    "copyto": _copied,
    "array": lambda data, dtype: nd.array(data.asnumpy(), dtype=dtype),
}


@each_record("source", ["float32", "float64"])
@each_record("dtype", INTEGERS)
@each_record("way", WAYS)
def test_floats_are_converted_to_integers_as_in_mxnet(way: str, dtype: str, source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy's of casts
        result = WAYS[way](nd.array(NUMBERS, dtype=source), dtype)
        assert result.asnumpy().tolist() == INTEGERS[dtype]


def test_half_precision_and_hybridized_networks_convert_in_the_same_way() -> None:
    halves = nd.array([-1.5, 300, np.inf, np.nan], dtype="float16")
    assert halves.astype("int32").asnumpy().tolist() == [-1, 300, LEAST, LEAST]
    network = mx.gluon.nn.HybridLambda(lambda F, x: F.cast(x * 1, "uint8"))
    network.hybridize()
    assert network(nd.array(NUMBERS)).asnumpy().tolist() == INTEGERS["uint8"]


@pytest.fixture
def numpys() -> Iterator[Any]:
    npx.set_np()
    yield mx.np
    npx.reset_np()


BYTES: dict[str, tuple[Callable[[], nd.NDArray], Any]] = {
    "full": (lambda: nd.full((2,), 300, dtype="uint8"), [44, 44]),
    "full with a fraction below 0": (lambda: nd.full((1,), -1.5, dtype="uint8"), [255]),
    "arange": (lambda: nd.arange(-2, 2, dtype="uint8"), [254, 255, 0, 1]),
    "one_hot": (
        lambda: nd.one_hot(nd.array([0, 1]), 2, on_value=300, off_value=-1, dtype="uint8"),
        [[44, 255], [255, 44]],
    ),
    "exp": (lambda: nd.exp(nd.array([1, 200, 3], dtype="uint8")), [2, 0, 20]),
    "exp of int32": (lambda: nd.exp(nd.array([200], dtype="int32")), [LEAST]),
    "a number added": (lambda: nd.array([1, 200], dtype="int32") + 1e10, [LEAST + 1, LEAST + 200]),
    "times NaN": (lambda: nd.array([1, 200, 3], dtype="int32") * float("nan"), [LEAST, 0, LEAST]),
    "SequenceMask": (
        lambda: nd.SequenceMask(nd.ones((2, 1), dtype="uint8"), nd.array([1]), True, value=-1),
        [[1], [255]],
    ),
    "_slice_assign_scalar": (
        lambda: nd._internal._slice_assign_scalar(
            nd.ones(3, dtype="uint8"), scalar=-1.5, begin=(0,), end=(2,)
        ),
        [255, 255, 1],
    ),
}


@each_record("name", BYTES)
def test_operators_with_numbers_wrap(name: str) -> None:
    make, expected = BYTES[name]
    assert make().asnumpy().tolist() == expected


@pytest.mark.parametrize(
    "key, value, expected",
    [
        (slice(0, 2), -7, [249, 249, 3]),
        (0, 300.7, [44, 200, 3]),
        ([0, 2], -1, [255, 200, 255]),
        (slice(0, 2), [-1, 300], [255, 44, 3]),
        (slice(0, 2), np.array([-1.0, 300.7]), [255, 44, 3]),
    ],
)
def test_assigned_numbers_wrap(key: Any, value: Any, expected: list[int]) -> None:
    data = nd.array([1, 200, 3], dtype="uint8")
    data[key] = value
    assert data.asnumpy().tolist() == expected


NUMPYS: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "array": (lambda np: np.array([-1, 300], dtype="uint8"), [255, 44]),
    "array of fractions": (lambda np: np.array([-1.5, 300.5], dtype="uint8"), [255, 44]),
    "full": (lambda np: np.full((2,), 300, dtype="uint8"), [44, 44]),
    "full_like": (lambda np: np.full_like(np.ones(2, dtype="uint8"), -1.5), [255, 255]),
    "arange": (lambda np: np.arange(-2, 2, dtype="uint8"), [254, 255, 0, 1]),
    "linspace": (lambda np: np.linspace(-2, 2, 3, dtype="uint8"), [254, 0, 2]),
    "insert": (lambda np: np.insert(np.ones(2, dtype="uint8"), 1, 300), [1, 44, 1]),
    "where": (lambda np: np.where(np.array([1, 0]), np.ones(2, dtype="uint8"), -1), [1, 255]),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_functions_of_mx_np_wrap(name: str, numpys: Any) -> None:
    make, expected = NUMPYS[name]
    assert make(numpys).tolist() == expected


def test_numbers_assigned_by_a_mask_wrap(numpys: Any) -> None:
    data = numpys.array([1, 200, 3], dtype="uint8")
    data[data > 2] = 300.5
    assert data.tolist() == [1, 44, 44]
    data[data > 2] = -1
    assert data.tolist() == [1, 255, 255]
