"""How often a program runs without a compiler before it is compiled.

Compiling costs about the same for one run as for a million; interpreting costs its work every time. Compiling
when both are equal costs at most twice as much as the best choice, however often the program runs. Both are
estimates from the program alone, not measured by a clock: two runs of a script switch at the same point, and
print the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixnet import config

WHOLE_SECONDS = 0.05
"""To compile a program, beside its operations."""
EACH_SECONDS = 0.015
"""To compile one more operation of a program."""
FUSED_SECONDS = 0.0015
"""Cost of compiling one more element-wise operation: XLA adds it to an existing loop."""
DRAW_SECONDS = 0.8
"""To compile an operation that draws random numbers."""
MOST_WORK = 1.0
"""Estimated seconds of a run from which the compiler is the quicker way to the first result."""

_LEAST_WORK = 1e-5  # seconds of a run, however little it does

_on: bool = config.get("MIXNET_INTERPRET")


def interpreted_runs(work: float, compiling: float) -> int:
    """The number of interpreted runs before a program is compiled; 0: it is compiled immediately.

    Args:
        work: estimate of the seconds of an interpreted run.
        compiling: estimate of the seconds that the compiler takes.
    """
    if not _on or work > max(compiling, MOST_WORK):
        return 0
    return max(int(compiling / max(work, _LEAST_WORK)), 1)


def runs_meanwhile(work: float, compiling: float) -> int:
    """The number of interpreted runs while a program is compiled in the background, with a margin of 2."""
    return max(int(2 * compiling / max(work, _LEAST_WORK)), 1)


def compile_seconds(operations: int, fused: int, draws: int) -> float:
    """Estimated compile time in seconds.

    Args:
        operations: of the program, including those in graphs.
        fused: how many of them are elementwise.
        draws: how many of them draw random numbers.
    """
    rest = operations - fused
    return WHOLE_SECONDS + EACH_SECONDS * rest + FUSED_SECONDS * fused + DRAW_SECONDS * draws


def interprets() -> bool:
    """Whether programs may be interpreted."""
    return _on


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Scope in which every program is compiled before it runs, in all threads, for measurements.

    By default, mixnet runs a program without the compiler until compiling pays off (docs/concepts/lazy.md).
    """
    global _on
    before, _on = _on, False
    try:
        yield
    finally:
        _on = before
