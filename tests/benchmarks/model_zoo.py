"""Networks of the model zoo from a cold start: processor seconds of the first prediction and training step.

Each run is a fresh process without cached programs; mixnet and MXNet take turns.
``python -m tests.benchmarks.model_zoo [--mxnet PYTHON] [--repeats 3] [NETWORK ...]``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from statistics import median

NETWORKS = (
    "mobilenet1.0",
    "mobilenet0.25",
    "mobilenetv2_1.0",
    "mobilenetv2_0.5",
    "densenet121",
    "inceptionv3",
    "squeezenet1.1",
    "resnet18_v1",
    "resnet50_v1",
    "alexnet",
)
PROGRAM = """
import json, sys, time
mx, name = __import__(sys.argv[1]), sys.argv[2]
extent = 299 if name == "inceptionv3" else 224
net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
net.initialize(mx.init.Xavier())
net.hybridize()
x, y = mx.nd.random.uniform(shape=(1, 3, extent, extent)), mx.nd.array([3])
x.wait_to_read(), y.wait_to_read()
loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
start = time.process_time()
net(x).wait_to_read()
prediction = time.process_time() - start
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
start = time.process_time()
with mx.autograd.record():
    loss = loss_of(net(x), y)
loss.backward()
trainer.step(1)
loss.asnumpy()
for each in net.collect_params().values():
    each.data().wait_to_read()
print(json.dumps([time.process_time() - start, prediction]))
"""


def measured(python: str, package: str, network: str) -> tuple[float, float]:
    """Processor seconds of the first training step and of the prediction before it."""
    environment = {**os.environ, "MIXNET_CACHE_DIR": "off"}
    if package == "mxnet":  # its threads spin, which would count as work
        environment["OMP_NUM_THREADS"] = "1"
    process = subprocess.run(
        [python, "-c", PROGRAM, package, network],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    step, prediction = json.loads(process.stdout.splitlines()[-1])
    return step, prediction


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each network: medians, and ratios to MXNet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--mxnet", help="a Python that has MXNet 1.9.1")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    contenders = {"mixnet": sys.executable}
    if options.mxnet:
        contenders["mxnet"] = options.mxnet
    for network in options.networks:
        runs: dict[str, list[tuple[float, float]]] = {package: [] for package in contenders}
        for _ in range(options.repeats):
            for package, python in contenders.items():
                runs[package].append(measured(python, package, network))
        cells = []
        for place in range(2):
            seconds = {
                package: median(run[place] for run in each) for package, each in runs.items()
            }
            own, other = seconds["mixnet"], seconds.get("mxnet")
            cells += [f"{own:.3f} ({own / other:.1f}) | {other:.3f}"] if other else [f"{own:.3f}"]
        print(f"| {network} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
