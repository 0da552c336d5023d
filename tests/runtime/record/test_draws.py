"""The engine makes large draws of MXNet's generators in order, without blocking the caller."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import mixnet as mx
from mixnet.ops.generators import mersenne
from mixnet.ops.generators.mersenne import Generator
from mixnet.runtime.record import keys
from mixnet.runtime.record.host import on_host
from tests.threads import in_threads

LARGE, SMALL = 100_000, 10


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that the engine's draws wait for."""
    free = threading.Event()
    divided = Generator._divided

    def waiting(self: Generator, *arguments: object) -> np.ndarray:
        if threading.current_thread() is not threading.main_thread():
            assert free.wait(60)
        return divided(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Generator, "_divided", waiting)
    yield free
    free.set()
    mx.nd.waitall()


def expected(*counts: int) -> list[np.ndarray]:
    generator = Generator(5)
    return [mersenne.uniform(generator.shared_words(count)) for count in counts]


def uniform(count: int) -> mx.nd.NDArray:
    return mx.nd.random.uniform(shape=(count,))


def is_pending() -> bool:
    return keys._on_host._pushed > keys._on_host._drawn


def test_a_large_draw_does_not_block_and_keeps_the_order_of_draws(gate: threading.Event) -> None:
    mx.random.seed(5)
    drawn = [uniform(count) for count in (SMALL, LARGE, SMALL, LARGE)]
    assert is_pending()
    gate.set()
    for ours, theirs in zip(drawn, expected(SMALL, LARGE, SMALL, LARGE), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs)
    assert not is_pending()


def test_a_seed_does_not_wait(gate: threading.Event) -> None:
    mx.random.seed(5)
    before = uniform(LARGE)
    mx.random.seed(5)
    after = uniform(SMALL)
    gate.set()
    np.testing.assert_array_equal(after.asnumpy(), expected(SMALL)[0])
    np.testing.assert_array_equal(before.asnumpy(), expected(LARGE)[0])


def test_draws_on_the_host_wait_for_pending_draws(gate: threading.Event) -> None:
    mx.random.seed(5)
    first = uniform(LARGE)
    threading.Timer(0.2, gate.set).start()
    with on_host():
        second = uniform(SMALL).asnumpy()
    with keys.preserved():
        third = uniform(SMALL).asnumpy()
    again = uniform(SMALL).asnumpy()
    numbers = expected(LARGE, SMALL, SMALL)
    np.testing.assert_array_equal(first.asnumpy(), numbers[0])
    np.testing.assert_array_equal(second, numbers[1])
    np.testing.assert_array_equal(third, numbers[2])
    np.testing.assert_array_equal(again, numbers[2])


def test_an_interrupted_wait_leaves_the_draws_as_they_are(gate: threading.Event) -> None:
    mx.random.seed(5)
    first = uniform(LARGE)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        threading.Timer(0.6, gate.set).start()
        first.asnumpy()
        threading.Event().wait(60)
    gate.set()
    second = uniform(SMALL)
    numbers = expected(LARGE, SMALL)
    np.testing.assert_array_equal(second.asnumpy(), numbers[1])
    np.testing.assert_array_equal(first.asnumpy(), numbers[0])


def test_threads_share_the_generators() -> None:
    mx.random.seed(5)
    drawn: list[np.ndarray] = []
    in_threads(4, lambda _: drawn.append(uniform(LARGE).asnumpy()))
    numbers = expected(*[LARGE] * 4)
    for part in numbers:
        assert sum(np.array_equal(part, each) for each in drawn) == 1
