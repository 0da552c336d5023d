"""A KVStore used directly: init, push of lists, pull, an updater, an optimizer on the store,
row_sparse_pull, several devices.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

kv = mx.kv.create("local")
shape = (2, 3)
kv.init(3, nd.ones(shape) * 2)
a = nd.zeros(shape)
kv.pull(3, out=a)
print(a.asnumpy().tolist(), kv.type, kv.rank, kv.num_workers)
kv.push(3, [nd.ones(shape) * i for i in range(1, 4)])
kv.pull(3, out=a)
print(a.asnumpy()[0].tolist())
kv._set_updater(lambda key, value, stored: stored.__iadd__(value * 2))
kv.push(3, nd.ones(shape))
kv.pull(3, out=a)
print(a.asnumpy()[0].tolist())
keys = [5, 7, 9]
kv.init(keys, [nd.ones(shape) * i for i in range(3)])
outs = [nd.zeros(shape) for _ in keys]
kv.push(keys, [nd.ones(shape)] * 3)
kv.pull(keys, out=outs)
print([float(o.asnumpy()[0, 0]) for o in outs])
pair = [nd.zeros(shape), nd.zeros(shape)]
kv.pushpull(7, [nd.ones(shape), nd.ones(shape)], out=pair)
print([float(p.asnumpy()[0, 0]) for p in pair])

store = mx.kv.create("device")
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
rng = np.random.RandomState(28)
X, w_true = rng.normal(0, 1, (40, 4)), np.array([1.0, -2, 0.5, 3])
Y = X @ w_true
contexts = [mx.cpu(0), mx.cpu(1)]
store.init("w", nd.zeros((4,)))
weights = [nd.zeros((4,), ctx=c) for c in contexts]
for w in weights:
    w.attach_grad()
for step in range(30):
    xs = gluon.utils.split_and_load(nd.array(X), contexts)
    ys = gluon.utils.split_and_load(nd.array(Y), contexts)
    with autograd.record():
        losses = [((nd.dot(x, w) - y) ** 2).mean() / 2 for x, y, w in zip(xs, ys, weights)]
    for loss in losses:
        loss.backward()
    store.push("w", [w.grad for w in weights])
    store.pull("w", out=weights)
    if step % 10 == 0:
        print(step, "%.4f" % sum(loss.asscalar() for loss in losses), weights[1].context)
print(weights[0].asnumpy().round(2).tolist())
store.save_optimizer_states("kv.states")
store.load_optimizer_states("kv.states")
sparse = mx.kv.create("local")
sparse.init("emb", nd.array(np.arange(12).reshape(6, 2)).tostype("row_sparse"))
rows = nd.sparse.zeros("row_sparse", (6, 2))
sparse.row_sparse_pull("emb", out=rows, row_ids=nd.array([4, 1, 4]))
print(rows.indices.asnumpy(), rows.data.asnumpy().tolist())
comp = mx.kv.create("device")
comp.set_gradient_compression({"type": "2bit", "threshold": 0.5})
try:
    sparse.push("unknown", nd.ones((1,)))
except mx.MXNetError as error:
    print("MXNetError")
print(mx.kv.create("local").is_capable("optimizer"))
