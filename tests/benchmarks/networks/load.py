"""How much of the machine others use while something is measured."""

from __future__ import annotations

import os
from pathlib import Path


class Load:
    """Processor time of everybody and of some processes, since this was made (Linux alone).

    Args:
        processes: numbers of the processes that are measured; this one is always among them.
    """

    def __init__(self, processes: list[int]):
        self._processes = [os.getpid(), *processes]
        self._known = Path("/proc/stat").exists()
        self._start = self._now()

    def _now(self) -> tuple[int, int, int]:
        """Ticks of all cores, those at work, and those at work for the processes."""
        if not self._known:
            return 0, 0, 0
        # user, nice, system, idle, waiting for disks, interrupts (two), taken by other machines
        ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        own = 0
        for process in self._processes:
            # after the name in parentheses, which may have spaces, user and system time are the
            # 12th and 13th
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            own += int(fields[11]) + int(fields[12])
        return sum(ticks), sum(ticks) - ticks[3] - ticks[4], own

    def of_others(self) -> float:
        """Share of the machine, 0 to 1, that others used; 0 where it cannot be known."""
        total, busy, own = (a - b for a, b in zip(self._now(), self._start, strict=True))
        return max(0.0, (busy - own) / total) if total else 0.0
