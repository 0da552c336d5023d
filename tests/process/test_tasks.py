"""Tasks of asyncio that take turns inside of scopes: each has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import mixnet as mx
from mixnet.context import current_context
from mixnet.process.tasks import read
from mixnet.runtime.value.state import state

pytestmark = pytest.mark.usefixtures("no_running_loop")


def network(i: int) -> Any:
    block = mx.gluon.nn.HybridSequential(prefix=f"net{i}_")
    return block.name_scope()


# a scope for each task, and what is seen in it
SCOPES: dict[str, tuple[Callable[[int], Any], Callable[[], Any], Callable[[int], Any]]] = {
    "context": (lambda i: mx.cpu(i), current_context, lambda i: mx.cpu(i)),
    "np_shape": (lambda i: mx.util.np_shape(i % 2 == 0), mx.is_np_shape, lambda i: i % 2 == 0),
    "np_array": (lambda i: mx.util.np_array(i % 2 == 0), mx.is_np_array, lambda i: i % 2 == 0),
    "attributes": (
        lambda i: mx.AttrScope(group=str(i)),
        lambda: mx.sym.var("x").attr("group"),
        lambda i: str(i),
    ),
    "names": (
        lambda i: mx.name.Prefix(f"part{i}_"),
        lambda: mx.sym.exp(mx.sym.var("x"), name="e").name,
        lambda i: f"part{i}_e",
    ),
    "bulk": (
        lambda i: mx.engine.bulk(i + 1),
        lambda: read(state, "bulk"),
        lambda i: i + 1,
    ),
    "blocks": (network, lambda: mx.gluon.nn.Dense(1, prefix="d_").prefix, lambda i: f"net{i}_d_"),
}


@pytest.mark.parametrize("name", SCOPES)
def test_scopes_of_tasks(name: str) -> None:
    make, see, expected = SCOPES[name]
    outside = see()

    async def one(i: int) -> None:
        for _ in range(2):
            with make(i):
                for _ in range(1 + i % 3):
                    await asyncio.sleep(0)
                    assert see() == expected(i)
                    with make(i + 7):
                        await asyncio.sleep(0)
                        assert str(see()).endswith(str(expected(i + 7)))
                assert see() == expected(i)
            assert see() == outside
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*[one(i) for i in range(5)], idle())

    async def idle() -> None:
        for _ in range(8):
            await asyncio.sleep(0)
            assert see() == outside

    asyncio.run(main())
    assert see() == outside
    with make(3):
        assert see() == expected(3)
        asyncio.run(inside(see, expected(3)))
    assert see() == outside


async def inside(see: Callable[[], Any], expected: Any) -> None:
    await asyncio.sleep(0)
    assert see() == expected


def test_a_setting_of_a_task_persists_after_it() -> None:
    async def main() -> None:
        mx.util.set_np()

    try:
        asyncio.run(main())
        assert mx.is_np_array() and mx.is_np_shape()
    finally:
        mx.util.reset_np()


def test_operations_of_tasks_run_in_groups_of_their_own_size() -> None:
    def handed_over() -> int:
        return mx.runtime.counters()["flushes"].get("bulk size", 0)

    async def one(size: int, begins: asyncio.Event, ends: asyncio.Event) -> int:
        with mx.engine.bulk(size):
            begins.set()
            await ends.wait()  # both are inside
            before, x = handed_over(), mx.nd.ones(3)
            for _ in range(12):
                x = x + 1
            count = handed_over() - before
            assert x.asnumpy()[0] == 13
        return count

    async def main() -> list[int]:
        first, second = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(one(2, first, second), one(100, second, first))

    small, large = asyncio.run(main())
    assert small >= 6 and large == 0
    assert state.bulk == 0


def test_the_size_may_be_set_within_a_task() -> None:
    async def main() -> None:
        with mx.engine.bulk(3):
            assert mx.engine.set_bulk_size(5) == 3
            assert mx.engine.set_bulk_size(3) == 5

    asyncio.run(main())
    assert mx.engine.set_bulk_size(0) == 0
