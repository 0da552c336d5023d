"""Division: every quotient is rounded once, fused or not, with its derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon, nd
from mixnet.ops.math import quotient as module
from mixnet.ops.math.quotient import quotient
from mixnet.runtime.interpret.on_numpy import compiled

WHOLE = np.arange(1, 20_001, dtype=np.float32)


def test_a_multiple_divided_is_exact() -> None:
    multiples = nd.array(41 * WHOLE)
    np.testing.assert_array_equal(nd.floor(multiples / 41).asnumpy(), WHOLE)
    np.testing.assert_array_equal(nd.floor(multiples / nd.array([41.0])).asnumpy(), WHOLE)
    np.testing.assert_array_equal(mx.np.floor(mx.np.array(41 * WHOLE) / 41).asnumpy(), WHOLE)
    assert float((nd.array([21.0]) / 7).asscalar()) == 3


def test_a_hybridized_division_is_exact() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.floor(x / 41), F.floor(x / F.sqrt(F.ones_like(x) * 1681.0)), x / 3 / 7

    net = Net()
    net.hybridize()
    one, two, three = net(nd.array(41 * WHOLE))
    np.testing.assert_array_equal(one.asnumpy(), WHOLE)
    np.testing.assert_array_equal(two.asnumpy(), WHOLE)
    np.testing.assert_array_equal(three.asnumpy(), 41 * WHOLE / np.float32(3) / np.float32(7))


def test_a_mean_is_the_quotient_of_sum_and_count() -> None:
    x = np.full((41, 5), 3, np.float32) * np.arange(1, 6, dtype=np.float32)
    np.testing.assert_array_equal(nd.mean(nd.array(x), axis=0).asnumpy(), x[0])
    np.testing.assert_array_equal(mx.np.array(x).mean(0).asnumpy(), x[0])


def test_derivatives_are_those_of_a_quotient() -> None:
    x, y = jnp.asarray([1.0, -2.0]), jnp.asarray([4.0, 0.5])
    dx, dy = jax.grad(lambda x, y: quotient(x, y).sum(), (0, 1))(x, y)
    np.testing.assert_allclose(dx, 1 / y)
    np.testing.assert_allclose(dy, -x / y**2)
    assert jax.grad(jax.grad(lambda y: quotient(3.0, y)))(2.0) == 0.75  # 2 · 3 / 2³


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (1, 0)])
def test_many_quotients_are_rounded_correctly(axes: tuple[int | None, int | None]) -> None:
    x, y = np.arange(1.0, 5).reshape(2, 2), np.arange(2.0, 6).reshape(2, 2)
    actual = jax.vmap(quotient, axes)(x, y)
    sides = [
        np.broadcast_to(each, (2, 2, 2)) if axis is None else np.moveaxis(each, axis, 0)
        for each, axis in zip((x, y), axes, strict=True)
    ]
    expected = [quotient(one, other) for one, other in zip(*sides, strict=True)]
    np.testing.assert_allclose(actual, np.stack(expected))


def test_numpy_gives_the_same_quotients() -> None:
    spec = jax.ShapeDtypeStruct((3,), np.float32)
    run = compiled(lambda x, y: [quotient(x, y)], spec, spec)
    x, y = np.asarray([1, 0, -1], np.float32), np.asarray([3, 0, 0], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(x, y)[0], x / y)


def test_a_gpus_rough_quotient_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_units_off(x: jax.Array, y: jax.Array) -> jax.Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = np.asarray(x) / np.asarray(y)
        return jnp.asarray(np.nextafter(np.nextafter(exact, np.float32(0)), np.float32(0)))

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20_000)).astype(np.float32) * np.float32(100)
    x[:7] = [np.inf, 1, 0, np.nan, -np.inf, 5, 41]
    y[:7] = [1, np.inf, 0, 1, np.inf, 0, 41]
    monkeypatch.setattr(module.jax.lax, "div", two_units_off)
    actual = np.asarray(module._corrected(jnp.asarray(x), jnp.asarray(y)))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(actual, x / y)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gpus_program_of_every_dtype(dtype: str) -> None:
    struct = jax.ShapeDtypeStruct((3,), dtype)
    with jax.enable_x64(True):
        text = jax.jit(quotient).trace(struct, struct).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("stablehlo.divide") == {"float16": 1, "float32": 2, "float64": 1}[dtype]
    assert "barrier" not in text
