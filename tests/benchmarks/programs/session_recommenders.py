"""Recommenders and word vectors with sparse embeddings: session-parallel GRU, self-attention, two
towers with sampled softmax, variational autoencoder on csr, GloVe, n-gram hashing, LinUCB.
"""

import collections
import hashlib

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

np.random.seed(0)
mx.random.seed(0)
rs = np.random.RandomState(0)
I = 25
sess = [
    list((rs.randint(I) + np.arange(rs.randint(3, 9)) * rs.randint(1, 3)) % I) for _ in range(60)
]


class GRU4Rec(gluon.Block):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Embedding(I, 12, sparse_grad=True)
            self.c = rnn.GRUCell(16, input_size=12)
            self.o = nn.Embedding(I, 16, sparse_grad=True)
            self.b = nn.Embedding(I, 1)

    def forward(self, x, h, y):
        o, h = self.c(self.e(x), h)
        return (nd.dot(o, self.o(y), transpose_b=True) + self.b(y).T, h)


net = GRU4Rec()
net.initialize(mx.init.Uniform(0.2))
tr = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": 0.2}, kvstore=None)


def bprmax(s):
    B = s.shape[0]
    d = nd.pick(s, nd.arange(B)).expand_dims(1)
    w = nd.softmax(s * (1 - nd.eye(B)) - 1000000000.0 * nd.eye(B))
    return -nd.log((w * (d - s).sigmoid()).sum(axis=1) + 1e-12) + 0.5 * (w * s**2).sum(axis=1)


for ep in range(2):
    B = 8
    cur = list(range(B))
    pos = [0] * B
    nxt = B
    h = [nd.zeros((B, 16))]
    tot = n = 0
    while True:
        x = [sess[c][p] for c, p in zip(cur, pos)]
        y = [sess[c][p + 1] for c, p in zip(cur, pos)]
        with autograd.record():
            s, h = net(nd.array(x), [v.detach() for v in h], nd.array(y))
            l = bprmax(s).mean()
        l.backward()
        tr.step(1)
        tot += l.asscalar()
        n += 1
        mask = np.ones((B, 1), "f")
        for b in range(B):
            pos[b] += 1
            if pos[b] + 1 >= len(sess[cur[b]]):
                cur[b] = nxt
                pos[b] = 0
                nxt += 1
                mask[b] = 0
        if max(cur) >= len(sess):
            break
        h = [v * nd.array(mask) for v in h]
    print("gru4rec", ep, n, round(tot / n, 4))


class SASRec(gluon.HybridBlock):
    def __init__(self, d=12, L=8, **kw):
        super().__init__(**kw)
        self.L = L
        self.d = d
        with self.name_scope():
            self.e = nn.Embedding(I + 1, d)
            self.p = self.params.get("pos", shape=(L, d), init=mx.init.Normal(0.02))
            self.q, self.k, self.v = (nn.Dense(d, flatten=False, use_bias=False) for _ in range(3))
            self.ln = nn.LayerNorm()
            self.f1 = nn.Conv1D(d, 1, activation="relu")
            self.f2 = nn.Conv1D(d, 1)
            self.dr = nn.Dropout(0.2)

    def hybrid_forward(self, F, s, po, ne, p):
        m = F.expand_dims(s != 0, 2)
        x = self.dr(F.broadcast_add(self.e(s) * self.d**0.5, F.expand_dims(p, 0)))
        x = F.broadcast_mul(x, m)
        a = F.linalg.gemm2(self.q(self.ln(x)), self.k(x), transpose_b=True, alpha=self.d ** (-0.5))
        t = F.arange(self.L)
        c = F.broadcast_greater_equal(F.reshape(t, (1, -1, 1)), F.reshape(t, (1, 1, -1)))
        a = F.broadcast_mul(a, c) + F.broadcast_mul(F.ones_like(a), 1 - c) * -1000000000.0
        x = x + F.batch_dot(F.softmax(a), self.v(x))
        y = self.f2(self.f1(x.swapaxes(1, 2))).swapaxes(1, 2)
        x = F.broadcast_mul(x + self.dr(y), m)
        return (F.sum(x * self.e(po), 2), F.sum(x * self.e(ne), 2))


