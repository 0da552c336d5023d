"""Deep Q-learning in a corridor: replay memory, an epsilon-greedy policy from a NumPy generator,
a target network by copied parameters.
"""

import random
from collections import deque

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

random.seed(1)
rng = np.random.RandomState(1)


class Corridor:
    n = 7

    def reset(self):
        self.pos, self.steps = 3, 0
        return self.state()

    def state(self):
        s = np.zeros(self.n, "float32")
        s[self.pos] = 1
        return s

    def step(self, action):
        self.pos = int(np.clip(self.pos + (1 if action else -1), 0, self.n - 1))
        self.steps += 1
        done = self.pos in (0, self.n - 1) or self.steps >= 20
        return self.state(), (1.0 if self.pos == self.n - 1 else -0.05), done


def make(prefix):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(16, activation="relu", in_units=7), nn.Dense(2, in_units=16))
    net.initialize()
    return net


policy, target = make("policy_"), make("target_")
for p in policy.collect_params().values():
    p.set_data(nd.array(rng.uniform(-0.3, 0.3, p.shape)))


def copy(src, dst):
    for (_, a), (_, b) in zip(
        sorted(src.collect_params().items()), sorted(dst.collect_params().items())
    ):
        b.set_data(a.data())


copy(policy, target)
policy.hybridize()
trainer = gluon.Trainer(policy.collect_params(), "adam", {"learning_rate": 0.01})
memory, env, loss_fn = deque(maxlen=500), Corridor(), gluon.loss.HuberLoss()
rewards, updates, losses = [], 0, []
for episode in range(25):
    state, total, done = env.reset(), 0.0, False
    epsilon = max(0.1, 1 - episode / 15.0)
    while not done:
        if rng.rand() < epsilon:
            action = rng.randint(2)
        else:
            action = int(nd.argmax(policy(nd.array(state).expand_dims(0)), axis=1).asscalar())
        after, reward, done = env.step(action)
        memory.append((state, action, reward, after, float(done)))
        state, total = after, total + reward
        if len(memory) >= 16:
            s, a, r, s2, d = map(np.array, zip(*random.sample(memory, 16)))
            best = nd.max(target(nd.array(s2)), axis=1)
            goal = nd.array(r) + 0.9 * best * (1 - nd.array(d))
            with autograd.record():
                q = nd.pick(policy(nd.array(s)), nd.array(a), axis=1)
                loss = loss_fn(q, goal)
            loss.backward()
            trainer.step(16)
            losses.append(loss.mean().asscalar())
            updates += 1
            if updates % 25 == 0:
                copy(policy, target)
    rewards.append(total)
print(["%.2f" % r for r in rewards[:8]], updates > 50)
print(["%.4f" % v for v in losses[:5]])
q = policy(nd.array(np.eye(7))).asnumpy()
print("goes right:", (q[1:6].argmax(1) == 1).mean() >= 0.8)
