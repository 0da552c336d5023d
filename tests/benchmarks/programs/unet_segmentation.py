"""U-Net on discs: skip connections, Conv2DTranspose, a dice loss of one's own, a custom metric."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, init
from mxnet.gluon import nn

mx.random.seed(1)
rs = np.random.RandomState(1)
yy, xx = np.mgrid[:32, :32]


def sample(n):
    masks = np.zeros((n, 1, 32, 32), "float32")
    for m in masks:
        cy, cx, r = rs.randint(8, 24), rs.randint(8, 24), rs.randint(3, 8)
        m[0] = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
    return masks + rs.normal(0, 0.4, masks.shape).astype("float32"), masks


class ConvBlock(nn.HybridSequential):
    def __init__(self, channels, **kw):
        super().__init__(**kw)
        with self.name_scope():
            for _ in range(2):
                self.add(nn.Conv2D(channels, 3, padding=1, use_bias=False))
                self.add(nn.BatchNorm())
                self.add(nn.LeakyReLU(0.1))


class UNet(nn.HybridBlock):
    def __init__(self, depth=2, start=8, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.depth = depth
            for i in range(depth):
                setattr(self, "down%d" % i, ConvBlock(start * 2**i))
                setattr(self, "up%d" % i, nn.Conv2DTranspose(start * 2**i, 2, strides=2))
                setattr(self, "merge%d" % i, ConvBlock(start * 2**i))
            self.bottom = ConvBlock(start * 2**depth)
            self.pool = nn.MaxPool2D(2)
            self.head = nn.Conv2D(1, 1)

    def hybrid_forward(self, F, x):
        skips = []
        for i in range(self.depth):
            x = getattr(self, "down%d" % i)(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for i in reversed(range(self.depth)):
            x = F.concat(getattr(self, "up%d" % i)(x), skips[i], dim=1)
            x = getattr(self, "merge%d" % i)(x)
        return F.sigmoid(self.head(x))


class DiceLoss(gluon.loss.Loss):
    def __init__(self, weight=None, batch_axis=0, **kw):
        super().__init__(weight, batch_axis, **kw)

    def hybrid_forward(self, F, pred, label):
        axes = (1, 2, 3)
        inter = (pred * label).sum(axis=axes)
        return 1 - (2 * inter + 1) / (pred.sum(axis=axes) + label.sum(axis=axes) + 1)


class IoU(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("iou")

    def update(self, labels, preds):
        for l, p in zip(labels, preds):
            l, p = l.asnumpy() > 0.5, p.asnumpy() > 0.5
            self.sum_metric += (l & p).sum() / max((l | p).sum(), 1)
            self.num_inst += 1


net = UNet()
net.initialize(init.Zero())
X, Y = sample(24)
net(mx.nd.array(X[:1]))
for name, p in net.collect_params().items():
    if name.endswith("weight"):
        p.set_data(mx.nd.array(rs.normal(0, np.sqrt(2.0 / np.prod(p.shape[1:])), p.shape)))
net.hybridize(static_alloc=True, static_shape=True)
loader = gluon.data.DataLoader(
    gluon.data.ArrayDataset(X, Y), batch_size=8, shuffle=False, last_batch="keep"
)
loss_fn, bce, metric = DiceLoss(), gluon.loss.SigmoidBCELoss(from_sigmoid=True), IoU()
trainer = gluon.Trainer(net.collect_params(), mx.optimizer.Adam(learning_rate=3e-3))
for epoch in range(5):
    metric.reset()
    total = 0
    for x, y in loader:
        with autograd.record():
            p = net(x)
            loss = loss_fn(p, y) + bce(p, y)
        autograd.backward(loss)
        trainer.step(x.shape[0])
        metric.update([y], [p])
        total += loss.mean().asscalar()
    if epoch < 2:
        print("epoch %d loss %.3f" % (epoch, total / 3))
print(metric.get()[0], metric.get()[1] > 0.5)
print(len(net.collect_params().keys()), len(list(net.collect_params(".*weight").keys())))
x, y = sample(4)
print(net(mx.nd.array(x)).shape)
