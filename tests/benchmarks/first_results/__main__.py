"""Seconds until the first result: python -m tests.benchmarks.first_results [--mxnet PYTHON]
[--torch PYTHON] [names...]

Every figure is of a fresh process without compiled programs from before: the median of several, wall and
processor. ``again`` is the same once more in that process. ``--mxnet`` names a Python that has the real MXNet
1.9.1, ``--torch`` one that has PyTorch; without them their columns stay empty.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from tests.benchmarks.fresh import figures_of

FOLDER = Path(__file__).parent

# title: file, what runs there, its arguments, PyTorch's, what comes before
TASKS = {
    "cell": ("cell", "run", (), "run_torch"),
    "perceptron, step": ("steps", "step", ((64, 784),), "step_torch"),
    "LeNet, step": ("steps", "step", ((64, 1, 28, 28),), "step_torch"),
    "perceptron, hybridized step": ("steps", "step", ((64, 784), True), None),
    "LeNet, hybridized step": ("steps", "step", ((64, 1, 28, 28), True), None),
    "perceptron on two contexts": ("steps", "step_on_two", (), None),
    "perceptron on two contexts, compressed": ("steps", "step_on_two", (True,), None),
    "LSTM of 35 steps": ("sequences", "unrolled", (35,), "unrolled_torch"),
    "LSTM of 70 steps": ("sequences", "unrolled", (70,), "unrolled_torch"),
    "LSTM of 10 lengths": ("sequences", "unrolled", tuple(range(26, 36)), "unrolled_torch"),
    "growing shapes": ("loops", "growing", (), "growing_torch"),
    "elements": ("loops", "elements", (), "elements_torch"),
    "random steps": ("loops", "noise", (), "noise_torch"),
    "csr batches": ("loops", "sparse", (), None),
    "ResNet-50, prediction": ("networks", "predict", ("resnet50_v1",), None),
    "ResNet-152, prediction": ("networks", "predict", ("resnet152_v1",), None),
    "ResNet-50, step": ("networks", "train", ("resnet50_v1",), None),
    "ResNet-152, step": ("networks", "train", ("resnet152_v1",), None),
}

PROGRAM = """
import importlib, json, sys, time
sys.path.insert(0, {folder!r})
library = importlib.import_module({library!r})
if {library!r} != "torch":
    library.nd.array([1, 2, 3]).asnumpy()
run = getattr(importlib.import_module({module!r}), {function!r})
figures = []
for _ in range(2):
    wall, processor = time.perf_counter(), time.process_time()
    run(library, *{arguments!r})
    figures.append((time.perf_counter() - wall, time.process_time() - processor))
print("FIGURES", json.dumps(figures))
"""


def measure(python: str, library: str, module: str, function: str, arguments: tuple) -> list:
    """Wall and processor seconds of the first run, and of the second."""
    source = PROGRAM.format(
        folder=str(FOLDER), library=library, module=module, function=function, arguments=arguments
    )
    return figures_of(python, source, MIXNET_CACHE_DIR="off")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mxnet")
    parser.add_argument("--torch")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print("| first sight of | " + " | ".join(
        f"{name} first (processor) | again" for name in ("mixnet", "MXNet", "PyTorch")) + " |")  # fmt: skip
    print("|---" * 7 + "|")
    for title, (module, function, arguments, of_torch) in TASKS.items():
        if options.names and not any(name in title for name in options.names):
            continue
        columns = []
        for python, library, called in (
            (sys.executable, "mixnet", function),
            (options.mxnet, "mxnet", function),
            (options.torch, "torch", of_torch),
        ):
            if not python or not called:
                columns += ["", ""]
                continue
            runs = [
                measure(python, library, module, called, arguments) for _ in range(options.runs)
            ]
            (wall, processor), (again, _) = (
                [statistics.median(run[i][j] for run in runs) for j in (0, 1)] for i in (0, 1)
            )
            columns += [f"{wall:.3f} ({processor:.3f})", f"{again:.3f}"]
        print(f"| {title} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
