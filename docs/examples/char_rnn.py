"""A network that writes, one character at a time: ``python char_rnn.py --text FILE``.

Without a file it learns a small text of its own. Ends with the perplexity on the part of the text
that it was not trained on, and a few lines that it wrote.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn, rnn


def own_text(seed: int, sentences: int = 1500) -> str:
    """Sentences of a small grammar."""
    random = np.random.RandomState(seed)
    words = {
        "who": ["a cat", "the dog", "my sister", "an old man", "the teacher"],
        "does": ["sees", "likes", "paints", "follows", "forgets"],
        "what": ["the moon", "a small boat", "the rain", "her garden", "two birds"],
    }
    return "".join(
        " ".join(random.choice(words[part]) for part in ("who", "does", "what")) + ".\n"
        for _ in range(sentences)
    )


class CharacterModel(gluon.HybridBlock):
    """Embedding, recurrent layers, and a score for each character that may come next."""

    def __init__(self, characters: int, hidden: int, layers: int, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(characters, 32)
            self.recurrent = rnn.LSTM(hidden, layers, input_size=32)
            self.scores = nn.Dense(characters, flatten=False, in_units=hidden)

    def hybrid_forward(self, F, numbers, *state):
        """Scores ``(time, batch, characters)`` and the state after the last of them."""
        out, state = self.recurrent(self.embedding(numbers), list(state))
        return self.scores(out), *state


def batches(numbers: np.ndarray, batch: int, steps: int) -> list[tuple[nd.NDArray, nd.NDArray]]:
    """``batch`` streams side by side, cut into pieces of ``steps``: what is read, what comes next."""
    length = (len(numbers) - 1) // batch
    rows = numbers[: length * batch].reshape(batch, length).T
    following = numbers[1 : length * batch + 1].reshape(batch, length).T
    return [
        (nd.array(rows[i : i + steps]), nd.array(following[i : i + steps]))
        for i in range(0, length - steps + 1, steps)
    ]


def perplexity(net: CharacterModel, data: list[tuple[nd.NDArray, nd.NDArray]], batch: int) -> float:
    """exp of the mean cross entropy per character."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    state, total = net.recurrent.begin_state(batch), 0.0
    for read, following in data:
        scores, *state = net(read, *state)
        total = total + loss(scores, following).mean()
    return math.exp((total / len(data)).asscalar())


def write(net: CharacterModel, text: str, alphabet: list[str], count: int, seed: int) -> str:
    """Go on from ``text`` with ``count`` characters drawn from what the network expects."""
    random = np.random.RandomState(seed)
    state = net.recurrent.begin_state(1)
    for character in text[:-1]:
        _, *state = net(nd.array([[alphabet.index(character)]]), *state)
    for _ in range(count):
        scores, *state = net(nd.array([[alphabet.index(text[-1])]]), *state)
        chances = nd.softmax(scores[0, 0]).asnumpy().astype(np.float64)
        text += alphabet[random.choice(len(alphabet), p=chances / chances.sum())]
    return text


def main() -> None:
    """Train, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="a file to learn from")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--write", type=int, default=150, help="characters to write at the end")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.text:
        with open(args.text, encoding="utf-8") as file:
            text = file.read()
    else:
        text = own_text(args.seed)
    alphabet = sorted(set(text))
    numbers = np.array([alphabet.index(character) for character in text])
    cut = int(0.9 * len(numbers))
    train, held = (
        batches(part, args.batch_size, args.steps) for part in (numbers[:cut], numbers[cut:])
    )
    mx.random.seed(args.seed)
    net = CharacterModel(len(alphabet), args.hidden, args.layers)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(args.epochs):
        state = net.recurrent.begin_state(args.batch_size)
        for read, following in train:
            state = [each.detach() for each in state]
            with autograd.record():
                scores, *state = net(read, *state)
                error = loss(scores, following).mean()
            error.backward()
            gradients = [each.grad() for each in net.collect_params().values()]
            gluon.utils.clip_global_norm(gradients, 1.0, check_isfinite=False)
            trainer.step(1)
        print(f"epoch {epoch}: perplexity {perplexity(net, held, args.batch_size):.3f}")
    print(write(net, "the ", alphabet, args.write, args.seed))
    final = perplexity(net, held, args.batch_size)
    print(f"perplexity on text it has not seen ({len(alphabet)} characters): {final:.3f}")


if __name__ == "__main__":
    main()
