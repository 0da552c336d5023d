"""Matrix factorisation as a symbol and a Module with a custom metric, then the same by gluon
with embeddings.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn

rng = np.random.RandomState(100)
users, items = rng.normal(0, 1, (40, 3)), rng.normal(0, 1, (30, 3))
u, i = rng.randint(0, 40, 800), rng.randint(0, 30, 800)
r = (users[u] * items[i]).sum(1) + rng.normal(0, 0.1, 800)


class FixedUniform(mx.initializer.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(len(name)).uniform(-0.3, 0.3, arr.shape)


def plain_net(k):
    user, item, score = mx.sym.Variable("user"), mx.sym.Variable("item"), mx.sym.Variable("score")
    user = mx.sym.Embedding(data=user, input_dim=40, output_dim=k, name="user_embed")
    item = mx.sym.Embedding(data=item, input_dim=30, output_dim=k, name="item_embed")
    pred = mx.sym.Flatten(mx.sym.sum(user * item, axis=1, keepdims=True))
    return mx.sym.LinearRegressionOutput(data=pred, label=score)


def RMSE(label, pred):
    ret, n = 0.0, 0.0
    pred = pred.flatten()
    for k in range(len(label)):
        ret += (label[k] - pred[k]) * (label[k] - pred[k])
        n += 1.0
    return np.sqrt(ret / n)


train = mx.io.NDArrayIter({"user": u[:700], "item": i[:700]}, {"score": r[:700]}, 50)
test = mx.io.NDArrayIter({"user": u[700:], "item": i[700:]}, {"score": r[700:]}, 50)
print(train.provide_data, train.provide_label)
mod = mx.mod.Module(
    plain_net(4), context=[mx.cpu(0)], data_names=["item", "user"], label_names=["score"]
)
history = []
mod.fit(
    train,
    eval_metric=RMSE,
    num_epoch=6,
    initializer=FixedUniform(),
    optimizer="adam",
    optimizer_params={"learning_rate": 0.05, "rescale_grad": 1.0},
    batch_end_callback=lambda p: history.append(p.eval_metric.get()[1]) if p.nbatch == 13 else None,
)
print(["%.3f" % h for h in history])
print("test %.3f" % mod.score(test, mx.metric.create(RMSE))[0][1])


class MF(gluon.HybridBlock):
    def __init__(self, k=4):
        super().__init__()
        self.p, self.q = nn.Embedding(40, k), nn.Embedding(30, k)
        self.bu, self.bi = nn.Embedding(40, 1), nn.Embedding(30, 1)

    def hybrid_forward(self, F, u, i):
        return (
            (self.p(u) * self.q(i)).sum(axis=1)
            + F.squeeze(self.bu(u), axis=1)
            + F.squeeze(self.bi(i), axis=1)
        )


net = MF()
net.initialize()
for p in net.collect_params().values():
    p.set_data(mx.nd.array(rng.uniform(-0.3, 0.3, p.shape)))
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "ftml", {"learning_rate": 0.05})
loss = gluon.loss.L2Loss()
data = gluon.data.ArrayDataset(
    u[:700].astype("int32"), i[:700].astype("int32"), r[:700].astype("float32")
)
for epoch in range(4):
    total = 0
    for a, b, y in gluon.data.DataLoader(data, 100):
        with autograd.record():
            l = loss(net(a, b), y)
        l.backward()
        trainer.step(100)
        total += l.mean().asscalar()
    print(epoch, "%.4f" % total, a.dtype)
