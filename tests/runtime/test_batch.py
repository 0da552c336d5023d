"""Batches: what backward records at once computes what it would compute one by one."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.runtime.record import batch
from tests.threads import in_threads


def gradients(x: nd.NDArray, w: nd.NDArray) -> list[np.ndarray]:
    with autograd.record():
        y = nd.exp(x * w) * 3 + w
    y.backward()
    return [x.grad.asnumpy(), w.grad.asnumpy()]


def variables(rows: int = 2) -> tuple[nd.NDArray, nd.NDArray]:
    x, w = nd.full((rows, 3), 0.5), nd.full((rows, 3), 0.25)
    x.attach_grad()
    w.attach_grad()
    return x, w


def expected(rows: int = 2) -> list[np.ndarray]:
    x, w = np.full((rows, 3), 0.5, np.float32), np.full((rows, 3), 0.25, np.float32)
    return [3 * w * np.exp(x * w), 3 * x * np.exp(x * w) + 1]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets, for each batch, the number of its results."""
    sizes: list[int] = []
    whole = batch.Batch.record

    def counted(self: batch.Batch, *args: object) -> object:
        results = whole(self, *args)  # type: ignore[arg-type]
        sizes.append(-1 if results is None else len(results))
        return results

    monkeypatch.setattr(batch.Batch, "record", counted)
    return sizes


def check(actual: list[np.ndarray], rows: int = 2) -> None:
    for one, other in zip(actual, expected(rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_steps_at_other_places_of_a_segment_have_the_same_gradients(batches: list[int]) -> None:
    x, w = variables()
    pending = []
    for step in range(4):
        # Shifts the operations of backward to other places of the segment.
        pending += [x + each for each in range(step)]
        check(gradients(x, w))
    assert batches == [2, 2, 2]  # the first backward is recorded one by one, the others as batches
    np.testing.assert_allclose(pending[-1].asnumpy(), np.full((2, 3), 2.5))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_small_segments_end_within_a_backward(size: int, batches: list[int]) -> None:
    rows = 10 + size  # a structure of its own
    x, w = variables(rows)
    check(gradients(x, w), rows)
    with mx.engine.bulk(size):
        check(gradients(x, w), rows)
    assert batches == [-1]
    check(gradients(x, w), rows)
    assert batches == [-1, 2]


def test_threads_share_a_batch() -> None:
    check(gradients(*variables(4)), 4)
    results: list[list[np.ndarray]] = []

    def train(_: int) -> None:
        own = variables(4)
        for each in range(20):
            others = [own[0] + 1 for _ in range(each % 3)]
            results.append(gradients(*own))
            del others

    in_threads(3, train)
    assert len(results) == 60
    for each in results:
        check(each, 4)


def test_numbers_follow_the_step() -> None:
    x, _ = variables()
    for factor in (2.0, 3.0, -4.5):
        with autograd.record():
            y = nd.sin(x * factor) * factor
        y.backward()
        np.testing.assert_allclose(
            x.grad.asnumpy(), np.full((2, 3), np.cos(0.5 * factor) * factor**2), rtol=1e-5
        )