sas = SASRec()
sas.initialize(mx.init.Xavier())
sas.hybridize()
tr = gluon.Trainer(sas.collect_params(), "adam", {"learning_rate": 0.01, "beta2": 0.98})


def pad(s, L=8):
    s = [v + 1 for v in s][-L - 1 :]
    a = [0] * (L + 1 - len(s)) + s
    return (a[:-1], a[1:])


for ep in range(3):
    S, P = zip(*[pad(s) for s in sess])
    N = np.where(np.array(P) > 0, rs.randint(1, I + 1, (60, 8)), 0)
    with autograd.record():
        a, b = sas(nd.array(S), nd.array(P), nd.array(N))
        m = nd.array(P) > 0
        l = ((nd.log(a.sigmoid() + 1e-24) + nd.log(1 - b.sigmoid() + 1e-24)) * -m).sum() / m.sum()
    l.backward()
    tr.step(1)
    print("sasrec", ep, l.asscalar(), nd.sign(a - b).mean().asscalar())


class Tower(gluon.HybridBlock):
    def __init__(self, n, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Embedding(n, 8)
            self.d = nn.Dense(6, activation="relu")

    def hybrid_forward(self, F, x):
        return F.L2Normalization(self.d(self.e(x)))


u, it = (Tower(20, prefix="u_"), Tower(I, prefix="i_"))
u.initialize(mx.init.Xavier())
it.initialize(mx.init.Xavier())
u.hybridize()
it.hybridize()
ps = u.collect_params()
print(ps.update(it.collect_params()))
tr = gluon.Trainer(ps, "adam", {"learning_rate": 0.01})
logq = nd.log(nd.array(rs.dirichlet([1] * I)))
for k in range(4):
    a, b = (rs.randint(0, 20, 16), rs.randint(0, I, 16))
    with autograd.record():
        s = nd.dot(u(nd.array(a)), it(nd.array(b)).T) / 0.1 - logq[nd.array(b)].reshape((1, -1))
        same = nd.array((b[:, None] == b[None]).astype("f") - np.eye(16))
        s = nd.where(same, nd.ones_like(s) * -1000000000.0, s)
        l = gluon.loss.SoftmaxCELoss()(s, nd.arange(16)).mean()
    l.backward()
    tr.step(1)
    print("tower", k, l.asscalar())
X = (rs.rand(40, I) < 0.2).astype("f")
csr = nd.sparse.csr_matrix(X)


class MultiVAE(gluon.HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Dense(16, activation="tanh")
            self.m = nn.Dense(8)
            self.d = nn.HybridSequential()
            self.d.add(nn.Dense(16, activation="tanh"), nn.Dense(I))
            self.dr = nn.Dropout(0.5)

    def hybrid_forward(self, F, x):
        h = self.dr(F.L2Normalization(x))
        mu, lv = F.split(self.m(self.e(h)), 2, axis=1)
        z = mu + F.exp(lv * 0.5) * F.random.normal_like(mu)
        return (F.log_softmax(self.d(z)), -0.5 * F.sum(1 + lv - mu**2 - F.exp(lv), axis=1))


v = MultiVAE()
v.initialize(mx.init.Xavier())
v.hybridize()
tr = gluon.Trainer(v.collect_params(), "adam", {"learning_rate": 0.01})
for ep in range(3):
    for b in range(0, 40, 20):
        x = csr[b : b + 20].tostype("default")
        with autograd.record():
            lp, kl = v(x)
            l = (-(lp * x).sum(axis=1) + 0.2 * min(1, ep / 2) * kl).mean()
        l.backward()
        tr.step(1)
    rec = np.argsort(-np.where(X > 0, -np.inf, v(nd.array(X))[0].asnumpy()), 1)[:, :5]
    print("vae", ep, l.asscalar(), rec[0])
corpus = " ".join(["a b c d e", "b c f a", "d e f g a b"] * 5).split()
w2i = {w: i for i, w in enumerate(sorted(set(corpus)))}
co = collections.Counter()
for i, w in enumerate(corpus):
    for j in range(max(0, i - 2), i):
        co[w2i[w], w2i[corpus[j]]] += 1.0 / (i - j)
        co[w2i[corpus[j]], w2i[w]] += 1.0 / (i - j)
ij = nd.array(np.array(list(co)))
xv = nd.array(list(co.values()))
W, C, bw, bc = [nd.random.uniform(-0.5, 0.5, s) for s in ((7, 4), (7, 4), (7, 1), (7, 1))]
for p in (W, C, bw, bc):
    p.attach_grad(stype="row_sparse")
opt = mx.optimizer.AdaGrad(learning_rate=0.1)
st = [opt.create_state(i, p) for i, p in enumerate((W, C, bw, bc))]
for ep in range(4):
    with autograd.record():
        E = lambda i, p: nd.Embedding(i, p, input_dim=7, output_dim=p.shape[1], sparse_grad=True)
        f = nd.minimum((xv / 5) ** 0.75, 1)
        d = (
            (E(ij[:, 0], W) * E(ij[:, 1], C)).sum(axis=1)
            + E(ij[:, 0], bw)[:, 0]
            + E(ij[:, 1], bc)[:, 0]
            - nd.log(xv)
        )
        l = (f * d**2).sum()
    l.backward()
    for i, p in enumerate((W, C, bw, bc)):
        opt.update(i, p, p.grad, st[i])
    print("glove", ep, l.asscalar(), W.grad.stype, W.grad.indices.shape)


def hashes(w, n=50):
    w = "<" + w + ">"
    return [int(hashlib.md5(w[i : i + 3].encode()).hexdigest(), 16) % n for i in range(len(w) - 2)]


ft = nn.Embedding(50, 5, sparse_grad=True)
ft.initialize()
cl = nn.Dense(2, in_units=5)
cl.initialize(mx.init.Xavier())
tr = gluon.Trainer(
    {**dict(ft.collect_params()), **dict(cl.collect_params())}, "sgd", {"learning_rate": 0.5}
)
docs = [
    ("good great nice", 1),
    ("bad awful poor terrible", 0),
    ("nice good", 1),
    ("poor bad show tonight was awful", 0),
]
for ep in range(4):
    tot = 0
    for t, y in docs:
        h = [v for w in t.split() for v in hashes(w)]
        with autograd.record():
            l = gluon.loss.SoftmaxCELoss()(
                cl(ft(nd.array(h)).mean(axis=0, keepdims=True)), nd.array([y])
            )
        l.backward()
        tr.step(1)
        tot += l.asscalar()
    print("fasttext", ep, tot)
A = [nd.eye(3) for _ in range(3)]
b = [nd.zeros((3, 1)) for _ in range(3)]
th = rs.randn(3, 3)
R = 0
for t in range(40):
    x = nd.array(rs.randn(3, 1))
    s = []
    for a in range(3):
        inv = nd.linalg.potri(nd.linalg.potrf(A[a]))
        s.append(
            float(
                (
                    nd.dot(nd.dot(inv, b[a]).T, x) + 0.5 * nd.sqrt(nd.dot(nd.dot(x.T, inv), x))
                ).asscalar()
            )
        )
    a = int(np.argmax(s))
    r = float(th[a].dot(x.asnumpy())[0])
    R += r
    A[a] += nd.dot(x, x.T)
    b[a] += r * x
print("linucb", round(R, 3), nd.linalg.inverse(A[0])[0], nd.linalg.det(A[1]))
