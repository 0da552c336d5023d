"""Interleaved timing: every contender runs in turn, medians of many turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def interleaved(
    contenders: dict[str, Callable[[], object]], repeats: int = 30, warmup: int = 5
) -> dict[str, float]:
    """Median seconds of each contender; they take turns, so that drift hits all alike."""
    for run in contenders.values():
        for _ in range(warmup):
            run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def interleaved_with_least(
    contenders: dict[str, Callable[[], object]], repeats: int = 30, warmup: int = 5, row: int = 1
) -> dict[str, tuple[float, float, float]]:
    """Of each contender seconds, median and least, and its mean processor time: on a busy
    machine the last two say more. ``row``: runs of a contender in a row, as in a loop, where the
    processor's caches hold its code and data; with 1 each finds the caches of the others.
    """
    for run in contenders.values():
        for _ in range(warmup):
            run()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(repeats // row):
        for name, run in contenders.items():
            for _ in range(row):
                start, busy = time.perf_counter(), time.process_time()
                run()
                times[name].append((time.perf_counter() - start, time.process_time() - busy))
    result = {}
    for name, rows in times.items():
        seconds, busy_seconds = zip(*rows, strict=True)
        result[name] = statistics.median(seconds), min(seconds), statistics.mean(busy_seconds)
    return result
