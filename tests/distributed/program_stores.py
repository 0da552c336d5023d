"""Stores of two processes; every process of ``test_stores.py`` runs this program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import AttributeValueError
from mixnet.distributed.clocks import Offset, offsets
from mixnet.distributed.processes import world
from mixnet.engine.timeline import now

before = nd.ones(3) + 1  # arrays may be made, and computed, before the job is joined
store = mx.kv.create("dist_sync")
rank, count = store.rank, store.num_workers
assert count == 2 and before.asnumpy().tolist() == [2, 2, 2]
FOLDER = Path(sys.argv[1])


def pulled(store: mx.kv.KVStore, key: object, like: nd.NDArray) -> list:
    out = nd.zeros(like.shape, dtype=like.dtype)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


def values(kind: str) -> None:
    store = mx.kv.create(kind)
    assert store.type == kind and (store.rank, store.num_workers) == (rank, 2)
    store.init("a", nd.full((2, 3), rank + 5))  # rank 0's value wins
    assert pulled(store, "a", nd.ones((2, 3))) == [[5] * 3] * 2
    store.push("a", nd.full((2, 3), rank + 1))
    assert pulled(store, "a", nd.ones((2, 3))) == [[3] * 3] * 2  # without an updater: the sum
    store.push("a", [nd.full((2, 3), rank + 1, mx.cpu(i)) for i in range(2)], priority=-3)
    assert pulled(store, "a", nd.ones((2, 3))) == [[6] * 3] * 2  # devices first, then processes
    keys = ["x", "y", "z"]
    shapes = [(), (70_001,), (300, 400)]
    with mx.np_shape():
        arrays = [mx.np.full(shape, rank + i) for i, shape in enumerate(shapes)]
        store.broadcast(keys, arrays, out=[mx.np.zeros(shape) for shape in shapes])
        store.pushpull(keys, arrays)
        for i, array in enumerate(arrays):
            assert (array.asnumpy() == 2 * i + 1).all(), (kind, i)
    integers = mx.kv.create(kind)
    integers.init([3, 5], [nd.zeros(4)] * 2)
    integers.push([3, 5], [nd.ones(4), nd.full(4, 2)])
    assert pulled(integers, 5, nd.ones(4)) == [4] * 4
    for dtype in ("float16", "bfloat16", "float64", "int32", "uint8"):
        value = nd.full(5, 3 - rank, dtype=dtype)
        store.init(f"of {dtype}", value)
        assert pulled(store, f"of {dtype}", value) == [3] * 5
        store.pushpull(f"of {dtype}", value)
        assert value.asnumpy().tolist() == [5] * 5 and str(value._spec.dtype) == dtype
    store.init("special", nd.array([-0.0, float("nan"), float("inf")]) * (1 - rank))
    out = nd.zeros(3)
    store.pull("special", out=out)
    assert (
        np.signbit(out.asnumpy()[0]) and np.isnan(out.asnumpy()[1]) and np.isinf(out.asnumpy()[2])
    )
    store._barrier()
    assert store.get_num_dead_node(4) == 0


def rows(kind: str) -> None:
    store = mx.kv.create(kind)
    first = nd.arange(8).reshape((4, 2)) * (rank + 1)
    store.init("r", first.tostype("row_sparse"))
    out = nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("r", out=out, row_ids=nd.array([1, 3, 1]))
    assert out.indices.asnumpy().tolist() == [1, 3] and out.asnumpy()[3].tolist() == [6, 7]
    numbers = [0, 2] if rank == 0 else [2]
    gradient = nd.sparse.row_sparse_array((nd.ones((len(numbers), 2)), numbers), shape=(4, 2))
    store.push("r", gradient)
    store.row_sparse_pull("r", out=out, row_ids=nd.arange(4))
    assert out.asnumpy()[:, 0].tolist() == [1, 0, 2, 0]
    store.init("d", nd.ones((4, 2)))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.push("d", gradient)
    assert [row[0] for row in pulled(store, "d", nd.ones((4, 2)))] == [0.5, 1, 0, 1]


def optimizers(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init("w", nd.full(3, rank + 1))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9))
    path = str(FOLDER / f"states {kind} {rank}")
    store.push("w", nd.full(3, rank + 1))
    store.save_optimizer_states(path)
    assert np.allclose(pulled(store, "w", nd.ones(3)), 0.7)
    store.push("w", nd.full(3, rank + 1))
    after = pulled(store, "w", nd.ones(3))
    assert np.allclose(after, 0.7 - 0.3 - 0.27)
    store.load_optimizer_states(path)
    store.push("w", nd.zeros(3))
    assert np.allclose(pulled(store, "w", nd.ones(3)), np.array(after) - 0.27)
    own = mx.kv.create(kind)
    own.init(0, nd.zeros(2))
    own.set_updater(lambda key, pushed, stored: stored.__iadd__(pushed * 2))
    own.push(0, nd.ones(2))
    assert pulled(own, 0, nd.ones(2)) == [4, 4]


def optimizer_of_one_worker(kind: str) -> None:
    """As in programs for MXNet, whose servers need it from one worker."""
    for has_barrier in (False, True):
        store = mx.kv.create(kind)
        sgd = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9)
        if rank == 1 and not has_barrier:
            store.set_optimizer(sgd)
        store.init("w", nd.ones(3))
        if rank == 1 and has_barrier:
            store.set_optimizer(sgd)
        if has_barrier:
            store._barrier()
        for _ in range(2):
            store.push("w", nd.full(3, rank + 1))
        assert np.allclose(pulled(store, "w", nd.ones(3)), 1 - 0.3 - 0.57), has_barrier


def compressed(kind: str) -> None:
    rng = np.random.RandomState(7)
    for parameters in (
        {"type": "2bit", "threshold": 0.5},
        {"type": "1bit", "threshold": 0.0},
        {"type": "fp16"},
        {"type": "powersgd", "rank": 2},
    ):
        store, local = mx.kv.create(kind), mx.kv.create("device")
        for each in (store, local):
            each.set_gradient_compression(parameters)
            each.init(["p", "q"], [nd.zeros((5, 7)), nd.zeros(33)])
        for _ in range(3):
            data = [rng.randn(2, *shape).astype("float32") for shape in ((5, 7), (33,))]
            store.push(["p", "q"], [nd.array(each[rank]) for each in data])
            # The same two gradients on two devices of one process: the words are the same.
            local.push(
                ["p", "q"], [[nd.array(each[i], ctx=mx.cpu(i)) for i in range(2)] for each in data]
            )
            for key, like in (("p", nd.ones((5, 7))), ("q", nd.ones(33))):
                result, expected = pulled(store, key, like), pulled(local, key, like)
                if parameters["type"] == "powersgd":  # products of matrices: rounded otherwise
                    assert np.allclose(result, expected, atol=1e-4), (key, result, expected)
                else:
                    assert result == expected, parameters


def profiles() -> None:
    """One trace of both processes, although the clock of the second is five seconds ahead."""
    ahead = [0, 5_000_000_000][rank]
    measured = offsets(world(), clock=lambda: now() + ahead)
    assert measured[0] == Offset(0, 0)
    assert abs(measured[1].nanoseconds - 5_000_000_000) <= measured[1].within < 1_000_000_000, (
        measured
    )

    store, path = mx.kv.create("dist_sync"), FOLDER / "job.json"
    store.init("profiled", nd.zeros(3))
    mx.profiler.set_config(
        profile_memory=False, profile_imperative=False, filename=str(FOLDER / f"{rank}.json")
    )
    mx.profiler.set_state("run")
    marked = mx.profiler.Domain("work").new_task(f"task of {rank}")
    marked.start()
    store.push("profiled", nd.ones(3))
    assert pulled(store, "profiled", nd.ones(3)) == [count] * 3
    marked.stop()
    clocks = mx.profiler.dump_all(store, str(path))
    assert clocks[0] == Offset(0, 0) and abs(clocks[1].nanoseconds) <= clocks[1].within + 1_000_000
    store._barrier()
    events = json.loads(path.read_text())["traceEvents"]
    rows = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [text.split(" on ")[0] for _, text in sorted(rows.items())] == [
        "rank 0",
        "rank 0",
        "rank 1",
        "rank 1",
    ]
    sums = {rows[e["pid"]][:6]: e for e in events if e["name"] == "all-reduce" and e["ph"] == "X"}
    assert set(sums) == {"rank 0", "rank 1"}, sums
    # None of them ends before the other has begun.
    one, other = sums["rank 0"], sums["rank 1"]
    slack = clocks[1].within / 1000
    assert (
        one["ts"] <= other["ts"] + other["dur"] + slack
        and other["ts"] <= one["ts"] + one["dur"] + slack
    )
    assert len({e["id"] for e in events if e["name"].startswith("task of")}) == 2


def network() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(8, activation="relu", in_units=6), gluon.nn.Dense(3, in_units=8))
    return net


def trained(contexts: list, kvstore: object, batches: list, size: int, **options: object) -> dict:
    """Parameters after some steps; each batch has a part for each context."""
    mx.random.seed(5)  # the first forward comes before the first step, which shares the values
    net = network()
    net.initialize(mx.init.Xavier(), ctx=contexts)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9},
        kvstore=kvstore,
        **options,
    )
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for parts in batches:
        with autograd.record():
            losses = [loss(net(x), y) for x, y in parts]
        autograd.backward(losses)
        trainer.step(size)
    return {name: each.data(contexts[0]).asnumpy() for name, each in net.collect_params().items()}


def training() -> None:
    rng = np.random.RandomState(3)
    data = [(rng.randn(8, 6).astype("float32"), rng.randint(0, 3, 8)) for _ in range(4)]

    def part(x: np.ndarray, y: np.ndarray, i: int, context: mx.Context) -> tuple:
        half = slice(4 * i, 4 * i + 4)
        return nd.array(x[half], ctx=context), nd.array(y[half], ctx=context)

    mine = [[part(x, y, rank, mx.cpu())] for x, y in data]
    contexts = [mx.cpu(0), mx.cpu(1)]
    both = [[part(x, y, i, context) for i, context in enumerate(contexts)] for x, y in data]
    alone = trained(contexts, "device", both, 8)
    for kvstore, options in (
        ("dist_sync", {}),
        ("dist_device_sync", {"update_on_kvstore": False}),
        ("horovod", {}),
    ):
        values = trained([mx.cpu()], kvstore, mine, 8, **options)
        assert len(values) == 4
        for name, value in values.items():  # two workers are two devices, to the bit
            assert np.array_equal(value, alone[name]), (kvstore, name)


def statistics_of_all() -> None:
    """SyncBatchNorm over two workers is BatchNorm of the whole batch, forward and backward."""
    rng = np.random.RandomState(9)
    x, head = rng.randn(2, 6, 3, 4).astype("float32"), rng.randn(2, 6, 3, 4).astype("float32")
    for hybridize in (False, True):
        layer = gluon.contrib.nn.SyncBatchNorm(in_channels=3, num_devices=1)
        layer.initialize()
        if hybridize:
            layer.hybridize()
        own = nd.array(x[rank])
        own.attach_grad()
        with autograd.record():
            out = layer(own)
        out.backward(nd.array(head[rank]))
        samples = x.reshape(12, 3, 4).astype("float64")
        weights = head.reshape(12, 3, 4).astype("float64")
        mean, var = samples.mean((0, 2), keepdims=True), samples.var((0, 2), keepdims=True)
        normal = (samples - mean) / np.sqrt(var + 1e-5)
        assert np.allclose(out.asnumpy(), normal.reshape(x.shape)[rank], atol=1e-5), hybridize
        gradient = weights - weights.mean((0, 2), keepdims=True)
        gradient -= normal * (weights * normal).mean((0, 2), keepdims=True)
        gradient /= np.sqrt(var + 1e-5)
        assert np.allclose(own.grad.asnumpy(), gradient.reshape(x.shape)[rank], atol=1e-5)
        assert np.allclose(layer.running_mean.data().asnumpy(), 0.1 * mean.ravel(), atol=1e-6)


def joint_steps(is_direct: bool) -> None:
    """Steps as one program, or as one message between two, give what one process computes."""
    job, direct = world(), world()._direct
    job._direct = direct if is_direct else None
    rng = np.random.RandomState(4)
    data = [(rng.randn(4, 6).astype("float32"), rng.randint(0, 3, 4)) for _ in range(6)]
    for optimizer in ("sgd", "adam"):
        net = network()
        mx.random.seed(2)
        net.initialize(mx.init.Xavier())
        own = mx.kv.create("dist_sync")
        own.handle._steps.after = 2
        trainer = gluon.Trainer(net.collect_params(), optimizer, kvstore=own)
        loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
        before = mx.runtime.counters()["flushes"].get("step over devices", 0)
        for x, y in data:
            half = slice(2 * rank, 2 * rank + 2)
            with autograd.record():
                loss = loss_of(net(nd.array(x[half])), nd.array(y[half]))
            loss.backward()
            trainer.step(4)
        values = [each.data().asnumpy() for each in net.collect_params().values()]
        programs = mx.runtime.counters()["flushes"].get("step over devices", 0) - before
        assert programs == (0 if is_direct else 4)
        whole = network()
        mx.random.seed(2)
        whole.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(whole.collect_params(), optimizer)
        for x, y in data:
            with autograd.record():
                loss = loss_of(whole(nd.array(x)), nd.array(y))
            loss.backward()
            trainer.step(4)
        for value, each in zip(values, whole.collect_params().values(), strict=True):
            assert np.allclose(value, each.data().asnumpy(), rtol=1e-5, atol=1e-6), optimizer
            # Both ranks have the same bits.
            assert (store.handle.world.gather(value) == value).all()
    job._direct = direct


def exchanges_of_all_lengths() -> None:
    """Short and long messages in the same random order; the ranks wait for different ones."""
    alike, own = np.random.RandomState(5), np.random.RandomState(rank)
    sizes = (1, 16, 4000, 1 << 14, 70_000, 300_000, 1_200_000)
    store = mx.kv.create("dist_sync")
    store.init(list(range(len(sizes))), [nd.zeros(size) for size in sizes])
    values = [nd.full(size, rank + 1.0) for size in sizes]
    outs = [nd.zeros(size) for size in sizes]
    for _ in range(150):
        keys = alike.choice(len(sizes), alike.randint(1, 4), replace=False).tolist()
        pushed = [values[i] if alike.rand() < 0.7 else values[i] * 1 for i in keys]
        store.push(keys, pushed)
        store.pull(keys, out=[outs[i] for i in keys])
        for i in keys if own.rand() < 0.5 else ():
            assert (outs[i].asnumpy() == 3).all()
    nd.waitall()
    assert all((each.asnumpy() == 3).all() for each in outs)


def modules() -> None:
    rng = np.random.RandomState(1)
    x, y = rng.randn(16, 6).astype("float32"), rng.randint(0, 3, 16).astype("float32")
    data = mx.sym.Variable("data")
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax")
    weights = {"fc_weight": nd.array(rng.randn(3, 6)), "fc_bias": nd.zeros(3)}

    def fitted(kvstore: object, x: np.ndarray, y: np.ndarray, batch: int) -> np.ndarray:
        module = mx.mod.Module(out)
        module.fit(
            mx.io.NDArrayIter(x, y, batch),
            num_epoch=2,
            kvstore=kvstore,
            optimizer_params={"learning_rate": 0.5},
            arg_params={k: v.copy() for k, v in weights.items()},
        )
        return module.get_params()[0]["fc_weight"].asnumpy()

    # Batches of both: the first half of one is rank 0's.
    order = np.arange(16).reshape(-1, 2, 4)
    mine = order[:, rank].ravel()
    weight = fitted("dist_sync", x[mine], y[mine], 4)
    assert np.allclose(weight, fitted("local", x, y, 8), atol=1e-6)
    if rank == 0:
        np.save(FOLDER / "module.npy", weight)
    store._barrier()
    assert np.array_equal(np.load(FOLDER / "module.npy"), weight)
    model = mx.model.FeedForward(
        out,
        num_epoch=2,
        numpy_batch_size=4,
        learning_rate=0.5,
        arg_params=weights,
        allow_extra_params=True,
    )
    model.fit(mx.io.NDArrayIter(x[mine], y[mine], 4), kvstore="dist_sync")
    assert np.allclose(model.arg_params["fc_weight"].asnumpy(), weight, atol=1e-6)


def variance_reduced() -> None:
    """SVRG over two workers takes the steps of one process with both batches in one."""
    rng = np.random.RandomState(2)
    x, y = rng.randn(16, 6).astype("float32"), rng.randn(16).astype("float32")
    out = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    out = mx.sym.LinearRegressionOutput(out, mx.sym.Variable("label"), name="out")

    def fitted(kvstore: str, x: np.ndarray, y: np.ndarray, batch: int) -> np.ndarray:
        module = mx.contrib.svrg_optimization.svrg_module.SVRGModule(
            out, label_names=["label"], update_freq=2
        )
        module.fit(
            mx.io.NDArrayIter(x, y, batch, label_name="label"),
            num_epoch=3,
            kvstore=kvstore,
            eval_metric="mse",
            optimizer_params={"learning_rate": 0.1},
            arg_params={"fc_weight": nd.ones((1, 6)), "fc_bias": nd.zeros(1)},
        )
        return module.get_params()[0]["fc_weight"].asnumpy()

    mine = np.arange(16).reshape(-1, 2, 4)[:, rank].ravel()
    assert np.allclose(
        fitted("dist_sync", x[mine], y[mine], 4), fitted("local", x, y, 8), atol=1e-5
    )


def byteps() -> None:
    store = mx.kv.create("byteps")
    assert (store.type, store.rank, store.num_workers) == ("byteps", rank, 2)
    value, out = nd.full(3, rank + 1), nd.zeros(3)
    store.broadcast("w", value, out=out)
    assert out.asnumpy().tolist() == [1] * 3
    store.pushpull("w", value)
    assert value.asnumpy().tolist() == [3] * 3
    assert not store.is_capable("optimizer")


def batch_sizes() -> None:
    """As in MXNet, the divisor of gradients is fixed when the store is ready, which reading rows causes."""
    data = nd.sparse.csr_matrix(np.eye(4, 6, dtype="float32"))

    def step(size: int, **options: object) -> None:
        weight = gluon.Parameter(
            "w", shape=(6, 2), stype="row_sparse", grad_stype="row_sparse", init="ones"
        )
        weight.initialize()
        settings = {"learning_rate": 0.5, **options}
        trainer = gluon.Trainer([weight], "sgd", settings, kvstore="dist_sync")
        with autograd.record():
            total = nd.sparse.dot(data, weight.row_sparse_data(data.indices)).sum()
        total.backward()
        trainer.step(size)
        rows = weight.row_sparse_data(nd.arange(6)).tostype("default").asnumpy()[:, 0]
        assert rows.tolist() == [1 - 0.5 * 2 / 8] * 4 + [1] * 2

    step(1, rescale_grad=1 / 8)
    with pytest.raises(
        UserWarning, match=r"It is 1, and this step would have 0.125: .*call step\(1\)"
    ):
        step(8)


def horovod() -> None:
    import mixnet.horovod as hvd

    hvd.init()
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (rank, 2, rank, 2)
    value = nd.full(3, rank + 1)
    assert hvd.allreduce(value).asnumpy().tolist() == [1.5] * 3
    assert (
        hvd.allreduce_(value, average=False).asnumpy().tolist()
        == [3] * 3
        == value.asnumpy().tolist()
    )
    assert hvd.broadcast(nd.full(2, rank), root_rank=1).asnumpy().tolist() == [1, 1]
    joined = hvd.allgather(nd.full((rank + 1, 2), rank))
    assert joined.asnumpy()[:, 0].tolist() == [0, 1, 1]
    assert hvd.alltoall(nd.arange(4) + 10 * rank).asnumpy().tolist() == (
        [0, 1, 10, 11] if rank == 0 else [2, 3, 12, 13]
    )
    got, lengths = hvd.alltoall(nd.arange(3) + 10 * rank, splits=[1, 2] if rank == 0 else [3, 0])
    assert got.asnumpy().tolist() == ([0, 10, 11, 12] if rank == 0 else [1, 2])
    assert lengths.asnumpy().tolist() == ([1, 3] if rank == 0 else [2, 0])
    pair = hvd.grouped_allreduce(
        [nd.ones(2), nd.ones(3)], name="pair", prescale_factor=2, postscale_factor=3
    )
    assert [each.asnumpy().tolist() for each in pair] == [[6] * 2, [6] * 3]
    assert (hvd.cross_size(), hvd.cross_rank()) == (1, 0) and hvd.gloo_built()
    assert not hvd.mpi_enabled()
    result = hvd.broadcast_object({"epoch": 3 + rank, "names": ("a", "b")}, root_rank=1)
    assert result == {"epoch": 4, "names": ("a", "b")}
    assert hvd.allgather_object(["x"] * (rank + 1)) == [["x"], ["x", "x"]]
    with pytest.raises(AttributeValueError, match="root_rank=2: ranks go from 0 to 1"):
        hvd.broadcast_object(None, root_rank=2)
    path = FOLDER / "timeline.json"
    hvd.start_timeline(str(path))
    hvd.allreduce(value).wait_to_read()
    hvd.stop_timeline()
    if rank == 0:
        names = {each.get("name") for each in json.loads(path.read_text())["traceEvents"]}
        assert "all-reduce" in names, names
    x, y = nd.ones((4, 6)) * (rank + 1), nd.array([rank] * 4)

    def stepped(make: object) -> list:
        mx.random.seed(rank)
        net = network()
        net.initialize(mx.init.Xavier())
        hvd.broadcast_parameters(net.collect_params(), root_rank=1)
        step = make(net)
        for _ in range(2):
            with autograd.record():
                loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
            loss.backward()
            step(4)
        return [each.data().asnumpy() for each in net.collect_params().values()]

    def by_trainer(net: object) -> object:
        return hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.5}).step

    def by_optimizer(net: object) -> object:
        optimizer = hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=0.5))
        return gluon.Trainer(net.collect_params(), optimizer, kvstore=None).step

    def by_both(net: object) -> object:
        optimizer = hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=0.5), 4.0)
        with pytest.warns(UserWarning, match="sums gradients itself"):
            return hvd.DistributedTrainer(net.collect_params(), optimizer).step

    def by_halves(net: object) -> object:
        options = {"compression": hvd.Compression.fp16, "gradient_predivide_factor": 2.0}
        optimizer = mx.optimizer.SGD(learning_rate=0.5)
        return hvd.DistributedTrainer(net.collect_params(), optimizer, prefix="x", **options).step

    first, second = stepped(by_trainer), stepped(by_optimizer)
    for other, tolerance in ((by_both, 1e-6), (by_halves, 1e-3)):
        for a, b in zip(first, stepped(other), strict=True):
            assert np.allclose(a, b, atol=tolerance), other
    for a, b in zip(first, second, strict=True):
        # hvd's optimizer divides in rescale_grad, where a Trainer puts its own.
        assert np.array_equal(hvd.broadcast(nd.array(a), 0).asnumpy(), a)
        assert np.isfinite(b).all() and np.array_equal(hvd.broadcast(nd.array(b), 1).asnumpy(), b)


def nothing_waits() -> None:
    """A push returns, although the other process pushes only later."""
    store = mx.kv.create("dist_sync")
    store.init("later", nd.zeros(2))
    flag = FOLDER / "pushed"
    value, out = nd.full(2, rank + 1), nd.zeros(2)
    if rank == 1:
        while not flag.exists():
            pass
    store.push("later", value)
    store.pull("later", out=out)
    if rank == 0:
        assert out.to_dict()["state"] == "pending"
        flag.touch()
    assert out.asnumpy().tolist() == [3, 3]
    # Rows, too: their number is known when they are read.
    store.init("rows", nd.zeros((4, 2)).tostype("row_sparse"))
    flag = FOLDER / "rows pushed"
    if rank == 1:
        while not flag.exists():
            pass
    for _ in range(2):
        store.push("rows", nd.sparse.row_sparse_array((nd.ones((1, 2)), [rank]), shape=(4, 2)))
    flag.touch()
    out = nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("rows", out=out, row_ids=nd.arange(4))
    assert out.asnumpy()[:, 0].tolist() == [1, 1, 0, 0]


def ends_at_once() -> None:
    """A push needs a task only if the sum has not arrived when it begins."""
    store = mx.kv.create("dist_sync")
    store.init("at once", nd.zeros(2))
    value, out = nd.full(2, rank + 1), nd.zeros(2)
    nd.waitall()
    for turn in range(4):  # from the third on, all workers are known to do the same
        flag = FOLDER / f"pushed {turn}"
        while rank == 1 and not flag.exists():
            pass
        tasks = world().wire.pushed
        store.push("at once", value)
        flag.touch()
        store.pull("at once", out=out)
        assert out.asnumpy().tolist() == [3, 3]
        assert world().wire.pushed - tasks == (1 if rank == 0 or turn < 2 else 0), turn
        nd.waitall()


def order() -> None:
    """Keys of one call may be in any order, in pulls too."""
    store = mx.kv.create("dist_sync")
    keys = ["p", "q", "r"]
    store.init(keys, [nd.zeros(3), nd.zeros(3), nd.zeros((300, 300))])
    mine = keys if rank == 0 else keys[::-1]
    for step in range(3):
        values = {"p": nd.full(3, step), "q": nd.full(3, 10), "r": nd.full((300, 300), 100)}
        store.push(mine, [values[key] for key in mine])
    outs = {key: nd.zeros(values[key].shape) for key in mine}
    for key in mine:
        store.pull(key, out=outs[key])
    assert [outs[key].asnumpy().ravel()[0] for key in keys] == [4, 20, 200]


def naive() -> None:
    with mx.engine.using("NaiveEngine"):
        store = mx.kv.create("dist")
        store.init(1, nd.full(2, rank))
        store.push(1, nd.full(2, rank + 1))
        assert pulled(store, 1, nd.ones(2)) == [3, 3]


def errors() -> None:
    store = mx.kv.create("dist_sync")
    store.init("k", nd.ones(3))
    for bad, text in (
        (lambda: store.push("no", nd.ones(3)), "key no doesn't exist"),
        (lambda: store.push("k", nd.ones(4)), "has shape"),
        (lambda: store.pushpull("k", nd.ones(4)), "has shape"),
        (lambda: store.init("k", nd.ones(3)), "duplicate init"),
        (lambda: store._send_command_to_servers(1, "x"), "no servers"),
    ):
        try:
            bad()
        except mx.MXNetError as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    try:
        store.init("other", nd.ones(3 + rank))
    except mx.MXNetError as error:
        assert "rank 1 has other keys, shapes or dtypes than rank 0" in str(error)
    else:
        raise AssertionError("other shapes")
    store.init("other", nd.ones(2))  # as if nothing had been
    store.push("k", nd.ones(3))  # what failed was not sent
    assert pulled(store, "k", nd.ones(3)) == [2, 2, 2]


for kind in ("dist_sync", "dist_sync_device"):
    values(kind)
    rows(kind)
    optimizers(kind)
optimizer_of_one_worker("dist_sync")
compressed("dist_device_sync")
profiles()
training()
exchanges_of_all_lengths()
joint_steps(is_direct=True)
joint_steps(is_direct=False)
statistics_of_all()
variance_reduced()
modules()
byteps()
batch_sizes()
horovod()
nothing_waits()
ends_at_once()
order()
naive()
errors()
nd.waitall()
print(f"all right, rank {rank}, {os.environ['EXTRA']}", flush=True)
