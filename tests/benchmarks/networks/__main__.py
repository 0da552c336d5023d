"""python -m tests.benchmarks.networks [names] [--repeats N] [--json FILE]

Every contender predicts and trains the same network on the same data from the same parameters;
they take turns. The real MXNet takes part where the environment variable MIXNET_ORACLE is the path
of a launcher of a Python that has it, PyTorch where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np

from tests.benchmarks.networks.case import CASES, Case, case
from tests.benchmarks.networks.client import Client
from tests.benchmarks.networks.load import Load

MODES = ("inference", "training")
TURN = 0.5
"""Minimum duration of a turn, in seconds."""

QUIET, AGAIN = 0.1, 4
"""A turn during which others used more of the machine than this is taken again, at most so often."""

REFERENCE = ("mixnet", "hybridized")


def contenders(item: Case) -> list[tuple[str, str]]:
    """``(framework, variant)`` of those that can run."""
    results = [REFERENCE, ("mixnet", "imperative")]
    if os.environ.get("MIXNET_ORACLE"):
        results.append(("mxnet", "hybridized"))
    else:
        print("MIXNET_ORACLE is not set: without the real MXNet.")
    if importlib.util.find_spec("torch"):
        images = item.unit == "images"
        variants = ["eager", "channels last", "compiled"] if images else ["eager", "compiled"]
        results += [("torch", each) for each in variants]
    else:
        print("PyTorch is not installed: without it.")
    return [*results, ("jax", "jit")]


class Workers:
    """A process for each framework, started when first asked for."""

    def __init__(self, threads: int):
        self._threads = threads
        self._clients: dict[str, Client] = {}

    def __getitem__(self, framework: str) -> Client:
        if framework not in self._clients:
            launcher = os.environ["MIXNET_ORACLE"] if framework == "mxnet" else sys.executable
            self._clients[framework] = Client([launcher], framework, self._threads)
        return self._clients[framework]

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes."""
        return [each.process for each in self._clients.values()]

    def close(self) -> None:
        """End them all."""
        for each in self._clients.values():
            each.close()


def measure(
    name: str, repeats: int, workers: Workers, only: str | None, without: list[str]
) -> dict[str, Any]:
    """Seconds a step of every contender and mode, and how far its results are from mixnet's."""
    item = case(name)
    chosen = [
        (framework, variant)
        for framework, variant in contenders(item)
        if (only is None or framework in only.split(","))
        and f"{framework} {variant}" not in without
    ]
    seconds: dict[tuple[str, str, str], list[float]] = {}
    results, steps, loads = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        start = os.path.join(folder, "start")
        workers["mixnet"].ask("build", name=name, variant="imperative", parameters=None)
        workers["mixnet"].ask("save", name=name, variant="imperative", path=start)
        for framework, variant in list(chosen):
            client, which = workers[framework], {"name": name, "variant": variant}
            began = time.perf_counter()
            try:
                client.ask("build", parameters=start, **which)
                path = os.path.join(folder, "results.npz")
                client.ask("results", steps=2, path=path, **which)
            except RuntimeError as error:
                print(f"{name}: {framework} {variant} is left out: {error}")
                chosen.remove((framework, variant))
                continue
            with np.load(path) as file:
                results[framework, variant] = dict(file)
            took = time.perf_counter() - began
            print(f"{name}: {framework} {variant} began in {took:.1f} s", flush=True)
            for mode in MODES:
                # Some compile at second sight: the quickest of three is a step.
                one = min(client.ask("time", mode=mode, steps=1, **which) for _ in range(3))
                steps[framework, variant, mode] = max(1, math.ceil(TURN / one))
        for _ in range(repeats):
            for framework, variant in chosen:
                for mode in MODES:
                    key = (framework, variant, mode)
                    time.sleep(0.2)  # threads that wait for work of the turn before fall asleep
                    request = {
                        "name": name,
                        "variant": variant,
                        "mode": mode,
                        "steps": steps[key],
                    }
                    turns = []
                    for _ in range(AGAIN):
                        load = Load(workers.processes)
                        took = workers[framework].ask("time", **request) / steps[key]
                        turns.append((load.of_others(), took))
                        if turns[-1][0] <= QUIET:
                            break
                    others, took = min(turns)
                    seconds.setdefault(key, []).append(took)
                    loads.append(others)
        for framework in {each[0] for each in chosen}:
            workers[framework].ask("drop")
    return {
        "network": name,
        "unit": item.unit,
        "others": max(loads, default=0.0),
        "contenders": [
            {
                "framework": framework,
                "variant": variant,
                "seconds": {mode: seconds[framework, variant, mode] for mode in MODES},
                "rate": {
                    mode: item.items / statistics.median(seconds[framework, variant, mode])
                    for mode in MODES
                },
                "difference": _difference(results, (framework, variant)),
            }
            for framework, variant in chosen
        ],
    }


def _difference(results: dict[tuple[str, str], Any], which: tuple[str, str]) -> dict[str, float]:
    """Largest difference from mixnet's outputs, and of the losses, relative to the largest."""
    actual = {}
    for output, reference in results.get(REFERENCE, results[which]).items():
        other = results[which][output]
        actual[output] = float(np.abs(other - reference).max() / np.abs(reference).max())
    return actual


def show(result: dict[str, Any]) -> None:
    """Print a network's table."""
    rows = result["contenders"]
    print(f"\n{result['network']} ({result['unit']} a second)")
    print(f"{'':26}{'inference':>12}{'training':>12}   differs by (outputs, losses)")
    for row in rows:
        name = f"{row['framework']} {row['variant']}"
        rates = "".join(f"{row['rate'][mode]:12,.1f}" for mode in MODES)
        differs = row["difference"]
        print(f"{name:26}{rates}   {differs['out']:.1e} {differs['losses']:.1e}")
        if max(differs.values()) > 1e-3:
            print(f"  {name} computes something else")
    if result["others"] > QUIET:
        print(
            f"others used up to {result['others']:.0%} of the machine: these figures do not count"
        )
    own = [row for row in rows if (row["framework"], row["variant"]) == REFERENCE]
    others = [row for row in rows if row["framework"] != "mixnet"]
    if own and others:
        best = {mode: max(row["rate"][mode] for row in others) for mode in MODES}
        ratios = "".join(f"{own[0]['rate'][mode] / best[mode]:12.2f}" for mode in MODES)
        print(f"{'mixnet / best of others':26}{ratios}")


def main() -> None:
    """Measure the networks named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("names", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--repeats", type=int, default=5, help="turns of every contender")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contender")
    parser.add_argument("--only", help="frameworks, separated by commas: mixnet,mxnet,torch,jax")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        help='a contender to leave out, such as "torch compiled"; may be repeated',
    )
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    workers = Workers(options.threads)
    results = []
    try:
        for name in options.names:
            results.append(measure(name, options.repeats, workers, options.only, options.without))
            show(results[-1])
    finally:
        workers.close()
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
