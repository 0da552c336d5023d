"""DCGAN on small blobs: two networks, two trainers, label arrays, a binary metric written as a function."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

np.random.seed(4)
ctx = mx.cpu()
batch_size, nz = 16, 10

netG = nn.Sequential()
with netG.name_scope():
    netG.add(
        nn.Dense(32 * 4 * 4, use_bias=False),
        nn.HybridLambda(lambda F, x: F.reshape(x, (-1, 32, 4, 4))),
    )
    netG.add(nn.BatchNorm())
    netG.add(nn.Activation("relu"))
    netG.add(nn.Conv2DTranspose(16, 4, 2, 1, use_bias=False))
    netG.add(nn.BatchNorm())
    netG.add(nn.Activation("relu"))
    netG.add(nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False))
    netG.add(nn.Activation("tanh"))
netD = nn.Sequential()
with netD.name_scope():
    netD.add(nn.Conv2D(16, 4, 2, 1, use_bias=False))
    netD.add(nn.LeakyReLU(0.2))
    netD.add(nn.Conv2D(32, 4, 2, 1, use_bias=False))
    netD.add(nn.BatchNorm())
    netD.add(nn.LeakyReLU(0.2))
    netD.add(nn.Flatten())
    netD.add(nn.Dense(1, use_bias=False))
for net, shape in ((netG, (1, nz, 1, 1)), (netD, (1, 3, 16, 16))):
    net.initialize(mx.init.Normal(0.02), ctx=ctx)
    net(nd.zeros(shape))
    for p in net.collect_params("(?!.*running).*(weight|gamma)").values():
        p.set_data(nd.array(np.random.normal(1 if "gamma" in p.name else 0, 0.05, p.shape)))
trainerG = gluon.Trainer(netG.collect_params(), "adam", {"learning_rate": 2e-3, "beta1": 0.5})
trainerD = gluon.Trainer(netD.collect_params(), "adam", {"learning_rate": 2e-3, "beta1": 0.5})
loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
real_label, fake_label = nd.ones((batch_size,), ctx=ctx), nd.zeros((batch_size,), ctx=ctx)


def facc(label, pred):
    return ((pred.ravel() > 0.5) == label.ravel()).mean()


metric = mx.metric.CustomMetric(facc)
grid = np.linspace(-1, 1, 16)
for it in range(10):
    centre = np.random.uniform(-0.5, 0.5, (batch_size, 2))
    d2 = (grid[None, None] - centre[:, :1, None]) ** 2 + (
        grid[None, :, None] - centre[:, 1:, None]
    ) ** 2
    data = nd.array(2 * np.exp(-d2[:, None] * 8).repeat(3, 1) - 1)
    latent = nd.array(np.random.normal(0, 1, (batch_size, nz, 1, 1)))
    with autograd.record():
        output = netD(data).reshape((-1, 1))
        errD_real = loss(output, real_label)
        metric.update([real_label], [nd.sigmoid(output)])
        fake = netG(latent)
        output = netD(fake.detach()).reshape((-1, 1))
        errD_fake = loss(output, fake_label)
        errD = errD_real + errD_fake
        errD.backward()
        metric.update([fake_label], [nd.sigmoid(output)])
    trainerD.step(batch_size)
    with autograd.record():
        output = netD(netG(latent)).reshape((-1, 1))
        errG = loss(output, real_label)
        errG.backward()
    trainerG.step(batch_size)
    if it < 4:
        print(
            it,
            "D %.3f G %.3f" % (nd.mean(errD).asscalar(), nd.mean(errG).asscalar()),
            metric.get()[0],
        )
print(np.isfinite(nd.mean(errG).asscalar()), fake.shape, float(fake.max().asscalar()) <= 1)
print([k.split("_", 1)[1] for k in netD.collect_params()])
