"""What would this person give that film? ``python matrix_factorization.py``.

Factors of people and films are learned from some of their ratings. The embeddings' gradients are
sparse: a step touches the rows of its batch alone. Ends with the error on ratings it has not seen.
"""

from __future__ import annotations

import argparse

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn


def ratings(people: int, films: int, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Made-up ratings around 3: tastes in three dimensions, habits of people, some noise."""
    random = np.random.RandomState(seed)
    taste, kind = random.normal(size=(people, 3)), random.normal(size=(films, 3))
    habit, fame = random.normal(0, 0.5, people), random.normal(0, 0.5, films)
    who, what = random.randint(people, size=count), random.randint(films, size=count)
    stars = 3 + habit[who] + fame[what] + (taste[who] * kind[what]).sum(1) / 2
    return who, what, (stars + random.normal(0, 0.2, count)).astype(np.float32)


class Factors(gluon.Block):
    """The product of two vectors and two biases."""

    def __init__(self, people: int, films: int, size: int, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.people = nn.Embedding(people, size, sparse_grad=True)
            self.films = nn.Embedding(films, size, sparse_grad=True)
            self.habit = nn.Embedding(people, 1, sparse_grad=True)
            self.fame = nn.Embedding(films, 1, sparse_grad=True)

    def forward(self, who: nd.NDArray, what: nd.NDArray) -> nd.NDArray:
        """A rating for each pair."""
        match = (self.people(who) * self.films(what)).sum(axis=1)
        return 3 + match + self.habit(who).reshape(-1) + self.fame(what).reshape(-1)


def main() -> None:
    """Train and say how far off it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--films", type=int, default=200)
    parser.add_argument("--ratings", type=int, default=20000)
    parser.add_argument("--factors", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    who, what, stars = ratings(args.people, args.films, args.ratings, args.seed)
    cut = int(0.9 * args.ratings)
    dataset = gluon.data.ArrayDataset(who[:cut], what[:cut], stars[:cut])
    loader = gluon.data.DataLoader(dataset, args.batch_size, shuffle=True)
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    net = Factors(args.people, args.films, args.factors)
    net.initialize(mx.init.Normal(0.1))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    loss = gluon.loss.L2Loss()

    def error() -> float:
        found = net(nd.array(who[cut:]), nd.array(what[cut:]))
        return float(((found - nd.array(stars[cut:])) ** 2).mean().sqrt().asscalar())

    for epoch in range(args.epochs):
        for some_people, some_films, given in loader:
            with autograd.record():
                off = loss(net(some_people, some_films), given)
            off.backward()
            trainer.step(len(given))
        print(f"epoch {epoch}: root mean square error {error():.3f}")
    spread = float(stars[cut:].std())
    print(f"error on ratings it has not seen, where they spread by {spread:.3f}: {error():.3f}")


if __name__ == "__main__":
    main()
