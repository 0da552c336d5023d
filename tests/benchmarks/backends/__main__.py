"""python -m tests.benchmarks.backends [networks] [--batches 1,16] [--repeats N] [--threads N]
[--only mixnet,torch,...]

Every framework has a process of its own, and they take turns with the same network, parameters
and data. The real MXNet takes part where the environment variable MIXNET_ORACLE is the path of a
launcher of a Python that has it, PyTorch where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import sys
import tempfile
from typing import Any

import numpy as np

from tests.benchmarks.backends.networks import NETWORKS
from tests.benchmarks.networks.client import Client

OURS = [("mixnet", "XLA"), ("mixnet", "ONNXRuntime"), ("mixnet", "OpenVINO")]
OTHERS = [
    ("openvino", "alone"),
    ("onnxruntime", "alone"),
    ("torch", "eager"),
    ("torch", "compiled"),
    ("mxnet", "hybridized"),
    ("mxnet", "oneDNN"),
]
ALONE = {"ONNXRuntime": ("onnxruntime", "alone"), "OpenVINO": ("openvino", "alone")}
"""By backend the library that it calls."""
ALL = [*OURS, *OTHERS]
WORKER = "tests.benchmarks.backends.worker"
TURN = 0.5
"""Seconds that a turn shall last at least."""

Which = tuple[str, str]


def present(only: str | None) -> list[Which]:
    """Contenders that can run."""
    missing = {
        name
        for name in ("torch", "onnxruntime", "openvino")
        if importlib.util.find_spec(name) is None
    }
    if not os.environ.get("MIXNET_ORACLE"):
        print("MIXNET_ORACLE is not set: without the real MXNet.")
        missing.add("mxnet")
    wanted = only.split(",") if only else [framework for framework, _ in ALL]
    return [
        each
        for each in ALL
        if each[0] in wanted and each[0] not in missing and each[1].lower() not in missing
    ]


class Workers:
    """A process for each framework, started when first asked for, and anew after one ended.

    Args:
        threads: of every contender.
    """

    def __init__(self, threads: int):
        self._threads = threads
        self._clients: dict[str, Client] = {}

    def ask(self, framework: str, do: str, **request: Any) -> Any:
        """What a method of the framework's worker returns.

        Raises:
            RuntimeError: what it raised, or that the process ended.
        """
        if framework not in self._clients:
            launcher = os.environ["MIXNET_ORACLE"] if framework == "mxnet" else sys.executable
            self._clients[framework] = Client([launcher], framework, self._threads, WORKER)
        client = self._clients[framework]
        try:
            return client.ask(do, **request)
        except RuntimeError:
            if client.has_ended:
                self._clients.pop(framework).close()
            raise

    def drop(self) -> None:
        """Forget all contenders."""
        for framework in list(self._clients):
            self.ask(framework, "drop")

    def close(self) -> None:
        """End all processes."""
        while self._clients:
            self._clients.popitem()[1].close()


def measure(
    name: str, batch: int, which: list[Which], workers: Workers, repeats: int
) -> dict[Which, tuple[float, float]]:
    """Of each contender seconds and processor seconds of a prediction, medians of turns; one that
    fails is reported and left out.
    """
    turns: dict[Which, list[tuple[float, float]]] = {}
    steps: dict[Which, int] = {}
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        workers.ask("mixnet", "write", name=name, batch=batch, folder=folder)
        for each in which:
            try:
                out, steps[each] = _prepared(workers, each, name, batch, folder)
            except RuntimeError as error:
                _report(name, batch, each, error)
                continue
            expected = out if expected is None else expected
            if np.abs(out - expected).max() > 1e-3 * np.abs(expected).max():
                print(f"{name}, {batch}: {' '.join(each)} computes something else")
        for _ in range(repeats):
            for each, count in list(steps.items()):
                try:
                    times = workers.ask(each[0], "time", variant=each[1], steps=count)
                except RuntimeError as error:
                    _report(name, batch, each, error)
                    del steps[each]
                    continue
                turns.setdefault(each, []).append(tuple(times))
    workers.drop()
    return {
        each: (statistics.median(a for a, _ in rows), statistics.median(b for _, b in rows))
        for each, rows in turns.items()
        if each in steps
    }


def _prepared(
    workers: Workers, each: Which, name: str, batch: int, folder: str
) -> tuple[np.ndarray, int]:
    """A contender's outputs, and how many predictions a turn of it has."""
    framework, variant = each
    request = {"name": name, "variant": variant, "batch": batch, "folder": folder}
    out = np.array(workers.ask(framework, "make", **request))
    one = min(workers.ask(framework, "time", variant=variant, steps=1)[0] for _ in range(2))
    return out, max(1, math.ceil(TURN / one))


def _report(name: str, batch: int, which: Which, error: RuntimeError) -> None:
    print(f"{name}, {batch}: {' '.join(which)} is left out: {error}", flush=True)


def ratio(found: dict[Which, tuple[float, float]], number: int) -> float:
    """The best of mixnet's backends divided by the best of the others: 0 for seconds, 1 for
    processor seconds.
    """
    ours = [each[number] for which, each in found.items() if which in OURS]
    others = [each[number] for which, each in found.items() if which in OTHERS]
    return min(ours) / min(others) if ours and others else math.nan


def costs(found: dict[Which, tuple[float, float]]) -> str:
    """By backend its processor seconds divided by those of the library that it calls."""
    pairs = {name: (("mixnet", name), alone) for name, alone in ALONE.items()}
    return ", ".join(
        f"{name} {found[ours][1] / found[alone][1]:.2f}"
        for name, (ours, alone) in pairs.items()
        if ours in found and alone in found
    )


def main() -> None:
    """Print a row of a table for each network and batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help=", ".join(NETWORKS))
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--repeats", type=int, default=7, help="turns of every contender")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contender")
    parser.add_argument("--only", help="mixnet,onnxruntime,openvino,torch,mxnet")
    given = parser.parse_args()
    which = present(given.only)
    workers = Workers(given.threads)
    names = " | ".join(f"{framework} {variant}" for framework, variant in which)
    print("Milliseconds of a prediction, and of the processor in brackets.\n")
    last = "best of mixnet / best of the others | backend / its library alone"
    print(f"| network, batch | {names} | {last} |")
    print(f"| --- |{' --- |' * (len(which) + 2)}")
    try:
        for name in given.names:
            for batch in map(int, given.batches.split(",")):
                found = measure(name, batch, which, workers, given.repeats)
                cells: list[Any] = [
                    f"{1e3 * found[e][0]:.1f} ({1e3 * found[e][1]:.1f})" if e in found else "–"
                    for e in which
                ]
                cells.append(f"{ratio(found, 0):.2f} ({ratio(found, 1):.2f})")
                cells.append(costs(found))
                print(f"| {NETWORKS[name]}, {batch} | {' | '.join(cells)} |", flush=True)
    finally:
        workers.close()


if __name__ == "__main__":
    main()
