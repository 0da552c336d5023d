"""Values that are shards of an array over devices: when it is divided, and what references it."""

from __future__ import annotations

import os
import threading
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.private_jax.arrays import parts_of
from mixnet.runtime.devices.shard_value import Shard, Sharded, ShardValue, become_shard
from mixnet.runtime.value.memory import live_bytes
from mixnet.runtime.value.value import Spec, Value
from tests.devices import run_again_on_four_devices
from tests.threads import in_threads

CONTEXTS = [mx.cpu(i) for i in range(4)]
on_several_devices = pytest.mark.skipif(
    os.environ.get("MIXNET_CPU_DEVICES") != "4",
    reason="needs several devices: test_on_four_devices runs it there",
)


def test_on_four_devices() -> None:
    run_again_on_four_devices(__file__)


def sharded(rows: int = 4) -> tuple[Sharded, list[Value], list[int]]:
    """An array over four devices, its shards as values, and a list that counts divisions."""
    mesh = Mesh(np.array(jax.local_devices(backend="cpu")), ("device",))
    data = np.arange(rows * 4 * 3, dtype=np.float32).reshape(rows * 4, 3)
    array = jax.device_put(data, NamedSharding(mesh, PartitionSpec("device")))
    divisions: list[int] = []

    def divide(whole: Any) -> list[Any]:
        divisions.append(1)
        return parts_of(whole)

    whole = Sharded(array, divide)
    values = []
    for place, context in enumerate(CONTEXTS):
        value = Value(Spec.of((rows, 3), np.dtype("float32"), context))
        become_shard(value, Shard(whole, place))
        values.append(value)
    return whole, values, divisions


@on_several_devices
def test_a_shard_becomes_an_array_when_it_is_read() -> None:
    _, values, divisions = sharded()
    assert all(value.is_computed() for value in values) and not divisions
    np.testing.assert_array_equal(values[2].array, np.arange(24, 36).reshape(4, 3))
    assert values[2].array.devices() == {CONTEXTS[2].device}
    assert type(values[2]) is Value and type(values[1]) is ShardValue
    np.testing.assert_array_equal(values[1].array, np.arange(12, 24).reshape(4, 3))
    assert len(divisions) == 1


@on_several_devices
def test_threads_that_read_shards_concurrently_divide_once() -> None:
    for _ in range(20):
        _, values, divisions = sharded()
        barrier, sums = threading.Barrier(4), [0.0] * 4

        def read(
            place: int, values: Any = values, barrier: Any = barrier, sums: Any = sums
        ) -> None:
            barrier.wait(60)
            sums[place] = float(np.asarray(values[place].array).sum())

        in_threads(4, read)
        assert len(divisions) == 1
        assert sums == [float(np.arange(12 * p, 12 * p + 12).sum()) for p in range(4)]


@on_several_devices
def test_an_array_may_be_donated_only_if_it_has_one_owner_and_no_shard_was_read() -> None:
    whole, values, _ = sharded()
    assert whole.is_held_by(4 + 1)
    other = whole
    assert not whole.is_held_by(4 + 1)
    del other
    assert whole.is_held_by(4 + 1)
    assert values[0].array is not None
    assert not whole.is_held_by(4 + 1)


@on_several_devices
def test_an_alias_of_a_shard_keeps_the_array_from_being_donated() -> None:
    whole, values, _ = sharded()
    shard = Shard(whole, 0)
    aliases = [Value(values[0].spec) for _ in range(2)]  # pending values of one result
    for each in aliases:
        become_shard(each, shard)
    del shard
    assert not whole.is_held_by(5 + 1)
    assert whole.is_held_by(6 + 1)


@on_several_devices
@pytest.mark.usefixtures("only_own_arrays")
def test_live_memory_counts_a_divided_array_once() -> None:
    before = live_bytes(CONTEXTS[1])
    whole, values, _ = sharded(rows=1000)
    assert whole.array.is_fully_addressable
    assert live_bytes(CONTEXTS[1]) - before == 12_000
    assert values[1].array is not None
    assert live_bytes(CONTEXTS[1]) - before == 12_000
    assert live_bytes(CONTEXTS[1]) - before == 12_000


@on_several_devices
def test_a_training_step_leaves_weights_and_gradients_undivided() -> None:
    net = gluon.nn.Dense(3, in_units=5)
    net.initialize(ctx=CONTEXTS)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    trainer._prepare()
    trainer._kvstore.handle._steps.after = 1
    parts = [nd.ones((2, 5), ctx) * (i + 1) for i, ctx in enumerate(CONTEXTS)]
    expected = net.weight.data(CONTEXTS[0]).asnumpy()
    for _ in range(4):
        with autograd.record():
            losses = [net(part).sum() for part in parts]
        autograd.backward(losses)
        trainer.step(8)
        expected = expected - 0.5 / 8 * 2 * (1 + 2 + 3 + 4)
    nd.waitall()
    weights = [net.weight.data(ctx) for ctx in CONTEXTS]
    assert all(type(weight._value) is ShardValue for weight in weights)
    for ctx, weight in zip(CONTEXTS, weights, strict=True):
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)
        own = net.weight.grad(ctx).asnumpy()
        np.testing.assert_array_equal(own, 2.0 * (ctx.device_id + 1) * np.ones((3, 5)))
    # The next step also uses the shards that were read.
    with autograd.record():
        losses = [net(part).sum() for part in parts]
    autograd.backward(losses)
    trainer.step(8)
    np.testing.assert_allclose(
        net.weight.data(CONTEXTS[3]).asnumpy(), expected - 0.5 / 8 * 20, rtol=1e-6
    )


@on_several_devices
def test_a_forked_process_reads_shards() -> None:
    _, values, _ = sharded()
    array = nd.NDArray._wrap(values[1])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, array.asnumpy().tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    content = np.frombuffer(os.read(reading, 1000), np.float32)
    np.testing.assert_array_equal(content, np.arange(12, 24))
