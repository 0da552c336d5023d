"""A3C with worker threads, REINFORCE with Module, prioritized double dueling DQN with a sum tree."""

import queue
import random
import threading

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd, sym
from mxnet.gluon import nn

np.random.seed(43)
mx.random.seed(43)
random.seed(43)


class Bandit:
    def __init__(self, seed):
        self.r = np.random.RandomState(seed)

    def reset(self):
        self.t, self.c = 0, self.r.randint(3)
        return self.obs()

    def obs(self):
        o = np.zeros(4, "f")
        o[self.c] = 1
        o[3] = self.t / 5.0
        return o

    def step(self, a):
        r = float(a == self.c)
        self.t += 1
        self.c = self.r.randint(3)
        return self.obs(), r, self.t >= 5


class AC(gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.h = nn.Dense(12, activation="relu", in_units=4)
            self.p, self.v = nn.Dense(3, in_units=12), nn.Dense(1, in_units=12)

    def forward(self, x):
        h = self.h(x)
        return nd.softmax(self.p(h)), self.v(h)


glob = AC()
glob.initialize(mx.init.Xavier())
trainer = gluon.Trainer(glob.collect_params(), "rmsprop", {"learning_rate": 1e-2})
lock = threading.Lock()
results, order = [], queue.Queue()
turn = [threading.Event() for _ in range(3)]
turn[0].set()
start = {k.split("_", 1)[1]: v.data().copy() for k, v in glob.collect_params().items()}


def worker(k):
    env, local = Bandit(k), AC()
    local.initialize()
    rs = np.random.RandomState(k + 10)
    for ep in range(3):
        turn[k].wait()
        turn[k].clear()
        for a, b in zip(local.collect_params().values(), glob.collect_params().values()):
            a.set_data(b.data())
        o, done, S, A, R = env.reset(), False, [], [], []
        while not done:
            p, _ = local(nd.array(o[None]))
            a = int(rs.choice(3, p=p.asnumpy()[0] / p.asnumpy()[0].sum()))
            S.append(o)
            A.append(a)
            o, r, done = env.step(a)
            R.append(r)
        G = np.cumsum(np.array(R)[::-1] * 0.9)[::-1].astype("f")
        with autograd.record():
            p, v = local(nd.array(np.array(S)))
            adv = nd.array(G) - v.reshape((-1,))
            loss = (
                -(nd.log(nd.pick(p, nd.array(A)) + 1e-8) * adv.detach()).sum()
                + 0.5 * (adv**2).sum()
                + 0.01 * (p * nd.log(p)).sum()
            )
        loss.backward()
        with lock:
            for a, b in zip(local.collect_params().values(), glob.collect_params().values()):
                b.grad()[:] = a.grad()
            trainer.step(1, ignore_stale_grad=True)
            results.append(
                (k, ep, round(loss.asscalar().item(), 4), sum(R), autograd.is_recording())
            )
        turn[(k + 1) % 3].set()


ts = [threading.Thread(target=worker, args=(k,)) for k in range(3)]
[t.start() for t in ts]
[t.join() for t in ts]
for r in results:
    print(*r)
print(
    "%.5f"
    % sum(
        nd.norm(v.data() - start[k.split("_", 1)[1]]).asscalar()
        for k, v in glob.collect_params().items()
    )
)
# REINFORCE with Module: gradients given to backward
mx.random.seed(5)
d = sym.Variable("data")
h = sym.Activation(sym.FullyConnected(d, num_hidden=10, name="fc1"), act_type="tanh")
pol = sym.SoftmaxActivation(sym.FullyConnected(h, num_hidden=3, name="fc2"), name="pol")
mod = mx.mod.Module(
    sym.Group([pol, sym.FullyConnected(h, num_hidden=1, name="val")]), label_names=None
)
mod.bind([("data", (5, 4))], for_training=True, grad_req="add", inputs_need_grad=True)
mod.init_params(mx.init.Xavier(magnitude=0.5))
mod.init_optimizer(kvstore=None, optimizer="adam", optimizer_params={"learning_rate": 0.02})
env, rs = Bandit(7), np.random.RandomState(7)
for ep in range(4):
    for g in mod._exec_group.grad_arrays:
        for x in g:
            x[:] = 0
    tot = 0
    for roll in range(2):
        o, S, A, R, done = env.reset(), [], [], [], False
        while not done:
            mod.forward(mx.io.DataBatch([nd.array(np.tile(o, (5, 1)))]), is_train=False)
            p = mod.get_outputs()[0].asnumpy()[0]
            a = int(rs.choice(3, p=p / p.sum()))
            S.append(o)
            A.append(a)
            o, r, done = env.step(a)
            R.append(r)
        mod.forward(mx.io.DataBatch([nd.array(np.array(S))], None), is_train=True)
        p, v = [z.asnumpy() for z in mod.get_outputs()]
        adv = np.cumsum(R[::-1])[::-1] - v[:, 0]
        g = np.zeros_like(p)
        g[np.arange(5), A] = -adv / np.maximum(p[np.arange(5), A], 1e-6)
        mod.backward([nd.array(g), nd.array(-adv[:, None])])
        tot += sum(R)
    mod.update()
    print(
        ep,
        tot,
        "%.5f" % mod.get_input_grads()[0].norm().asscalar(),
        "%.5f" % mod._exec_group.grad_arrays[0][0].norm().asscalar(),
    )


class SumTree:
    def __init__(self, n):
        self.n, self.tree, self.data, self.w = n, np.zeros(2 * n - 1), [None] * n, 0

    def add(self, p, x):
        self.data[self.w] = x
        self.update(self.w + self.n - 1, p)
        self.w = (self.w + 1) % self.n

    def update(self, i, p):
        c = p - self.tree[i]
        while True:
            self.tree[i] += c
            if i == 0:
                break
            i = (i - 1) // 2

    def get(self, s):
        i = 0
        while 2 * i + 1 < len(self.tree):
            l = 2 * i + 1
            if s <= self.tree[l]:
                i = l
            else:
                s -= self.tree[l]
                i = l + 1
        return i, self.tree[i], self.data[i - self.n + 1]


class Dueling(nn.HybridBlock):
    def __init__(self, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.f, self.a, self.v = nn.Dense(16, activation="relu"), nn.Dense(3), nn.Dense(1)

    def hybrid_forward(self, F, x):
        h = self.f(x)
        a = self.a(h)
        return F.broadcast_add(self.v(h), F.broadcast_sub(a, F.mean(a, axis=1, keepdims=True)))


q, tq = Dueling(prefix="q_"), Dueling(prefix="tq_")
for n in (q, tq):
    n.initialize(mx.init.MSRAPrelu())
    n.hybridize()
    n(nd.zeros((1, 4)))


def sync():
    q.save_parameters("q.params")
    tq.load_parameters("q.params")


sync()
tree = SumTree(32)
tr = gluon.Trainer(q.collect_params(), "adam", {"learning_rate": 0.01})
o = env.reset()
for t in range(60):
    a = (
        random.randrange(3)
        if random.random() < 0.3
        else int(q(nd.array(o).reshape((1, -1))).argmax(axis=1).asscalar())
    )
    o2, r, done = env.step(a)
    tree.add(1.0, (o, a, r, o2, done))
    o = env.reset() if done else o2
    if t > 20 and t % 8 == 0:
        seg = tree.tree[0] / 8
        idx, pr, samp = zip(
            *[tree.get(np.random.uniform(seg * i, seg * (i + 1))) for i in range(8)]
        )
        s, a_, r_, s2, dn = [nd.array(np.array(z, "f")) for z in zip(*samp)]
        w = nd.array((np.array(pr) * 8 / tree.tree[0]) ** -0.5)
        w = w / w.max()
        best = q(s2).argmax(1)
        y = r_ + 0.9 * (1 - dn) * tq(s2).pick(best)
        with autograd.record():
            e = q(s).pick(a_, 1) - y.detach()
            L = (w * nd.smooth_l1(e, scalar=1)).mean()
        L.backward()
        tr.step(1)
        for i, x in zip(idx, e.abs().asnumpy() + 0.01):
            tree.update(i, x)
        if t % 16 == 0:
            sync()
        print(t, "%.5f" % L.asscalar(), "%.4f" % tree.tree[0])
print(q, [p.name for p in q.collect_params().values()])
