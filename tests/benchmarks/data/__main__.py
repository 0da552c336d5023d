"""python -m tests.benchmarks.data [cases] [--repeats N]

Samples a second of every contender; they take turns. The real MXNet takes part where the environment
variable MIXNET_ORACLE is the path of a launcher of a Python that has it, PyTorch where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile

from tests.benchmarks.data import case as cases
from tests.benchmarks.networks.client import Client
from tests.benchmarks.networks.load import Load

TURN = 0.5
"""Minimum duration of a turn, in seconds."""


def contenders(case: str) -> list[tuple[str, str]]:
    """``(library, variant)`` of those that can run."""
    results = [("mixnet", "")]
    if os.environ.get("MIXNET_ORACLE"):
        results.append(("mxnet", ""))
    else:
        print("MIXNET_ORACLE is not set: without the real MXNet.")
    if importlib.util.find_spec("torch"):
        variants = ("Pillow", "OpenCV") if case.startswith("jpeg") else ("",)
        results += [("torch", each) for each in variants]
    else:
        print("PyTorch is not installed: without it.")
    return results


def measure(case: str, folder: str, repeats: int, threads: int) -> dict[tuple[str, str], float]:
    """Samples a second of each contender."""
    module = "tests.benchmarks.data.worker"
    chosen, clients = contenders(case), {}
    for library, _ in chosen:
        launcher = os.environ["MIXNET_ORACLE"] if library == "mxnet" else sys.executable
        if library not in clients:
            clients[library] = Client([launcher], library, threads, module)
    rates: dict[tuple[str, str], list[float]] = {each: [] for each in chosen}
    batches, loads = {}, []
    try:
        for library, variant in chosen:
            request = {"variant": variant, "case": case, "folder": folder}
            one, _ = clients[library].ask("time", batches=8, **request)
            batches[library, variant] = max(8, round(8 * TURN / one))
        for _ in range(repeats):
            for library, variant in chosen:
                count = batches[library, variant]
                load = Load([each.process for each in clients.values()])
                request = {"variant": variant, "case": case, "folder": folder, "batches": count}
                took, samples = clients[library].ask("time", **request)
                rates[library, variant].append(samples / took)
                loads.append(load.of_others())
    finally:
        for each in clients.values():
            each.close()
    print(f"{case}: others used {statistics.median(loads):.0%} of the machine")
    return {key: max(actual) for key, actual in rates.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(cases.CASES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases.write_images(folder)
        for each in args.cases:
            result = measure(each, folder, args.repeats, args.threads)
            own = result["mixnet", ""]
            for (library, variant), rate in result.items():
                name = f"{library} {variant}".strip()
                print(f"{each:16} {name:14} {rate:10.0f} samples/s, {own / rate:5.2f}x", flush=True)


if __name__ == "__main__":
    main()
