"""A transformer written with mx.np and npx: multi-head attention, positions, a causal mask,
label smoothing, warm-up.
"""

import math

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(40)
dim, heads, vocab, length = 24, 4, 11, 8


class MultiHead(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.q, self.k, self.v, self.o = [
            nn.Dense(dim, use_bias=False, flatten=False) for _ in range(4)
        ]

    def split(self, x):
        x = x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)
        return x.reshape(-1, x.shape[2], x.shape[3])

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.q(q)), self.split(self.k(k)), self.split(self.v(v))
        scores = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(dim // heads)
        if mask is not None:
            scores = np.where(mask, scores, -1e6 * np.ones_like(scores))
        self.weights = npx.softmax(scores)
        out = npx.batch_dot(self.weights, v)
        out = out.reshape(-1, heads, out.shape[1], out.shape[2]).transpose(0, 2, 1, 3)
        return self.o(out.reshape(out.shape[0], out.shape[1], -1))


class Layer(nn.Block):
    def __init__(self, cross, **kwargs):
        super().__init__(**kwargs)
        self.cross = cross
        self.att1, self.ln1 = MultiHead(), nn.LayerNorm()
        if cross:
            self.att2, self.ln2 = MultiHead(), nn.LayerNorm()
        self.ffn, self.ln3 = nn.Sequential(), nn.LayerNorm()
        self.ffn.add(nn.Dense(48, flatten=False, activation="relu"), nn.Dense(dim, flatten=False))

    def forward(self, x, memory=None, mask=None):
        x = self.ln1(x + self.att1(x, x, x, mask))
        if self.cross:
            x = self.ln2(x + self.att2(x, memory, memory))
        return self.ln3(x + self.ffn(x))


class Transformer(nn.Block):
    def __init__(self, layers=2, **kwargs):
        super().__init__(**kwargs)
        self.embed = nn.Embedding(vocab, dim)
        P = np.zeros((1, 50, dim))
        X = np.arange(50).reshape(-1, 1) / np.power(10000, np.arange(0, dim, 2) / dim)
        P[:, :, 0::2] = np.sin(X)
        P[:, :, 1::2] = np.cos(X)
        self.P = P
        self.encoder, self.decoder = nn.Sequential(), nn.Sequential()
        for _ in range(layers):
            self.encoder.add(Layer(False))
            self.decoder.add(Layer(True))
        self.out = nn.Dense(vocab, flatten=False)

    def positions(self, x):
        x = self.embed(x) * math.sqrt(dim)
        return x + self.P[:, : x.shape[1]].as_in_ctx(x.ctx)

    def forward(self, src, tgt):
        memory = self.positions(src)
        for layer in self.encoder:
            memory = layer(memory)
        x = self.positions(tgt)
        n = tgt.shape[1]
        mask = (np.arange(n).reshape(-1, 1) >= np.arange(n).reshape(1, -1)).reshape(1, n, n)
        mask = np.broadcast_to(mask, (src.shape[0] * heads, n, n))
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.out(x)


net = Transformer()
net.initialize()


def batch(n):
    src = rng.randint(1, vocab, (n, length))
    tgt = onp.sort(src, 1)
    first = onp.zeros((n, 1), src.dtype)
    return np.array(src), np.array(onp.concatenate([first, tgt[:, :-1]], 1)), np.array(tgt)


net(*batch(2)[:2])
for p in net.collect_params().values():
    if p.name.endswith(("weight", "bias")):
        p.set_data(np.array(rng.uniform(-1, 1, p.shape) * onp.sqrt(3.0 / p.shape[-1])))


def smooth_loss(pred, label, eps=0.1):
    logp = npx.log_softmax(pred)
    return -((1 - eps) * npx.pick(logp, label) + eps * logp.mean(axis=-1)).mean(axis=1)


schedule = mx.lr_scheduler.PolyScheduler(
    max_update=60, base_lr=4e-3, warmup_steps=5, warmup_begin_lr=1e-3
)
trainer = gluon.Trainer(
    net.collect_params(), "adam", {"learning_rate": 4e-3, "beta2": 0.98, "lr_scheduler": schedule}
)
for step in range(14):
    src, tgt, label = batch(16)
    with autograd.record():
        loss = smooth_loss(net(src, tgt), label)
    loss.backward()
    trainer.step(16)
    if step in (0, 1, 2, 3, 6, 9):
        print(step, "%.3f" % float(loss.mean()), "%.5f" % trainer.learning_rate)
print(
    net.decoder[0].att1.weights.shape,
    bool((net.decoder[0].att1.weights[:, 0, 1:] < 1e-6).all()),
    type(loss).__name__,
)
