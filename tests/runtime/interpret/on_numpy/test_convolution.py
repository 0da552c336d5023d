"""Convolutions on NumPy: against sums written out, and gradients against XLA's."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import mixnet as mx
from mixnet.runtime.interpret import on_numpy
from tests.each_record import each_record


def written_out(
    x: np.ndarray, w: np.ndarray, strides: Any, pads: Any, spacing: Any, dilation: Any, groups: Any
) -> np.ndarray:
    """A convolution of ``(batch, features, *places)`` in float64, tap by tap."""
    features, batches = groups
    widths = [
        (0, 0, 0),
        (0, 0, 0),
        *[(low, high, d - 1) for (low, high), d in zip(pads, spacing, strict=False)],
    ]
    x = np.asarray(lax.pad(x, np.array(0, x.dtype), widths)).astype("float64")
    filters, taps = w.shape[0], w.shape[2:]
    out = [(n - (k - 1) * d - 1) // s + 1
           for n, k, d, s in zip(x.shape[2:], taps, dilation, strides, strict=False)]  # fmt: skip
    result = np.zeros((x.shape[0] // batches, filters, *out))
    for o in range(filters):
        group = o * max(features, batches) // filters
        begin = group * w.shape[1] if features > 1 else 0
        rows = slice(group * len(result), (group + 1) * len(result)) if batches > 1 else slice(None)
        for tap in itertools.product(*map(range, taps)):
            key = [slice(t * d, t * d + (n - 1) * s + 1, s)
                   for t, d, n, s in zip(tap, dilation, out, strides, strict=False)]  # fmt: skip
            met = x[(rows, slice(begin, begin + w.shape[1]), *key)]
            result[:, o] += np.einsum("bi...,i->b...", met, w[(o, slice(None), *tap)])
    return result


def drawn(seed: int) -> tuple[Any, ...]:
    """A random convolution: arrays in random orders of axes, and its parameters."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    features, batches = [(1, 1), (1, 1), (2, 1), (4, 1), (1, 2), (1, 3)][rng.integers(6)]
    inner, filters = int(rng.integers(1, 4)), features * batches * int(rng.integers(1, 4))
    data = (int(rng.integers(1, 4)) * batches, inner * features, *rng.integers(4, 9, rank))
    kernel = (filters, inner, *rng.integers(1, 4, rank))
    strides, spacing, dilation = (
        tuple(int(i) for i in rng.integers(1, 3 if rng.random() < 0.5 else 2, rank))
        for _ in range(3)
    )
    pads = [(int(a), int(b)) for a, b in rng.integers(-1, 3, (rank, 2))]
    orders = [tuple(int(i) for i in rng.permutation(rank + 2)) for _ in range(3)]
    if rng.random() < 0.5:
        orders = [tuple(range(rank + 2))] * 3
    dtype = rng.choice(["float32", "float32", "float16", "int32"])
    x, w = (np.round(rng.normal(size=shape) * 9) for shape in (data, kernel))
    if dtype != "int32":
        x, w = x / 8, w / 8
    return (
        x.astype(dtype),
        w.astype(dtype),
        strides,
        pads,
        spacing,
        dilation,
        (features, batches),
        orders,
    )


@each_record("seed", range(60))
def test_convolution_is_the_sum_of_its_taps(seed: int) -> None:
    x, w, *parameters, orders = drawn(seed)
    strides, pads, spacing, dilation, (features, batches) = parameters
    numbers = lax.ConvDimensionNumbers(*orders)
    one, two = (
        np.transpose(a, np.argsort(order)) for a, order in zip((x, w), orders, strict=False)
    )

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, strides, pads, spacing, dilation, numbers, features, batches
        )

    (actual,) = on_numpy.compiled(function, one, two)(one, two)
    expected = np.transpose(written_out(x, w, *parameters), np.argsort(orders[2]))
    assert actual.dtype == x.dtype
    np.testing.assert_allclose(
        actual, expected, rtol=2e-3 if x.dtype == "float16" else 2e-5, atol=2e-5
    )


