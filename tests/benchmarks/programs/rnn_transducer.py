"""Speech: an RNN transducer whose loss is a lattice of small operations, CTC in all layouts, a
transformer on subsampled frames.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

np.random.seed(0)
mx.random.seed(0)


def lse(a, b):
    m = nd.maximum(a, b)
    return m + nd.log(nd.exp(a - m) + nd.exp(b - m))


def rnnt_loss(lp, y):
    T, U1, V = lp.shape
    al = [[None] * U1 for _ in range(T)]
    blank = lp[:, :, 0]
    em = (
        nd.pick(lp[:, :-1], nd.broadcast_to(nd.array(y).reshape((1, -1)), (T, U1 - 1)), axis=2)
        if U1 > 1
        else None
    )
    for t in range(T):
        for u in range(U1):
            if t == 0 and u == 0:
                al[t][u] = nd.zeros((1,))
                continue
            c = []
            if t > 0:
                c.append(al[t - 1][u] + blank[t - 1, u])
            if u > 0:
                c.append(al[t][u - 1] + em[t, u - 1])
            al[t][u] = c[0] if len(c) == 1 else lse(*c)
    return -(al[-1][-1] + blank[T - 1, U1 - 1])


class Trans(gluon.Block):
    def __init__(self, V, H=8, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.enc = rnn.GRU(H, bidirectional=True, input_size=5)
            self.pe = nn.Embedding(V, H)
            self.pred = rnn.LSTM(H, input_size=H)
            self.j = nn.HybridSequential()
            self.j.add(
                nn.Dense(H, activation="tanh", flatten=False, in_units=3 * H),
                nn.Dense(V, flatten=False, in_units=H),
            )
            self.j.hybridize()

    def forward(self, x, y):
        f = self.enc(x)[:, 0]
        g = self.pred(self.pe(nd.array([0] + list(y))).expand_dims(1))[:, 0]
        T, U = (f.shape[0], g.shape[0])
        z = nd.concat(
            nd.broadcast_axis(f.expand_dims(1), 1, U),
            nd.broadcast_axis(g.expand_dims(0), 0, T),
            dim=2,
        )
        return nd.log_softmax(self.j(z), axis=-1)


net = Trans(5)
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for i in range(8):
    T, U = (np.random.randint(3, 8), np.random.randint(1, 4))
    x = nd.array(np.random.randn(T, 1, 5))
    y = np.random.randint(1, 5, U)
    with autograd.record():
        l = rnnt_loss(net(x, y), y)
    l.backward()
    tr.step(1)
    print(i, T, U, l.asnumpy())
for layout, ll in (("TNC", "TN"), ("NTC", "NT")):
    ctc = gluon.loss.CTCLoss(layout=layout, label_layout=ll)
    p = nd.array(np.random.RandomState(1).randn(6, 2, 4))
    lab = nd.array([[1, 2, 0], [0, 1, 1]])
    a, b = (p, lab.T) if layout == "TNC" else (p.swapaxes(0, 1), lab)
    p_ = a.copy()
    p_.attach_grad()
    with autograd.record():
        l = ctc(p_, b, nd.array([6, 5]), nd.array([2, 3]))
    l.backward()
    print(layout, l, p_.grad.sum(axis=-1).abs().max() < 1e-05, p_.grad[0, 0])
print(
    nd.ctc_loss(p, nd.array([[1, 2, 0], [2, 3, 3]]), blank_label="first"),
    nd.CTCLoss(
        p,
        nd.array([[1, 2], [2, 0]]),
        nd.array([5, 6]),
        nd.array([1, 2]),
        use_data_lengths=True,
        use_label_lengths=True,
        blank_label="last",
    ),
)


class SpeechT(gluon.HybridBlock):
    def __init__(self, d=8, V=6, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.sub = nn.HybridSequential()
            self.sub.add(
                nn.Conv2D(4, 3, strides=2, activation="relu"),
                nn.Conv2D(4, 3, strides=2, activation="relu"),
            )
            self.lin = nn.Dense(d, flatten=False)
            self.q, self.k, self.v, self.o = (nn.Dense(d, flatten=False) for _ in range(4))
            self.n1 = nn.LayerNorm()
            self.f = nn.Dense(d, flatten=False, activation="relu")
            self.out = nn.Dense(V, flatten=False)

    def hybrid_forward(self, F, x, ln):
        h = self.sub(x.expand_dims(1)).transpose((0, 2, 1, 3))
        h = self.lin(h.reshape((0, 0, -3)))
        s = F.batch_dot(self.q(h), self.k(h), transpose_b=True) / 8**0.5
        pos = F.contrib.arange_like(h, axis=1)
        m = F.broadcast_lesser(pos.reshape((1, 1, -1)), ln.reshape((-1, 1, 1)))
        s = F.where(F.broadcast_like(m, s), s, F.ones_like(s) * -1000000000.0)
        h = self.n1(h + self.o(F.batch_dot(F.softmax(s), self.v(h))))
        return self.out(h + self.f(h))


for hyb in (False, True):
    mx.random.seed(1)
    np.random.seed(1)
    st = SpeechT()
    st.initialize(mx.init.Xavier())
    st.hybridize(hyb)
    tr = gluon.Trainer(st.collect_params(), "adam", {"learning_rate": 0.005})
    ctc = gluon.loss.CTCLoss()
    for i in range(8):
        T = np.random.randint(15, 40)
        x = nd.array(np.random.randn(3, T, 12))
        ln = nd.array([((t - 3) // 2 + 1 - 3) // 2 + 1 for t in (T, T - 2, T - 5)])
        lab = nd.array(np.random.randint(0, 5, (3, 2)))
        with autograd.record():
            o = st(x, ln)
            l = ctc(o, lab, ln).mean()
        l.backward()
        tr.step(3)
        print(hyb, T, o.shape, round(float(l.asscalar()), 4))
