"""The fast variants have the results of jax.numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixnet.ops.array import plain
from mixnet.ops.array.indexing import elements_at, slices_at
from mixnet.ops.math.reduce import real_mean
from mixnet.ops.nn.softmax import log_softmax_along, softmax_along
from mixnet.ops.random.sample import between_0_and_1
from tests.each_record import each_record

AXES = [(0,), (1,), (0, 2), (0, 1, 2)]
DTYPES = ["float16", "bfloat16", "float32", "float64"]


def numbers(dtype, *shape):
    with jax.enable_x64(True):
        return jnp.asarray(np.random.default_rng(0).normal(size=shape), dtype)


def equal(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


@each_record("dtype", DTYPES)
@each_record("axes", AXES)
@each_record("keepdims", [False, True])
def test_sums_and_means_agree_with_jax(dtype, axes, keepdims):
    with jax.enable_x64(True):
        data = numbers(dtype, 3, 4, 5)
        equal(plain.total(data, axes, keepdims), jnp.sum(data, axes, keepdims=keepdims))
        wide = data.astype(jnp.promote_types(dtype, "float32"))
        sums = np.asarray(jnp.sum(wide, axes, keepdims=keepdims))
        count = np.prod([data.shape[i] for i in axes])
        equal(real_mean(data, axes, keepdims), jnp.asarray(sums / sums.dtype.type(count), dtype))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reduced_arrays_are_repeated_along_axes(axis):
    data = numbers("float32", 2, 3, 4)
    reduced = data.sum(axis)
    expected = jnp.broadcast_to(jnp.expand_dims(reduced, axis), data.shape)
    equal(plain.along(reduced, data.shape, (axis % 3,)), expected)
    equal(plain.with_axes(reduced, data.shape, (axis % 3,)), jnp.expand_dims(reduced, axis))
    vector = numbers("float32", data.shape[axis])
    placed = vector.reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    equal(plain.on_axis(vector, data.shape, axis % 3), jnp.broadcast_to(placed, data.shape))


@each_record("axis", [0, 1, 2])
@each_record("shape", [(), (2,), (2, 5)])
def test_slices_agree_with_take(axis, shape):
    data = numbers("float32", 3, 4, 5)
    places = jnp.asarray(np.random.default_rng(1).integers(0, 3, shape))
    equal(slices_at(data, places, axis), jnp.take(data, places, axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_agree_with_take_along_axis(axis):
    data = numbers("float32", 3, 4, 5)
    rest = [n for i, n in enumerate(data.shape) if i != axis]
    places = jnp.asarray(np.random.default_rng(1).integers(0, 3, rest))
    expected = jnp.take_along_axis(data, jnp.expand_dims(places, axis), axis).squeeze(axis)
    equal(elements_at(data, places, axis), expected)


def test_choosing_from_an_empty_array_is_an_error():
    nothing = jnp.zeros((0, 4))
    with pytest.raises(IndexError, match="empty"):
        slices_at(nothing, jnp.zeros(2, int), 0)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_and_its_gradient_agree_with_jax(axis, dtype):
    pairs = ((log_softmax_along, jax.nn.log_softmax), (softmax_along, jax.nn.softmax))

    def with_gradient(function, data, head):
        result, pull = jax.vjp(lambda x: function(x, axis), data)
        return result, *pull(head)

    @jax.jit
    def both(data, head):
        return [[with_gradient(each, data, head) for each in pair] for pair in pairs]

    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    with jax.enable_x64(True):
        for ours, theirs in both(numbers(dtype, 4, 5) * 20, numbers(dtype, 4, 5)):
            # XLA divides by multiplying with the reciprocal where it fuses.
            for actual, expected, least in zip(ours, theirs, (0, tolerance), strict=True):
                assert actual.dtype == expected.dtype
                np.testing.assert_allclose(
                    np.asarray(actual, "float64"),
                    np.asarray(expected, "float64"),
                    tolerance,
                    least,
                )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_are_those_of_jax(dtype):
    with jax.enable_x64(True):
        key = jax.random.key(3)
        equal(between_0_and_1(key, (4, 7), dtype), jax.random.uniform(key, (4, 7), dtype))
