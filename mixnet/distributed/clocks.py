"""Clock offsets between the processes of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mixnet.distributed.processes import World
from mixnet.engine.timeline import now


@dataclass(frozen=True)
class Offset:
    """The offset of a process's clock from that of the first process.

    Args:
        nanoseconds: to subtract from its times.
        within: maximum error in nanoseconds.
    """

    nanoseconds: int
    within: int


def offsets(world: World, rounds: int = 15, clock: Callable[[], int] = now) -> list[Offset]:
    """The clock offset of every process; all processes get the same list. Waits for all of them.

    In an exchange, no process has an answer before all have begun. So what a clock shows at the
    end of an exchange is later than what any other showed at its beginning, in both directions:
    each round bounds the offset from both sides, and the bounds of all rounds hold.

    Args:
        world: the job.
        rounds: number of exchanges; more rounds give tighter bounds.
        clock: of this process, in nanoseconds.
    """
    begins, ends = [], []
    for _ in range(rounds):
        begins.append(clock())
        world.gather(np.zeros(1, np.int32))
        ends.append(clock())
    begun = world.gather(np.array(begins, np.int64))
    ended = world.gather(np.array(ends, np.int64))
    differences = []
    for rank in range(world.size):
        low = int((begun[rank] - ended[0]).max())
        high = int((ended[rank] - begun[0]).min())
        middle = 0 if rank == 0 else (low + high) // 2
        differences.append(Offset(middle, 0 if rank == 0 else (high - low + 1) // 2))
    return differences
