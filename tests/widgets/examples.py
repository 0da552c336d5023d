"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable

import mixnet as mx
from mixnet.widgets import ArrayView, EngineTimeline, View

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