# data, kernel, stride, padding, dilation, groups: LeNet's, ResNet's and MobileNet's, made small
SHAPES = [
    ((2, 1, 12, 12), (4, 1, 5, 5), 1, 0, 1, 1),
    ((2, 3, 15, 15), (8, 3, 7, 7), 2, 3, 1, 1),
    ((2, 8, 9, 9), (6, 8, 1, 1), 2, 0, 1, 1),
    ((1, 8, 9, 9), (6, 8, 3, 3), 1, 1, 1, 1),
    ((3, 8, 9, 9), (6, 8, 1, 1), 1, 0, 1, 1),
    ((2, 8, 9, 9), (8, 1, 3, 3), 1, 1, 1, 8),
    ((2, 8, 9, 9), (8, 1, 3, 3), 2, 1, 1, 8),
    ((2, 6, 9, 9), (12, 2, 3, 3), 2, 1, 1, 3),
    ((2, 4, 9, 9), (4, 4, 3, 3), 1, 2, 2, 1),
]


def three(i: int, last: bool, x: Any, w: Any) -> list[Any]:
    """A convolution and both gradients, channels last or first."""
    _, _, stride, pad, dilation, groups = SHAPES[i]
    order = ("NHWC", "OIHW", "NHWC") if last else ("NCHW", "OIHW", "NCHW")

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, (stride,) * 2, [(pad, pad)] * 2, None, (dilation,) * 2, order, groups
        )

    out, pull = jax.vjp(function, x, w)
    head = jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)
    return [out, *pull(head)]


CALLS = [(i, last) for i in range(len(SHAPES)) for last in (False, True)]


def arrays(i: int, last: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(i)
    x, w = (rng.normal(size=shape).astype("float32") for shape in SHAPES[i][:2])
    return [np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x, w]


@functools.cache
def expected() -> list[Any]:
    def everything(inputs: Any) -> Any:
        return [three(*call, *each) for call, each in zip(CALLS, inputs, strict=True)]

    options: Any = {"xla_backend_optimization_level": 0}
    return jax.jit(everything, compiler_options=options)([arrays(*call) for call in CALLS])


@pytest.mark.parametrize("chunk", [1 << 21, 300])
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_gradients_are_xlas(number: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_numpy.convolution, "_CHUNK", chunk)
    call = CALLS[number]
    inputs = arrays(*call)
    actual = on_numpy.compiled(functools.partial(three, *call), *inputs)(*inputs)
    for one, other in zip(actual, expected()[number], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def gradient_of_the_kernel(convolve: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The gradient of a convolution's kernel, for a gradient of the result with different elements."""

    def gradient(x: Any, w: Any) -> Any:
        out, pull = jax.vjp(convolve, x, w)
        return pull(jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))[1]

    return gradient


@pytest.mark.parametrize("large", [0, 1 << 17])
def test_a_large_gradient_of_a_kernel_has_the_layout_of_the_kernel(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def padded(x: Any, w: Any) -> Any:
        order = ("NCHW", "OIHW", "NCHW")
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, dimension_numbers=order)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 8, 8)).astype("float32")
    w = rng.normal(size=(4, 3, 3, 3)).astype("float32")
    gradient = gradient_of_the_kernel(padded)
    monkeypatch.setattr(on_numpy.convolution, "_LARGE_RESULT", large)
    (actual,) = on_numpy.compiled(gradient, x, w)(x, w)
    assert actual.flags.c_contiguous == (large == 0)
    np.testing.assert_allclose(actual, jax.jit(gradient)(x, w), rtol=2e-5, atol=2e-5)


