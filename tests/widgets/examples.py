"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable

import mixnet as mx
from mixnet.widgets import ArrayView, EngineTimeline, TrainingBoard, View

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
            reads = [[["read", i]], [["batch", i + 1]], [["copied", i + 1]]][k]
            rows.append(
                {
                    **row,
                    **time,
                    "reads": reads,
                    "writes": [[("batch", "copied", "weights")[k], i + 1]],
                }
            )
    rows[-1]["error"] = "ValueError('disk full')"
    view = EngineTimeline(rows)
    view.payload = {"runs": [view.payload["runs"][0], {**view.payload["runs"][0], "name": "again"}]}
    return view


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
