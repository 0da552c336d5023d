"""Dropout left on to predict (train_mode): the spread grows away from the data; random numbers,
so only facts are printed.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

mx.random.seed(7)
np.random.seed(7)
X = nd.random.uniform(-1, 1, shape=(128, 1))
y = X * nd.sin(4 * X) + nd.random.normal(0, 0.05, X.shape)
net = nn.HybridSequential()
for units in (40, 40):
    net.add(nn.Dense(units, activation="relu"), nn.Dropout(0.2))
net.add(nn.Dense(1))
net.initialize(mx.init.MSRAPrelu(), ctx=mx.cpu())
net.hybridize()
loss_fn = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for epoch in range(60):
    with autograd.record():
        loss = loss_fn(net(X), y)
    loss.backward()
    trainer.step(128)
print("fits", loss.mean().asscalar() < 0.05)
grid = nd.array(np.linspace(-3, 3, 61)[:, None])
with autograd.train_mode():
    draws = nd.stack(*[net(grid) for _ in range(30)])
mean, std = draws.mean(axis=0), ((draws - draws.mean(axis=0)) ** 2).mean(axis=0) ** 0.5
std = std.asnumpy().ravel()
print(draws.shape, bool(std[:8].mean() > std[26:35].mean()))
with autograd.predict_mode():
    same = net(grid) - net(grid)
print(same.abs().max().asscalar())
print(autograd.is_training(), autograd.is_recording())
with autograd.record(train_mode=False):
    print(autograd.is_training(), autograd.is_recording())
    with autograd.pause(train_mode=True):
        print(autograd.is_training(), autograd.is_recording())
