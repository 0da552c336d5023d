"""Convolutions by sums of elements against those of XLA in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
import pytest

from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.interpret.on_numpy import tiles

CASES = {
    "one axis, dilated": ((3, 4, 33), 5, (3,), ((4, 4),), (4,)),
    "two axes": ((2, 3, 9, 10), 4, (3, 3), ((1, 1), (1, 1)), (1, 1)),
    "two dilations": ((2, 3, 17, 12), 4, (3, 3), ((2, 2), (3, 1)), (2, 1)),
    "elements cut off": ((1, 3, 12, 15), 2, (3, 3), ((-1, 2), (0, -1)), (1, 1)),
    "one axis of two": ((1, 3, 12, 9), 2, (3, 1), ((0, 0), (1, 0)), (1, 1)),
    "three axes": ((1, 2, 7, 8, 9), 3, (3, 3, 3), ((1, 1), (1, 0), (0, 1)), (1, 1, 1)),
    "two axes of three": ((2, 2, 7, 8, 9), 3, (1, 3, 3), ((0, 0), (1, 1), (1, 1)), (1, 1, 1)),
}  # fmt: skip


def expected(
    x: np.ndarray, w: np.ndarray, pads: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> np.ndarray:
    ones = (1,) * len(dilation)
    with jax.enable_x64(True):
        result = jax.lax.conv_general_dilated(
            x.astype("float64"), w.astype("float64"), ones, pads, rhs_dilation=dilation
        )
        return np.asarray(result)


@pytest.mark.parametrize("chunk", [1 << 21, 64])
@pytest.mark.parametrize("name", CASES)
def test_tiles_are_the_convolution(name: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, filters, taps, pads, dilation = CASES[name]
    random = np.random.default_rng(5)
    x = random.standard_normal(shape)
    w = random.standard_normal((filters, shape[1], *taps))
    result = expected(x, w, pads, dilation)
    monkeypatch.setattr(tiles, "_CHUNK", chunk)
    compute = tiles.Tiles(pads, dilation, taps, result.shape[2:])
    np.testing.assert_allclose(compute(x[None], w[None])[0], result, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("columns", [1, 12, 64])
def test_small_images_are_multiplied_together(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "_COLUMNS", columns)
    random = np.random.default_rng(7)
    x, w = random.standard_normal((5, 3, 4, 5)), random.standard_normal((4, 3, 3, 3))
    pads, dilation = ((1, 1), (1, 1)), (1, 1)
    compute = tiles.Tiles(pads, dilation, (3, 3), (4, 5))  # six tiles in each image
    images = [pictures for pictures, _ in compute._parts(len(x), 16 * 4)]
    counts = [len(range(len(x))[each]) for each in images]
    assert counts == {1: [1] * 5, 12: [2, 2, 1], 64: [5]}[columns]
    result = expected(x, w, pads, dilation)
    np.testing.assert_allclose(compute(x[None], w[None])[0], result, rtol=1e-11, atol=1e-11)


def interpreted(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    def convolve(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    (result,) = on_numpy.quietly(on_numpy.closed(jax.make_jaxpr(convolve)(x, w)), x, w)
    assert isinstance(result, np.ndarray)
    return result


def test_a_convolution_of_many_features_is_as_exact_as_single_precision() -> None:
    random = np.random.default_rng(6)
    x = random.standard_normal((1, 96, 20, 21)).astype("float32")
    w = random.standard_normal((160, 96, 3, 3)).astype("float32")
    assert tiles.products_saved(96, 160, (3, 3), 1, (20, 21)) > 0
    result = expected(x, w, ((1, 1), (1, 1)), (1, 1))
    assert np.abs(interpreted(x, w) - result).max() < 1e-6 * np.abs(result).max()


def test_an_infinite_element_reaches_the_windows_that_have_it() -> None:
    x, w = np.ones((1, 96, 20, 20), "float32"), np.ones((96, 96, 3, 3), "float32")
    x[0, 5, 8, 9] = np.inf
    infinite = np.isinf(interpreted(x, w)[0, 0])
    assert infinite[7:10, 8:11].all() and infinite.sum() == 9


def test_few_features_and_other_kernels_take_windows() -> None:
    assert tiles.products_saved(8, 8, (3, 3), 1, (100, 100)) == 0
    assert tiles.products_saved(256, 256, (5, 3), 1, (100, 100)) == 0
    assert tiles.products_saved(256, 256, (1, 1), 1, (100, 100)) == 0
    assert tiles.products_saved(256, 256, (3, 3), 1, (3, 100)) == 0


def test_few_results_do_not_pay_for_the_sums_of_large_kernels() -> None:
    assert tiles.products_saved(512, 512, (3, 3), 8, (4, 4)) == 0
    assert tiles.products_saved(512, 512, (3, 3), 8, (7, 7)) > 0
