"""Programs on one GPU, beside PyTorch: python -m tests.benchmarks.gpu [names...]

Each figure comes from a fresh process without compiled programs from before: seconds until the first result,
again, of the first runs together, and of one step after them. PyTorch runs eagerly, with its defaults;
float16 is its automatic mixed precision with channels last.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.benchmarks.first_results import cell as source
from tests.benchmarks.first_results import steps
from tests.benchmarks.fresh import figures_of

Maker = Callable[[Any], tuple[Any, tuple[int, ...]]]
"""Makes a network of the module ``mxnet``, and says the shape of its batch."""

FIRST = (20, 50, 100, 150)
"""After so many runs, the time of all of them is taken."""
LONGEST = 30.0
"""Seconds that they may take; a program of a GPU may be compiled for longer than that."""

_SMALL = {"perceptron": steps.PERCEPTRON, "lenet": steps.LENET}

PROGRAM = """
import json, sys, time
start = time.perf_counter()
from tests.benchmarks import gpu
print("FIGURES", json.dumps(gpu.figures({name!r}, {library!r}, start)))
"""


def _small(name: str) -> Maker:
    return lambda mx: (steps.network(mx, _SMALL[name]), _SMALL[name])


def _zoo(name: str) -> Maker:
    def make(mx: Any) -> tuple[Any, tuple[int, ...]]:
        net = mx.gluon.model_zoo.vision.get_model(name, classes=1000)
        return net, (64, 3, 224, 224)

    return make


def _on_gpu(make: Maker, hybridize: bool, dtype: str) -> tuple[Any, Any]:
    """A network with its parameters on the GPU, and a batch for it."""
    import mixnet as mx

    net, shape = make(mx)
    with mx.gpu(0):
        net.initialize(mx.init.Xavier())
        x = mx.nd.random.uniform(shape=shape)
        if dtype != "float32":
            net(x[:1])  # casting takes parameters whose shapes are known
            net.cast(dtype)
            x = x.astype(dtype)
    if hybridize:
        net.hybridize()
    return net, x


def training(make: Maker, hybridize: bool, dtype: str = "float32") -> Callable[[], float]:
    """A step of training in mixnet, which returns its loss."""
    import mixnet as mx

    net, x = _on_gpu(make, hybridize, dtype)
    with mx.gpu(0):
        y = mx.nd.arange(len(x)) % 10
    settings = {"learning_rate": 0.01, "multi_precision": dtype != "float32"}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def step() -> float:
        with mx.autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(x))
        return float(loss.mean().asscalar())

    return step


def prediction(make: Maker, hybridize: bool, dtype: str = "float32") -> Callable[[], float]:
    """A prediction in mixnet, which returns one score."""
    net, x = _on_gpu(make, hybridize, dtype)
    return lambda: float(net(x)[0, 0].asscalar())


def cell() -> Callable[[], float]:
    """Twenty different operations on small arrays."""
    import mixnet as mx

    def run() -> float:
        with mx.gpu(0):
            return float(source.run(mx)[1].sum())

    return run


def chain() -> Callable[[], float]:
    """A hundred operations on an array of 32 x 32."""
    import mixnet as mx

    x = mx.nd.ones((32, 32), ctx=mx.gpu(0))

    def run() -> float:
        y = x
        for _ in range(50):
            y = mx.nd.tanh(y * 1.01)
        return float(y[0, 0].asscalar())

    return run


def _torch_network(name: str) -> tuple[Any, tuple[int, ...]]:
    import torch

    if name in _SMALL:
        return steps.network_torch(torch, _SMALL[name]), _SMALL[name]
    import torchvision

    return torchvision.models.get_model(name), (64, 3, 224, 224)


def torch_training(name: str, half: bool = False, train: bool = True) -> Callable[[], float]:
    """The same in PyTorch."""
    import torch

    net, shape = _torch_network(name)
    net = net.cuda()
    x, y = torch.rand(shape, device="cuda"), torch.arange(shape[0], device="cuda") % 10
    if half:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step() -> float:
        with torch.autocast("cuda", torch.float16, enabled=half):
            loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss)

    def predict() -> float:
        with torch.no_grad(), torch.autocast("cuda", torch.float16, enabled=half):
            return float(net(x)[0, 0])

    return step if train else predict


def torch_cell() -> Callable[[], float]:
    """The same in PyTorch."""
    import torch

    torch.set_default_device("cuda")
    numpy = torch.Tensor.numpy
    torch.Tensor.numpy = lambda array: numpy(array.cpu())
    return lambda: float(source.run_torch(torch)[1].sum())


def torch_chain() -> Callable[[], float]:
    """The same in PyTorch."""
    import torch

    x = torch.ones(32, 32, device="cuda")

    def run() -> float:
        y = x
        for _ in range(50):
            y = torch.tanh(y * 1.01)
        return float(y[0, 0])

    return run


TASKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "cell of 20 operations": (cell, torch_cell),
    "chain of 100 operations": (chain, torch_chain),
    "perceptron, step": (lambda: training(_small("perceptron"), False), lambda: torch_training("perceptron")),
    "LeNet, step": (lambda: training(_small("lenet"), False), lambda: torch_training("lenet")),
    "LeNet, hybridized step": (lambda: training(_small("lenet"), True), lambda: torch_training("lenet")),
    "ResNet-50, prediction": (
        lambda: prediction(_zoo("resnet50_v1"), True),
        lambda: torch_training("resnet50", train=False),
    ),
    "ResNet-50, step": (lambda: training(_zoo("resnet50_v1"), True), lambda: torch_training("resnet50")),
    "ResNet-50, imperative step": (
        lambda: training(_zoo("resnet50_v1"), False),
        lambda: torch_training("resnet50"),
    ),
    "ResNet-50, step, float16": (
        lambda: training(_zoo("resnet50_v1"), True, "float16"),
        lambda: torch_training("resnet50", half=True),
    ),
}  # fmt: skip


def figures(name: str, library: str, start: float) -> dict[str, float]:
    """Figures of a task in this process.

    Args:
        name: of the task.
        library: ``mixnet`` or ``torch``.
        start: when the process began to import.
    """
    run = TASKS[name][library == "torch"]()
    ready = time.perf_counter()
    run()
    first = time.perf_counter()
    run()
    again = time.perf_counter()
    together = {}
    for runs in range(3, FIRST[-1] + 1):
        run()
        if runs in FIRST:
            together[f"{runs} runs"] = time.perf_counter() - ready
        if time.perf_counter() - again > LONGEST:
            break
    times = []
    for _ in range(10):
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return {
        "import": ready - start,
        "first": first - ready,
        "again": again - first,
        **together,
        "later": sorted(times)[len(times) // 2],
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", choices=("mixnet", "torch"))
    options = parser.parse_args()
    for name in TASKS:
        if options.names and not any(each in name for each in options.names):
            continue
        for library in (options.only,) if options.only else ("mixnet", "torch"):
            source = PROGRAM.format(name=name, library=library)
            try:
                result = figures_of(sys.executable, source, MIXNET_CACHE_DIR="off")
            except RuntimeError as error:
                print(f"| {name} | {library} | {str(error)[-1500:]} |", flush=True)
                continue
            text = " | ".join(f"{each} {seconds:.4f}" for each, seconds in result.items())
            print(f"| {name} | {library} | {text} |", flush=True)


if __name__ == "__main__":
    main()
