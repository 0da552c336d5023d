"""PowerSGD against NumPy, and laws of the residual."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet.kvstore.compression import compression
from mixnet.kvstore.power_sgd import PowerSGD
from mixnet.ops.schema.over_devices import AXIS

RNG = np.random.RandomState(0)


def exchanged(method: PowerSGD, *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of all workers; the first axis is that of the workers."""
    return [np.asarray(each) for each in together(method)(*map(jnp.asarray, arrays))]


@lru_cache
def together(method: PowerSGD) -> Callable[..., Any]:
    return jax.jit(jax.vmap(lambda *each: method(each), axis_name=AXIS))


def in_numpy(gradients: np.ndarray, residuals: np.ndarray, q: np.ndarray) -> list[np.ndarray]:
    """The paper's algorithm for matrices, workers one after another, in double precision."""
    totals = (gradients + residuals).astype(np.float64)
    p = np.linalg.qr(sum(total @ q for total in totals))[0]
    contributions = [total.T @ p for total in totals]
    q = sum(contributions)
    rests = [total - p @ own.T for total, own in zip(totals, contributions, strict=True)]
    return [p @ q.T, np.stack(rests), q / np.linalg.norm(q, axis=0)]


def test_steps_are_those_of_numpy() -> None:
    method, workers = PowerSGD(3), 2
    residuals = np.zeros((workers, 20, 12), np.float32)
    q = np.tile(RNG.randn(12, 3).astype(np.float32), (workers, 1, 1))
    for _ in range(3):
        gradients = RNG.randn(workers, 20, 12).astype(np.float32)
        expected = in_numpy(gradients, residuals, q[0])
        total, rests, following = exchanged(method, gradients, residuals, q)
        for worker in range(workers):  # all of them have the same sum and the same Q
            np.testing.assert_allclose(total[worker], expected[0], atol=2e-5)
            np.testing.assert_allclose(following[worker], expected[2], atol=2e-5)
        np.testing.assert_allclose(rests, expected[1], atol=2e-5)
        np.testing.assert_allclose(
            total[0] + rests.sum(0), (gradients + residuals).sum(0), atol=2e-5
        )
        residuals, q = rests, following


def test_a_gradient_of_low_rank_is_sent_exactly() -> None:
    gradients = np.einsum("nr,wrm->wnm", RNG.randn(16, 2), RNG.randn(3, 2, 10)).astype(np.float32)
    zeros = np.zeros_like(gradients), np.zeros((3, 10, 2), np.float32)
    total, rests, _ = exchanged(PowerSGD(2), gradients, *zeros)
    np.testing.assert_allclose(total[0], gradients.sum(0), atol=1e-4)
    assert abs(rests).max() < 1e-4


def test_the_sent_gradient_approaches_the_best_of_its_rank() -> None:
    """A power iteration that goes on from step to step: the error is that of the singular values
    that are left out.
    """
    matrix = RNG.randn(1, 30, 20).astype(np.float32)
    best = np.sqrt((np.linalg.svd(matrix[0].astype(np.float64))[1][4:] ** 2).sum())
    nothing, q = np.zeros_like(matrix), np.zeros((1, 20, 4), np.float32)
    errors = []
    for _ in range(40):
        total, _, q = exchanged(PowerSGD(4), matrix, nothing, q)
        errors.append(np.linalg.norm(total[0] - matrix[0]))
    assert best * 0.999 < errors[-1] < 1.02 * best < errors[0]


def test_gradients_of_zero_leave_zero() -> None:
    zeros = partial(np.zeros, dtype=np.float32)
    for each in exchanged(PowerSGD(2), zeros((2, 9, 9)), zeros((2, 9, 9)), zeros((2, 9, 2))):
        assert not each.any()  # and is no NaN


def test_a_store_sends_matrices_and_sums_the_rest() -> None:
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "powersgd", "rank": 1})
    store.init(["w", "b"], [mx.nd.zeros((6, 3, 2)), mx.nd.zeros(5)])
    sent = np.zeros((6, 3, 2))
    for _ in range(30):
        pieces = [mx.nd.array(np.arange(36).reshape(6, 3, 2) % 7, mx.cpu(i)) for i in range(2)]
        store.push(["w", "b"], [pieces, [mx.nd.full(5, 0.3, mx.cpu(i)) for i in range(2)]])
        w, b = mx.nd.zeros((6, 3, 2)), mx.nd.zeros(5)
        store.pull(["w", "b"], out=[w, b])
        assert np.allclose(b.asnumpy(), 0.6), "one axis is not compressed"
        sent += w.asnumpy()
    assert np.linalg.matrix_rank(w.asnumpy().reshape(6, 6), tol=1e-3) == 1
    rests = sum(mx.nd.NDArray._wrap(each).asnumpy() for each in store.handle._residuals["w"][0])
    expected = 30 * 2 * (np.arange(36).reshape(6, 3, 2) % 7)
    np.testing.assert_allclose(sent + rests, expected, atol=1e-2)  # what is not sent waits
    assert np.linalg.norm(rests) < 0.2 * np.linalg.norm(expected)


def test_half_precision_gradients_are_compressed() -> None:
    gradients = RNG.randn(2, 12, 8).astype(np.float16)
    zeros = np.zeros_like(gradients), np.zeros((2, 8, 2), np.float16)
    total, rests, q = exchanged(PowerSGD(2), gradients, *zeros)
    assert total.dtype == rests.dtype == q.dtype == np.float16
    np.testing.assert_allclose(total[0] + rests.sum(0), gradients.sum(0), atol=0.02)


def test_only_large_matrices_are_compressed() -> None:
    method = compression({"type": "powersgd", "rank": 2})
    assert isinstance(method, PowerSGD)
    assert method.state_shapes((100, 50)) == ((100, 50), (50, 2))
    assert method.state_shapes((8, 3, 5, 5)) == ((8, 3, 5, 5), (75, 2))
    assert (
        method.state_shapes((4, 4))
        is method.state_shapes((100,))
        is method.state_shapes(())
        is None
    )


@pytest.mark.parametrize("rank", [0, -1, 1.5, True, "many", None])
def test_ranks_that_are_refused(rank: object) -> None:
    with pytest.raises(mx.MXNetError, match=r"rank=.*a whole number of columns from 1"):
        compression({"type": "powersgd", "rank": rank})
