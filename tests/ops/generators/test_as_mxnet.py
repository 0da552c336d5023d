"""Random numbers on a CPU are those of MXNet 1.9.1 from the same seed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.ops.generators import mersenne
from mixnet.ops.generators.mersenne import Generator, Twister, Twisters
from tests.ops.generators import programs

RECORDED = json.loads((Path(__file__).parent / "mxnet_numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[list[float]]]:
    return programs.draw(mx)


@pytest.mark.parametrize("name", RECORDED)
def test_programs_draw_what_they_draw_under_mxnet(name: str, drawn: dict[str, list]) -> None:
    assert len(drawn[name]) == len(RECORDED[name])
    for ours, theirs in zip(drawn[name], RECORDED[name], strict=True):
        # Sums of 70,000 numbers, losses after some steps and dark pixels round differently.
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)


def test_generators_are_those_of_numpy() -> None:
    seeds = np.array([0, 1, 5489, 2**32 - 1] * 20, np.uint32)
    expected = [np.random.RandomState(seed).randint(0, 2**32, 5000, np.uint32) for seed in seeds]
    twisters, one = Twisters(seeds), Twister(5489)
    place = np.zeros(len(seeds), int)
    # In step, some of them, then all from different places.
    for first, end, count in ((0, 80, 1500), (7, 40, 3), (7, 9, 700), (0, 80, 70), (0, 80, 1300)):
        drawn = twisters.take(first, end, count)
        for row, number in zip(drawn, range(first, end), strict=True):
            assert row.tolist() == expected[number][place[number] :][:count].tolist()
        place[first:end] += count
    for count, used in ((9, 4), (624, 600), (30, 30), (624, 1)):
        peeked = twisters.peek(2, 5, count)
        for row, number in zip(peeked, range(2, 5), strict=True):
            assert row.tolist() == expected[number][place[number] :][:count].tolist()
        assert one.peek(0, 1, count).shape == (1, count)
        twisters.skip(2, 5, np.array([used] * 3))
        one.skip(0, 1, np.array([used]))
        place[2:5] += used
    assert one.take(0, 1, 900)[0].tolist() == expected[2][635:1535].tolist()


def test_numbers_do_not_depend_on_the_size_of_a_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = [("shared_normal", 40_000), ("normal", 5000), ("shared_words", 70_001)] * 2
    expected = [
        getattr(generator, name)(count) for generator in [Generator(3)] for name, count in calls
    ]
    for name, size in (("_PAIRS", 300), ("_GROUP", 7), ("_TOGETHER", 900), ("_SLICE", 10**6)):
        monkeypatch.setattr(mersenne, name, size)
    generator = Generator(3)
    for (name, count), numbers in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(getattr(generator, name)(count), numbers)


def test_a_copy_draws_what_the_original_will_draw() -> None:
    generator = Generator(7)
    generator.shared_normal(1000)
    copied = generator.copy()
    for draw in (lambda each: each.shared_words(5000), lambda each: each.normal(9)):
        assert draw(copied).tolist() == draw(generator).tolist()


def test_an_interrupt_waits_for_the_end_of_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_other_generators_do_not_disturb_the_numbers_of_mxnet() -> None:
    def draw() -> list[float]:
        with mx.autograd.record():
            return mx.nd.LeakyReLU(-mx.nd.ones(3), act_type="rrelu").asnumpy().tolist()

    mx.random.seed(5)
    first = draw()
    assert mx.nd.random.uniform(shape=(1,)).asnumpy() == np.float32(0.8607373)
    mx.random.seed(5)
    assert draw() == first
    assert draw() != first


def test_multivariate_normal_numbers_do_not_disturb_mxnets_numbers() -> None:
    mx.random.seed(10)
    mx.np.random.multivariate_normal(mx.np.zeros(2), mx.np.eye(2), 3).asnumpy()
    after = mx.np.random.uniform(size=(2,)).asnumpy()
    np.testing.assert_allclose(after, [0.71817625, 0.03998936], rtol=1e-6)


def test_threefry_is_used_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")
    mx.random.seed(5)
    numbers = mx.nd.random.uniform(shape=(1000,)).asnumpy()
    assert numbers[0] != np.float32(0.8607373) and abs(numbers.mean() - 0.5) < 0.05
    monkeypatch.setenv("MIXNET_RANDOM", "dice")
    with pytest.raises(MXNetError, match=r"MIXNET_RANDOM='dice'.*mxnet, threefry"):
        mx.nd.random.uniform(shape=(1,))


@pytest.mark.parametrize(
    ("size", "expected"), [(5, [1.9583629, 2.9449527]), (70, [4.3212843, 0.83053464])]
)
def test_gamma_numbers_of_numpy(size: int, expected: list[float]) -> None:
    mx.random.seed(5)
    numbers = mx.np.random.gamma(2.5, 1.7, size=(size,)).asnumpy()
    np.testing.assert_allclose(numbers[:2], expected, rtol=1e-6)


def test_parameters_of_a_graph_decide_how_much_is_drawn() -> None:
    # as MXNet 1.9.1: parts of a graph draw in the order of the calls, also where gradients are wanted
    a = mx.sym.Variable("a")
    uniform = mx.sym.random.uniform
    symbol = uniform(shape=(2,)) * mx.sym.random.gamma(a, a) * uniform(shape=(2,))
    executor = symbol.simple_bind(mx.cpu(), a=(2,))
    executor.arg_dict["a"][:] = mx.nd.array([1, 2])
    mx.random.seed(5)
    (trained,) = executor.forward(is_train=True)
    assert trained.asnumpy() == pytest.approx([0.62995, 0.53849], rel=1e-4)
    executor.backward(mx.nd.ones(2))
    assert executor.grad_dict["a"].asnumpy().tolist() == [0, 0]
    assert executor.forward()[0].asnumpy() == pytest.approx([0.033623, 2.2195], rel=1e-4)


def test_drawn_by_parameters_that_need_gradients() -> None:
    alpha = mx.nd.array([1, 2])
    alpha.attach_grad()
    mx.random.seed(5)
    with mx.autograd.record():
        drawn = mx.nd.random.gamma(alpha, alpha)
        result = alpha * drawn
    result.backward()
    assert result.asnumpy() == pytest.approx([0.38355, 2.4391], rel=1e-4)  # as MXNet 1.9.1
    assert alpha.grad.asnumpy().tolist() == drawn.asnumpy().tolist()


def test_hybridized_draws_by_parameters() -> None:
    class Gamma(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, alpha: Any, beta: Any) -> Any:
            return F.random.gamma(alpha, beta, shape=(2,))

    net = Gamma()
    net.hybridize()
    alpha = mx.nd.array([1, 0.5])
    mx.random.seed(7)
    expected = [[1.5605065822601318, 0.22658482193946838], [0.9310311079025269, 0.747296929359436]]
    assert net(alpha, alpha).asnumpy() == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.parametrize(
    "places, count, chosen",
    [
        # From the seeds 1 to 8 under MXNet 1.9.1.
        (9, 3, "142 214 437 576 428 603 436 418"),
        (10, 4, "1429 2140 4378 5764 4285 6034 4369 4187"),
    ],
)
def test_choices_of_less_than_half_of_the_places(places: int, count: int, chosen: str) -> None:
    for seed, expected in enumerate(chosen.split(), 1):
        mx.random.seed(seed)
        choice = mx.np.random.choice(places, size=(count,), replace=False)
        assert "".join(map(str, choice.asnumpy().tolist())) == expected
