"""How often a program is interpreted before it is compiled.

Compiling costs about the same for one run as for a million; every interpreted run costs the time that a
compiled run would have saved. A program is compiled as soon as these costs are equal, which is at most
twice as expensive as the best choice, however often it runs. Both are estimated from the program alone, not
measured: two runs of a script switch at the same point and print the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixnet import config
from mixnet.context import Context
from mixnet.runtime.interpret.on_numpy.work import Cost

WHOLE_SECONDS = 0.05
"""Seconds to compile a program without operations (:mod:`mixnet.runtime.interpret.on_numpy.work`)."""
LAUNCH_SECONDS = 7e-6
"""Seconds by which it takes longer to start a compiled program than an interpreted one, on a CPU."""
NEVER = 1 << 62
"""The number of interpreted runs of a program that would not be faster if it were compiled."""
MOST_WORK = 1.0
"""Seconds: a longer run is not interpreted, if compiling saves time in this run alone."""

MOST_WORK_AWAY = 0.1
"""Seconds on the host from which a GPU's program runs on the GPU from the start
(:mod:`mixnet.runtime.interpret.on_device`).
"""
RUNS_ON_DEVICE = 10
"""The runs of such a program before another thread compiles it; a process that ends must wait for that
thread.
"""
EARLIER = 8
"""The factor by which a GPU's program is compiled earlier: such machines have processors to spare, and the
interpreter is many times slower than the GPU.
"""

COMPILED_FASTER = 4
"""Nearly all programs gain less than this factor by being compiled, on a CPU."""

_LEAST_WORK = 1e-5  # seconds that any run takes at least
_LEAST_STEP = 1e-4  # seconds that a compiled step takes at least, with the Python around it

_on: bool = config.get("MIXNET_INTERPRET")

# Set in a forked process, see ``forked``.
is_only_way = False
"""Whether every program is interpreted, however long it takes, because this process cannot compile."""


def is_away(context: Context) -> bool:
    """Whether programs of this device leave the host's processors free, as on a GPU."""
    return str(context.device.platform) != "cpu"


def interpreted_runs(cost: Cost) -> int:
    """The number of interpreted runs before a program is compiled.

    0: it is compiled immediately. ``NEVER``: compiled, it would take as long to start as it saves.

    Args:
        cost: estimates for the program.
    """
    if not _on:
        return 0
    if cost.is_away:
        runs = int(cost.compiling / max(cost.saving, _LEAST_WORK))
        return max(runs // EARLIER, 1) if runs and cost.work <= MOST_WORK_AWAY else 0
    saving = cost.saving - LAUNCH_SECONDS
    if saving <= 0:
        return NEVER
    runs = int(cost.compiling / saving)
    return runs if cost.work > MOST_WORK else max(runs, 1)


def runs_meanwhile(cost: Cost) -> int:
    """The number of interpreted runs while a CPU's program is compiled in the background.

    It has a margin of 2, because these runs use the processors that the compiler needs.
    """
    return max(int(2 * cost.compiling / max(cost.work, _LEAST_WORK)), 1)


def compiled_runs_meanwhile(work: float, compiling: float) -> int:
    """The number of runs of a compiled program while it is compiled once more in the background.

    A compiled run is assumed to be ``COMPILED_FASTER`` times as fast as an interpreted one, which leaves
    a margin.

    Args:
        work: estimate of the seconds of an interpreted run.
        compiling: estimate of the seconds that compiling takes.
    """
    return max(int(compiling / max(work / COMPILED_FASTER, _LEAST_STEP)), 1)


def interprets() -> bool:
    """Whether programs may be interpreted."""
    return _on or is_only_way


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
