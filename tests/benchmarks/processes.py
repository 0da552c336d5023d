"""Push and pull between two processes on this machine, beside JAX's all-reduce alone and the real MXNet.

The contenders of mixnet and JAX take turns. MXNet takes part where the environment variable
MIXNET_ORACLE is the path of a launcher of a Python that has
1.9.1; it runs before and after.

MIXNET_ORACLE=launcher python -m tests.benchmarks.processes [--repeats 200]
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import time

from mixnet.distributed.addresses import free_port
from mixnet.distributed.measuring import local_job

SIZES = {"1 KB": 256, "1 MB": 1 << 18, "100 MB": 25_000_000}

_OF_MXNET = """
import sys, time, statistics, mxnet as mx
store = mx.kv.create('dist_sync')
for name, size, repeats in {sizes}:
    value, out, times = mx.nd.ones((size,)), mx.nd.zeros((size,)), []
    store.init(name, value)
    for _ in range(repeats):
        start = time.perf_counter()
        store.push(name, value)
        store.pull(name, out=out)
        out.wait_to_read()
        times.append(time.perf_counter() - start)
    if store.rank == 0:
        print(name, statistics.median(times) * 1e3, min(times) * 1e3, sep='|', flush=True)
"""


def turns(repeats: int) -> list[tuple[str, int, int]]:
    """What is measured how often."""
    return [
        (name, size, max(5, repeats if size < 1e6 else repeats // 20))
        for name, size in SIZES.items()
    ]


def worker(repeats: int) -> None:
    """In each of the two processes."""
    import jax
    import numpy as np

    import mixnet as mx
    from mixnet.distributed.exchanges import over_processes, program_of, sums
    from mixnet.distributed.processes import world

    store = mx.kv.create("dist_sync")
    sharding = world()._sharding
    for name, size, count in turns(repeats):
        value, out = mx.nd.ones((size,)), mx.nd.zeros((size,))
        store.init(name, value)
        mx.nd.waitall()
        whole = over_processes(np.ones(size, np.float32), sharding)
        program = program_of(sums, sharding)

        def bare(whole: object = whole, program: object = program) -> None:
            jax.block_until_ready(program(whole))

        def push_and_pull(name: str = name, value: object = value, out: object = out) -> None:
            store.push(name, value)
            store.pull(name, out=out)
            out.wait_to_read()

        times: dict[str, list[float]] = {"JAX": [], "mixnet": []}
        for turn in range(count + 3):
            for label, run in (("JAX", bare), ("mixnet", push_and_pull)):
                start = time.perf_counter()
                run()
                if turn > 2:
                    times[label].append(time.perf_counter() - start)
        if store.rank == 0:
            for label, each in times.items():
                print(
                    label, name, statistics.median(each) * 1e3, min(each) * 1e3, sep="|", flush=True
                )


def of_mxnet(command: list[str], repeats: int) -> dict[str, tuple[float, float]]:
    """Milliseconds, median and least, of the real MXNet: a scheduler, a server, two workers."""
    code = _OF_MXNET.format(sizes=turns(repeats))
    env = {**os.environ, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(free_port("127.0.0.1")),
           "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "1"}  # fmt: skip
    env.pop("PYTHONPATH", None)
    roles = ("scheduler", "server", "worker", "worker")
    started = [
        subprocess.Popen([*command, "-c", code if role == "worker" else "import mxnet"],
                         env={**env, "DMLC_ROLE": role}, stdout=subprocess.PIPE, text=True)
        for role in roles
    ]  # fmt: skip
    result = {}
    for process in started:
        for line in process.communicate(timeout=500)[0].splitlines():
            if line.count("|") == 2:
                name, median, least = line.split("|")
                result[name] = (float(median), float(least))
    return result


def main() -> None:
    """Print a table of milliseconds, median (least)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mxnet", default=os.environ.get("MIXNET_ORACLE", ""))
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--worker", action="store_true")
    options, _ = parser.parse_known_args()
    if options.worker:
        return worker(options.repeats)
    columns: dict[str, dict[str, tuple[float, float]]] = {}
    if options.mxnet:
        columns["MXNet before"] = of_mxnet(shlex.split(options.mxnet), options.repeats)
    program = ["-m", "tests.benchmarks.processes", "--worker", "--repeats", str(options.repeats)]
    command = local_job(2, program)
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in out.splitlines():
        if line.count("|") == 3:
            label, name, median, least = line.partition("] ")[2].split("|")
            columns.setdefault(label, {})[name] = (float(median), float(least))
    if options.mxnet:
        columns["MXNet after"] = of_mxnet(shlex.split(options.mxnet), options.repeats)
    for name in SIZES:
        row = [
            f"{label} {each[name][0]:.2f} ({each[name][1]:.2f})" for label, each in columns.items()
        ]
        ratio = columns["mixnet"][name][0] / columns["JAX"][name][0]
        print(f"{name}: {', '.join(row)} ms; mixnet / JAX {ratio:.2f}")


if __name__ == "__main__":
    main()
