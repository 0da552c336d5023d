"""Memory: a neural Turing machine on copies of several lengths, adaptive computation time, an
end-to-end memory network.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

np.random.seed(0)
mx.random.seed(0)


class NTM(gluon.Block):
    def __init__(self, io, N=8, M=6, H=16, **kw):
        super().__init__(**kw)
        self.N, self.M = (N, M)
        with self.name_scope():
            self.ctl = rnn.LSTMCell(H, input_size=io + M)
            self.rh = nn.Dense(M + 6, in_units=H)
            self.wh = nn.Dense(3 * M + 6, in_units=H)
            self.out = nn.Dense(io, in_units=H + M)
            self.mem0 = self.params.get("mem0", shape=(1, N, M), init=mx.init.Uniform(0.1))

    def address(self, p, w, mem):
        M = self.M
        k = p[:, :M].tanh()
        beta = nd.Activation(p[:, M : M + 1], "softrelu")
        g = p[:, M + 1 : M + 2].sigmoid()
        s = nd.softmax(p[:, M + 2 : M + 5])
        gam = 1 + nd.Activation(p[:, M + 5 : M + 6], "softrelu")
        c = nd.batch_dot(mem, k.expand_dims(2)).squeeze(axis=2) / (
            nd.norm(mem, axis=2) * nd.norm(k, axis=1, keepdims=True) + 1e-08
        )
        wc = nd.softmax(beta * c)
        wg = g * wc + (1 - g) * w
        wp = nd.concat(wg[:, -1:], wg, wg[:, :1], dim=1)
        ws = sum((s[:, i : i + 1] * wp[:, i : i + self.N] for i in range(3)))
        wt = ws**gam
        return wt / (wt.sum(axis=1, keepdims=True) + 1e-08)

    def forward(self, seq, T):
        B = seq.shape[1]
        mem = nd.broadcast_axis(self.mem0.data(), axis=0, size=B)
        st = self.ctl.begin_state(B)
        rw = nd.one_hot(nd.zeros((B,)), self.N)
        ww = rw
        r = nd.zeros((B, self.M))
        outs = []
        for t in range(seq.shape[0] + T):
            x = seq[t] if t < seq.shape[0] else nd.zeros_like(seq[0])
            h, st = self.ctl(nd.concat(x, r, dim=1), st)
            wp = self.wh(h)
            ww = self.address(wp, ww, mem)
            e = wp[:, self.M + 6 : 2 * self.M + 6].sigmoid()
            a = wp[:, 2 * self.M + 6 :].tanh()
            mem = mem * (1 - nd.batch_dot(ww.expand_dims(2), e.expand_dims(1))) + nd.batch_dot(
                ww.expand_dims(2), a.expand_dims(1)
            )
            rw = self.address(self.rh(h), rw, mem)
            r = nd.batch_dot(rw.expand_dims(1), mem)[:, 0]
            if t >= seq.shape[0]:
                outs.append(self.out(nd.concat(h, r, dim=1)))
        return nd.stack(*outs)


net = NTM(4)
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(
    net.collect_params(),
    "rmsprop",
    {"learning_rate": 0.003, "gamma1": 0.95, "gamma2": 0.9, "centered": True, "clip_gradient": 10},
)
L = gluon.loss.SigmoidBCELoss()
for i in range(12):
    T = np.random.randint(1, 7)
    x = np.random.randint(0, 2, (T, 4, 3)).astype("f")
    s = np.zeros((T + 1, 4, 4), "f")
    s[:T, :, :3] = x
    s[T, :, 3] = 1
    with autograd.record():
        o = net(nd.array(s), T)
        l = L(o[:, :, :3], nd.array(x)).mean()
    l.backward()
    tr.step(1)
    print(i, T, round(float(l.asscalar()), 4))


def ACT(cell, halt, x, st, eps=0.01, mx_steps=6):
    B = x.shape[0]
    h = nd.zeros((B,))
    R = nd.zeros((B,))
    acc = 0
    n = nd.zeros((B,))
    for k in range(mx_steps):
        y, st = cell(x, st)
        p = halt(y).sigmoid().reshape(-1)
        still = h < 1 - eps
        new = (h + p * still >= 1 - eps) * still
        still = still * (1 - new)
        h = h + p * still
        R = R + new * (1 - h)
        h = h + new * R
        n = n + still + new
        w = p * still + new * R
        acc = acc + w.expand_dims(1) * y
        if float((h < 1 - eps).sum().asscalar()) == 0:
            break
    return (acc, n + R)


cell = rnn.GRUCell(5, input_size=3)
halt = nn.Dense(1, in_units=5, bias_initializer=mx.init.Constant(0.5))
cell.initialize(mx.init.Normal(0.4))
halt.initialize()
x = nd.random.normal(shape=(4, 3))
with autograd.record():
    y, pond = ACT(cell, halt, x, cell.begin_state(4))
    l = (y**2).sum() + 0.01 * pond.sum()
l.backward()
print(y[0], pond, halt.weight.grad(), cell.i2h_weight.grad()[0])
eps = 0.01
W = halt.bias.data().copy()
g = halt.bias.grad().asscalar()
f = []
for s in (eps, -eps):
    halt.bias.set_data(W + s)
    y, pond = ACT(cell, halt, x, cell.begin_state(4))
    f.append(float(((y**2).sum() + 0.01 * pond.sum()).asscalar()))
print(abs((f[0] - f[1]) / (2 * eps) - g) < 0.02)


class MemN2N(gluon.HybridBlock):
    def __init__(self, V, d, hops, **kw):
        super().__init__(**kw)
        self.hops = hops
        with self.name_scope():
            self.E = [nn.Embedding(V, d, prefix="e%d_" % i) for i in range(hops + 1)]
            for e in self.E:
                self.register_child(e)

    def hybrid_forward(self, F, story, q):
        u = F.sum(self.E[0](q), axis=1)
        for k in range(self.hops):
            m = F.sum(self.E[k](story), axis=2)
            c = F.sum(self.E[k + 1](story), axis=2)
            p = F.softmax(F.batch_dot(m, F.expand_dims(u, 2)).squeeze(axis=2))
            u = u + F.batch_dot(F.expand_dims(p, 1), c).squeeze(axis=1)
        return (u, p)


m = MemN2N(10, 6, 3)
m.initialize(mx.init.Normal(0.3))
m.hybridize()
out = nn.Dense(10, in_units=6)
out.initialize()
tr = gluon.Trainer(
    {
        **{k: v for k, v in m.collect_params().items()},
        **{k: v for k, v in out.collect_params().items()},
    },
    "sgd",
    {"learning_rate": 0.1},
)
for i in range(10):
    n = np.random.randint(2, 9)
    st = np.random.randint(1, 10, (8, n, 4))
    q = np.random.randint(1, 10, (8, 3))
    y = st[:, 0, 0]
    with autograd.record():
        u, p = m(nd.array(st), nd.array(q))
        l = gluon.loss.SoftmaxCELoss()(out(u), nd.array(y)).mean()
    l.backward()
    tr.step(1)
    print(i, n, p.shape, round(float(l.asscalar()), 4))
