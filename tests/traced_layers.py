"""Calls of layers, losses, optimizers and arithmetic, which ``store_traces`` traces first.

Every network is trained for a step, at once and hybridized, with float32, on sizes that do not coincide.
"""

from __future__ import annotations

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

CHANNELS = 7, 11


def convolution(kernel, stride=1, pad=0, groups=1, **more):
    """Blocks around a convolution of several kinds."""
    net = nn.HybridSequential()
    width = CHANNELS[1] * groups
    net.add(
        nn.Conv2D(width, kernel, stride, pad, groups=groups, use_bias=more.get("bias", True)),
        nn.BatchNorm(),
        nn.Activation(more.get("activation", "relu")),
    )
    return net


def networks():
    """Pairs of a network and the shape of a sample."""
    image = (CHANNELS[0], 34, 38)
    for kernel, stride, pad in (
        (1, 1, 0), (3, 1, 1), (3, 2, 1), (5, 1, 2), (5, 1, 0), (7, 2, 3), (1, 2, 0), (3, 1, 0),
        (4, 2, 1), (2, 2, 0), (11, 4, 2),
    ):  # fmt: skip
        yield convolution(kernel, stride, pad), image
        yield convolution(kernel, stride, pad, bias=False), image
    for pool in (
        nn.MaxPool2D(2, 2), nn.MaxPool2D(3, 2), nn.MaxPool2D(3, 2, 1), nn.AvgPool2D(2, 2),
        nn.AvgPool2D(3, 1, 1), nn.GlobalAvgPool2D(), nn.GlobalMaxPool2D(), nn.AvgPool2D(7, 7),
    ):  # fmt: skip
        yield pool, image
    for kernel, stride, pad in ((4, 2, 1), (2, 2, 0), (3, 1, 1), (4, 1, 0)):
        yield nn.Conv2DTranspose(CHANNELS[1], kernel, stride, pad), image
        yield nn.Conv2DTranspose(CHANNELS[1], kernel, stride, pad, use_bias=False), image
    for kernel in (1, 2, 3, 4, 5):
        yield nn.Conv1D(CHANNELS[1], kernel, padding=kernel // 2), (CHANNELS[0], 33)
        yield nn.Conv1D(CHANNELS[1], kernel), (CHANNELS[0], 33)
    yield nn.GlobalMaxPool1D(), (CHANNELS[0], 33)
    for activation in ("relu", "tanh", "sigmoid", "softrelu", "softsign"):
        yield nn.Activation(activation), image
        yield nn.Dense(13, activation=activation), (19,)
        yield nn.Dense(13, activation=activation, flatten=False), (5, 19)
    for layer in (
        nn.LeakyReLU(0.2), nn.PReLU(), nn.ELU(), nn.SELU(), nn.GELU(), nn.Swish(), nn.Flatten(),
        nn.InstanceNorm(), nn.LayerNorm(), nn.GroupNorm(1), nn.Dropout(0.5), nn.BatchNorm(),
        nn.BatchNorm(scale=False), nn.BatchNorm(center=False, scale=False),
    ):  # fmt: skip
        yield layer, image
    for sample in ((19,), (5, 19)):
        for layer in (
            nn.LayerNorm(),
            nn.BatchNorm(),
            nn.Dropout(0.5),
            nn.GELU(),
            nn.LeakyReLU(0.2),
        ):
            yield layer, sample
    yield nn.Dense(13, use_bias=False), (19,)
    yield nn.Dense(13), (19,)
    yield nn.Dense(1), (19,)
    yield nn.Dense(13, flatten=False), (5, 19)
    yield nn.Dense(13, flatten=False, use_bias=False), (5, 19)
    yield nn.Dense(13), image
    for layers in (1, 2):
        for kind in (rnn.LSTM, rnn.GRU, rnn.RNN):
            yield kind(13, layers, layout="NTC"), (5, 19)
        yield rnn.LSTM(13, layers, layout="NTC", bidirectional=True), (5, 19)


def losses():
    """Losses with shapes of what they compare."""
    yield gluon.loss.SoftmaxCrossEntropyLoss(), (17, 13), (17,)
    yield gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False), (17, 13), (17, 13)
    yield gluon.loss.SoftmaxCrossEntropyLoss(axis=1), (17, 5, 19), (17, 19)
    for loss in (
        gluon.loss.L2Loss(), gluon.loss.L1Loss(), gluon.loss.HuberLoss(), gluon.loss.HingeLoss(),
        gluon.loss.SigmoidBCELoss(), gluon.loss.SigmoidBCELoss(from_sigmoid=True),
        gluon.loss.KLDivLoss(), gluon.loss.KLDivLoss(from_logits=False), gluon.loss.LogisticLoss(),
    ):  # fmt: skip
        yield loss, (17, 13), (17, 13)
        yield loss, (17,), (17,)
        yield loss, (17, 1), (17, 1)


def step(net, shape, optimizer="sgd", **options):
    """A training step and a prediction."""
    for hybrid in (False, True):
        net.initialize(force_reinit=True)
        if hybrid:
            net.hybridize()
        x = nd.random.uniform(shape=(17, *shape))
        x.attach_grad()
        trainer = gluon.Trainer(net.collect_params(), optimizer, options)
        with autograd.record():
            out = net(x)
            loss = out.sum() if isinstance(out, nd.NDArray) else out[0].sum()
        loss.backward()
        if len(net.collect_params()):
            trainer.step(17)
        net(x).wait_to_read()
        nd.waitall()


