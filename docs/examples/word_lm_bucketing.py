"""A word-level language model with ``BucketingModule``: ``python word_lm_bucketing.py``.

Sentences go into buckets by their length; each bucket is a network of that many steps, and all of
them have the same parameters. Ends with the perplexity on sentences it has not seen.
"""

from __future__ import annotations

import argparse
import logging

import numpy as np

import mixnet as mx

PAD = 0


def sentences(count: int, seed: int) -> list[list[str]]:
    """Sentences of three to nine words; a verb agrees with its subject in number."""
    random = np.random.RandomState(seed)
    names = {"s": ["cat", "dog", "bird"], "p": ["cats", "dogs", "birds"]}
    verbs = {"s": ["sees", "likes", "hears"], "p": ["see", "like", "hear"]}
    adjectives = ["old", "small", "green", "quiet"]
    found = []
    for _ in range(count):
        number = "sp"[random.randint(2)]
        words = ["the", *random.choice(adjectives, random.randint(4))]
        words += [random.choice(names[number]), random.choice(verbs[number])]
        if random.rand() < 0.7:
            words += ["the", random.choice(names["sp"[random.randint(2)]])]
        found.append(words)
    return found


def main() -> None:
    """Train and say how surprised it is by new sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--num-hidden", type=int, default=48)
    parser.add_argument("--num-embed", type=int, default=32)
    parser.add_argument("--num-layers", type=int, default=1)
    parser.add_argument("--num-epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    text = sentences(args.sentences, args.seed)
    numbered, vocabulary = mx.rnn.encode_sentences(text, invalid_label=PAD, start_label=1)
    cut = int(0.9 * len(numbered))
    train, held = (
        mx.rnn.BucketSentenceIter(part, args.batch_size, buckets=[5, 9], invalid_label=PAD)
        for part in (numbered[:cut], numbered[cut:])
    )
    cells = mx.rnn.SequentialRNNCell()
    for layer in range(args.num_layers):
        cells.add(mx.rnn.LSTMCell(args.num_hidden, prefix=f"lstm_l{layer}_"))

    def network(steps: int) -> tuple[mx.sym.Symbol, tuple[str, ...], tuple[str, ...]]:
        words, following = mx.sym.var("data"), mx.sym.var("softmax_label")
        embedded = mx.sym.Embedding(
            words, input_dim=len(vocabulary) + 1, output_dim=args.num_embed, name="embed"
        )
        cells.reset()
        outputs, _ = cells.unroll(steps, inputs=embedded, merge_outputs=True)
        outputs = mx.sym.Reshape(outputs, shape=(-1, args.num_hidden))
        scores = mx.sym.FullyConnected(outputs, num_hidden=len(vocabulary) + 1, name="pred")
        following = mx.sym.Reshape(following, shape=(-1,))
        softmax = mx.sym.SoftmaxOutput(
            scores, following, use_ignore=True, ignore_label=PAD, name="softmax"
        )
        return softmax, ("data",), ("softmax_label",)

    model = mx.mod.BucketingModule(network, default_bucket_key=train.default_bucket_key)
    model.fit(
        train,
        eval_data=held,
        eval_metric=mx.metric.Perplexity(PAD),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1 / args.batch_size},
        initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
        num_epoch=args.num_epochs,
        batch_end_callback=mx.callback.Speedometer(args.batch_size, 20, auto_reset=False),
    )
    final = dict(model.score(held, mx.metric.Perplexity(PAD)))["perplexity"]
    print(f"perplexity on sentences it has not seen ({len(vocabulary)} words): {final:.3f}")


if __name__ == "__main__":
    main()
