"""Tasks of asyncio that take turns inside of autograd's scopes: each has its own."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd

pytestmark = pytest.mark.usefixtures("no_running_loop")


async def learn(number: float, turns: int = 3) -> float:
    x = nd.array([number])
    x.attach_grad()
    for _ in range(turns):
        with autograd.record():
            y = x * x
            await asyncio.sleep(0)
            assert autograd.is_recording() and autograd.is_training()
            z = y * x
            with autograd.pause():
                await asyncio.sleep(0)
                assert not autograd.is_recording()
                assert (y * 2)._value.node is None
            await asyncio.sleep(0)
            z = z + 1
        assert not autograd.is_recording()
        z.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), [3 * number**2], rtol=1e-6)
        await asyncio.sleep(0)
    return number


def test_concurrent_tasks_record_separately() -> None:
    async def main() -> list[float]:
        return await asyncio.gather(*[learn(float(i)) for i in range(1, 6)])

    assert asyncio.run(main()) == [1, 2, 3, 4, 5]
    assert autograd.is_recording() is False and autograd.is_training() is False


def test_a_task_without_a_scope_does_not_record() -> None:
    entered, recording = [], []

    async def records() -> None:
        with autograd.record():
            entered.append(True)
            for _ in range(4):
                await asyncio.sleep(0)

    async def computes() -> None:
        x = nd.ones((100,))
        x.attach_grad()
        for _ in range(3):
            await asyncio.sleep(0)
            y = nd.Dropout(x * 2, p=0.5)
            recording.append(
                (autograd.is_recording(), autograd.is_training(), y._value.node is None)
            )
            assert (y.asnumpy() == 2).all()

    async def main() -> None:
        await asyncio.gather(records(), computes())

    asyncio.run(main())
    assert entered and recording == [(False, False, True)] * 3


def test_each_task_has_its_own_modes() -> None:
    async def one(scope: Any, expected: tuple[bool, bool]) -> None:
        with scope:
            for _ in range(3):
                await asyncio.sleep(0)
                assert (autograd.is_recording(), autograd.is_training()) == expected

    async def main() -> None:
        await asyncio.gather(
            one(autograd.record(), (True, True)),
            one(autograd.predict_mode(), (False, False)),
            one(autograd.train_mode(), (False, True)),
            one(autograd.record(train_mode=False), (True, False)),
            one(autograd.pause(train_mode=True), (False, True)),
        )

    asyncio.run(main())
    assert not autograd.is_recording() and not autograd.is_training()


def test_a_hybridized_network_trains_in_one_task_and_predicts_in_another() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=4), mx.gluon.nn.Dropout(0.5))
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 4))
    expected = net(x).asnumpy()

    async def trains() -> None:
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0})
        for _ in range(3):
            with autograd.record():
                out = net(x)
                await asyncio.sleep(0)
                loss = (out * out).sum()
            await asyncio.sleep(0)
            loss.backward()
            trainer.step(2)

    async def predicts() -> None:
        for _ in range(6):
            np.testing.assert_array_equal(net(x).asnumpy(), expected)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(trains(), predicts())

    asyncio.run(main())


def test_a_scope_around_a_loop_is_for_all_of_its_tasks() -> None:
    async def one() -> bool:
        await asyncio.sleep(0)
        return autograd.is_recording()

    async def main() -> list[bool]:
        return await asyncio.gather(one(), one())

    with autograd.record():
        assert asyncio.run(main()) == [True, True]


@pytest.mark.parametrize("way", ["cancel", "error"])
def test_a_task_that_ends_in_a_scope_leaves_nothing(way: str) -> None:
    async def stuck() -> None:
        with autograd.record():
            if way == "error":
                await asyncio.sleep(0)
                raise ValueError("mine")
            await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(stuck())
        await asyncio.sleep(0)
        if way == "cancel":
            task.cancel()
        with pytest.raises((asyncio.CancelledError, ValueError)):
            await task
        assert not autograd.is_recording()

    asyncio.run(main())
    assert autograd.is_recording() is False


def test_setters_in_tasks_return_the_previous_mode() -> None:
    async def main() -> None:
        with autograd.record():
            assert autograd.set_training(False) is True
            assert autograd.is_training() is False
        assert autograd.set_recording(True) is False
        assert autograd.is_recording() is True

    asyncio.run(main())
    assert autograd.set_recording(False) is True
