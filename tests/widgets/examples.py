"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import mixnet as mx
from mixnet.distributed import Measured, MeasuredStep
from mixnet.gluon import nn
from mixnet.widgets import (
    ArrayView,
    EngineTimeline,
    GraphView,
    HybridizeStepper,
    Look,
    MemoryView,
    OpExplorer,
    Playground,
    Puzzle,
    ScalingView,
    TrainingBoard,
    View,
)
from tests.widgets.networks import TwoLayers

EXAMPLES: dict[str, Callable[[], View]] = {}


def example(make: Callable[[], View]) -> Callable[[], View]:
    """Declare an example by the function's name."""
    EXAMPLES[make.__name__] = make
    return make


@example
def array() -> View:
    """Four axes: a slider over slices."""
    x = mx.nd.arange(120).reshape((2, 3, 4, 5))
    x.wait_to_read()
    return ArrayView(x)


@example
def graph() -> View:
    """Forward and backward of a small network; two blocks."""
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for _ in range(2):
            part = mx.gluon.nn.HybridSequential(prefix=f"part{len(net)}_")
            with part.name_scope():
                part.add(
                    mx.gluon.nn.Dense(8), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu")
                )
            net.add(part)
    return GraphView(net, (4, 6), train=True)


@example
def playground() -> View:
    """A network after three steps, with a poisoned input."""
    mx.random.seed(1)
    net = TwoLayers()
    net.initialize(mx.init.Xavier())
    view = Playground(net, mx.nd.ones((4, 3)), mx.nd.zeros((4,)))
    view.step(3)
    view.poison()
    return view


def board_like(title: str, factor: float) -> TrainingBoard:
    """A board with a curve that falls."""
    view = TrainingBoard(title)
    view._of_live().hold()  # a slow machine would add curves of throughput and memory
    for step in range(1, 41):
        view.log(loss=2 * factor**step, val_loss=2.1 * factor**step)
    return view


@example
def compared_board() -> View:
    """A training beside two others, the second of which is not finite at its end."""
    view, fast, broken = (
        board_like("rate 0.1", 0.95),
        board_like("rate 0.5", 0.9),
        board_like("rate 2", 0.99),
    )
    broken.log(loss=float("nan"))
    return view.compare(fast, broken)


def small_symbol() -> mx.sym.Symbol:
    """Two layers and a loss head."""
    x = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1"),
        "tanh",
        name="act",
    )
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=4, name="fc2"), name="softmax")


@example
def memory() -> View:
    """Plans of a perceptron in training."""
    return MemoryView(small_symbol(), data=(8, 12), xla=False)


@example
def live_memory() -> View:
    """What a few lines held."""
    with mx.runtime.memory() as log:
        a = mx.nd.ones((300, 100))
        b = a * 2
        b.wait_to_read()
        del a
        c = b + 1
        c.wait_to_read()
    return MemoryView.live(log)


@example
def timeline() -> View:
    """Two engines: decoding, copying and a step for each batch; one write fails."""
    time = {"pushed": 0, "ready": 0, "started": 0, "ended": 0}
    rows = []
    for i in range(4):
        for k, (name, resource, thread) in enumerate(
            [("decode", "io", "mixnet io 0"), ("copy", "copy:gpu(0)", "mixnet copy:gpu(0) 0"),
             ("step", "compute:gpu(0)", "mixnet compute:gpu(0) 0")]
        ):  # fmt: skip
            start = (2 * i + 2 * k) * 1_000_000
            time = {
                "pushed": 1000 * i,
                "ready": start,
                "started": start + 50_000,
                "ended": start + 1_900_000,
            }
            row = {"number": 3 * i + k, "name": f"{name} {i}", "resource": resource, "thread": thread,
                   "priority": 0, "source": "train.py:7", "error": None}  # fmt: skip
            if name == "step":
                row["how"] = ["compiled", "setting", 12, 0.0, 0.0, 0]
            reads = [[], [[f"batch {i}", 1]], [[f"copied {i}", 1]]][k]
            written = [[f"batch {i}", 1], [f"copied {i}", 1], ["weights", i + 1]][k]
            rows.append({**row, **time, "reads": reads, "writes": [written]})
    rows[-1]["error"] = "ValueError('disk full')"
    view = EngineTimeline(rows)
    view.payload = {"runs": [view.payload["runs"][0], {**view.payload["runs"][0], "name": "again"}]}
    return view


@example
def stepper() -> View:
    """A small network."""
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    net.initialize()
    return HybridizeStepper(net, mx.nd.ones((4, 3)))


@example
def look() -> View:
    """A small network in training: every pane has something."""
    net = TwoLayers()
    net.initialize()
    return Look(net, mx.nd.ones((4, 3)), mx.nd.zeros((4,)))


def torch_look() -> View:
    """A module of torch."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return Look(module, torch.ones(4, 3), title="module of torch")


if importlib.util.find_spec("torch") is not None:
    example(torch_look)


@example
def scaling() -> View:
    """Points as if they had been measured on four devices, and what fits them."""
    points = [{"n": n, "thr": 1000 * n / (1 + 0.1 * (n - 1)), "lo": 900.0 * n / (1 + 0.1 * (n - 1)),
               "hi": 1050.0 * n / (1 + 0.1 * (n - 1)), "repeat": 5} for n in (1, 2, 4, 8)]  # fmt: skip
    run = {
        "label": "a step",
        "origin": "simulated host devices",
        "batch": 32,
        "bytes": 1e6,
        "points": points,
    }
    return ScalingView([run])


@example
def laboratory() -> View:
    """Points as if processes had been measured: 30 ms of computing, 10 MB of gradients, a slow network."""
    steps = []
    for n in (1, 2, 3, 4):
        waiting = 0.004 * (sum(1 / k for k in range(1, n + 1)) - 1)
        exchange = 2 * (n - 1) * 1e-3 + 2 * (n - 1) / n * 1e7 * 1.6e-9
        seconds = (0.03 + waiting + 0.75 * exchange) * (1.05 if n > 2 else 1)
        steps.append(
            MeasuredStep(
                n,
                seconds,
                0.95 * seconds,
                1.1 * seconds,
                0.03,
                exchange,
                waiting,
                2e-3 * (n - 1),
                2e7 * (n - 1) / n,
            )
        )
    return ScalingView(Measured("perceptron", 64, 10_000_000, 0.03, 5, tuple(steps)))


@example
def board() -> View:
    """Two losses, an accuracy, a value that is not finite, a histogram, an image, an event."""
    view = TrainingBoard("LeNet")
    for step in range(1, 60):
        view.log(train_loss=2 / step, val_loss=2.2 / step, accuracy=1 - 1 / step)
    view.log(train_loss=float("nan"))
    view.histogram("conv0_weight", [[0.5, -1.0], [0.25, 2.0]])
    view.image("first digit", [[0.0, 1.0], [0.5, 0.25]])
    view.learning_rate = 0.01
    view.event("epoch 1 ended")
    return view


@example
def explorer() -> View:
    """A convolution of two channels."""
    return OpExplorer("convolution", channels=2, pad=1)


@example
def puzzle() -> View:
    """Memory of three branches."""
    return Puzzle("memory")


@example
def puzzle_tasks() -> View:
    """Two batches on two threads."""
    return Puzzle("tasks")


@example
def puzzle_fusion() -> View:
    """A gate."""
    return Puzzle("fusion")
