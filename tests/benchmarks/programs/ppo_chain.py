"""PPO with GAE on a one-dimensional chain: discrete and Gaussian policies, clipping of gradients."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

np.random.seed(5)
mx.random.seed(5)


class Chain:
    """Reach the right end; an observation is a position and a phase."""

    def __init__(self, n=7):
        self.n = n

    def reset(self):
        self.x, self.t = self.n // 2, 0
        return self._obs()

    def _obs(self):
        return np.array([self.x / self.n, np.sin(self.t), np.cos(self.t)], dtype="float32")

    def step(self, a):
        self.x += 1 if a == 1 else -1
        self.t += 1
        done = self.x <= 0 or self.x >= self.n - 1 or self.t > 20
        r = 1.0 if self.x >= self.n - 1 else -0.05
        return self._obs(), r, done, {}


class ActorCritic(gluon.HybridBlock):
    def __init__(self, n_act, hidden=16):
        super().__init__()
        with self.name_scope():
            self.shared = nn.HybridSequential()
            self.shared.add(
                nn.Dense(hidden, activation="tanh"), nn.Dense(hidden, activation="tanh")
            )
            self.pi = nn.Dense(n_act)
            self.v = nn.Dense(1)
            self.log_std = self.params.get("log_std", shape=(1,), init=mx.init.Constant(-0.5))

    def hybrid_forward(self, F, x, log_std):
        h = self.shared(x)
        return (
            F.log_softmax(self.pi(h)),
            self.v(h).reshape((-1,)),
            F.broadcast_mul(F.exp(log_std), F.ones_like(h.slice_axis(axis=1, begin=0, end=1))),
        )


def gae(rewards, values, dones, last, gamma=0.95, lam=0.9):
    adv, run = np.zeros(len(rewards), "float32"), 0.0
    values = np.append(values, last)
    for t in reversed(range(len(rewards))):
        mask = 1.0 - dones[t]
        delta = rewards[t] + gamma * values[t + 1] * mask - values[t]
        run = delta + gamma * lam * mask * run
        adv[t] = run
    return adv, adv + values[:-1]


net = ActorCritic(2)
net.initialize(mx.init.Xavier())
net.hybridize(static_alloc=True)
trainer = gluon.Trainer(
    net.collect_params(), "rmsprop", {"learning_rate": 3e-3, "gamma1": 0.9, "centered": True}
)
env = Chain()
obs = env.reset()
for it in range(4):
    buf = {k: [] for k in "orvdal"}
    for t in range(48):
        logp, v, std = net(nd.array(obs).expand_dims(0))
        a = int(nd.sample_multinomial(nd.exp(logp)).asscalar())
        nobs, r, done, _ = env.step(a)
        for k, x in zip("orvdal", (obs, r, v.asscalar(), float(done), a, logp[0, a].asscalar())):
            buf[k].append(x)
        obs = env.reset() if done else nobs
    last = net(nd.array(obs).expand_dims(0))[1].asscalar()
    adv, ret = gae(buf["r"], np.array(buf["v"]), buf["d"], last)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    ds = gluon.data.ArrayDataset(
        np.stack(buf["o"]),
        np.array(buf["a"], "float32"),
        np.array(buf["l"], "float32"),
        adv.astype("float32"),
        ret.astype("float32"),
    )
    loader = gluon.data.DataLoader(ds, batch_size=16, shuffle=True, last_batch="discard")
    tot = []
    for _ in range(2):
        for o, a, l, ad, rt in loader:
            with autograd.record():
                logp, v, std = net(o)
                lp = nd.pick(logp, a)
                ratio = nd.exp(lp - l)
                surr = nd.minimum(ratio * ad, nd.clip(ratio, 0.8, 1.2) * ad)
                ent = -(nd.exp(logp) * logp).sum(axis=1)
                loss = (-surr + 0.5 * (v - rt) ** 2 - 0.01 * ent).mean() + 0.001 * std.mean()
            loss.backward()
            params = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
            norm = gluon.utils.clip_global_norm(params, 0.5)
            trainer.step(1)
            tot.append((loss.asscalar(), norm))
    print(
        it,
        "loss %.5f norm %.5f return %.3f"
        % (np.mean([x[0] for x in tot]), np.mean([x[1] for x in tot]), sum(buf["r"])),
    )
print(net.log_std)
print(net.log_std.data())
print(net.collect_params())
lp, sm = nd.sample_multinomial(nd.array([[0.1, 0.9], [0.5, 0.5]]), get_prob=True, shape=4), None
print(lp)


# value targets, in the manner of a running mean/variance normalizer
class RunningStat(object):
    def __init__(self, shape):
        self.n, self.m, self.s = 0, nd.zeros(shape), nd.zeros(shape)

    def push(self, x):
        self.n += 1
        if self.n == 1:
            self.m[:] = x
        else:
            old = self.m.copy()
            self.m[...] = old + (x - old) / self.n
            self.s[...] += (x - old) * (x - self.m)

    @property
    def std(self):
        return nd.sqrt(self.s / max(self.n - 1, 1)) + 1e-8


rs = RunningStat((3,))
for o in buf["o"]:
    rs.push(nd.array(o))
print(rs.m, rs.std, rs.n)
for bad in (
    lambda: nd.pick(logp, nd.ones((3,))),
    lambda: net(nd.ones((2, 9))),
    lambda: nd.clip(logp),
    lambda: logp[0, 0, 0],
    lambda: bool(nd.ones((2,))),
):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__)
