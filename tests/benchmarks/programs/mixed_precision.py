"""AMP and float16: a converted symbol and block, multi_precision optimizers."""

import logging
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.contrib import amp
from mxnet.gluon import nn

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
rng = np.random.RandomState(35)
weight = nd.array(rng.normal(0, 1, (4, 3)), dtype="float16")
grad = nd.array(rng.normal(0, 1, (4, 3)), dtype="float16")
for name in ("sgd", "adam", "nag"):
    opt = mx.optimizer.create(name, learning_rate=0.01, multi_precision=True, wd=0.01)
    w = weight.copy()
    state = opt.create_state_multi_precision(0, w)
    for _ in range(3):
        opt.update_multi_precision(0, w, grad, state)
    print(name, w.dtype.__name__, "%.3f" % w.astype("float32").norm().asscalar())
net = nn.HybridSequential()
net.add(
    nn.Dense(8, activation="relu", in_units=6), nn.LayerNorm(in_channels=8), nn.Dense(3, in_units=8)
)
net.initialize()
for p in net.collect_params().values():
    if p.name.endswith("weight"):
        p.set_data(nd.array(rng.normal(0, 0.4, p.shape)))
x, y = nd.array(rng.normal(0, 1, (16, 6))), nd.array(rng.randint(0, 3, 16))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(4):
    with autograd.record():
        loss = loss_fn(net(x), y)
    loss.backward()
    trainer.step(16)
    print(step, "%.4f" % loss.mean().asscalar())
data = mx.sym.var("data")
sym = mx.sym.SoftmaxOutput(
    mx.sym.FullyConnected(
        mx.sym.FullyConnected(data, num_hidden=4, name="a"), num_hidden=2, name="b"
    ),
    name="softmax",
)
converted = amp.convert_symbol(sym, target_dtype="float16", cast_optional_params=False)
print(
    any("amp_cast" in n for n in converted.get_internals().list_outputs()),
    converted.list_arguments(),
)
print(
    nd.amp_cast(x, dtype="float16").dtype.__name__,
    [a.dtype.__name__ for a in nd.amp_multicast(x, x.astype("float16"), num_outputs=2)],
)
print(nd.multi_all_finite(x, x * np.inf, num_arrays=2).asnumpy(), nd.all_finite(x).asnumpy())
