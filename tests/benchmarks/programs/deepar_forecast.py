"""DeepAR with three distributions, forecasts drawn step by step, and N-BEATS, as GluonTS has them."""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import HybridBlock, nn, rnn

mx.random.seed(42)
np.random.seed(42)


class Distribution:
    is_reparam = True

    def __init__(self, F, *p):
        self.F = F
        self.p = p

    def loss(self, x):
        return -self.log_prob(x)


class Gaussian(Distribution):
    n = 2

    def log_prob(self, x):
        F = self.F
        mu, s = self.p
        return -0.5 * F.log(2 * math.pi * F.square(s)) - F.square((x - mu) / s) / 2

    @classmethod
    def domain(cls, F, mu, s):
        return (mu, F.Activation(s, act_type="softrelu") + 0.001)

    def sample(self, n=None):
        mu, s = self.p
        if n is not None:
            mu, s = (v.expand_dims(0).repeat(repeats=n, axis=0) for v in (mu, s))
        return self.F.sample_normal(mu=mu, sigma=s)

    mean = property(lambda self: self.p[0])


class StudentT(Distribution):
    n = 3

    def log_prob(self, x):
        F = self.F
        mu, s, nu = self.p
        h = (nu + 1) / 2
        return (
            F.gammaln(h)
            - F.gammaln(nu / 2)
            - 0.5 * F.log(math.pi * nu)
            - F.log(s)
            - h * F.log1p(F.square((x - mu) / s) / nu)
        )

    @classmethod
    def domain(cls, F, mu, s, nu):
        sp = lambda v: F.Activation(v, act_type="softrelu")
        return (mu, sp(s) + 0.001, 2 + sp(nu))

    def sample(self, n=None):
        mu, s, nu = self.p
        if n is not None:
            mu, s, nu = (v.expand_dims(0).repeat(repeats=n, axis=0) for v in (mu, s, nu))
        g = self.F.sample_gamma(nu / 2, 2 / nu)
        return self.F.sample_normal(mu=mu, sigma=s / self.F.sqrt(g))

    mean = property(lambda self: self.p[0])


class NegBin(Distribution):
    n = 2

    def log_prob(self, x):
        F = self.F
        mu, a = self.p
        ai = 1 / a
        am = a * mu
        return (
            x * F.log(am / (1 + am))
            - ai * F.log1p(am)
            + F.gammaln(x + ai)
            - F.gammaln(x + 1)
            - F.gammaln(ai)
        )

    @classmethod
    def domain(cls, F, mu, a):
        sp = lambda v: F.Activation(v, act_type="softrelu") + 0.01
        return (sp(mu), sp(a))

    def sample(self, n=None):
        mu, a = self.p
        if n is not None:
            mu, a = (v.expand_dims(0).repeat(repeats=n, axis=0) for v in (mu, a))
        r = 1 / a
        th = a * mu
        return self.F.random.poisson(lam=self.F.random.gamma(r, th))

    mean = property(lambda self: self.p[0])


class ArgProj(HybridBlock):
    def __init__(self, dims, domain, **kw):
        super().__init__(**kw)
        self.dm = domain
        with self.name_scope():
            self.proj = [
                nn.Dense(d, flatten=False, prefix="distr%d_" % i) for i, d in enumerate(dims)
            ]
            for d in self.proj:
                self.register_child(d)

    def hybrid_forward(self, F, x):
        return tuple(self.dm(F, *[p(x).squeeze(axis=-1) for p in self.proj]))


class MeanScaler(HybridBlock):
    def __init__(self, minimum_scale=1e-10, **kw):
        super().__init__(**kw)
        self.m = minimum_scale

    def hybrid_forward(self, F, data, obs):
        n = F.sum(obs, axis=1)
        s = F.sum(F.abs(data) * obs, axis=1)
        ts = F.sum(n, axis=0)
        d = F.sum(s, axis=0) / F.broadcast_maximum(ts, F.ones_like(ts))
        sc = F.where(
            s > 0, s / F.broadcast_maximum(n, F.ones_like(n)), F.broadcast_mul(F.ones_like(s), d)
        )
        sc = F.expand_dims(F.broadcast_maximum(sc, F.ones_like(sc) * self.m), axis=1)
        return (F.broadcast_div(data, sc), sc)


