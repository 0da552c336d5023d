"""A variational autoencoder of handwritten digits: ``python vae.py``.

It learns to draw scikit-learn's digits from two numbers. Ends with the evidence lower bound on
digits it has not seen, in nats (Kingma and Welling, 2014).
"""

from __future__ import annotations

import argparse

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn


class Autoencoder(gluon.HybridBlock):
    """Encoder to a normal distribution over ``latent`` numbers, and decoder from a draw of it."""

    def __init__(self, pixels: int, hidden: int, latent: int, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.encoder = nn.HybridSequential()
            self.encoder.add(nn.Dense(hidden, activation="tanh"), nn.Dense(2 * latent))
            self.decoder = nn.HybridSequential()
            self.decoder.add(nn.Dense(hidden, activation="tanh"), nn.Dense(pixels))

    def hybrid_forward(self, F, images, noise):
        """Minus the evidence lower bound of each image."""
        mean, log_variance = F.split(self.encoder(images), num_outputs=2, axis=1)
        drawn = mean + F.exp(log_variance / 2) * noise
        scores = self.decoder(drawn)
        # Cross entropy of every pixel, from scores: log(1 + exp(s)) - x s.
        missed = F.sum(F.Activation(scores, act_type="softrelu") - images * scores, axis=1)
        divergence = F.sum(mean**2 + F.exp(log_variance) - log_variance - 1, axis=1) / 2
        return missed + divergence


def main() -> None:
    """Train and say how well it explains what it has not seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--latent", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    from sklearn.datasets import load_digits

    images = (load_digits().data / 16).astype(np.float32)
    held = np.arange(len(images)) % 5 == 0
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    net = Autoencoder(images.shape[1], args.hidden, args.latent)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    train = mx.io.NDArrayIter(
        images[~held], None, args.batch_size, shuffle=True, last_batch_handle="discard"
    )
    unseen = nd.array(images[held])

    def bound() -> float:
        noise = nd.random.normal(shape=(len(unseen), args.latent))
        return -float(net(unseen, noise).mean().asscalar())

    begin = bound()
    for epoch in range(args.epochs):
        train.reset()
        for batch in train:
            (some,) = batch.data
            noise = nd.random.normal(shape=(len(some), args.latent))
            with autograd.record():
                loss = net(some, noise)
            loss.backward()
            trainer.step(len(some))
        print(f"epoch {epoch}: evidence lower bound {bound():.2f}")
    for row in (
        net.decoder(nd.array([[x, y] for x in (-1, 1) for y in (-1, 1)])).sigmoid().asnumpy()
    ):
        print("\n".join("".join(" .:#"[int(p * 3.99)] for p in line) for line in row.reshape(8, 8)))
    print(f"evidence lower bound on digits it has not seen, {begin:.2f} before: {bound():.2f}")


if __name__ == "__main__":
    main()
