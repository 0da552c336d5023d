"""A transformer that is trained imperatively, and decodes greedily: every step is one longer."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

mx.random.seed(7)
rng = np.random.RandomState(7)
V, D = 12, 32


class Block(nn.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.qkv, self.out = nn.Dense(3 * D, flatten=False), nn.Dense(D, flatten=False)
            self.n1, self.n2 = nn.LayerNorm(), nn.LayerNorm()
            self.f1, self.f2 = (
                nn.Dense(64, flatten=False, activation="relu"),
                nn.Dense(D, flatten=False),
            )

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = [
            a.reshape((b, t, 4, D // 4)).transpose((0, 2, 1, 3)).reshape((-3, t, D // 4))
            for a in self.qkv(self.n1(x)).split(3, axis=2)
        ]
        mask = nd.array(np.triu(np.full((t, t), -1e9), 1))
        att = nd.softmax(nd.batch_dot(q, k, transpose_b=True) / (D // 4) ** 0.5 + mask)
        y = (
            nd.batch_dot(att, v)
            .reshape((b, 4, t, D // 4))
            .transpose((0, 2, 1, 3))
            .reshape((b, t, D))
        )
        x = x + self.out(y)
        return x + self.f2(self.f1(self.n2(x)))


class LM(nn.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.emb, self.pos = nn.Embedding(V, D), nn.Embedding(40, D)
            self.b1, self.b2, self.head = Block(), Block(), nn.Dense(V, flatten=False)

    def forward(self, x):
        h = self.emb(x) + self.pos(nd.arange(x.shape[1])).expand_dims(0)
        return self.head(self.b2(self.b1(h)))


net = LM()
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
lf = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(30):
    s = (rng.randint(0, V, (16, 1)) + np.arange(13)) % V
    with autograd.record():
        l = lf(net(nd.array(s[:, :-1])), nd.array(s[:, 1:]))
    l.backward()
    tr.step(16)
    if step % 10 == 0:
        print(step, "%.4f" % l.mean().asscalar())
seq = [3]
for _ in range(24):
    seq.append(int(net(nd.array([seq]))[0, -1].argmax(0).asscalar()))
print(len(seq), len(set(seq)) > 1)