class DeepAR(HybridBlock):
    def __init__(
        self,
        cls,
        cell="lstm",
        layers=2,
        cells=10,
        lags=(1, 2, 7),
        ctx=14,
        pred=7,
        card=3,
        samples=20,
        **kw,
    ):
        super().__init__(**kw)
        self.cls, self.lags, self.ctx, self.pred, self.ns = (cls, lags, ctx, pred, samples)
        with self.name_scope():
            self.proj = ArgProj([1] * cls.n, cls.domain)
            self.embed = nn.Embedding(card, 4)
            self.scaler = MeanScaler()
            self.rnn = rnn.HybridSequentialRNNCell()
            for k in range(layers):
                c = {"lstm": rnn.LSTMCell, "gru": rnn.GRUCell}[cell](hidden_size=cells)
                c = rnn.ResidualCell(c) if k > 0 else c
                c = rnn.ZoneoutCell(c, zoneout_states=0.1)
                self.rnn.add(c)

    @staticmethod
    def get_lagged(F, seq, T, lags, n):
        out = []
        for l in lags:
            b, e = (-l - n, -l if l > 0 else None)
            out.append(F.slice_axis(seq, axis=1, begin=b, end=e))
        return F.stack(*out, axis=-1)

    def unroll(self, F, cat, past, feat, full, n):
        scaled, scale = self.scaler(past, F.ones_like(past))
        l = F.broadcast_div(self.get_lagged(F, full, None, self.lags, n), F.expand_dims(scale, 2))
        st = F.repeat(
            F.expand_dims(F.concat(self.embed(cat), F.log(scale), dim=1), axis=1), axis=1, repeats=n
        )
        x = F.concat(l, feat, st, dim=-1)
        o, s = self.rnn.unroll(
            inputs=x,
            length=n,
            layout="NTC",
            merge_outputs=True,
            begin_state=self.rnn.begin_state(
                func=F.zeros,
                dtype="float32",
                batch_size=x.shape[0] if isinstance(x, nd.NDArray) else 0,
            ),
        )
        return (o, s, scale, st)


class Train(DeepAR):
    def hybrid_forward(self, F, cat, past, feat, future):
        full = F.concat(past, future, dim=1)
        n = self.ctx + self.pred
        o, _, sc, _ = self.unroll(F, cat, past, feat, full, n)
        d = self.cls(F, *self.proj(o))
        y = (
            F.broadcast_div(F.slice_axis(full, axis=1, begin=-n, end=None), sc)
            if self.cls is not NegBin
            else F.slice_axis(full, axis=1, begin=-n, end=None)
        )
        l = d.loss(y)
        return (F.mean(l, axis=1), l)


class Predict(DeepAR):
    def hybrid_forward(self, F, cat, past, feat, future_feat):
        o, st, sc, stat = self.unroll(
            F, cat, past, F.slice_axis(feat, axis=1, begin=0, end=self.ctx), past, self.ctx
        )
        rep = lambda t: t.repeat(repeats=self.ns, axis=0)
        past_r, sc, st, ff = (rep(past), rep(sc), [rep(s) for s in st], rep(future_feat))
        stat = rep(F.slice_axis(stat, axis=1, begin=0, end=1))
        out = []
        for k in range(self.pred):
            l = F.broadcast_div(
                self.get_lagged(F, past_r, None, [v - 1 for v in self.lags], 1),
                F.expand_dims(sc, 2),
            )
            x = F.concat(l, F.slice_axis(ff, axis=1, begin=k, end=k + 1), stat, dim=-1)
            o, st = self.rnn.unroll(
                inputs=x, length=1, begin_state=st, layout="NTC", merge_outputs=True
            )
            self.rnn.reset()
            s = self.cls(F, *self.proj(o)).sample()
            s = s * sc if self.cls is not NegBin else s
            past_r = F.concat(past_r, s, dim=1)
            out.append(s)
        return F.concat(*out, dim=1).reshape((-1, self.ns, self.pred))


t = np.arange(120)
series = (
    np.stack(
        [
            10 * (i + 1) + 3 * (i + 1) * np.sin(2 * np.pi * t / 7) + np.random.randn(120)
            for i in range(6)
        ]
    )
    .astype("float32")
    .round()
    .clip(0)
)


def window(i, end, ctx=14, pred=7, lag=7):
    s = series[i]
    w = np.stack([np.sin(2 * np.pi * t / 7), np.cos(2 * np.pi * t / 7)], 1).astype("float32")
    return (
        np.float32(i % 3),
        s[end - ctx - lag : end],
        w[end - ctx : end + pred],
        s[end : end + pred],
    )


def batches(n, B=8):
    for _ in range(n):
        yield [
            nd.array(np.stack(v))
            for v in zip(
                *[window(np.random.randint(6), np.random.randint(30, 100)) for _ in range(B)]
            )
        ]


