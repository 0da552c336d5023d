"""Data-parallel training steps on several CPU devices, against sharded JAX steps by hand.

LeNet is mostly arithmetic; a small perceptron shows what a step costs beside it.

python -m tests.benchmarks.data_parallel [--devices 4] [--batch 256] [--row 1] [--load]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

SETTING = "MIXNET_CPU_DEVICES"


def compare(network: str, options: argparse.Namespace) -> None:
    """Print milliseconds a step and the ratios to the hand-written step."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    import mixnet as mx
    from mixnet import autograd, gluon
    from mixnet.gluon.utils import split_and_load
    from tests.benchmarks import lenet, perceptron
    from tests.benchmarks.timing import interleaved_with_least

    devices, batch = options.devices, options.batch
    contexts = [mx.cpu(i) for i in range(devices)]
    rng = np.random.default_rng(0)
    pictures = rng.random((batch, 1, 28, 28), np.float32)
    labels = rng.integers(0, 10, batch)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start: list[np.ndarray] = []

    make, jax_step = {
        "lenet": (lenet.make, lenet.jax_step),
        "perceptron": (perceptron.make, perceptron.jax_step),
    }[network]

    def contender(kvstore: str, update_on_kvstore: bool, joint_after: int = 20):
        net = make()
        net.initialize(mx.init.Xavier(), ctx=contexts, force_reinit=True)
        net.hybridize(static_alloc=True, static_shape=True)

        def loaded() -> list[tuple[mx.nd.NDArray, mx.nd.NDArray]]:
            on_devices = [
                split_and_load(mx.nd.array(each), contexts) for each in (pictures, labels)
            ]
            return list(zip(*on_devices, strict=True))

        inputs = loaded()
        for x, _ in inputs:
            net(x).wait_to_read()
        parameters = list(net.collect_params().values())
        if not start:
            start.extend(each.data(contexts[0]).asnumpy() for each in parameters)
        for each, value in zip(parameters, start, strict=True):
            each.set_data(mx.nd.array(value))
        trainer = gluon.Trainer(
            net.collect_params(),
            "sgd",
            {"learning_rate": lenet.RATE},
            kvstore=kvstore,
            update_on_kvstore=update_on_kvstore,
        )
        trainer._prepare()
        if update_on_kvstore and kvstore == "device":
            trainer._kvstore.handle._steps.after = joint_after

        def step() -> float:
            parts = loaded() if options.load else inputs
            with autograd.record():
                losses = [loss_of(net(x), y) for x, y in parts]
            autograd.backward(losses)
            totals = [each.sum() for each in losses]
            trainer.step(batch)
            return sum(float(each.asscalar()) for each in totals)

        return step

    mesh = Mesh(np.array(jax.local_devices()[:devices]), ("device",))
    whole = NamedSharding(mesh, PartitionSpec())
    cut = NamedSharding(mesh, PartitionSpec("device"))
    steps = {
        "device, one program": contender("device", True, 1),
        "device, store updates": contender("device", True, 0),
        "device, every device updates": contender("device", False),
        "local, store updates": contender("local", True),
    }
    values = [jax.device_put(jnp.asarray(each), whole) for each in start]
    state = {"params": [(values[i], values[i + 1]) for i in range(0, len(values), 2)]}
    lenet.BATCH = batch  # gradients are divided by it
    compiled = jax.jit(jax_step, donate_argnums=0)

    def loaded_by_hand() -> list[jax.Array]:
        return [jax.device_put(each, cut) for each in (pictures, labels)]

    arrays = loaded_by_hand()

    def by_hand() -> float:
        x, y = loaded_by_hand() if options.load else arrays
        value, state["params"] = compiled(state["params"], x, y)
        return float(value)

    first = {name: [run() for _ in range(8)] for name, run in {**steps, "JAX": by_hand}.items()}
    for name, losses in first.items():
        assert np.allclose(losses, first["JAX"], rtol=1e-3), (name, losses, first["JAX"])
    contenders = {"sharded JAX by hand": by_hand, **steps}
    actual = interleaved_with_least(contenders, options.repeats, 3, options.row)
    median, least, _ = actual["sharded JAX by hand"]
    for name, (seconds, shortest, processor) in actual.items():
        print(
            f"{network}, {devices} devices, batch {batch}: {name:28} {seconds * 1e3:7.2f} ms "
            f"({seconds / median:.2f}), least {shortest * 1e3:7.2f} ({shortest / least:.2f}), "
            f"processor {processor * 1e3:7.2f}"
        )


def main(arguments: list[str] | None = None) -> None:
    """Compare, in a process with as many devices as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--row", type=int, default=1, help="steps in a row, as in a loop")
    parser.add_argument("--load", action="store_true", help="load the batch in every step")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--network", default="")
    options = parser.parse_args(arguments)
    if os.environ.get(SETTING) == str(options.devices):
        for network in [options.network] if options.network else ("lenet", "perceptron"):
            compare(network, options)
        return
    arguments = sys.argv[1:] if arguments is None else arguments
    command = [sys.executable, "-m", "tests.benchmarks.data_parallel", *arguments]
    subprocess.run(command, env={**os.environ, SETTING: str(options.devices)}, check=True)


if __name__ == "__main__":
    main()
