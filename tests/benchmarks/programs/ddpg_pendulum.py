"""DDPG and TD3 on a pendulum: target networks, soft updates, Ornstein-Uhlenbeck noise, replay in NDArrays."""

import copy
import random

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import loss as gloss
from mxnet.gluon import nn

random.seed(0)
np.random.seed(0)
mx.random.seed(0)


class Pendulum:
    def reset(self):
        self.th, self.w = np.random.uniform(-1, 1), 0.0
        return self.obs()

    def obs(self):
        return nd.array([np.cos(self.th), np.sin(self.th), self.w])

    def step(self, u):
        u = float(np.clip(u, -2, 2))
        self.w += (3 * np.sin(self.th) + u) * 0.05
        self.th += self.w * 0.05
        return self.obs(), -(self.th**2 + 0.1 * self.w**2 + 0.001 * u * u), False


class Actor(nn.Block):
    def __init__(self, act_dim, bound):
        super().__init__()
        self.bound = bound
        self.a = nn.Dense(24, activation="relu")
        self.b = nn.Dense(
            act_dim,
            activation="tanh",
            weight_initializer=mx.init.Uniform(3e-3),
            bias_initializer="zeros",
        )

    def forward(self, s):
        return self.b(self.a(s)) * self.bound


class Critic(nn.Block):
    def __init__(self):
        super().__init__()
        self.s = nn.Dense(24)
        self.a = nn.Dense(24, use_bias=False)
        self.o = nn.Dense(1)

    def forward(self, s, a):
        return self.o(nd.relu(self.s(s) + self.a(a)))


class Memory:
    def __init__(self, cap, s_dim, a_dim):
        self.s, self.a = nd.empty((cap, s_dim)), nd.empty((cap, a_dim))
        self.r, self.s2 = nd.zeros((cap, 1)), nd.zeros((cap, s_dim))
        self.i = self.n = 0
        self.cap = cap

    def push(self, s, a, r, s2):
        self.s[self.i] = s
        self.a[self.i] = a
        self.r[self.i] = r
        self.s2[self.i] = s2
        self.i = (self.i + 1) % self.cap
        self.n = min(self.n + 1, self.cap)

    def sample(self, k):
        idx = nd.array(random.sample(range(self.n), k))
        return tuple(nd.take(x, idx) for x in (self.s, self.a, self.r, self.s2))


def soft_update(target, source, tau):
    for t, s in zip(target.collect_params().values(), source.collect_params().values()):
        t.set_data(s.data() * tau + t.data() * (1 - tau))


def build():
    nets = Actor(1, 2.0), Critic(), Critic(), Actor(1, 2.0), Critic(), Critic()
    for n in nets:
        n.collect_params().initialize(mx.init.Xavier(), force_reinit=True)
    s, a = nd.zeros((1, 3)), nd.zeros((1, 1))
    for n in nets:
        n(s) if isinstance(n, Actor) else n(s, a)
    for src, dst in zip(nets[:3], nets[3:]):
        soft_update(dst, src, 1.0)
    return nets


actor, q1, q2, t_actor, t_q1, t_q2 = build()
topt = {"learning_rate": 1e-3}
tr_a = gluon.Trainer(actor.collect_params(), mx.optimizer.Adam(learning_rate=1e-3))
tr_1 = gluon.Trainer(q1.collect_params(), "adam", {"learning_rate": 1e-2, "wd": 1e-2})
tr_2 = gluon.Trainer(q2.collect_params(), "adamax", topt)
l2 = gloss.L2Loss()
huber = gloss.HuberLoss(rho=0.5)
env, mem = Pendulum(), Memory(64, 3, 1)
ou = nd.zeros((1,))
s = env.reset()
step = 0
for ep in range(3):
    total = 0.0
    for _ in range(25):
        ou[:] = ou + 0.15 * (0 - ou) + 0.2 * nd.random.randn(1)
        with autograd.predict_mode():
            act = (actor(s.reshape((1, -1)))[0] + ou).clip(-2, 2)
        s2, r, _ = env.step(act.asscalar())
        mem.push(s, act, r, s2)
        s, total, step = s2, total + r, step + 1
        if mem.n < 16 or step % 3:
            continue
        S, A, R, S2 = mem.sample(16)
        noise = nd.clip(nd.random.normal(0, 0.2, shape=(16, 1)), -0.5, 0.5)
        A2 = nd.clip(t_actor(S2) + noise, -2, 2)
        y = R + 0.99 * nd.minimum(t_q1(S2, A2), t_q2(S2, A2))
        with autograd.record():
            c1 = l2(q1(S, A), y)
            c2 = huber(q2(S, A), y)
        autograd.backward([c1, c2])
        tr_1.step(16)
        tr_2.step(16)
        if step % 2 == 0:
            with autograd.record():
                la = -q1(S, actor(S)).mean()
            la.backward()
            tr_a.step(1)
            for d, o in ((t_actor, actor), (t_q1, q1), (t_q2, q2)):
                soft_update(d, o, 0.05)
    print(
        "ep %d return %.4f c1 %.5f c2 %.5f n %d"
        % (ep, total, c1.mean().asscalar(), c2.mean().asscalar(), mem.n)
    )
    s = env.reset()
print(actor)
print(mem.s[:3].asnumpy().round(4), mem.a[-3:].shape, ou)
try:
    print(copy.deepcopy(actor.a.weight.data()).shape)
    cp = copy.deepcopy(actor)
    print(type(cp).__name__)
except Exception as e:
    print(type(e).__name__)
actor.save_parameters("actor.params")
fresh = Actor(1, 2.0)
fresh.load_parameters("actor.params", ctx=mx.cpu())
print(nd.norm(fresh(S) - actor(S)).asscalar())
for k, v in mx.nd.load("actor.params").items():
    print(k, v.shape, v.dtype)
try:
    Critic().load_parameters("actor.params")
except Exception as e:
    print(type(e).__name__)
tr_a.save_states("a.states")
tr_a.load_states("a.states")
tr_a.set_learning_rate(5e-4)
print(tr_a.learning_rate)
