"""A factorization machine on csr batches of LibSVMIter: sparse weights, row_sparse pull, Module
with a kvstore.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(110)
N, K = 60, 4
true_w, true_v = rng.normal(0, 1, N), rng.normal(0, 0.7, (N, 2))
with open("train.libsvm", "w") as f:
    for _ in range(300):
        idx = np.sort(rng.choice(N, 5, replace=False))
        val = rng.uniform(0.5, 1.5, 5).round(3)
        s = (true_w[idx] * val).sum() + 0.5 * (
            ((true_v[idx] * val[:, None]).sum(0) ** 2) - ((true_v[idx] * val[:, None]) ** 2).sum(0)
        ).sum()
        f.write("%d %s\n" % (s > 0, " ".join("%d:%.3f" % p for p in zip(idx, val))))


def fm(factor_size, num_features, init):
    x = mx.symbol.Variable("data", stype="csr")
    v = mx.symbol.Variable("v", shape=(num_features, factor_size), init=init, stype="row_sparse")
    w1_weight = mx.symbol.var("w1_weight", shape=(num_features, 1), init=init, stype="row_sparse")
    w1_bias = mx.symbol.var("w1_bias", shape=(1,))
    w1 = mx.symbol.broadcast_add(mx.symbol.dot(x, w1_weight), w1_bias)
    v_s = mx.symbol._internal._square_sum(data=v, axis=1, keepdims=True)
    x_s = x.square()
    bd_sum = mx.sym.dot(x_s, v_s)
    w2 = mx.symbol.dot(x, v)
    w2_squared = 0.5 * mx.symbol.square(data=w2)
    w_all = mx.symbol.Concat(w1, w2_squared, dim=1)
    sum1 = w_all.sum(axis=1, keepdims=True)
    model = sum1 + -0.5 * bd_sum
    y = mx.symbol.Variable("softmax_label")
    return mx.symbol.LogisticRegressionOutput(data=model, label=y)


class Const(mx.init.Initializer):
    def __init__(self, scale=0.1):
        super(Const, self).__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, arr):
        size = int(np.prod(arr.shape))
        arr[:] = mx.nd.array((self.scale * np.sin(np.arange(size) * 1.7 + 0.5)).reshape(arr.shape))


mx.init.register(Const)
it = mx.io.LibSVMIter(data_libsvm="train.libsvm", data_shape=(N,), batch_size=50)
batch = next(iter(it))
print(
    batch.data[0].stype,
    batch.data[0].shape,
    batch.data[0].indices[:5].asnumpy(),
    batch.label[0][:8].asnumpy(),
)
it.reset()
model = fm(K, N, Const())
mod = mx.mod.Module(symbol=model)
mod.bind(data_shapes=it.provide_data, label_shapes=it.provide_label)
mod.init_params(initializer=Const())
kv = mx.kv.create("local")
mod.init_optimizer(
    kvstore=kv,
    optimizer=mx.optimizer.create(
        "adam", learning_rate=0.05, rescale_grad=1.0 / 50, lazy_update=True
    ),
)


def nll(label, pred, eps=1e-10):
    pred = np.clip(pred, eps, 1 - eps)
    label = label.reshape(-1)
    pred = pred.reshape(-1)
    return np.mean(-label * np.log(pred) - (1 - label) * np.log(1 - pred))


metric = mx.metric.create(nll)
for epoch in range(5):
    metric.reset()
    it.reset()
    for batch in it:
        mod.prepare(
            batch,
            sparse_row_id_fn=lambda b: {"v": b.data[0].indices, "w1_weight": b.data[0].indices},
        )
        mod.forward_backward(batch)
        mod.update()
        mod.update_metric(metric, batch.label)
    print(epoch, metric.get()[0], "%.4f" % metric.get()[1])
arg, _ = mod.get_params()
print({k: (v.stype, v.shape) for k, v in sorted(arg.items())}, "%.3f" % arg["v"].asnumpy().std())
mod.save_checkpoint("fm", 5, save_optimizer_states=True)
again = mx.mod.Module.load("fm", 5, load_optimizer_states=True)
print(sorted(again.symbol.list_arguments()), again.symbol.attr_dict()["v"].get("__storage_type__"))
