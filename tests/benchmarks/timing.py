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
    contenders: dict[str, Callable[[], object]], repeats: int = 30, warmup: int = 5
) -> dict[str, tuple[float, float, float]]:
    """Of each contender seconds, median and least, and its mean processor time: on a busy
    machine the last two say more.
    """
    for run in contenders.values():
        for _ in range(warmup):
            run()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            start, busy = time.perf_counter(), time.process_time()
            run()
            times[name].append((time.perf_counter() - start, time.process_time() - busy))
    result = {}
    for name, rows in times.items():
        seconds, busy_seconds = zip(*rows, strict=True)
        result[name] = statistics.median(seconds), min(seconds), statistics.mean(busy_seconds)
    return result
