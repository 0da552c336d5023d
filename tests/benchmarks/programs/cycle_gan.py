"""Two generators in a cycle with InstanceNorm and reflection padding, a replay pool of images, a
learning-rate plan.
"""

import random

import mxnet as mx
import numpy as np
from mxnet import autograd as ag
from mxnet import gluon, nd
from mxnet.gluon import nn

random.seed(0)
rng = np.random.RandomState(0)


class ResBlock(nn.HybridBlock):
    def __init__(self, dim):
        super(ResBlock, self).__init__()
        self.conv = nn.HybridSequential()
        with self.name_scope():
            for i in range(2):
                self.conv.add(
                    nn.ReflectionPad2D(1), nn.Conv2D(dim, kernel_size=3), nn.InstanceNorm()
                )
                if i == 0:
                    self.conv.add(nn.Activation("relu"))

    def hybrid_forward(self, F, x):
        return self.conv(x) + x


def generator():
    net = nn.HybridSequential()
    net.add(nn.ReflectionPad2D(1), nn.Conv2D(6, 3), nn.InstanceNorm(), nn.Activation("relu"))
    net.add(
        nn.Conv2D(12, 3, 2, 1), nn.InstanceNorm(scale=True), nn.Activation("relu"), ResBlock(12)
    )
    net.add(
        nn.HybridLambda(lambda F, x: F.UpSampling(x, scale=2, sample_type="nearest")),
        nn.Conv2D(6, 3, 1, 1),
        nn.InstanceNorm(),
        nn.Activation("relu"),
    )
    net.add(nn.ReflectionPad2D(1), nn.Conv2D(3, 3), nn.Activation("tanh"))
    return net


def discriminator():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2D(12, 4, 2, 1),
        nn.InstanceNorm(),
        nn.LeakyReLU(0.2),
        nn.Conv2D(1, 3, padding=1),
    )
    return net


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        ret = []
        for i in range(images.shape[0]):
            image = nd.expand_dims(images[i], axis=0)
            if len(self.images) < self.size:
                self.images.append(image)
                ret.append(image)
            elif random.random() > 0.5:
                k = random.randint(0, self.size - 1)
                old = self.images[k].copy()
                self.images[k] = image
                ret.append(old)
            else:
                ret.append(image)
        return nd.concat(*ret, dim=0)


nets = [generator(), generator(), discriminator(), discriminator()]
for net in nets:
    net.initialize(mx.init.Normal(0.02))
    net(nd.zeros((1, 3, 16, 16)))
    for p in net.collect_params().values():
        if p.name.endswith("weight"):
            p.set_data(nd.array(rng.normal(0, 0.1, p.shape)))
    net.hybridize()
gab, gba, da, db = nets
schedule = mx.lr_scheduler.FactorScheduler(step=4, factor=0.5, base_lr=2e-3)
opt = [
    gluon.Trainer(
        n.collect_params(),
        "adam",
        {"learning_rate": 2e-3, "beta1": 0.5, "lr_scheduler": schedule if n is gab else None},
    )
    for n in nets
]
l2, l1 = gluon.loss.L2Loss(), gluon.loss.L1Loss()
pools = ImagePool(3), ImagePool(3)
for it in range(6):
    a = nd.array(np.repeat(rng.uniform(-1, 1, (2, 3, 1, 16)), 16, 2))
    b = nd.array(np.repeat(rng.uniform(-1, 1, (2, 3, 16, 1)), 16, 3))
    with ag.record():
        fb, fa = gab(a), gba(b)
        ra, rb = gba(fb), gab(fa)
        pa, pb = da(fa), db(fb)
        loss_g = (
            l2(pa, nd.ones_like(pa))
            + l2(pb, nd.ones_like(pb))
            + 10 * (l1(ra, a) + l1(rb, b))
            + 5 * l1(gab(b), b)
        )
    loss_g.backward()
    for t in opt[:2]:
        t.step(2, ignore_stale_grad=True)
    for d, real, fake, pool, t in ((da, a, fa, pools[0], opt[2]), (db, b, fb, pools[1], opt[3])):
        shown = pool.query(fake)
        with ag.record():
            pr, pf = d(real), d(shown)
            loss_d = 0.5 * (l2(pr, nd.ones_like(pr)) + l2(pf, nd.zeros_like(pf)))
        loss_d.backward()
        t.step(2)
    if it < 4:
        print(
            it,
            "%.3f" % loss_g.mean().asscalar(),
            "%.3f" % loss_d.mean().asscalar(),
            "%.4f" % opt[0].learning_rate,
        )
print(len(pools[0].images), fb.shape, bool(nd.abs(fb).max().asscalar() <= 1))
