"""A transformer that translates: ``python translate_transformer.py``.

From numbers in words to digits, "three hundred and five" to "3 0 5". Encoder and decoder as in
Vaswani et al., 2017, small. Ends with the share of numbers it has not seen that it gets right.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, init, npx
from mixnet import np as mnp
from mixnet.gluon import nn

npx.set_np()

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
PAD, BEGIN, END = 0, 1, 2


def in_words(number: int) -> list[str]:
    """The number, below 1000, in English."""
    if number < 20:
        return [ONES[number]]
    if number < 100:
        rest = [ONES[number % 10]] if number % 10 else []
        return [TENS[number // 10 - 2], *rest]
    rest = ["and", *in_words(number % 100)] if number % 100 else []
    return [ONES[number // 100], "hundred", *rest]


class Attention(nn.HybridBlock):
    """Several scaled dot products side by side."""

    def __init__(self, size: int, heads: int, **kwargs: object):
        super().__init__(**kwargs)
        self._heads, self._scale = heads, 1 / math.sqrt(size // heads)
        with self.name_scope():
            for name in ("query", "key", "value", "out"):
                setattr(self, name, nn.Dense(size, flatten=False, use_bias=False, in_units=size))

    def _split(self, F, x):
        x = F.npx.reshape(x, (-2, -2, self._heads, -1))
        return F.np.transpose(x, (0, 2, 1, 3))

    def hybrid_forward(self, F, queries, memory, mask):
        """``mask`` is 1 where there is something to look at: ``(batch, 1, queries or 1, memory)``."""
        query, key, value = (
            self._split(F, made)
            for made in (self.query(queries), self.key(memory), self.value(memory))
        )
        scores = F.np.matmul(query, F.np.swapaxes(key, 2, 3)) * self._scale
        weights = F.npx.softmax(F.np.where(mask, scores, scores * 0 - 1e9), axis=-1)
        joined = F.np.transpose(F.np.matmul(weights, value), (0, 2, 1, 3))
        return self.out(F.npx.reshape(joined, (-2, -2, -1)))


class Layer(nn.HybridBlock):
    """Attention to itself, to the memory if there is one, and two dense layers."""

    def __init__(self, size: int, heads: int, with_memory: bool, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.itself = Attention(size, heads)
            self.memory = Attention(size, heads) if with_memory else None
            self.dense = nn.HybridSequential()
            self.dense.add(
                nn.Dense(4 * size, activation="relu", flatten=False), nn.Dense(size, flatten=False)
            )
            self.norms = nn.HybridSequential()
            for _ in range(3 if with_memory else 2):
                self.norms.add(nn.LayerNorm(in_channels=size))

    def hybrid_forward(self, F, x, mask, memory=None, memory_mask=None):
        x = self.norms[0](x + self.itself(x, x, mask))
        if self.memory is not None:
            x = self.norms[1](x + self.memory(x, memory, memory_mask))
        return self.norms[-1](x + self.dense(x))


class Transformer(nn.HybridBlock):
    """Scores of the next digit at every place of the answer, from the words."""

    def __init__(
        self, words: int, digits: int, size: int, heads: int, layers: int, **kwargs: object
    ):
        super().__init__(**kwargs)
        waves = mnp.array(10000 ** (-np.arange(0, size, 2) / size), dtype="float32")
        with self.name_scope():
            self.words, self.digits = nn.Embedding(words, size), nn.Embedding(digits, size)
            self.waves = self.params.get_constant("waves", waves)
            self.encoder, self.decoder = nn.HybridSequential(), nn.HybridSequential()
            for _ in range(layers):
                self.encoder.add(Layer(size, heads, with_memory=False))
                self.decoder.add(Layer(size, heads, with_memory=True))
            self.scores = nn.Dense(digits, flatten=False)

    def _placed(self, F, embedded, waves):
        place = F.np.expand_dims(F.npx.arange_like(embedded, axis=1), 1) * waves
        return embedded + F.np.concatenate([F.np.sin(place), F.np.cos(place)], axis=-1)

    def hybrid_forward(self, F, words, digits, earlier, waves):
        """``earlier`` is 1 where a digit may look at another: itself and those before it."""
        seen = F.np.expand_dims(F.np.expand_dims(words != PAD, 1), 1)
        memory = self._placed(F, self.words(words), waves)
        for layer in self.encoder:
            memory = layer(memory, seen)
        x = self._placed(F, self.digits(digits), waves)
        for layer in self.decoder:
            x = layer(x, earlier, memory, seen)
        return self.scores(x)


def data(numbers: np.ndarray, vocabulary: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers, padded, and digits between BEGIN and END, padded."""
    words, digits = np.zeros((len(numbers), 6), np.int32), np.zeros((len(numbers), 5), np.int32)
    for row, number in enumerate(numbers):
        found = [vocabulary[word] for word in in_words(int(number))]
        answer = [BEGIN, *(3 + int(each) for each in str(number)), END]
        words[row, : len(found)], digits[row, : len(answer)] = found, answer
    return words, digits


def earlier(steps: int) -> mnp.ndarray:
    """Which places each place may look at."""
    return mnp.array(np.tril(np.ones((1, 1, steps, steps), bool)))


def translate(net: Transformer, words: mnp.ndarray, steps: int) -> np.ndarray:
    """The likeliest digit, one after the other."""
    digits = np.zeros((len(words), steps), np.int32)
    digits[:, 0] = BEGIN
    for step in range(1, steps):
        scores = net(words, mnp.array(digits), earlier(steps))
        digits[:, step] = scores[:, step - 1].argmax(-1).asnumpy()
    return digits


def main() -> None:
    """Train and translate what it has not seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mx.random.seed(args.seed)
    random = np.random.RandomState(args.seed)
    vocabulary = {word: i + 1 for i, word in enumerate([*ONES, *TENS, "hundred", "and"])}
    order = random.permutation(1000)
    words, digits = data(order, vocabulary)
    train, held = slice(0, 896), slice(896, 1000)
    net = Transformer(len(vocabulary) + 1, 13, args.size, args.heads, args.layers)
    net.initialize(init.Xavier())
    net.hybridize()
    steps = args.epochs * 896 // args.batch_size
    falling = mx.lr_scheduler.CosineScheduler(
        steps, args.lr, args.lr / 50, warmup_steps=steps // 10
    )
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": falling})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    dataset = gluon.data.ArrayDataset(words[train], digits[train])
    loader = gluon.data.DataLoader(dataset, args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        total = 0.0
        for some, answers in loader:
            given, wanted = answers[:, :-1], answers[:, 1:]
            weight = mnp.expand_dims(wanted != PAD, -1)
            with autograd.record():
                error = loss(net(some, given, earlier(given.shape[1])), wanted, weight).mean()
            error.backward()
            trainer.step(1)
            total = total + error
        print(f"epoch {epoch}: loss {float(total) / len(loader):.4f}")
    found = translate(net, mnp.array(words[held]), 5)
    wanted = digits[held]
    stops = np.cumsum(found == END, 1) - (found == END) > 0  # what comes after END does not count
    right = ((found == wanted) | stops & (wanted == PAD)).all(1)
    for row in range(3):
        answer = "".join(str(d - 3) for d in found[row] if d > 2)
        print(" ".join(in_words(int(order[held][row]))), "->", answer)
    print(f"numbers it has not seen that it gets right: {right.mean():.4f}")


if __name__ == "__main__":
    main()
