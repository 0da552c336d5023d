"""Bytes sent between ranks: closed forms, consistent sums, and the bytes that a job's connections sent."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.distributed import Topology, measure, topology
from mixnet.gluon import nn
from mixnet.widgets import ScalingView


def network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(300, in_units=400), nn.Dense(10, in_units=300))
    net.initialize()
    return net


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16])
def test_traffic_follows_the_closed_forms(n: int) -> None:
    size = 1 << 20
    ring = topology(size, n, in_one=True)
    for i in range(n):
        assert ring.sent(f"worker {i}") == pytest.approx(2 * (n - 1) / n * size, abs=2 * n)
        assert ring.received(f"worker {i}") == pytest.approx(2 * (n - 1) / n * size, abs=2 * n)
    assert ring.steps == 2 * (n - 1) and sum(ring.links().values()) == 2 * (n - 1) * size
    assert len(ring.links()) == (n if n > 1 else 0), "each worker has one neighbour to send to"

    tree = topology(size, n, "tree", in_one=True)
    assert sum(tree.links().values()) == 2 * (n - 1) * size and tree.steps == 2 * int(np.log2(n))
    leaves = [i for i in range(n) if 2 * i + 1 >= n and i]
    assert all(tree.sent(f"worker {i}") == tree.received(f"worker {i}") == size for i in leaves)
    assert tree.sent("worker 0") == min(2, n - 1) * size

    served = topology(4 * 2_000_000, n, "server", 4)
    for i in range(n):
        assert served.sent(f"worker {i}") == served.received(f"worker {i}") == 8_000_000
    for i in range(4):
        assert served.sent(f"server {i}") == served.received(f"server {i}") == n * 8_000_000 / 4
    assert served.steps == 2 and len(served.links()) == 2 * 4 * n


@pytest.mark.parametrize("kind", ["ring", "tree"])
@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
def test_the_transfers_add_up_to_the_sum_in_every_worker(kind: str, n: int) -> None:
    """After all transfers each worker has the sum of all workers' arrays."""
    plan = topology(404, n, kind, in_one=True)
    size = plan.buckets[0][1]
    have = [np.random.default_rng(i).integers(0, 99, size) for i in range(n)]
    total = np.sum(have, axis=0)
    for step in range(plan.steps):
        before = [each.copy() for each in have]  # transfers of a step happen at the same time
        for each in (one for one in plan.transfers if one.step == step):
            source, target = (int(name.split()[1]) for name in (each.source, each.target))
            part = slice(None)
            if kind == "ring":
                chunk = (source - step) % n
                part = slice(size * chunk // n, size * (chunk + 1) // n)
            assert len(before[source][part]) == each.bytes
            if each.does == "add":
                have[target][part] = have[target][part] + before[source][part]
            else:
                have[target][part] = before[source][part]
    for each in have:
        assert (each == total).all()


def test_buckets_are_those_of_the_store() -> None:
    plan = topology(network(), 2)
    # Sorted by name: the bias and weight of the first layer, then of the second. A large array is
    # alone, small ones share a power of two.
    assert plan.buckets == (((1,), 4 * 300 * 400), ((0, 2, 3), 4 * 4096))
    joint = topology(network(), 2, in_one=True)
    assert joint.buckets == (((0, 1, 2, 3), 4 * (300 + 120_000 + 10 + 3000)),)
    many = topology({i: np.zeros((100, 100), np.float32) for i in range(250)}, 2)
    assert [len(keys) for keys, _ in many.buckets] == [104, 104, 42]  # 4 MiB each
    half = {"a": np.zeros(9, np.float16), "b": np.zeros(9, np.float32)}
    assert [keys for keys, _ in topology(half, 2).buckets] == [("a",), ("b",)]


@pytest.mark.usefixtures("forked_jobs")
def test_traffic_of_a_job_equals_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network()
    net.hybridize()
    headers = 2500  # and what keeps the job together
    for in_one in (True, False):
        if not in_one:
            monkeypatch.setenv("MIXNET_JOINT_STEP_AFTER", "0")
        expected = topology(net, 2, in_one=in_one).sent("worker 0")
        for _ in range(3):  # packets that a busy machine sends again are counted, too
            data = mx.nd.ones((2, 400))
            sent = measure(net, data, (2,), steps=3, repeats=1, device_seconds=0.001).steps[0].sent
            if sent is None:
                pytest.skip("this system does not count the bytes of connections")
            if sent < expected + headers:
                break
        assert expected <= sent < expected + headers


def test_topologies_have_texts_and_tables() -> None:
    plan = topology(network(), 3, "server", 2)
    assert plan.nodes == ["worker 0", "worker 1", "worker 2", "server 0", "server 1"]
    assert "worker 0 sends 493 kB: 13.2 kB to server 0, 480 kB to server 1" in repr(plan)
    assert repr(plan).startswith("server, 3 workers, 2 servers, 493 kB of gradients, 2 steps\n")
    assert isinstance(plan, Topology) and repr(topology(9, 1)).endswith("worker 0 sends 0 B")
    assert repr(topology(840, 1)).startswith(
        "ring, 1 worker, 840 B of gradients in 1 bucket of 1.02 kB, 0 steps\n"
    )


def test_errors_name_the_wrong_value() -> None:
    with pytest.raises(
        AttributeValueError, match="kind='star': expected one of ring, tree, server"
    ):
        topology(1000, kind="star")
    with pytest.raises(AttributeValueError, match="workers=0: expected a whole number from 1"):
        topology(1000, 0)
    with pytest.raises(AttributeValueError, match=r"servers=1.5: expected a whole number"):
        topology(1000, 2, "server", 1.5)  # type: ignore[arg-type]
    with pytest.raises(AttributeValueError, match="gradients=0: expected bytes above 0"):
        topology(0)
    with pytest.raises(AttributeTypeError, match="a number of bytes, not str"):
        topology("net")
    with pytest.raises(AttributeValueError, match="there are no gradients"):
        topology({})
    with pytest.raises(AttributeTypeError, match=r"topology: expected .*topology.*not str"):
        ScalingView([], model={"t_compute": 1, "batch": 1}, topology="ring")
