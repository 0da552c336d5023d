"""Random numbers on a CPU are those of MXNet 1.9.1 from the same seed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.ops.generators import mersenne
from mixnet.ops.generators.mersenne import Generator, Twisters
from tests.ops.generators import programs

RECORDED = json.loads((Path(__file__).parent / "mxnet_numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[list[float]]]:
    return programs.draw(mx)


@pytest.mark.parametrize("name", RECORDED)
def test_programs_draw_what_they_draw_under_mxnet(name: str, drawn: dict[str, list]) -> None:
    assert len(drawn[name]) == len(RECORDED[name])
    for ours, theirs in zip(drawn[name], RECORDED[name], strict=True):
        # Sums of 70,000 numbers, and losses after some steps, round differently.
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


def test_generators_are_those_of_numpy() -> None:
    seeds = np.array([0, 1, 5489, 2**32 - 1] * 20, np.uint32)
    twisters = Twisters(seeds)
    counts = np.array([1500, 3, 0, 700] * 20)
    for _ in range(3):
        words = np.split(twisters.take(counts), np.cumsum(counts)[:-1])
    for seed, part in zip(seeds.tolist(), words, strict=True):
        expected = np.random.RandomState(seed)
        before = expected.randint(0, 2**32, 2 * len(part), np.uint32)
        assert len(before) == 2 * len(part)
        assert part.tolist() == expected.randint(0, 2**32, len(part), np.uint32).tolist()


def test_a_copy_draws_what_the_original_will_draw() -> None:
    generator = Generator(7)
    generator.shared_normal(1000)
    copied = generator.copy()
    for draw in (lambda each: each.shared_words(5000), lambda each: each.normal(9)):
        assert draw(copied).tolist() == draw(generator).tolist()


def test_an_interrupt_comes_after_a_draw_not_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mx.random.seed(5)
    expected = [mx.nd.random.uniform(shape=(700,)).asnumpy() for _ in range(2)][1]
    tempered = mersenne._tempered

    def interrupted(state: np.ndarray) -> np.ndarray:
        monkeypatch.setattr(mersenne, "_tempered", tempered)
        signal.raise_signal(signal.SIGINT)
        return tempered(state)

    mx.random.seed(5)
    monkeypatch.setattr(mersenne, "_tempered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mx.nd.random.uniform(shape=(700,))
    np.testing.assert_array_equal(mx.nd.random.uniform(shape=(700,)).asnumpy(), expected)


def test_whoever_draws_otherwise_does_not_disturb_mxnets_numbers() -> None:
    mx.random.seed(5)
    first = mx.nd.random.gamma(2, 2, shape=(3,)).asnumpy()
    assert mx.nd.random.uniform(shape=(1,)).asnumpy() == np.float32(0.8607373)
    mx.random.seed(5)
    assert mx.nd.random.gamma(2, 2, shape=(3,)).asnumpy().tolist() == first.tolist()
    assert mx.nd.random.gamma(2, 2, shape=(3,)).asnumpy().tolist() != first.tolist()


def test_threefry_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")
    mx.random.seed(5)
    numbers = mx.nd.random.uniform(shape=(1000,)).asnumpy()
    assert numbers[0] != np.float32(0.8607373) and abs(numbers.mean() - 0.5) < 0.05
    monkeypatch.setenv("MIXNET_RANDOM", "dice")
    with pytest.raises(MXNetError, match=r"MIXNET_RANDOM='dice'.*mxnet, threefry"):
        mx.nd.random.uniform(shape=(1,))
