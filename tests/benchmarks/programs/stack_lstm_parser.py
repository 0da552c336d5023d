"""A transition-based parser with stack LSTMs: the graph of each sentence is another one."""

import random

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

random.seed(0)
np.random.seed(0)
mx.random.seed(0)
V = 15


def gen():
    n = random.randint(3, 14)
    w = [random.randrange(V) for _ in range(n)]
    ops = []
    st = 0
    i = 0
    while i < n or st > 1:
        if st >= 2 and (i >= n or w[min(i, n - 1)] % 2 == 0):
            ops.append(1 if w[i - 1] % 3 else 2)
            st -= 1
        else:
            ops.append(0)
            st += 1
            i += 1
    return (w, ops)


data = [gen() for _ in range(40)]


class StackRNN:
    def __init__(self, cell, init, empty):
        self.cell = cell
        self.s = [(init, None)]
        self.empty = empty

    def push(self, x, e=None):
        out, st = self.cell(x, self.s[-1][0])
        self.s.append((st, (out, e)))

    def pop(self):
        return self.s.pop()[1][1]

    def emb(self):
        return self.s[-1][1][0] if len(self.s) > 1 else self.empty

    def __len__(self):
        return len(self.s) - 1


class Parser(gluon.Block):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.e = nn.Embedding(V, 8)
            self.sc = rnn.LSTMCell(10, input_size=8)
            self.bc = rnn.LSTMCell(10, input_size=8)
            self.comp = nn.HybridSequential()
            self.comp.add(nn.Dense(8, activation="tanh", in_units=24))
            self.rel = nn.Embedding(3, 8)
            self.act = nn.Dense(3, in_units=20)
            self.em = self.params.get("empty", shape=(1, 10), init="zeros")

    def forward(self, w, ops=None):
        E = self.e(nd.array(w))
        buf = StackRNN(self.bc, self.bc.begin_state(1), self.em.data())
        st = StackRNN(self.sc, self.sc.begin_state(1), self.em.data())
        for i in reversed(range(len(w))):
            buf.push(E[i : i + 1], E[i : i + 1])
        loss = []
        pred = []
        k = 0
        while len(buf) or len(st) > 1:
            valid = ([0] if len(buf) else []) + ([1, 2] if len(st) > 1 else [])
            a = valid[0]
            if len(valid) > 1:
                lp = nd.log_softmax(
                    nd.take(
                        self.act(nd.concat(st.emb(), buf.emb(), dim=1)), nd.array(valid), axis=1
                    ),
                    axis=1,
                )
                if ops is not None:
                    a = ops[k]
                    loss.append(-nd.pick(lp, nd.array([valid.index(a)])))
                else:
                    a = valid[int(lp.argmax(1).asscalar())]
            pred.append(a)
            k += 1
            if a == 0:
                x = buf.pop()
                st.push(x, x)
            else:
                r = st.pop()
                l = st.pop()
                x = self.comp(nd.concat(l, r, self.rel(nd.array([a])), dim=1))
                st.push(x, x)
        return (nd.add_n(*loss) if loss else None, pred)


net = Parser()
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for ep in range(2):
    tot = 0
    for w, ops in data:
        with autograd.record():
            l, _ = net(w, ops)
        if l is None:
            continue
        l.backward()
        tr.step(1, ignore_stale_grad=True)
        tot += l.asscalar()
    print(ep, "loss %.4f" % tot)
acc = [sum((a == b for a, b in zip(net(w)[1], o))) / len(o) for w, o in data[:10]]
print("%.3f" % np.mean(acc))