for network, sample in networks():
    step(network, sample)
for optimizer, options in (
    ("sgd", {"momentum": 0.9}), ("sgd", {"momentum": 0.9, "wd": 1e-4}), ("adam", {}),
    ("adagrad", {}), ("rmsprop", {}), ("adadelta", {}), ("nag", {"momentum": 0.9}), ("ftrl", {}),
    ("adamax", {}), ("nadam", {}), ("lamb", {}), ("signum", {}), ("adam", {"wd": 1e-4}),
    ("sgd", {"clip_gradient": 1.0}), ("adam", {"clip_gradient": 1.0}),
):  # fmt: skip
    step(nn.Dense(13), (19,), optimizer, **options)
    step(convolution(3), (CHANNELS[0], 34, 38), optimizer, **options)
for loss, ours, theirs in losses():
    for hybrid in (False, True):
        if hybrid:
            loss.hybridize()
        a, b = nd.random.uniform(shape=ours), nd.random.uniform(shape=theirs)
        a.attach_grad()
        with autograd.record():
            value = loss(a, b)
        value.backward()
        (value.mean().asscalar(), value.sum().asscalar(), a.grad.wait_to_read())


def arithmetic(np, shape):
    """Operators of arrays with their gradients."""
    a, b = np.ones(shape) * 0.5, np.ones(shape) * 2
    a.attach_grad()
    b.attach_grad()
    last = len(shape) - 1
    functions = [
        lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / b, lambda: a**2, lambda: a + 1,
        lambda: a - 1, lambda: 1 - a, lambda: a * 3, lambda: a / 3, lambda: 1 / a, lambda: -a,
        lambda: np.exp(a), lambda: np.log(a), lambda: np.sqrt(a), lambda: np.abs(a),
        lambda: np.tanh(a), lambda: np.sin(a), lambda: np.cos(a), lambda: np.square(a),
        lambda: a.sum(), lambda: a.mean(), lambda: a.max(), lambda: a.min(),
        lambda: a.sum(axis=0), lambda: a.sum(axis=last), lambda: a.mean(axis=0),
        lambda: a.mean(axis=last), lambda: a.max(axis=last), lambda: a.sum(axis=0, keepdims=True),
        lambda: a.sum(axis=last, keepdims=True), lambda: np.maximum(a, b), lambda: np.minimum(a, b),
        lambda: a.reshape((-1,)), lambda: np.where(a > b, a, b), lambda: a.expand_dims(0)
        if hasattr(a, "expand_dims") else np.expand_dims(a, 0), lambda: a.T, lambda: np.clip(a, 0, 1),
        lambda: np.dot(a, b.T) if len(shape) == 2 else a, lambda: np.maximum(a, 0),
    ]  # fmt: skip
    for function in functions:
        with autograd.record():
            value = function()
            total = value.sum()
        total.backward()
        value.asnumpy()
    (a > b).asnumpy(), (a < b).asnumpy(), (a == b).asnumpy(), a.argmax(axis=last).asnumpy()
    np.zeros(shape).asnumpy(), a.astype("int32").asnumpy(), a.astype("float32").asnumpy()
    (a.argmax(axis=last) == b.argmax(axis=last)).sum().asnumpy()
    a[0].asnumpy(), a[1:3].asnumpy(), a[:, 0].asnumpy() if len(shape) > 1 else None
    c = np.zeros(shape)
    c += a
    c -= 0.1 * a
    c *= 2
    c /= 3
    c[:] = a
    c.asnumpy()


for shape in ((17, 13), (17,), (17, 13, 5), (17, 7, 11, 5), (1, 13), (17, 1)):
    arithmetic(mx.nd, shape)
    arithmetic(mx.np, shape)
with autograd.record():
    weight = nd.random.normal(shape=(19, 13))
    weight.attach_grad()
    (nd.softmax(nd.dot(nd.ones((17, 19)), weight)) * 2).sum().backward()
embedding = nn.Embedding(23, 13)
embedding.initialize()
for shape in ((17,), (17, 5)):
    with autograd.record():
        total = embedding(nd.ones(shape)).sum()
    total.backward()
    nd.one_hot(nd.ones(shape), 23).asnumpy()
for shape in ((17, 5, 7), (17, 3, 5, 7)):
    a, b = nd.ones(shape), nd.ones(shape)
    a.attach_grad()
    with autograd.record():
        scores = nd.softmax(nd.linalg_gemm2(a, b, transpose_b=True))
        out = nd.linalg_gemm2(scores, b)
    out.backward()
    out.asnumpy()
a, b = nd.ones((17, 5, 7)), nd.ones((17, 5, 7))
a.attach_grad()
with autograd.record():
    out = nd.batch_dot(nd.softmax(nd.batch_dot(a, b, transpose_b=True)), b)
out.backward()
image, regions = nd.ones((3, 7, 34, 38)), nd.ones((11, 5))
image.attach_grad()
for pool in (
    lambda: nd.ROIPooling(image, regions, pooled_size=(7, 7), spatial_scale=1 / 16),
    lambda: nd.ROIPooling(image, regions, pooled_size=(3, 3), spatial_scale=1.0),
    lambda: nd.contrib.ROIAlign(
        image, regions, pooled_size=(7, 7), spatial_scale=1 / 16, sample_ratio=2
    ),
):
    with autograd.record():
        out = pool()
    out.backward()
nd.waitall()
