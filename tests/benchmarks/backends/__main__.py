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


def workers(which: list[Which], threads: int) -> dict[str, Client]:
    """A process for each framework."""
    launchers = {"mxnet": os.environ.get("MIXNET_ORACLE", "")}
    return {
        name: Client([launchers.get(name, sys.executable)], name, threads, WORKER)
        for name in dict.fromkeys(["mixnet", *(framework for framework, _ in which)])
    }


def measure(
    name: str, batch: int, which: list[Which], clients: dict[str, Client], repeats: int
) -> dict[Which, tuple[float, float]]:
    """Of each contender seconds and processor seconds of a prediction, medians of turns."""
    turns: dict[Which, list[tuple[float, float]]] = {}
    steps: dict[Which, int] = {}
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        clients["mixnet"].ask("write", name=name, batch=batch, folder=folder)
        for framework, variant in which:
            given = {"name": name, "variant": variant, "batch": batch, "folder": folder}
            try:
                out = np.array(clients[framework].ask("make", **given))
            except RuntimeError as error:
                print(
                    f"{name}, {batch}: without {framework} {variant}: {str(error).splitlines()[-1]}"
                )
                continue
            expected = out if expected is None else expected
            if np.abs(out - expected).max() > 1e-3 * np.abs(expected).max():
                print(f"{name}, {batch}: {framework} {variant} computes something else")
            one = min(clients[framework].ask("time", variant=variant, steps=1)[0] for _ in range(2))
            steps[framework, variant] = max(1, math.ceil(TURN / one))
        for _ in range(repeats):
            for (framework, variant), count in steps.items():
                taken = clients[framework].ask("time", variant=variant, steps=count)
                turns.setdefault((framework, variant), []).append(tuple(taken))
    for each in clients.values():
        each.ask("drop")
    return {
        each: (statistics.median(a for a, _ in rows), statistics.median(b for _, b in rows))
        for each, rows in turns.items()
    }


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
    clients = workers(which, given.threads)
    names = " | ".join(f"{framework} {variant}" for framework, variant in which)
    print("Milliseconds of a prediction, and of the processor in brackets.\n")
    last = "best of mixnet / best of the others | backend / its library alone"
    print(f"| network, batch | {names} | {last} |")
    print(f"| --- |{' --- |' * (len(which) + 2)}")
    try:
        for name in given.names:
            for batch in map(int, given.batches.split(",")):
                found = measure(name, batch, which, clients, given.repeats)
                cells: list[Any] = [
                    f"{1e3 * found[e][0]:.1f} ({1e3 * found[e][1]:.1f})" if e in found else "–"
                    for e in which
                ]
                cells.append(f"{ratio(found, 0):.2f} ({ratio(found, 1):.2f})")
                cells.append(costs(found))
                print(f"| {NETWORKS[name]}, {batch} | {' | '.join(cells)} |", flush=True)
    finally:
        for each in clients.values():
            each.close()


if __name__ == "__main__":
    main()