def test_the_kernel_of_a_transposed_convolution_multiplies_few_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def upsampled(x: Any, w: Any) -> Any:
        order = ("NCHW", "OIHW", "NCHW")
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, (2, 2), None, order)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 8, 8)).astype("float32")
    w = rng.normal(size=(4, 3, 2, 2)).astype("float32")

    gradient = gradient_of_the_kernel(upsampled)
    products = []

    def counted(a: Any, b: Any) -> Any:
        products.append(a.size * b.shape[-1])
        return np.matmul(a, b)

    monkeypatch.setattr(on_numpy.convolution, "matmul", counted)
    (actual,) = on_numpy.compiled(gradient, x, w)(x, w)
    np.testing.assert_allclose(actual, jax.jit(gradient)(x, w), rtol=2e-5, atol=2e-5)
    # Every place of the kernel, filters and features, over a result of 16x16 and two images; not 64
    # elements times 256 taps.
    assert sum(products) <= 4 * 4 * 3 * 16 * 16 * 2


@pytest.mark.parametrize(
    ("data", "kernel", "pads", "spacing", "features"),
    [
        # kernel and data change roles: the gradient of a transposed convolution's kernel
        ((2, 3, 4, 3), (5, 3, 8, 6), [(2, 1), (0, 1)], (2, 2), 1),
        ((2, 6, 4, 3), (4, 3, 9, 9), [(1, 0), (2, 2)], (2, 3), 2),
        # taps are added in runs where elements lie far apart
        ((2, 3, 3, 4), (5, 3, 19, 2), [(18, 18), (1, 1)], (9, 1), 1),
        ((2, 4, 2, 3), (2, 2, 16, 20), [(4, 15), (19, 22)], (8, 10), 2),
        ((1, 2, 5), (3, 2, 4), [(3, 3)], (8,), 1),
    ],
)
def test_data_with_strides_are_convolved(data, kernel, pads, spacing, features) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (data, kernel))
    ones = (1,) * len(spacing)

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, ones, pads, spacing, None, None, features)

    (result,) = on_numpy.compiled(function, x, w)(x, w)
    expected = written_out(x, w, ones, pads, spacing, ones, (features, 1))
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def test_the_kernel_of_a_convolution_of_single_features_meets_few_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gradient of one image: an element of the kernel at a time, not one of the result."""

    def by_feature(x: Any, w: Any) -> Any:
        order = ("NCHW", "OIHW", "NCHW")
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, None, None, order, 4)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4, 8, 8)).astype("float32")
    w = rng.normal(size=(4, 1, 3, 3)).astype("float32")

    gradient = gradient_of_the_kernel(by_feature)
    sums = []
    einsum = np.einsum

    def counted(*operands: Any) -> Any:
        sums.append(operands)
        return einsum(*operands)

    monkeypatch.setattr(np, "einsum", counted)
    (actual,) = on_numpy.compiled(gradient, x, w)(x, w)
    np.testing.assert_allclose(actual, jax.jit(gradient)(x, w), rtol=2e-5, atol=2e-5)
    assert len(sums) == 9


@each_record("dilation", [1, 2])
@each_record("stride", [1, 3, 9])
@each_record("dtype", ["float32", "float64"])
def test_a_transposed_convolution_with_more_taps_than_data(
    stride: int, dilation: int, dtype: str
) -> None:
    data = np.random.default_rng(0).normal(size=(2, 3, 2, 2))
    weight = np.random.default_rng(1).normal(size=(3, 2, 11, 12))
    expected = np.zeros((2, 2, *[stride + dilation * (k - 1) + 1 for k in (11, 12)]))
    for n, c, i, j, o, a, b in itertools.product(*map(range, (2, 3, 2, 2, 2, 11, 12))):
        place = stride * i + dilation * a, stride * j + dilation * b
        expected[n, o, *place] += data[n, c, i, j] * weight[c, o, a, b]
    arrays = [mx.nd.array(each, dtype=dtype) for each in (data, weight)]
    result = mx.nd.Deconvolution(
        *arrays, kernel=(11, 12), stride=(stride,) * 2, dilate=(dilation,) * 2, num_filter=2,
        no_bias=True,
    )  # fmt: skip
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-5, atol=1e-5)
