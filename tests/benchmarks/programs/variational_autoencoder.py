"""A variational autoencoder: reparametrization inside a HybridBlock, a KL term, samples from the prior."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

mx.random.seed(42)
rng = np.random.RandomState(42)
basis = rng.rand(3, 36) > 0.5
codes = rng.randint(0, 3, 256)
data = np.where(basis[codes], rng.rand(256, 36) < 0.95, rng.rand(256, 36) < 0.05).astype("float32")


class VAE(gluon.HybridBlock):
    def __init__(self, n_hidden=40, n_latent=2, n_layers=1, n_output=36, act_type="relu", **kwargs):
        self.soft_zero = 1e-10
        self.n_latent = n_latent
        self.output = None
        self.mu = None
        super(VAE, self).__init__(**kwargs)
        with self.name_scope():
            self.encoder = nn.HybridSequential(prefix="encoder")
            for _ in range(n_layers):
                self.encoder.add(nn.Dense(n_hidden, activation=act_type))
            self.encoder.add(nn.Dense(n_latent * 2, activation=None))
            self.decoder = nn.HybridSequential(prefix="decoder")
            for _ in range(n_layers):
                self.decoder.add(nn.Dense(n_hidden, activation=act_type))
            self.decoder.add(nn.Dense(n_output, activation="sigmoid"))

    def hybrid_forward(self, F, x, eps):
        h = self.encoder(x)
        mu_lv = F.split(h, axis=1, num_outputs=2)
        mu, lv = mu_lv[0], mu_lv[1]
        self.mu = mu
        z = mu + F.exp(0.5 * lv) * eps
        y = self.decoder(z)
        self.output = y
        KL = 0.5 * F.sum(1 + lv - mu * mu - F.exp(lv), axis=1)
        logloss = F.sum(
            x * F.log(y + self.soft_zero) + (1 - x) * F.log(1 - y + self.soft_zero), axis=1
        )
        return -logloss - KL


net = VAE(prefix="vae_")
net.collect_params().initialize(mx.init.Xavier())
net(nd.zeros((2, 36)), nd.zeros((2, 2)))
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.2, p.shape)))
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
it = mx.io.NDArrayIter(data=data, batch_size=32)
print(net)
for epoch in range(15):
    it.reset()
    total, n = 0.0, 0
    for batch in it:
        x = batch.data[0]
        eps = nd.array(rng.normal(size=(32, 2)))
        with autograd.record():
            loss = net(x, eps)
        loss.backward()
        trainer.step(x.shape[0])
        total += loss.mean().asscalar()
        n += 1
    if epoch % 5 == 0:
        print("%d %.2f" % (epoch, total / n))
print("%.1f" % (total / n), total / n < 16)
z = nd.random.normal(0, 1, shape=(500, 2))
samples = net.decoder(z)
print(samples.shape, bool(abs(z.mean().asscalar()) < 0.15), bool((samples >= 0).min().asscalar()))
net.save_parameters("vae.params")
other = VAE(prefix="other_")
other.load_parameters("vae.params")
print(
    np.allclose(other.decoder(z).asnumpy(), samples.asnumpy(), atol=1e-6),
    sorted(nd.load("vae.params"))[:3],
)
