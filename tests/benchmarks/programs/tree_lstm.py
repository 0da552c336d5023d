"""Child-sum tree LSTM: recursion in Python over trees of different shapes, nothing to batch,
gradients collected over several trees.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd as ag
from mxnet import gluon
from mxnet.gluon import nn

rng = np.random.RandomState(90)


class Tree(object):
    def __init__(self, value):
        self.value, self.children = value, []


def grow(depth):
    tree = Tree(rng.randint(8))
    if depth:
        for _ in range(rng.randint(1, 4)):
            tree.children.append(grow(depth - 1))
    return tree


def total(tree):
    return tree.value + sum(total(c) for c in tree.children)


class ChildSumLSTMCell(nn.Block):
    def __init__(self, hidden, size, **kwargs):
        super(ChildSumLSTMCell, self).__init__(**kwargs)
        with self.name_scope():
            self.i2h_weight = self.params.get("i2h_weight", shape=(4 * hidden, size))
            self.hs2h_weight = self.params.get("hs2h_weight", shape=(3 * hidden, hidden))
            self.hc2h_weight = self.params.get("hc2h_weight", shape=(hidden, hidden))
            self.bias = self.params.get("bias", shape=(4 * hidden,))
        self.hidden = hidden

    def node(self, x, states):
        F = mx.nd
        i2h = F.FullyConnected(
            x, self.i2h_weight.data(), self.bias.data(), num_hidden=4 * self.hidden
        )
        i2h = F.split(i2h, num_outputs=4, axis=1)
        hs = F.add_n(*[h for h, _ in states]) if states else F.zeros((1, self.hidden))
        hs2h = F.split(
            F.FullyConnected(hs, self.hs2h_weight.data(), num_hidden=3 * self.hidden, no_bias=True),
            num_outputs=3,
            axis=1,
        )
        i, o = F.sigmoid(i2h[0] + hs2h[0]), F.sigmoid(i2h[2] + hs2h[1])
        c = i * F.tanh(i2h[3] + hs2h[2])
        for h, child in states:
            f = F.sigmoid(
                i2h[1]
                + F.FullyConnected(h, self.hc2h_weight.data(), num_hidden=self.hidden, no_bias=True)
            )
            c = c + f * child
        return o * F.tanh(c), c

    def forward(self, inputs, tree):
        states = [self.forward(inputs, child) for child in tree.children]
        return self.node(mx.nd.expand_dims(inputs[tree.value], 0), states)


class Model(nn.Block):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.embed = nn.Embedding(8, 6)
            self.cell = ChildSumLSTMCell(10, 6)
            self.out = nn.Dense(1, in_units=10)

    def forward(self, tree):
        return self.out(self.cell(self.embed(mx.nd.arange(8)), tree)[0])


net = Model()
net.initialize()
for p in net.collect_params().values():
    p.set_data(mx.nd.array(rng.uniform(-0.3, 0.3, p.shape)))
trees = [grow(2) for _ in range(30)]
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
l2 = gluon.loss.L2Loss()
print([total(t) for t in trees[:10]])
for epoch in range(3):
    shown = 0.0
    for i in range(0, 30, 5):
        losses = []
        with ag.record():
            for t in trees[i : i + 5]:
                losses.append(l2(net(t), mx.nd.array([total(t) / 10.0])))
            loss = sum(losses)
        loss.backward()
        trainer.step(5)
        shown += loss.asscalar()
    print(epoch, "%.4f" % shown)
