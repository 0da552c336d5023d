"""A training of two workers, written for MXNet; prints the numbers that MXNet prints.

The arguments are a folder for files, and names of functions here. The expected numbers in ``test_stores.py``
are those of MXNet 1.9.1, whose scheduler, server and two workers ran this file with ``mxnet`` in place
of ``mixnet``, once for each function.
"""

import os
import sys

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon

FOLDER = sys.argv[1]


def clusters() -> tuple:
    """Points around five centres."""
    draw = np.random.RandomState(0)
    centres = draw.randn(5, 20) * 2
    labels = draw.randint(0, 5, 512)
    points = centres[labels] + draw.randn(512, 20)
    return points.astype("float32"), labels.astype("float32")


def report(name: str, weight: np.ndarray) -> None:
    """Print what the test compares."""
    total, norm = weight.astype("float64").sum(), np.linalg.norm(weight)
    print(f"{name} {total:.5f} {norm:.5f}\n", end="", flush=True)


def module_with_schedule(store: mx.kv.KVStore) -> None:
    """``Module.fit`` with momentum, weight decay and a schedule, as in MXNet's image classification."""
    x, y = (each[store.rank :: store.num_workers] for each in clusters())
    train = mx.io.NDArrayIter(x, y, 48)
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="fc1")
    net = mx.sym.FullyConnected(
        mx.sym.Activation(hidden, act_type="relu"), num_hidden=5, name="fc2"
    )
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    draw = np.random.RandomState(1)
    shapes = {"fc1_weight": (32, 20), "fc1_bias": (32,), "fc2_weight": (5, 32), "fc2_bias": (5,)}
    first = {name: mx.nd.array(draw.randn(*shape) * 0.2) for name, shape in shapes.items()}
    schedule = mx.lr_scheduler.MultiFactorScheduler(step=[10, 15], factor=0.1)
    settings = {"learning_rate": 0.1, "wd": 1e-4, "momentum": 0.9, "lr_scheduler": schedule}
    module.fit(
        train,
        num_epoch=4,
        kvstore=store,
        optimizer="sgd",
        optimizer_params=settings,
        arg_params=first,
    )
    report("module", module.get_params()[0]["fc2_weight"].asnumpy())


def sparse_linear(store: mx.kv.KVStore) -> None:
    """Linear classification with row_sparse weights, whose rows are pulled before each batch."""
    size, batch = 200, 16
    path = os.path.join(FOLDER, f"{store.rank}.libsvm")
    draw = np.random.RandomState(1)
    truth = draw.randn(size)
    with open(path, "w") as file:
        for _ in range(256):
            places, values = np.sort(draw.choice(size, 10, replace=False)), draw.rand(10)
            pairs = " ".join(f"{i}:{value:.4f}" for i, value in zip(places, values, strict=True))
            file.write(f"{int((values * truth[places]).sum() > 0)} {pairs}\n")
    train = mx.io.LibSVMIter(
        data_libsvm=path,
        data_shape=(size,),
        batch_size=batch,
        num_parts=store.num_workers,
        part_index=store.rank,
    )
    x = mx.sym.var("data", stype="csr")
    weight = mx.sym.var("weight", shape=(size, 2), init=mx.init.Constant(0.01), stype="row_sparse")
    bias = mx.sym.var("bias", shape=(2,), init=mx.init.Zero())
    net = mx.sym.broadcast_add(mx.sym.sparse.dot(x, weight), bias)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, mx.sym.var("softmax_label"), name="out"))
    module = mx.mod.Module(module.symbol, label_names=["softmax_label"])
    module.bind(train.provide_data, train.provide_label)
    module.init_params()
    adam = mx.optimizer.create(
        "adam", learning_rate=0.02, rescale_grad=1 / batch / store.num_workers
    )
    module.init_optimizer(kvstore=store, optimizer=adam)
    for _ in range(4):
        train.reset()
        for each in train:
            module.prepare(each, sparse_row_id_fn=lambda one: {"weight": one.data[0].indices})
            module.forward_backward(each)
            module.update()
    result = mx.nd.sparse.zeros("row_sparse", (size, 2))
    store.row_sparse_pull("weight", out=result, row_ids=mx.nd.arange(size, dtype="int64"))
    report("sparse", result.asnumpy())


def gluon_with_clipping(store: mx.kv.KVStore) -> None:
    """A Trainer that sums gradients, clips them and updates, on two devices of each worker."""
    devices = [mx.cpu(0), mx.cpu(1)]
    x, y = (each[store.rank :: store.num_workers] for each in clusters())
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(16, activation="relu", in_units=20), gluon.nn.Dense(5, in_units=16))
    net.initialize(ctx=devices)
    draw = np.random.RandomState(1)
    parameters = net.collect_params().values()
    for each in parameters:
        each.set_data(mx.nd.array(draw.randn(*each.shape) * 0.1))
    schedule = mx.lr_scheduler.CosineScheduler(40, base_lr=0.02, final_lr=0.001, warmup_steps=5)
    adam = mx.optimizer.create("adam", lr_scheduler=schedule, learning_rate=0.02)
    trainer = gluon.Trainer(net.collect_params(), adam, kvstore=store, update_on_kvstore=False)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for start in range(0, 256, 32):
        rows = slice(start, start + 32)
        xs = gluon.utils.split_and_load(mx.nd.array(x[rows]), devices)
        ys = gluon.utils.split_and_load(mx.nd.array(y[rows]), devices)
        with autograd.record():
            losses = [loss(net(a), b) for a, b in zip(xs, ys, strict=True)]
        autograd.backward(losses)
        trainer.allreduce_grads()
        for device in devices:
            gluon.utils.clip_global_norm([each.grad(device) for each in parameters], 20.0)
        trainer.update(64)
    report("gluon", net[1].weight.data(devices[1]).asnumpy())


for name in sys.argv[2:]:
    globals()[name](mx.kv.create("dist_sync"))
