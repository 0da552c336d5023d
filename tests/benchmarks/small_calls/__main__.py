"""Microseconds of small calls: python -m tests.benchmarks.small_calls [--mxnet PYTHON] [words...]

``--of sparse_models --warmup 400`` measures training steps of sparse models instead.

Each library has a process of its own, and these take turns. A figure is the processor time of all threads,
divided by the number of calls, after a wait for all of them; the median of the least of every process.
``words`` choose the calls whose titles contain one of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from tests.benchmarks.fresh import figures_of

FOLDER = Path(__file__).parent

PROGRAM = """
import importlib, json, sys, time
sys.path.insert(0, {folder!r})
library = importlib.import_module({library!r})
calls = importlib.import_module({module!r})
words, figures = {words!r}, {{}}
for title, call in calls.make_calls(library).items():
    if words and not any(word in title for word in words):
        continue
    for _ in range({warmup}):
        call()
    library.nd.waitall()
    turns = []
    for _ in range({turns}):
        start = time.process_time()
        for _ in range({count}):
            call()
        library.nd.waitall()
        turns.append((time.process_time() - start) / {count})
    figures[title] = min(turns)
print("FIGURES", json.dumps(figures))
"""


def measure(
    python: str, library: str, words: list[str], warmup: int = 2500, module: str = "calls"
) -> dict[str, float]:
    """Seconds of every call of a module in a new process."""
    source = PROGRAM.format(
        folder=str(FOLDER), library=library, words=words, warmup=warmup, turns=7, count=100,
        module=module,
    )  # fmt: skip
    return figures_of(python, source)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mxnet")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--of", default="calls", help="a module with make_calls")
    parser.add_argument("--warmup", type=int, default=2500)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    pythons = {"mixnet": sys.executable, "mxnet": options.mxnet}
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in pythons if pythons[name]}
    for _ in range(options.runs):
        for library, rows in figures.items():
            python = str(pythons[library])
            rows.append(measure(python, library, options.words, options.warmup, options.of))
    print("| call, microseconds | mixnet | MXNet 1.9.1 | ratio |\n| --- | --- | --- | --- |")
    for title in figures["mixnet"][0]:
        ours = statistics.median(row[title] for row in figures["mixnet"]) * 1e6
        cells = [f"{ours:.1f}", "", ""]
        if "mxnet" in figures:
            theirs = statistics.median(row[title] for row in figures["mxnet"]) * 1e6
            cells[1:] = [f"{theirs:.1f}", f"{ours / theirs:.2f}"]
        print(f"| `{title}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
