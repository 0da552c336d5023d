"""Draw the pictures of the gallery: ``python docs/pictures/views.py`` writes ``docs/pictures/views/*.svg``.

They show real runs, so times differ from one drawing to the next; ``docs/gallery.md`` says which lesson has the live view.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import mixnet as mx
from mixnet import autograd, engine, gluon, nd
from mixnet.gluon import nn
from mixnet.widgets import (
    ArrayView,
    EngineTimeline,
    GraphView,
    HybridizeStepper,
    Look,
    MemoryView,
    OpExplorer,
    ScalingView,
    TrainingBoard,
    View,
)

FOLDER = Path(__file__).parent / "views"


class LeNet(nn.HybridBlock):
    """The same network as a class, so that it has lines to show."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = nn.Conv2D(8, 3, padding=1, activation="relu")
            self.pool1 = nn.MaxPool2D(2, 2)
            self.conv2 = nn.Conv2D(16, 3, padding=1, activation="relu")
            self.pool2 = nn.MaxPool2D(2, 2)
            self.out = nn.Dense(10)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.pool1(self.conv1(x))
        x = self.pool2(self.conv2(x))
        return self.out(x)


def lenet() -> nn.HybridSequential:
    """The network of the pictures."""
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, padding=1, activation="relu", in_channels=1),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(16, 3, padding=1, activation="relu", in_channels=8),
            nn.MaxPool2D(2, 2),
            nn.Dense(10, in_units=64),
        )
    net.initialize(mx.init.Xavier())
    return net


def digits(samples: int = 32) -> nd.NDArray:
    """A batch of random pictures in the shape of digits."""
    return nd.random.uniform(shape=(samples, 1, 8, 8))


def look() -> View:
    with mx.name.NameManager():
        net = LeNet(prefix="lenet_")
    net.initialize(mx.init.Xavier())
    labels = nd.arange(32) % 10
    return Look(net, digits(), labels)


def graph() -> View:
    return GraphView(lenet(), digits())


def difference() -> View:
    hidden = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=8, name="hidden")
    before = mx.sym.FullyConnected(mx.sym.relu(hidden, name="bend"), num_hidden=2, name="out")
    bent = mx.sym.Dropout(mx.sym.relu(hidden, name="bend"), name="drop")
    after = mx.sym.FullyConnected(bent, num_hidden=2, name="out")
    return GraphView.diff(
        GraphView(before, x=(4, 2)), GraphView(after, x=(4, 2)), title="before → after"
    )


def stepper() -> View:
    net = lenet()
    net.hybridize()
    return HybridizeStepper(net, digits())


def memory() -> View:
    return MemoryView(lenet(), digits(256), train=True)


def timeline() -> View:
    a, b = engine.Var("a"), engine.Var("b")
    with EngineTimeline() as view:
        for name, reads, writes in (
            ("write a", [], [a]),
            ("write b", [], [b]),
            ("read a", [a], []),
            ("a to b", [a], [b]),
        ):
            resource = "io" if b in writes else "compute"
            engine.push(
                lambda: time.sleep(0.05), reads=reads, writes=writes, name=name, resource=resource
            )
        engine.wait_for_all()
    return view


def board() -> View:
    net, x, y = lenet(), digits(256), nd.random.randint(0, 10, shape=(256,)).astype("float32")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    view = TrainingBoard("LeNet")
    view.attach(trainer, batch_size=256)

    def train(board: TrainingBoard) -> None:
        for _ in range(60):
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(256)
            board.log(loss=loss)
            board.checkpoint()

    view.start(train)
    view.wait()
    return view


def explorer() -> View:
    return OpExplorer("convolution")


def array() -> View:
    view = nd.random.normal(shape=(16, 24))
    view.wait_to_read()
    return ArrayView(view)


def scaling() -> View:
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu", in_units=64), nn.Dense(10))
    net.initialize()
    measured = mx.distributed.measure(
        net, nd.ones((32, 64)), (1, 2, 3, 4), device_seconds=0.02, label="perceptron"
    )
    return ScalingView(measured)


VIEWS = (look, graph, difference, stepper, memory, timeline, board, explorer, array, scaling)


def main() -> int:
    """Draw all of them."""
    mx.context.set_cpu_devices(4)
    mx.random.seed(1)
    FOLDER.mkdir(exist_ok=True)
    for make in VIEWS:
        path = FOLDER / f"{make.__name__}.svg"
        make().to_svg(path)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
