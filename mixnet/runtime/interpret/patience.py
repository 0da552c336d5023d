"""How often a program runs without a compiler before it is compiled.

Compiling costs about the same for one run as for a million; every interpreted run costs what a compiled one
would have saved. Compiling when both have become equal costs at most twice as much as the best choice,
however often the program runs. Both are estimates from the program alone, not measured by a clock: two runs
of a script switch at the same point, and print the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixnet import config
from mixnet.context import Context
from mixnet.runtime.interpret.on_numpy.work import Cost

WHOLE_SECONDS = 0.05
"""To compile a program, not counting its operations (:mod:`mixnet.runtime.interpret.on_numpy.work`)."""
MOST_WORK = 1.0
"""Estimated seconds of a run from which a program is compiled before it, if that saves time in this run."""

MOST_WORK_AWAY = 0.1
"""Estimated seconds on the host from which a program of a GPU runs there from the start
(:mod:`mixnet.runtime.interpret.on_device`).
"""
RUNS_ON_DEVICE = 10
"""Runs of such a program before another thread compiles it: a process that ends meanwhile has to wait for
that.
"""
EARLIER = 8
"""By this factor, a program of a GPU is compiled earlier: a machine with a GPU has processors to spare for
that, and what it does meanwhile takes many times as long as on the GPU.
"""

_LEAST_WORK = 1e-5  # seconds of a run, however little it does

_on: bool = config.get("MIXNET_INTERPRET")


def is_away(context: Context) -> bool:
    """Whether programs of this device leave the host's processors free: a GPU's."""
    return str(context.device.platform) != "cpu"


def interpreted_runs(cost: Cost) -> int:
    """The number of interpreted runs before a program is compiled; 0: it is compiled immediately.

    Args:
        cost: estimates for the program.
    """
    if not _on:
        return 0
    runs = int(cost.compiling / max(cost.saving, _LEAST_WORK))
    if cost.is_away:
        return max(runs // EARLIER, 1) if runs and cost.work <= MOST_WORK_AWAY else 0
    return runs if cost.work > MOST_WORK else max(runs, 1)


def runs_meanwhile(cost: Cost) -> int:
    """The number of interpreted runs while a program of a CPU is compiled in the background, with a margin of
    2, as they use the processors that the compiler needs.
    """
    return max(int(2 * cost.compiling / max(cost.work, _LEAST_WORK)), 1)


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
