"""``python -m tests.benchmarks.backends.call [networks] [--batches 1,16] [--repeats N]``: what a call of the
backend OpenVINO costs past the library.

Both predict in one process with one thread, in turns, and the library computes the same graph for
both. Times are those of the processor, medians: they hardly depend on what else runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.backends.networks import NETWORKS
from tests.benchmarks.backends.worker import Mixnet, OpenVINO

_STEPS = 10
"""Predictions of a turn; before them are two more, for caches."""


class _Inside:
    """Counts the processor's nanoseconds within the library's function."""

    def __init__(self) -> None:
        import openvino

        self.spent = 0
        base: Any = openvino.InferRequest.__mro__[1]  # below the library's own Python
        infer = base.infer

        def counted(request: Any, *args: Any, **options: Any) -> Any:
            start = time.process_time_ns()
            result = infer(request, *args, **options)
            self.spent = time.process_time_ns() - start
            return result

        base.infer = counted


def turn(predict: Callable[[], Any], inside: _Inside) -> list[tuple[int, int]]:
    """Nanoseconds of some predictions, and of what is not the library."""
    for _ in range(2):
        predict()
    rows = []
    for _ in range(_STEPS):
        start = time.process_time_ns()
        predict()
        whole = time.process_time_ns() - start
        rows.append((whole, whole - inside.spent))
    return rows


def main() -> None:
    """Print a row for each network and batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help=", ".join(NETWORKS))
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--repeats", type=int, default=40, help="turns of both")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # else the backend has more threads
    inside, ours = _Inside(), Mixnet(1)
    print("| network, batch | OpenVINO, ms | its call, ms | ours, ms | our call, ms | ratio |")
    for name in options.names:
        for batch in map(int, options.batches.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                ours.write(name, batch, folder)
                contenders = [
                    OpenVINO(1).make(name, "alone", batch, folder),
                    ours.make(name, "OpenVINO", batch, folder),
                ]
                turns = [
                    [turn(each, inside) for each in contenders] for _ in range(options.repeats)
                ]
            # turns, contenders, predictions, kinds
            alone, own = np.median(np.array(turns), (0, 2)) / 1e6
            cells = [f"{each:.3f}" for each in (*alone, *own)]
            print(
                f"| {NETWORKS[name]}, {batch} | {' | '.join(cells)} | {own[0] / alone[0]:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
