"""Convolutions in groups, in three dimensions and transposed: processor time and memory, forward
and both gradients.

Each case runs in a process of its own, under mixnet compiled and interpreted, and under MXNet where
``MXNET_PYTHON`` names a Python that has it. ``python -m tests.benchmarks.kinds_of_convolution [case ...]``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

# batch, channels, extents, filters, kernel, stride, pad, groups
CASES: dict[str, tuple] = {
    "5 groups of 16, stride 2": (96, 80, (24, 24), 80, (3, 3), 2, 1, 5),
    "23 groups of 16": (16, 368, (14, 14), 368, (3, 3), 1, 1, 23),
    "32 groups of 4": (16, 128, (28, 28), 128, (3, 3), 1, 1, 32),
    "8 groups of 16": (16, 128, (14, 14), 128, (3, 3), 1, 1, 8),
    "2 groups of 32": (16, 64, (28, 28), 64, (3, 3), 1, 1, 2),
    "4 groups of 32, kernel 1": (16, 128, (14, 14), 256, (1, 1), 1, 0, 4),
    "depthwise": (32, 64, (28, 28), 64, (3, 3), 1, 1, 64),
    "depthwise, stride 2": (32, 96, (28, 28), 96, (3, 3), 2, 1, 96),
    "depthwise, kernel 5": (32, 64, (14, 14), 64, (5, 5), 1, 2, 64),
    "depthwise, kernel 7": (32, 64, (28, 28), 64, (7, 7), 1, 3, 64),
    "depthwise, 2 filters each": (16, 32, (28, 28), 64, (3, 3), 1, 1, 32),
    "8 groups of 8, 1-D": (32, 64, (256,), 64, (3,), 1, 1, 8),
    "depthwise, 1-D": (32, 64, (256,), 64, (3,), 1, 1, 64),
    "4 groups of 8, 3-D": (4, 32, (8, 16, 16), 32, (3, 3, 3), 1, 1, 4),
    "3-D": (4, 32, (8, 16, 16), 32, (3, 3, 3), 1, 1, 1),
    "3-D, stride 2": (4, 32, (8, 16, 16), 32, (3, 3, 3), 2, 1, 1),
    "3-D, three channels": (4, 3, (8, 32, 32), 16, (3, 3, 3), 1, 1, 1),
    "transposed": (16, 64, (14, 14), 32, (4, 4), 2, 1, 1),
    "transposed, 4 groups": (16, 64, (14, 14), 32, (4, 4), 2, 1, 4),
    "transposed, depthwise": (16, 21, (14, 14), 21, (4, 4), 2, 1, 21),
    "transposed, depthwise, stride 16": (2, 21, (10, 10), 21, (32, 32), 16, 8, 21),
    "transposed, stride 32": (1, 21, (10, 15), 21, (64, 64), 32, 16, 1),
}
PROGRAM = """
import json, resource, sys, time
name, case_name, case = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
mx = __import__(name)
if sys.argv[4:]:  # never compiled
    from mixnet.runtime.interpret import patience
    patience.MOST_WORK = patience.WHOLE_SECONDS = 1e9
batch, channels, extents, filters, kernel, stride, pad, groups = case
axes = len(kernel)
data = mx.nd.random.normal(shape=(batch, channels, *extents))
transposed = case_name.startswith("transposed")
ends = (channels, filters) if transposed else (filters, channels)
weight = mx.nd.random.normal(shape=(ends[0], ends[1] // groups, *kernel))
layer = mx.nd.Deconvolution if transposed else mx.nd.Convolution
data.attach_grad(), weight.attach_grad()
data.wait_to_read(), weight.wait_to_read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def run():
    start = time.process_time()
    with mx.autograd.record():
        out = layer(data, weight, kernel=tuple(kernel), stride=(stride,) * axes,
                    pad=(pad,) * axes, num_filter=filters, num_group=groups, no_bias=True)
    out.backward()
    data.grad.wait_to_read(), weight.grad.wait_to_read()
    return time.process_time() - start
first = run()
later = min(run() for _ in range(12))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([first, later, (after - before) / 1024]))
"""


def measured(
    python: str, package: str, name: str, *more: str, **environment: str
) -> list[float] | None:
    """Processor seconds of the first and of the fastest step, and MiB that both added at most."""
    process = subprocess.run(
        [python, "-c", PROGRAM, package, name, json.dumps(CASES[name]), *more],
        env={**os.environ, "MIXNET_CACHE_DIR": "off", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(process.stdout.splitlines()[-1]) if process.returncode == 0 else None


def main(names: list[str]) -> None:
    """Print a row for each case."""
    oracle = os.environ.get("MXNET_PYTHON")
    ways = {
        "compiled": (sys.executable, "mixnet", (), {"MIXNET_INTERPRET": "0"}),
        "interpreted": (sys.executable, "mixnet", ("interpreted",), {}),
    }
    if oracle:
        ways["MXNet"] = (oracle, "mxnet", (), {})
    print("| case | " + " | ".join(f"{way}: first s, step ms, MiB" for way in ways) + " |")
    for name in names or CASES:
        cells = []
        for python, package, more, environment in ways.values():
            result = measured(python, package, name, *more, **environment)
            cells.append(
                "–" if not result else f"{result[0]:.2f}, {result[1] * 1e3:.1f}, {result[2]:.0f}"
            )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
