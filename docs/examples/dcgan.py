"""Two networks against each other: ``python dcgan.py``.

The generator draws scikit-learn's digits from noise, the discriminator tells them from real ones
(Radford et al., 2016). Ends with how far the drawn images' mean and spread of pixels are from the real
ones', and how far noise was.
"""

from __future__ import annotations

import argparse

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn


def generator(filters: int) -> nn.HybridSequential:
    """Noise ``(batch, latent, 1, 1)`` to images ``(batch, 1, 8, 8)`` between -1 and 1."""
    net = nn.HybridSequential(prefix="generator_")
    with net.name_scope():
        for channels, stride, padding in ((4 * filters, 1, 0), (2 * filters, 2, 1)):
            kernel = 2 if stride == 1 else 4
            net.add(nn.Conv2DTranspose(channels, kernel, stride, padding, use_bias=False))
            net.add(nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(1, 4, 2, 1, use_bias=False), nn.Activation("tanh"))
    return net


def discriminator(filters: int) -> nn.HybridSequential:
    """Images to one score each, above 0 for real ones."""
    net = nn.HybridSequential(prefix="discriminator_")
    with net.name_scope():
        net.add(nn.Conv2D(filters, 4, 2, 1, use_bias=False), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(2 * filters, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(1, 2, 1, 0, use_bias=False), nn.Flatten())
    return net


def distance(images: np.ndarray, real: np.ndarray) -> float:
    """Between the pixels' means and standard deviations, root mean square."""
    parts = [(f(images, 0) - f(real, 0)) ** 2 for f in (np.mean, np.std)]
    return float(np.sqrt(np.mean(parts)))


def main() -> None:
    """Train both and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--latent", type=int, default=16)
    parser.add_argument("--filters", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    from sklearn.datasets import load_digits

    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    images = (load_digits().images[:, None] / 8 - 1).astype(np.float32)
    draws, tells = generator(args.filters), discriminator(args.filters)
    trainers = []
    for net in (draws, tells):
        net.initialize(mx.init.Normal(0.05))
        net.hybridize()
        settings = {"learning_rate": args.lr, "beta1": 0.5}
        trainers.append(gluon.Trainer(net.collect_params(), "adam", settings))
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    real, drawn = nd.ones(args.batch_size), nd.zeros(args.batch_size)
    batches = mx.io.NDArrayIter(images, None, args.batch_size, True, "discard")

    def noise(count: int) -> nd.NDArray:
        return nd.random.normal(shape=(count, args.latent, 1, 1))

    begin = distance(draws(noise(256)).asnumpy(), images)
    for epoch in range(args.epochs):
        batches.reset()
        told, fooled, count = 0.0, 0.0, 0
        for batch in batches:
            given = noise(args.batch_size)
            with autograd.record():
                error = loss(tells(batch.data[0]), real) + loss(tells(draws(given).detach()), drawn)
            error.backward()
            trainers[1].step(args.batch_size)
            with autograd.record():
                mistake = loss(tells(draws(given)), real)
            mistake.backward()
            trainers[0].step(args.batch_size)
            told, fooled, count = told + error.mean(), fooled + mistake.mean(), count + 1
        print(
            f"epoch {epoch}: discriminator {told.asscalar() / count:.3f}, "
            f"generator {fooled.asscalar() / count:.3f}"
        )
    made = draws(noise(256)).asnumpy()
    for row in made[0, 0]:
        print("".join(" .:#"[int((p + 1) * 1.99)] for p in row))
    print(f"distance to real digits, {begin:.3f} before: {distance(made, images):.3f}")


if __name__ == "__main__":
    main()
