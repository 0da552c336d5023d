"""Programs compiled by loops whose numbers change, and bytes held by a long training loop."""

from __future__ import annotations

import gc

import jax

import mixnet as mx
from mixnet import autograd, gluon, nd


def programs_of_a_schedule() -> int:
    """Programs compiled by 100 iterations of ``x * i`` and a decaying rate."""
    x = nd.ones((64, 64))
    x.wait_to_read()
    mx.runtime.reset_counters()
    for i in range(100):
        y = (x * i + 1) * (0.1 / (1 + i))
        y.wait_to_read()
    return mx.runtime.counters()["programs_compiled"]


def bytes_over_training(steps: int = 1000) -> tuple[int, int]:
    """Live bytes after 10 steps and at the end."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(10))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    x, y = nd.random.normal(shape=(64, 100)), nd.zeros((64,))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    live = []
    for step in range(steps):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(64)
        if step in (10, steps - 1):
            nd.waitall()
            gc.collect()
            live.append(sum(each.nbytes for each in jax.live_arrays()))
    return live[0], live[1]


def main() -> None:
    """Print the counts."""
    print(f"schedule of 100 numbers: {programs_of_a_schedule()} program(s) compiled")
    early, late = bytes_over_training()
    print(f"1,000 steps: {early:,} live bytes after step 10, {late:,} at the end")


if __name__ == "__main__":
    main()
