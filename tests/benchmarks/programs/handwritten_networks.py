"""ResNeXt, DenseNet, SqueezeNet and MobileNet blocks written by hand; each trains two steps,
hybridized or not.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


class ResNeXtBlock(nn.HybridBlock):
    def __init__(self, channels, cardinality, stride, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            self.body.add(
                nn.Conv2D(channels, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu")
            )
            self.body.add(
                nn.Conv2D(channels, 3, stride, 1, groups=cardinality, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
            )
            self.body.add(nn.Conv2D(channels * 2, 1, use_bias=False), nn.BatchNorm())
            self.short = nn.HybridSequential(prefix="down_")
            self.short.add(nn.Conv2D(channels * 2, 1, stride, use_bias=False), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        return F.Activation(self.body(x) + self.short(x), act_type="relu")


class DenseBlock(nn.HybridBlock):
    def __init__(self, layers, growth):
        super().__init__()
        self.net = nn.HybridSequential()
        for _ in range(layers):
            part = nn.HybridSequential()
            part.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(growth, 3, padding=1))
            self.net.add(part)

    def hybrid_forward(self, F, x):
        for block in self.net:
            x = F.concat(x, block(x), dim=1)
        return x


class Fire(nn.HybridBlock):
    def __init__(self, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2D(squeeze, 1, activation="relu")
        self.one = nn.Conv2D(expand, 1, activation="relu")
        self.three = nn.Conv2D(expand, 3, padding=1, activation="relu")

    def hybrid_forward(self, F, x):
        x = self.squeeze(x)
        return F.concat(self.one(x), self.three(x), dim=1)


class RELU6(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.clip(x, 0, 6, name="relu6")


def separable(channels, stride):
    out = nn.HybridSequential()
    out.add(
        nn.Conv2D(
            channels[0], 3, stride, 1, groups=channels[0], in_channels=channels[0], use_bias=False
        ),
        nn.BatchNorm(scale=True),
        RELU6(),
    )
    out.add(nn.Conv2D(channels[1], 1, use_bias=False), nn.BatchNorm(), RELU6())
    return out


def stem(*blocks):
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(16, 3, 1, 1), nn.BatchNorm(), nn.Activation("relu"))
        net.add(*blocks)
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(5))
    return net


networks = [
    ("resnext", stem(ResNeXtBlock(16, 4, 1), ResNeXtBlock(32, 8, 2))),
    ("densenet", stem(DenseBlock(3, 8), nn.AvgPool2D(2), DenseBlock(3, 8))),
    (
        "squeezenet",
        stem(Fire(8, 16), nn.MaxPool2D(3, 2, ceil_mode=True), Fire(8, 24), nn.Dropout(0.0)),
    ),
    ("mobilenet", stem(separable((16, 24), 2), separable((24, 32), 1), separable((32, 32), 2))),
]
for seed, (name, net) in enumerate(networks):
    rng = np.random.RandomState(seed)
    x, y = nd.array(rng.normal(0, 1, (8, 3, 20, 20))), nd.array(rng.randint(0, 5, 8))
    net.initialize()
    net(x)
    for p in net.collect_params().values():
        if p.name.endswith("weight"):
            p.set_data(nd.array(rng.normal(0, np.sqrt(2.0 / np.prod(p.shape[1:])), p.shape)))
    if seed % 2 == 0:
        net.hybridize()
    trainer = gluon.Trainer(
        net.collect_params(), "nag", {"learning_rate": 0.05, "momentum": 0.9, "wd": 1e-3}
    )
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(3):
        with autograd.record():
            loss = loss_fn(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        losses.append("%.3f" % loss.asscalar())
    size = sum(int(np.prod(p.shape)) for p in net.collect_params().values())
    print(name, losses, size, "%.3f" % net(x).abs().mean().asscalar())
