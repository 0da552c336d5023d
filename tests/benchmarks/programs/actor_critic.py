"""An actor-critic on a toy pole: two heads, episodes recorded whole, log probabilities by pick,
entropy bonus, returns backwards.
"""

import mxnet as mx
import mxnet.ndarray as F
import numpy as np
from mxnet import gluon
from mxnet.gluon import nn

rng = np.random.RandomState(2)


class Pole:
    def reset(self):
        self.x = rng.uniform(-0.05, 0.05, 4)
        return self.x.copy()

    def step(self, action):
        x, v, a, w = self.x
        force = 10.0 if action else -10.0
        acc = (9.8 * np.sin(a) - np.cos(a) * force / 1.1) / 0.65
        self.x = np.array([x + 0.02 * v, v + 0.02 * force / 1.1, a + 0.02 * w, w + 0.02 * acc])
        return self.x.copy(), 1.0, bool(abs(self.x[0]) > 2.4 or abs(self.x[2]) > 0.21)


class Policy(gluon.Block):
    def __init__(self, **kwargs):
        super(Policy, self).__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(16, in_units=4, activation="relu")
            self.action_pred = nn.Dense(2, in_units=16)
            self.value_pred = nn.Dense(1, in_units=16)

    def forward(self, x):
        x = self.dense(x)
        probs = self.action_pred(x)
        values = self.value_pred(x)
        return F.softmax(probs), values


net = Policy()
net.initialize(mx.init.Uniform(0.02))
for p in net.collect_params().values():
    p.set_data(mx.nd.array(rng.uniform(-0.2, 0.2, p.shape)))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 3e-2})
loss, env, running = gluon.loss.L1Loss(), Pole(), 10.0
for epoch in range(8):
    state = env.reset()
    rewards, values, heads, actions = [], [], [], []
    with mx.autograd.record():
        for t in range(60):
            state = mx.nd.array(np.expand_dims(state, 0))
            prob, value = net(state)
            p = prob.asnumpy()[0]
            action = int(rng.rand() < p[1])
            logp = F.log(F.pick(prob, mx.nd.array([action]), axis=1))
            state, reward, done = env.step(action)
            rewards.append(reward)
            values.append(value)
            heads.append(logp)
            if done:
                break
        R, returns = 0, []
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = np.array(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-5)
        L = sum([loss(value, mx.nd.array([r])) for r, value in zip(returns, values)])
        final = [L]
        for logp, r, v in zip(heads, returns, values):
            final.append(-logp * (r - float(v.asnumpy().sum())))
    mx.autograd.backward(final)
    trainer.step(t + 1)
    running = running * 0.9 + t * 0.1
    if epoch < 4:
        print(epoch, t, "%.4f" % L.asscalar(), "%.3f" % running)
print("ran", running > 5)
