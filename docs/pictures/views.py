"""Draw the pictures of the gallery: ``python docs/pictures/views.py`` writes
``docs/pictures/views/*.svg``, or ``python docs/pictures/views.py stepper`` one of them. The
directive ``view`` of pages shows the same views live.

They show real runs, so times differ from one drawing to the next; ``docs/gallery.md`` says which
lesson has the live view.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from concept_views import CONCEPTS
from sklearn.datasets import load_digits

import mixnet as mx
from mixnet import autograd, engine, gluon, nd
from mixnet.contrib import amp
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


def playground() -> View:
    with mx.name.NameManager():
        net = LeNet(prefix="lenet_")
    net.initialize(mx.init.Xavier())
    view = Playground(net, digits(), nd.arange(32) % 10)
    view.step(20)
    view.poison()
    return view


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


def trained(title: str, optimizer: str, rate: float, epochs: int = 12) -> TrainingBoard:
    """A board of a small LeNet that learns to read digits."""
    mx.random.seed(1)
    net = lenet()
    net.hybridize()
    pictures, labels = load_digits(return_X_y=True)
    x, y = nd.array(pictures.reshape(-1, 1, 8, 8) / 16), nd.array(labels)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": rate})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    view = TrainingBoard(title)
    view.attach(trainer, batch_size=64)

    def train(board: TrainingBoard) -> None:
        for epoch in range(epochs):
            for i in range(0, 1536, 64):
                with autograd.record():
                    loss = loss_of(net(x[i : i + 64]), y[i : i + 64])
                loss.backward()
                trainer.step(64)
                board.log(loss=loss)
                board.checkpoint()
            right = (net(x[1536:]).argmax(axis=1) == y[1536:]).mean()
            board.log(step=(epoch + 1) * 24, accuracy=right)
        board.histogram("weights of the first layer", net[0].weight.data())

    view.start(train)
    view.wait()
    return view


def board() -> View:
    return trained("LeNet", "adam", 5e-3)


def comparison() -> View:
    return trained("adam", "adam", 5e-3).compare(trained("sgd, rate 0.1", "sgd", 0.1))


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


def topology() -> View:
    """Who sends what to whom: the gradients of a network through parameter servers."""
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu", in_units=64), nn.Dense(10, in_units=256))
    net.initialize()
    servers = mx.distributed.topology(net, workers=4, kind="server", servers=2)
    of_ten_machines = ScalingView.ten_machines().payload["model"]
    return ScalingView([], model=of_ten_machines, topology=servers)


def puzzle_memory() -> View:
    view = Puzzle("memory")
    view.answer = [
        0,
        32768,
        81920,
        65536,
        32768,
        0,
        8192,
        180224,
    ]  # the last one is still to be moved
    return view


def puzzle_tasks() -> View:
    view = Puzzle("tasks")
    view.choose(place=next(r["place"] for r in view.payload["references"] if r["name"] == "engine"))
    return view


def puzzle_fusion() -> View:
    view = Puzzle("fusion")
    view.answer = [0, 1, 1, 2, 3, 4, 2, 1]  # two groups that wait for each other
    return view


VIEWS = (
    look, playground, graph, difference, stepper, memory, timeline, board, comparison, explorer,
    array, scaling, topology, puzzle_memory, puzzle_tasks, puzzle_fusion,
)  # fmt: skip
"""The gallery, in its order."""


def puzzle_memory_to_solve() -> View:
    return Puzzle("memory")


def puzzle_tasks_to_solve() -> View:
    return Puzzle("tasks")


def puzzle_fusion_to_solve() -> View:
    return Puzzle("fusion")


def pending() -> View:
    x = nd.random.uniform(shape=(4, 3))
    x.wait_to_read()
    scores = nd.dot(x, nd.ones((3, 2))) * 2 + 1
    return GraphView(nd.softmax(scores))


def gradients() -> View:
    return GraphView(
        _perceptron(),
        nd.ones((32, 64)),
        nd.ones((32,)),
        train=True,
        loss=gluon.loss.SoftmaxCrossEntropyLoss(),
    )


def merged() -> View:
    """A pass that merges what is the same: its graph before and after."""

    def twice(x: nd.NDArray) -> nd.NDArray:
        return nd.relu(x) + nd.relu(x)

    [program] = mx.stages(twice, nd.ones((4, 3))).programs
    steps = program.steps
    after = next(i for i, step in enumerate(steps) if step["pass"] == "eliminate_common")
    return GraphView.diff(steps[after - 1], steps[after], title="eliminate_common")


def channels_last() -> View:
    program = mx.stages(lenet(), digits()).programs[-1]
    steps = program.steps
    after = next(i for i, step in enumerate(steps) if step["pass"] == "choose_layout")
    return GraphView.diff(steps[after - 1], steps[after], title="choose_layout")


def casts() -> View:
    symbol = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=8, name="hidden")
    symbol = mx.sym.FullyConnected(mx.sym.relu(symbol, name="bend"), num_hidden=2, name="scores")
    symbol = mx.sym.softmax(symbol, name="shares")
    lowered = amp.convert_symbol(symbol, "float16")
    return GraphView.diff(
        GraphView(symbol, x=(4, 2)), GraphView(lowered, x=(4, 2)), title="float32 → float16"
    )


def symbol() -> View:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="first")
    x = mx.sym.FullyConnected(
        mx.sym.Activation(x, "tanh", name="bend"), num_hidden=10, name="second"
    )
    return GraphView(mx.sym.SoftmaxOutput(x, name="softmax"), data=(32, 100), train=True)


def live_memory() -> View:
    def work() -> None:
        a = nd.random.uniform(shape=(300, 1000))
        b = nd.dot(a, a.T)
        b.wait_to_read()
        del a
        c = nd.softmax(b)
        c.wait_to_read()
        del b
        (c.sum()).wait_to_read()

    for _ in range(3):  # what is compiled first would fill the picture
        work()
    with mx.runtime.memory() as log:
        work()
    view = MemoryView.live(log)
    view.choose(events=True)
    return view


def batches() -> View:
    """Batches that are made by a thread of their own while others are computed with."""
    data = nd.random.uniform(shape=(512, 64))
    data.wait_to_read()
    net = _perceptron()
    net(data[:64]).wait_to_read()
    loader = gluon.data.DataLoader(
        gluon.data.ArrayDataset(data), 64, num_workers=2, thread_pool=True
    )
    with EngineTimeline() as view:
        for batch in loader:
            net(batch).wait_to_read()
    return view


def _perceptron() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(32, activation="relu", in_units=64), nn.Dense(10, in_units=32))
    net.initialize(mx.init.Xavier())
    return net


MORE: tuple[Callable[[], View], ...] = (
    puzzle_memory_to_solve,
    puzzle_tasks_to_solve,
    puzzle_fusion_to_solve,
    pending,
    gradients,
    merged,
    channels_last,
    casts,
    symbol,
    live_memory,
    batches,
    *CONCEPTS,
)
"""Views of other pages: ``docs/live_views.py``."""


def main() -> int:
    """Draw the views that are named, or all of the gallery; with ``--html FOLDER`` as parts of pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="which; by default all of the gallery")
    parser.add_argument(
        "--html", type=Path, help="a folder for parts of pages, in place of pictures"
    )
    given = parser.parse_args()
    known = {make.__name__: make for make in (*VIEWS, *MORE)}
    if unknown := set(given.names) - set(known):
        parser.error(f"no view {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    mx.context.set_cpu_devices(4)
    mx.random.seed(1)
    folder, ending = (FOLDER, "svg") if given.html is None else (given.html, "html")
    folder.mkdir(exist_ok=True)
    for name in given.names or [make.__name__ for make in VIEWS]:
        path = folder / f"{name}.{ending}"
        view = known[name]()
        path.write_text(view.svg() if given.html is None else view.html(), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
