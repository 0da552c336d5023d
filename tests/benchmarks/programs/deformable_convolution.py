"""Deformable convolution with learned offsets, beside BilinearSampler and SpatialTransformer."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn

rng = np.random.RandomState(31)


class DeformNet(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Conv2D(8, 3, padding=1, activation="relu")
            self.offset = nn.Conv2D(18, 3, padding=1, weight_initializer="zeros")
            self.weight = self.params.get("deform_weight", shape=(12, 8, 3, 3))
            self.loc = nn.Dense(6, weight_initializer="zeros")
            self.out = nn.Dense(3)

    def hybrid_forward(self, F, x, weight):
        theta = (
            self.loc(x) + F.array([1.0, 0, 0, 0, 1, 0]).reshape((1, 6))
            if F is mx.nd
            else self.loc(x)
        )
        x = F.SpatialTransformer(
            x, theta, target_shape=(14, 14), transform_type="affine", sampler_type="bilinear"
        )
        x = self.first(x)
        off = self.offset(x)
        x = F.contrib.DeformableConvolution(
            x, off, weight, kernel=(3, 3), pad=(1, 1), num_filter=12, no_bias=True
        )
        x = F.LeakyReLU(x, act_type="elu", slope=0.5)
        return self.out(F.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg"))


net = DeformNet(prefix="deform_")
net.initialize()
y = np.arange(24) % 3
x = rng.normal(0, 0.2, (24, 1, 14, 14))
for i in range(24):
    x[i, 0, 3 + y[i] * 3 : 6 + y[i] * 3, 4:9] += 2 - y[i] * 0.5
x, y = mx.nd.array(x), mx.nd.array(y)
net(x)
for name, p in net.collect_params().items():
    if "offset" in name or "dense0" in name:
        p.set_data(mx.nd.array(rng.normal(0, 0.02, p.shape)))
    elif name.endswith("weight"):
        p.set_data(mx.nd.array(rng.normal(0, np.sqrt(2.0 / np.prod(p.shape[1:])), p.shape)))
loss_fn = gluon.loss.SoftmaxCELoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
for step in range(8):
    with autograd.record():
        loss = loss_fn(net(x), y)
    loss.backward()
    if step < 3:
        for key in ("deform_deform_weight", "deform_conv1_weight", "deform_dense0_bias"):
            print(step, key, "%.4f" % net.collect_params()[key].grad().norm().asscalar())
    trainer.step(24)
    print("%.3f" % loss.mean().asscalar())
data = mx.nd.arange(16).reshape((1, 1, 4, 4))
grid = mx.nd.GridGenerator(
    mx.nd.array([[0.5, 0, 0.1, 0, 0.5, -0.2]]), transform_type="affine", target_shape=(3, 3)
)
print(grid.asnumpy().round(3).tolist())
print(mx.nd.BilinearSampler(data, grid).asnumpy().round(3).tolist())
flow = mx.nd.ones((1, 2, 4, 4)) * 0.5
print(
    mx.nd.BilinearSampler(data, mx.nd.GridGenerator(flow, transform_type="warp"))
    .asnumpy()
    .round(3)[0, 0]
    .tolist()
)
a, b = mx.nd.array(rng.rand(1, 2, 5, 5)), mx.nd.array(rng.rand(1, 2, 5, 5))
corr = mx.nd.Correlation(a, b, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=1)
print(corr.shape, "%.4f" % corr.sum().asscalar())
