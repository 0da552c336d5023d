"""Dilated causal convolutions with skip connections; samples are generated one by one."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

mx.random.seed(14)
rng = np.random.RandomState(14)
Q = 16


class Res(nn.HybridBlock):
    def __init__(self, d):
        super().__init__()
        self.d = d
        with self.name_scope():
            self.f, self.g = nn.Conv1D(12, 2, dilation=d), nn.Conv1D(12, 2, dilation=d)
            self.s, self.r = nn.Conv1D(16, 1), nn.Conv1D(12, 1)

    def hybrid_forward(self, F, x):
        h = F.tanh(self.f(x)) * F.sigmoid(self.g(x))
        return self.r(h) + F.slice_axis(x, axis=2, begin=self.d, end=None), self.s(h)


class Net(nn.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.inp = nn.Conv1D(12, 1)
            self.bl = [Res(d) for d in (1, 2, 4, 8)]
            for b in self.bl:
                self.register_child(b)
            self.o1, self.o2 = nn.Conv1D(16, 1, activation="relu"), nn.Conv1D(Q, 1)

    def forward(self, x):
        x = self.inp(nd.one_hot(x, Q).transpose((0, 2, 1)))
        skips = []
        for b in self.bl:
            x, s = b(x)
            skips.append(s)
        t = x.shape[2]
        return self.o2(self.o1(nd.relu(nd.add_n(*[s[:, :, -t:] for s in skips]))))


net = Net()
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
lf = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
wave = ((np.sin(np.arange(600) / 5) + 1) / 2 * (Q - 1)).astype(int)
for it in range(16):
    st = rng.randint(0, 500, 8)
    x = np.stack([wave[s : s + 64] for s in st])
    with autograd.record():
        o = net(nd.array(x[:, :-1]))
        l = lf(o, nd.array(x[:, -o.shape[2] :]))
    l.backward()
    tr.step(8, ignore_stale_grad=True)
    if it % 5 == 0:
        print(it, "%.4f" % l.mean().asscalar())
gen = list(wave[:16])
for _ in range(30):
    gen.append(int(net(nd.array([gen]))[0, :, -1].argmax(axis=0).asscalar()))
print(len(gen))
