"""2-bit gradients: equal to those of MXNet 1.9.1 to the bit, and laws of the residual."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.kvstore.compression import Half, OneBit, TwoBit, compression

RECORDED = np.load(Path(__file__).parents[1] / "parity" / "fixtures" / "gradient_compression.npz")


@pytest.mark.parametrize("count", [1, 2])
def test_pulled_values_are_those_of_mxnet(count: int) -> None:
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": float(RECORDED["threshold"])})
    store.init("w", mx.nd.zeros(21))
    for gradients, expected in zip(
        RECORDED[f"dev{count}:grads"], RECORDED[f"dev{count}:pulled"], strict=True
    ):
        store.push("w", [mx.nd.array(g, mx.cpu(i)) for i, g in enumerate(gradients)])
        outs = [mx.nd.zeros(21, mx.cpu(i)) for i in range(count)]
        store.pull("w", out=outs)
        for out in outs:
            assert np.array_equal(out.asnumpy(), expected)


@pytest.mark.parametrize("count", [1, 2])
def test_words_values_and_residuals(count: int) -> None:
    method = TwoBit(float(RECORDED["threshold"]))
    for device in range(count):
        residual = jnp.zeros(21, jnp.float32)
        for step in range(6):
            at = step, device
            words, residual = method.encode(RECORDED[f"dev{count}:grads"][at], residual)
            packed = np.asarray(words).view(np.uint8)
            assert np.array_equal(packed, RECORDED[f"dev{count}:packed_bytes_model"][at])
            values = method.decode(words, (21,), jnp.float32)
            assert np.array_equal(values, RECORDED[f"dev{count}:quantized"][at])
            assert np.array_equal(residual, RECORDED[f"dev{count}:residual_after"][at])


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=40), st.sampled_from([0.25, 0.5, 2.0]))
def test_sent_values_and_residuals_add_up_to_the_gradient(numbers: list, threshold: float) -> None:
    gradient = jnp.asarray(numbers, jnp.float32) / 8
    method = TwoBit(threshold)
    words, rest = method.encode(gradient, jnp.zeros_like(gradient))
    sent = method.decode(words, gradient.shape, jnp.float32)
    assert np.array_equal(sent + rest, gradient)
    assert set(np.unique(np.abs(sent))) <= {0, threshold}
    assert words.dtype == jnp.uint32 and words.shape == (-(-len(numbers) // 16),)


def test_one_bit_compression_sends_signs() -> None:
    """NumPy packs bits the same way: the first of eight in the top bit."""
    rng = np.random.RandomState(0)
    method, residual = OneBit(0.25), np.zeros(45, np.float32)
    for _ in range(3):
        gradient = rng.randn(45).astype("float32")
        words, rest = method.encode(gradient, residual)
        total = residual + gradient
        up = total > 0.25
        packed = np.packbits(up)
        assert np.array_equal(np.asarray(words).view(np.uint8)[: len(packed)], packed)
        sent = method.decode(words, (45,), jnp.float32)
        assert np.array_equal(sent, np.where(up, 1, -1))
        residual = np.asarray(rest)
        assert np.array_equal(residual, total - np.where(up, np.float32(1), np.float32(-1)))


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_halves_keep_what_is_cut_off(kind: str) -> None:
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": kind})
    assert isinstance(compression({"type": kind}), Half)
    store.init(0, mx.nd.zeros(1))
    gradient, total = 1.0003, 0.0
    for _ in range(40):
        store.push(0, [mx.nd.full(1, gradient, mx.cpu(i)) for i in range(2)])
        out = mx.nd.zeros(1)
        store.pull(0, out=out)
        total += out.asscalar()
    assert total == pytest.approx(80 * gradient, abs=0.05)


def test_unknown_compressions_are_refused() -> None:
    for parameters, message in (
        ({"type": "3bit"}, "Unknown type for gradient compression 3bit"),
        ({"type": "2bit", "threshold": -1}, "threshold must be greater than 0"),
        ({"threshold": 0.5}, "needs a type"),
    ):
        with pytest.raises(mx.MXNetError, match=message):
            compression(parameters)
    with pytest.raises(mx.MXNetError, match="not supported for this type of kvstore"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})
    store = mx.kv.create("device")
    with pytest.raises(AssertionError, match="unexpected type"):
        store.set_gradient_compression(None)
    store.set_gradient_compression({"type": "2bit"})
    store.init(0, mx.nd.zeros(2, dtype="int32"))
    with pytest.raises(mx.MXNetError, match="takes floating-point gradients"):
        store.push(0, mx.nd.zeros(2, dtype="int32"))
