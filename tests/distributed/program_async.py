"""Checks of an asynchronous store, which every process of ``test_async.py`` runs while servers are
killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.distributed.processes import world

FOLDER, PUSHES, KILLS = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store = mx.kv.create("dist_async")
rank, count = store.rank, store.num_workers


def pulled(store: mx.kv.KVStore, key: object, like: nd.NDArray) -> np.ndarray:
    out = nd.zeros(like.shape, dtype=like.dtype)
    store.pull(key, out=out)
    return out.asnumpy()


def add(key: object, pushed: nd.NDArray, stored: nd.NDArray) -> None:
    stored += pushed


def refuses() -> None:
    """Without an updater a push is an error, as in MXNet."""
    own = mx.kv.create("dist_async")
    own.init("w", nd.full(3, rank + 5))
    assert pulled(own, "w", nd.ones(3)).tolist() == [5] * 3  # rank 0's value wins
    own.push("w", nd.ones(3))
    try:
        pulled(own, "w", nd.ones(3))
    except mx.MXNetError as error:
        assert "Updater needs to be set for async mode" in str(error)
    else:
        raise AssertionError("no updater, no error")


def values() -> None:
    own = mx.kv.create("dist_device_async")
    assert own.type == "dist_device_async"
    own.set_updater(add)
    keys, shapes = ["a", "b", "large"], [(2, 3), (5,), (7, 40)]
    own.init(keys, [nd.zeros(shape) for shape in shapes])
    own._barrier()
    parts = [[nd.full(shape, i + 1, mx.cpu(i)) for i in range(2)] for shape in shapes]
    own.push(keys[::-1] if rank else keys, parts[::-1] if rank else parts)  # devices first
    own._barrier()
    for key, shape in zip(keys, shapes, strict=True):
        assert (pulled(own, key, nd.ones(shape)) == 3 * count).all(), key
    out = [nd.zeros((5,), mx.cpu(i), dtype="float64") for i in range(2)]
    own.init("double", nd.ones(5, dtype="float64") / 3)
    own.pull("double", out=out)
    assert all((each.asnumpy() == np.float64(1) / 3).all() for each in out)
    own._send_command_to_servers(5, "hello")


def rows() -> None:
    own = mx.kv.create("dist_async")
    own.init("r", nd.arange(80).reshape((40, 2)).tostype("row_sparse"))
    own.set_updater(add)
    own._barrier()
    own.push("r", nd.sparse.row_sparse_array((nd.ones((2, 2)), [1 + rank, 39]), shape=(40, 2)))
    own._barrier()
    out = nd.sparse.zeros("row_sparse", (40, 2))
    own.row_sparse_pull("r", out=out, row_ids=nd.array([39, 0, 1]))
    assert out.asnumpy()[[0, 1, 39], 0].tolist() == [0, 3, 78 + count]


def optimizers() -> None:
    own = mx.kv.create("dist_async")
    own.init(["w", "large"], [nd.ones(3), nd.ones((6, 30))])
    own.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    own._barrier()
    if rank == 0:
        path = str(FOLDER / "states")
        own.push(["w", "large"], [nd.ones(3), nd.ones((6, 30))])
        own.save_optimizer_states(path, dump_optimizer=True)
        for key, like in (("w", nd.ones(3)), ("large", nd.ones((6, 30)))):
            assert np.allclose(pulled(own, key, like), 0.9)
        own.push("large", nd.ones((6, 30)))
        assert np.allclose(pulled(own, "large", nd.ones((6, 30))), 0.9 - 0.19)
    own._barrier()
    own._updater.states.clear()
    own.load_optimizer_states(str(FOLDER / "states"))
    if rank == 0:
        own.push("large", nd.zeros((6, 30)))
        assert np.allclose(pulled(own, "large", nd.ones((6, 30))), 0.71 - 0.09)
    own._barrier()


def compressed() -> None:
    for method in ({"type": "2bit", "threshold": 0.5}, {"type": "fp16"}):
        own = mx.kv.create("dist_async")
        own.set_gradient_compression(method)
        own.init("c", nd.zeros((4, 5)))
        own.set_updater(add)
        own._barrier()
        for _ in range(2):
            own.push("c", nd.full((4, 5), 0.3))
        own._barrier()
        step = 0.5 if method["type"] == "2bit" else 0.6
        assert np.allclose(pulled(own, "c", nd.ones((4, 5))), step * count, atol=1e-3), method

    try:
        mx.kv.create("dist_async").set_gradient_compression({"type": "powersgd"})
    except ValueError as error:
        assert "PowerSGD with 'dist_sync'" in str(error)
    else:
        raise AssertionError("PowerSGD was accepted")


def training() -> None:
    mx.random.seed(5)
    net = gluon.nn.Dense(1, in_units=4)
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.05}, kvstore="dist_async"
    )
    rng = np.random.RandomState(rank)
    x = nd.array(rng.randn(32, 4))
    y = (x * nd.array([[1, -2, 3, 0.5]])).sum(axis=1, keepdims=True)
    for _ in range(60):
        with autograd.record():
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        trainer.step(1)
    assert loss.asscalar() < 0.5, loss
    separate = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.05}, kvstore="dist_async", update_on_kvstore=False
    )  # fmt: skip
    try:
        separate.step(1, ignore_stale_grad=True)
    except ValueError as error:
        assert "update_on_kvstore=True when training in async mode" in str(error)
    else:
        raise AssertionError("servers hold the weights")


def module() -> None:
    """``Module.fit`` on the servers: all workers end near the same line."""
    rng = np.random.RandomState(rank)
    x = rng.randn(128, 4).astype(np.float32)
    y = x @ np.array([1, -2, 3, 0.5], np.float32)
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    out = mx.sym.LinearRegressionOutput(out, mx.sym.var("line_label"), name="line")
    module = mx.mod.Module(out, ["data"], ["line_label"])
    batches = mx.io.NDArrayIter(x, y, 32, label_name="line_label")
    rate = {"learning_rate": 0.05}
    module.fit(
        batches,
        num_epoch=24,
        kvstore="dist_async",
        optimizer="sgd",
        optimizer_params=rate,
        eval_metric="mse",
    )
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    assert np.allclose(weight, [[1, -2, 3, 0.5]], atol=0.1), weight


def silent() -> None:
    """Pushes before a barrier are kept, even if their worker never contacts the servers again."""
    own = mx.kv.create("dist_async")
    own.init("silent", nd.zeros(16))
    own.set_updater(add)
    for _ in range(5):
        own.push("silent", nd.ones(16))
    own._barrier()
    if rank == 0:
        before = own.handle.server_processes()
        for process in before:
            os.kill(process, signal.SIGKILL)
        assert (pulled(own, "silent", nd.ones(16)) == 5 * count).all()
        assert not set(before) & set(own.handle.server_processes())
    world().gather(np.zeros(1, np.int32))  # of no store: rank 1 stays silent until here


def counted() -> None:
    """Each push of each worker counts once, even if the servers are killed in between."""
    own = mx.kv.create("dist_async")
    keys = [f"k{i}" for i in range(8)]
    own.init(keys, [nd.zeros(16)] * 8)
    own.set_updater(add)
    own._barrier()
    begin, killed = time.monotonic(), 0
    for step in range(PUSHES):
        own.push(keys[step % 8], nd.ones(16))
        if rank == 0 and killed < KILLS and step == PUSHES * (killed + 1) // (KILLS + 1):
            pulled(own, keys[step % 8], nd.ones(16))  # it has come so far
            number, killed = killed % int(os.environ["DMLC_NUM_SERVER"]), killed + 1
            os.kill(own.handle.server_processes()[number], signal.SIGKILL)
    own._barrier()
    seconds = time.monotonic() - begin
    total = sum(pulled(own, key, nd.ones(16)) for key in keys)
    assert (total == PUSHES * count).all(), total
    if rank == 0:
        print(
            f"{PUSHES * count} pushes in {seconds:.1f} s, each counted once, {killed} kills",
            flush=True,
        )


if len(sys.argv) < 5:  # else only the pushes, for a benchmark
    refuses()
    values()
    rows()
    optimizers()
    compressed()
    training()
    module()
    silent()
counted()
print(f"all right, rank {rank}", flush=True)
