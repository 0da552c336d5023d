"""Suppression and regions on NumPy against their definitions, compiled by XLA."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from mixnet.ops.vision import region, suppression
from mixnet.runtime.interpret import on_numpy


def interpreted(function: Any, *arrays: np.ndarray) -> Any:
    (result,) = on_numpy.quietly(on_numpy.closed(jax.make_jaxpr(function)(*arrays)), *arrays)
    return result


def boxes(*shape: int, classes: bool) -> np.ndarray:
    random = np.random.default_rng(len(shape) + shape[-1])
    low = random.uniform(0, 1, (*shape, 2))
    sides = random.uniform(-0.02, 0.3, (*shape, 2))  # some are turned
    rows = [low, low + sides, np.prod(np.maximum(sides, 0), -1, keepdims=True)]
    if classes:
        rows.append(random.integers(0, 3, (*shape, 1)))
    return np.concatenate(rows, -1).astype("float32")


@pytest.mark.parametrize(
    ("shape", "rule"),
    [
        ((500,), {"threshold": 0.3, "inclusive": False, "pixel": 0, "by_class": True}),
        ((3, 300), {"threshold": 0.5, "inclusive": True, "pixel": 0, "by_class": False}),
        ((2, 60), {"threshold": 0.8, "inclusive": False, "pixel": 1, "by_class": False}),
        ((2, 40), {"threshold": -0.1, "inclusive": False, "pixel": 0, "by_class": True}),
        ((1,), {"threshold": 0.5, "inclusive": False, "pixel": 0, "by_class": False}),
    ],
)
def test_survivors(shape: tuple[int, ...], rule: dict[str, Any]) -> None:
    candidates = np.random.default_rng(1).uniform(size=shape) > 0.2
    rows = boxes(*shape, classes=rule["by_class"])
    function = partial(suppression._survivors, **rule)
    expected = np.asarray(jax.jit(function)(candidates, rows))
    np.testing.assert_array_equal(interpreted(function, candidates, rows), expected)


def test_boxes_with_nan_and_equal_boxes_are_suppressed_as_on_the_device() -> None:
    rows = np.repeat(boxes(4, classes=False), 3, 0)
    rows[3] = np.nan
    function = partial(
        suppression._survivors, threshold=0.5, inclusive=False, pixel=0, by_class=False
    )
    candidates = np.ones(12, bool)
    expected = np.asarray(jax.jit(function)(candidates, rows))
    np.testing.assert_array_equal(interpreted(function, candidates, rows), expected)


@pytest.mark.parametrize("own", [None, (2, 3)])
def test_weighted_regions(own: tuple[int, int] | None) -> None:
    random = np.random.default_rng(2)
    data = random.standard_normal((2, 12, 9, 11)).astype("float32")
    number = np.array([0, 1, -1, 1, 0, 5], "int32")  # one of no picture, one beyond the last
    rows, columns = np.zeros((6, 2, 9), "float32"), np.zeros((6, 3, 11), "float32")
    for i in range(5):  # the last has no weights
        rows[i, :, i : i + 3] = random.uniform(size=(2, 3))
        columns[i, :, 2 * i : 2 * i + 4] = random.uniform(size=(3, len(columns[i, 0, 2 * i :][:4])))
    function = partial(region._weighted_regions, own=own)
    expected = np.asarray(jax.jit(function)(data, number, rows, columns))
    assert (expected[2] == 0).all() and (expected[5] == 0).all() and expected[4].any()
    np.testing.assert_allclose(
        interpreted(function, data, number, rows, columns), expected, rtol=1e-5, atol=1e-5
    )