for cls, cell, hyb in ((Gaussian, "lstm", True), (StudentT, "gru", True), (NegBin, "lstm", False)):
    mx.random.seed(0)
    np.random.seed(0)
    net = Train(cls, cell, prefix="deepar_")
    net.initialize(mx.init.Xavier())
    if hyb:
        net.hybridize()
    tr = gluon.Trainer(
        net.collect_params(), mx.optimizer.Adam(learning_rate=0.01, wd=1e-08, clip_gradient=10.0)
    )
    acc = mx.metric.Loss("epoch_loss")
    for k, b in enumerate(batches(12)):
        with autograd.record():
            l, _ = net(*b)
        l.backward()
        tr.step(8)
        acc.update(None, preds=l)
        if not np.isfinite(acc.get()[1]):
            print("nan")
    print(cls.__name__, acc.get())
    pn = Predict(cls, cell, prefix="deepar_")
    pn.initialize()
    c, p, f, fu = next(batches(1))
    pn(c, p, f[:, :14], f[:, 14:])
    src = net.collect_params()
    for k, v in pn.collect_params().items():
        v.set_data(src[k].data())
    mx.random.seed(5)
    o = pn(c, p, f[:, :14], f[:, 14:])
    print(o.shape, o.mean().asscalar(), o[0, :2].asnumpy().round(2).tolist())
    q = np.quantile(o.asnumpy(), [0.1, 0.5, 0.9], axis=1)
    y = fu.asnumpy()
    print(
        "wQL",
        [
            round(float(2 * np.sum(np.abs((q[i] - y) * ((y <= q[i]) - tau))) / np.abs(y).sum()), 4)
            for i, tau in enumerate((0.1, 0.5, 0.9))
        ],
    )


class QuantileLoss(gluon.loss.Loss):
    def __init__(self, qs, weight=None, batch_axis=0, **kw):
        super().__init__(weight, batch_axis, **kw)
        self.q = qs

    def hybrid_forward(self, F, y, p):
        l = 0
        for i, q in enumerate(self.q):
            e = y - F.slice_axis(p, axis=-1, begin=i, end=i + 1).squeeze(axis=-1)
            l = l + F.broadcast_maximum(q * e, (q - 1) * e)
        return l.mean(axis=self._batch_axis, exclude=True)


class NBeats(HybridBlock):
    def __init__(self, back, fore, nb, theta, kind, **kw):
        super().__init__(**kw)
        self.kind = kind
        tb, tf = (np.linspace(-1, 0, back), np.linspace(0, 1, fore))
        with self.name_scope():
            self.fcs = nn.HybridSequential()
            for _ in range(nb):
                self.fcs.add(nn.Dense(16, activation="relu"))
            self.tb = nn.Dense(theta, use_bias=False)
            self.tf = nn.Dense(theta, use_bias=False)
            basis = (
                (lambda x: np.stack([x**i for i in range(theta)]))
                if kind == "trend"
                else lambda x: np.concatenate(
                    [
                        np.stack([np.cos(2 * np.pi * i * x) for i in range(theta // 2)]),
                        np.stack([np.sin(2 * np.pi * i * x) for i in range(theta - theta // 2)]),
                    ]
                )
            )
            self.Bb = self.params.get_constant("Bb", nd.array(basis(tb)))
            self.Bf = self.params.get_constant("Bf", basis(tf).astype("float32"))

    def hybrid_forward(self, F, x, Bb, Bf):
        h = self.fcs(x)
        return (F.dot(self.tb(h), Bb), F.dot(self.tf(h), Bf))


blocks = [
    NBeats(14, 7, 2, 3, "trend", prefix="trend_"),
    NBeats(14, 7, 2, 4, "season", prefix="season_"),
]
for b in blocks:
    b.initialize(mx.init.Xavier())
    b.hybridize()
ps = gluon.ParameterDict()
for b in blocks:
    ps.update(b.collect_params())
tr = gluon.Trainer(ps, "adadelta", {"rho": 0.9})
ql = QuantileLoss([0.5])
for i, (c, p, f, y) in enumerate(batches(6)):
    with autograd.record():
        r = p[:, -14:] / 50
        fc = 0
        for b in blocks:
            bb, ff = b(r)
            r = r - bb
            fc = fc + ff
        l = ql(y / 50, fc.expand_dims(2))
    l.backward()
    tr.step(8)
    print(i, l.mean().asscalar())
print(ps)
