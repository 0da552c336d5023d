"""python -m tests.benchmarks.backends [networks] [--batches 1,16] [--repeats N] [--threads N]
[--only mixnet,torch,...] [--int8]

With ``--int8``, networks in 8-bit integers take part: ours by every backend, and beside them the
same network quantized by ONNX Runtime's own tool, in ONNX Runtime and in OpenVINO.

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
from collections.abc import Callable, Iterable
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
OUR_INT8 = [("mixnet", "XLA int8"), ("mixnet", "ONNXRuntime int8"), ("mixnet", "OpenVINO int8")]
OTHER_INT8 = [("openvino", "int8"), ("onnxruntime", "int8")]
ALONE = {"ONNXRuntime": ("onnxruntime", "alone"), "OpenVINO": ("openvino", "alone")}
"""By backend the library that it calls."""
ALL = [*OURS, *OUR_INT8, *OTHERS, *OTHER_INT8]
WORKER = "tests.benchmarks.backends.worker"
TURN = 0.5
"""Minimum duration of a turn, in seconds."""

TOLERANCE, TOLERANCE_INT8 = 1e-3, 0.1
"""How far outputs may be from those of the first contender, divided by the largest of these."""

Which = tuple[str, str]
Times = tuple[float, float]
"""Seconds and processor seconds of a prediction."""
Measurements = dict[Which, Times]


def present(only: str | None, int8: bool) -> list[Which]:
    """Contenders that can run."""
    missing = {
        name
        for name in ("torch", "onnxruntime", "openvino")
        if importlib.util.find_spec(name) is None
    }
    if not os.environ.get("MIXNET_ORACLE"):
        print("MIXNET_ORACLE is not set: without the real MXNet.")
        missing.add("mxnet")
    expected = only.split(",") if only else [framework for framework, _ in ALL]
    return [
        each
        for each in ALL
        if each[0] in expected
        and not {each[0], *each[1].lower().split()} & missing
        and (int8 or not is_int8(each))
    ]


def is_int8(which: Which) -> bool:
    """Whether a contender computes with 8-bit integers."""
    return which[1].endswith("int8")


class Workers:
    """A process for each framework, started on first use, and again after it ended.

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
) -> dict[Which, list[Times]]:
    """Times of each contender by turn; one that fails is reported and left out."""
    turns: dict[Which, list[Times]] = {}
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
            tolerance = TOLERANCE_INT8 if is_int8(each) else TOLERANCE
            if np.abs(out - expected).max() > tolerance * np.abs(expected).max():
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
    return {each: rows for each, rows in turns.items() if each in steps}


def summary(
    turns: dict[Which, list[Times]], of: Callable[[Iterable[float]], float]
) -> Measurements:
    """One figure of all turns of each contender, as their median."""
    return {
        each: (of([wall for wall, _ in rows]), of([processor for _, processor in rows]))
        for each, rows in turns.items()
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


def ratio(result: Measurements, ours: list[Which], others: list[Which]) -> str:
    """The best of some contenders divided by the best of others, by the clock and, in brackets, by
    the processor.
    """

    def of(number: int) -> float:
        best = [
            min((result[each][number] for each in group if each in result), default=math.nan)
            for group in (ours, others)
        ]
        return best[0] / best[1]

    return f"{of(0):.2f} ({of(1):.2f})"


def costs(result: Measurements) -> str:
    """By backend its processor seconds divided by those of the library that it calls."""
    pairs = {name: (("mixnet", name), alone) for name, alone in ALONE.items()}
    return ", ".join(
        f"{name} {result[ours][1] / result[alone][1]:.2f}"
        for name, (ours, alone) in pairs.items()
        if ours in result and alone in result
    )


LAST = {
    "best of mixnet / best of the others": lambda result: ratio(result, OURS, OTHERS),
    "backend / its library alone": costs,
}
LAST_INT8 = {
    "float32 / int8, best of mixnet": lambda result: ratio(result, OURS, OUR_INT8),
    "int8, best of mixnet / best of the others": lambda result: ratio(result, OUR_INT8, OTHER_INT8),
}


def row(
    result: Measurements, which: list[Which], last: Iterable[Callable[[Measurements], str]]
) -> str:
    """The cells of a row."""
    cells = [
        f"{1e3 * result[e][0]:.1f} ({1e3 * result[e][1]:.1f})" if e in result else "–"
        for e in which
    ]
    return " | ".join([*cells, *[each(result) for each in last]])


def main() -> None:
    """Print a row of a table for each network and batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help=", ".join(NETWORKS))
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--repeats", type=int, default=7, help="turns of every contender")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contender")
    parser.add_argument("--only", help="mixnet,onnxruntime,openvino,torch,mxnet")
    parser.add_argument("--int8", action="store_true", help="with networks in 8-bit integers")
    options = parser.parse_args()
    which = present(options.only, options.int8)
    last = LAST | LAST_INT8 if options.int8 else LAST
    workers = Workers(options.threads)
    names = [f"{framework} {variant}" for framework, variant in which]
    print("Milliseconds of a prediction, and of the processor in brackets.\n")
    print(f"| network, batch | {' | '.join([*names, *last])} |")
    print(f"| --- |{' --- |' * (len(names) + len(last))}")
    try:
        for name in options.names:
            for batch in map(int, options.batches.split(",")):
                turns = measure(name, batch, which, workers, options.repeats)
                for title, of in (("median", statistics.median), ("least", min)):
                    cells = row(summary(turns, of), which, last.values())
                    print(f"| {NETWORKS[name]}, {batch}, {title} | {cells} |", flush=True)
    finally:
        workers.close()


if __name__ == "__main__":
    main()
