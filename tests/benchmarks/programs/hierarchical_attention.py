"""Documents and pairs of sentences: hierarchical attention with averaged weights and a resumed
training, ESIM, a text GAN with rollouts.
"""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, lr_scheduler, nd
from mxnet.gluon import nn, rnn

np.random.seed(0)
mx.random.seed(0)
rs = np.random.RandomState(3)
docs = [
    [list(rs.randint(1, 20, rs.randint(2, 7))) for _ in range(rs.randint(1, 5))] for _ in range(32)
]
lab = [int(sum(map(sum, d)) % 2) for d in docs]


class Att(gluon.HybridBlock):
    def __init__(self, d, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.p = nn.Dense(d, activation="tanh", flatten=False)
            self.c = self.params.get("ctx", shape=(1, d), init=mx.init.Normal(0.1))

    def hybrid_forward(self, F, x, m, c):
        s = F.FullyConnected(self.p(x), c, num_hidden=1, no_bias=True, flatten=False).squeeze(
            axis=-1
        )
        s = F.where(m, s, F.ones_like(s) * -1000000000.0)
        return F.batch_dot(F.softmax(s).expand_dims(1), x).squeeze(axis=1)


class HAN(gluon.Block):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Embedding(20, 8)
            self.wr = rnn.GRU(5, bidirectional=True, layout="NTC", input_size=8)
            self.sr = rnn.GRU(5, bidirectional=True, layout="NTC", input_size=10)
            self.wa = Att(10)
            self.sa = Att(10)
            self.o = nn.Dense(2)

    def forward(self, x, m):
        B, S, W = x.shape
        h = self.wr(self.e(x.reshape((-1, W))))
        s = self.wa(h, m.reshape((-1, W))).reshape((B, S, -1))
        return self.o(self.sa(self.sr(s), m.max(axis=2)))


net = HAN()
net.initialize(mx.init.Xavier())
net.hybridize()
net.e.weight.set_data(nd.array(rs.randn(20, 8)))


def batchify(ix):
    S = max((len(docs[i]) for i in ix))
    W = max((len(s) for i in ix for s in docs[i]))
    x = np.zeros((len(ix), S, W), "f")
    [
        x[a, b].__setitem__(slice(0, len(s)), s)
        for a, i in enumerate(ix)
        for b, s in enumerate(docs[i])
    ]
    return (nd.array(x), nd.array(x > 0), nd.array([lab[i] for i in ix]))


class Cyclic(lr_scheduler.LRScheduler):
    def __init__(self, lo, hi, step):
        super().__init__(base_lr=hi)
        self.lo, self.hi, self.step = (lo, hi, step)

    def __call__(self, n):
        c = math.floor(1 + n / (2 * self.step))
        x = abs(n / self.step - 2 * c + 1)
        return self.lo + (self.hi - self.lo) * max(0, 1 - x)


tr = gluon.Trainer(
    net.collect_params(), "adam", {"lr_scheduler": Cyclic(0.001, 0.02, 4), "learning_rate": 0.5}
)
print(tr.learning_rate, tr.optimizer.lr_scheduler.base_lr)
order = sorted(range(32), key=lambda i: len(docs[i]))
swa = {}
n = 0
for ep in range(3):
    for b in range(0, 32, 8):
        x, m, y = batchify(order[b : b + 8])
        with autograd.record():
            l = gluon.loss.SoftmaxCELoss()(net(x, m), y)
        l.backward()
        for p in net.collect_params().values():
            if p.grad_req != "null":
                p.grad()[:] += nd.random.normal(0, 0.001, shape=p.shape)
        tr.step(8)
    n += 1
    for k, p in net.collect_params().items():
        swa[k] = p.data() / n + swa.get(k, 0) * (n - 1) / n
    print(ep, l.mean().asscalar(), round(tr.learning_rate, 5))
    if ep == 0:
        net.save_parameters("r.params")
        tr.save_states("r.states")
        st = mx.random.seed(77)
ref = net.o.weight.data().copy()
print(net.load_parameters("r.params"))
print(tr.load_states("r.states"))
mx.random.seed(77)
for ep in range(1, 3):
    for b in range(0, 32, 8):
        x, m, y = batchify(order[b : b + 8])
        with autograd.record():
            l = gluon.loss.SoftmaxCELoss()(net(x, m), y)
        l.backward()
        for p in net.collect_params().values():
            if p.grad_req != "null":
                p.grad()[:] += nd.random.normal(0, 0.001, shape=p.shape)
        tr.step(8)
print(
    "resumed",
    (net.o.weight.data() - ref).abs().max().asscalar(),
    tr.optimizer.num_update,
    tr.learning_rate,
)
for k, p in net.collect_params().items():
    p.set_data(swa[k])
print(net(x, m)[0])


class ESIM(gluon.HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Embedding(20, 6)
            self.c1 = rnn.LSTM(4, bidirectional=True, layout="NTC", input_size=6)
            self.f = nn.Dense(6, activation="relu", flatten=False)
            self.c2 = rnn.LSTM(4, bidirectional=True, layout="NTC", input_size=6)
            self.o = nn.HybridSequential()
            self.o.add(nn.Dropout(0.1), nn.Dense(8, activation="tanh"), nn.Dense(3))

    def hybrid_forward(self, F, a, b, ma, mb):
        A, B = (self.c1(self.e(a)), self.c1(self.e(b)))
        E = F.batch_dot(A, B, transpose_b=True)
        neg = -1000000000.0
        wa = F.softmax(F.broadcast_add(E, (1 - F.expand_dims(mb, 1)) * neg), axis=2)
        wb = F.softmax(F.broadcast_add(E, (1 - F.expand_dims(ma, 2)) * neg), axis=1)
        A2, B2 = (F.batch_dot(wa, B), F.batch_dot(wb, A, transpose_a=True))
        cat = lambda x, y: self.c2(self.f(F.concat(x, y, x - y, x * y, dim=2)))
        p, q = (cat(A, A2), cat(B, B2))
        av = lambda v, m: F.broadcast_div(
            F.sum(F.broadcast_mul(v, F.expand_dims(m, 2)), 1), F.sum(m, 1, keepdims=True)
        )
        mxp = lambda v, m: F.max(F.broadcast_add(v, (1 - F.expand_dims(m, 2)) * neg), 1)
        return self.o(F.concat(av(p, ma), mxp(p, ma), av(q, mb), mxp(q, mb), dim=1))


es = ESIM()
es.initialize(mx.init.Xavier())
es.hybridize()
tr = gluon.Trainer(es.collect_params(), "adam", {"learning_rate": 0.01})


def pd(L, B=6):
    n = rs.randint(2, L + 1, B)
    x = np.zeros((B, L), "f")
    [x[i].__setitem__(slice(0, k), rs.randint(1, 20, k)) for i, k in enumerate(n)]
    return (nd.array(x), nd.array(x > 0))


for i in range(8):
    (a, ma), (b, mb) = (pd(rs.randint(3, 9)), pd(rs.randint(3, 9)))
    y = nd.array(rs.randint(0, 3, 6))
    with autograd.record():
        l = gluon.loss.SoftmaxCELoss(weight=0.5)(
            es(a, b, ma, mb), y, nd.array([[1], [1], [1], [0.5], [0.5], [0]])
        ).mean()
    l.backward()
    tr.step(1)
    print("esim", i, a.shape, b.shape, round(float(l.asscalar()), 4))


class Gen(gluon.Block):
    def __init__(self, V=8, **kw):
        super().__init__(**kw)
        self.V = V
        with self.name_scope():
            self.e = nn.Embedding(V, 6)
            self.c = rnn.LSTMCell(8, input_size=6)
            self.o = nn.Dense(V, in_units=8)

    def sample(self, B, T, prefix=None):
        st = self.c.begin_state(B)
        x = nd.zeros((B,))
        out = []
        lps = []
        for t in range(T):
            h, st = self.c(self.e(x), st)
            p = nd.softmax(self.o(h))
            if prefix is not None and t < prefix.shape[1]:
                x = prefix[:, t]
                lps.append(nd.log(nd.pick(p, x)))
            else:
                x, lp = nd.random.multinomial(p, get_prob=True)
                x = x.astype("float32")
                lps.append(lp)
            out.append(x)
        return (nd.stack(*out, axis=1), nd.stack(*lps, axis=1))


G = Gen()
G.initialize(mx.init.Xavier())
D = nn.HybridSequential()
print(
    D.add(
        nn.Embedding(8, 6),
        nn.HybridLambda(lambda F, x: F.swapaxes(x, 1, 2)),
        nn.Conv1D(6, 2, activation="relu"),
        nn.GlobalMaxPool1D(),
        nn.Dense(1),
    )
)
D.initialize(mx.init.Xavier())
D.hybridize()
tg = gluon.Trainer(G.collect_params(), "adam", {"learning_rate": 0.01})
td = gluon.Trainer(D.collect_params(), "adam", {"learning_rate": 0.01})
bce = gluon.loss.SigmoidBCELoss()
real = nd.array([[(i + k) % 8 for k in range(5)] for i in range(8)])
for it in range(3):
    with autograd.record():
        s, lp = G.sample(8, 5)
        R = []
        with autograd.pause():
            for t in range(1, 6):
                R.append(D(G.sample(8, 5, s[:, :t])[0] if t < 5 else s).sigmoid()[:, 0])
        R = nd.stack(*R, axis=1)
        lg = -(lp * (R - R.mean())).sum(axis=1).mean()
    lg.backward()
    tg.step(1)
    with autograd.record():
        ld = bce(D(real), nd.ones(8)).mean() + bce(D(s.detach()), nd.zeros(8)).mean()
    ld.backward()
    td.step(1)
    print("gan", it, lg.asscalar(), ld.asscalar(), s[0].asnumpy())
