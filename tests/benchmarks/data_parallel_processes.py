"""Training steps over two processes of this machine, against sharded JAX over the same processes by hand.

python -m tests.benchmarks.data_parallel_processes [--network perceptron] [--batch 256] [--row 1]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from mixnet.distributed.measuring import local_job

PROCESSES = 2


def worker(network: str, batch: int, repeats: int, row: int) -> None:
    """In each process: its part of the batch; rank 0 prints."""
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    import mixnet as mx
    from mixnet import autograd, gluon
    from mixnet.distributed.processes import world
    from tests.benchmarks import lenet, perceptron
    from tests.benchmarks.timing import interleaved_with_least

    first_store = mx.kv.create("dist_sync")
    rank, sharding = first_store.rank, world()._sharding
    part = slice(rank * batch // PROCESSES, (rank + 1) * batch // PROCESSES)
    rng = np.random.default_rng(0)
    pictures = rng.random((batch, 1, 28, 28), np.float32)[part]
    labels = rng.integers(0, 10, batch)[part]
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    make, jax_step = {
        "lenet": (lenet.make, lenet.jax_step),
        "perceptron": (perceptron.make, perceptron.jax_step),
    }[network]
    start: list[np.ndarray] = []

    def contender(joint_after: int):
        net = make()
        net.initialize(mx.init.Xavier(), force_reinit=True)
        net.hybridize(static_alloc=True, static_shape=True)
        x, y = mx.nd.array(pictures), mx.nd.array(labels)
        net(x).wait_to_read()
        parameters = list(net.collect_params().values())
        if not start:
            start.extend(world().gather(each.data().asnumpy())[0] for each in parameters)
        for each, value in zip(parameters, start, strict=True):
            each.set_data(mx.nd.array(value))
        store = mx.kv.create("dist_sync")
        store.handle._steps.after = joint_after
        trainer = gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": lenet.RATE}, kvstore=store
        )

        def step() -> float:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            total = loss.sum()
            trainer.step(batch)
            value = float(total.asscalar())
            mx.nd.waitall()  # or the next contender's messages would come between
            return value

        return step

    steps = {"one program": contender(1), "several programs": contender(0)}
    whole = NamedSharding(sharding.mesh, PartitionSpec())

    def over_all(data: np.ndarray, sharding: NamedSharding, shape: tuple[int, ...]) -> jax.Array:
        return jax.make_array_from_callback(shape, sharding, lambda index: data)

    values = [over_all(each, whole, each.shape) for each in start]
    state = {"params": [(values[i], values[i + 1]) for i in range(0, len(values), 2)]}
    x = over_all(pictures, sharding, (batch, *pictures.shape[1:]))
    y = over_all(labels, sharding, (batch,))
    lenet.BATCH = batch
    compiled = jax.jit(jax_step, donate_argnums=0)

    def by_hand() -> float:
        value, state["params"] = compiled(state["params"], x, y)
        jax.block_until_ready(state["params"])
        return float(value.addressable_data(0))

    for number in range(8):
        losses = {name: world().gather(np.array([run()])).sum() for name, run in steps.items()}
        expected = by_hand()
        assert np.allclose(list(losses.values()), expected, rtol=1e-3), (number, losses, expected)
    actual = interleaved_with_least({"sharded JAX by hand": by_hand, **steps}, repeats, 3, row)
    if rank == 0:
        median, least, _ = actual["sharded JAX by hand"]
        for name, (seconds, shortest, processor) in actual.items():
            print(
                f"{network}, {PROCESSES} processes, batch {batch}: {name:20} {seconds * 1e3:7.2f} ms "
                f"({seconds / median:.2f}), least {shortest * 1e3:7.2f} ({shortest / least:.2f}), "
                f"processor {processor * 1e3:7.2f}",
                flush=True,
            )


def main() -> None:
    """Start the processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="perceptron", choices=("lenet", "perceptron"))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--row", type=int, default=1, help="steps in a row, as in a loop")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        return worker(options.network, options.batch, options.repeats, options.row)
    program = ["-m", "tests.benchmarks.data_parallel_processes", *sys.argv[1:], "--worker"]
    env = {"MIXNET_INTERPRET": "0", **os.environ}  # compiled, as JAX's step is
    subprocess.run(local_job(PROCESSES, program), env=env, check=True)


if __name__ == "__main__":
    main()
