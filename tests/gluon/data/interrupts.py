"""Ctrl-C at every line of a DataLoader in the main process: no worker is left, the next epoch is complete.

Run by ``test_interrupts.py``, in a process of its own.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.gluon import data

warnings.simplefilter("ignore")
FOLDERS = ("/mixnet/gluon/data/", "/mixnet/process/interrupt.py")
COUNT = 9


def press(frame: Any) -> None:
    """Call the handler of SIGINT, as Python does after Ctrl-C."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):  # workers take none
        handler(signal.SIGINT, frame)


class Injector:
    """Presses Ctrl-C when a line is reached for the ``time``-th time; without a line, counts all lines."""

    def __init__(self, line: tuple[str, int] | None = None, time: int = 1, again: int = 0):
        self.line, self.time, self.again = line, time, again
        self.lines: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Injector:
        sys.settrace(self.watch)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def watch(self, frame: Any, event: str, _: object) -> Any:
        if not any(each in frame.f_code.co_filename for each in FOLDERS):
            return None
        if event == "line":
            place = frame.f_code.co_filename, frame.f_lineno
            self.lines[place] = count = self.lines.get(place, 0) + 1
            if self.line is not None and place == self.line and count == self.time:
                self.line = None
                press(frame)
            elif self.line is None and self.again:
                self.again -= 1
                if not self.again:
                    press(frame)
        return self.watch


def children() -> list[int]:
    """The children of this process, including zombies."""
    result = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(each) for each in result]


def make() -> data.DataLoader:
    samples = data.SimpleDataset([np.full(3, i, "float32") for i in range(COUNT)])
    return data.DataLoader(samples, 2, num_workers=2, prefetch=3, timeout=30)


def epoch(loader: data.DataLoader) -> list[float]:
    return [float(row[0]) for batch in loader for row in batch.asnumpy()]


def scenario(line: tuple[str, int], time: int, again: int = 0) -> bool:
    loader = make()
    came = False
    try:
        with Injector(line, time, again):
            epoch(loader)
    except KeyboardInterrupt:
        came = True
    where = f"{os.path.basename(line[0])}:{line[1]}, {time}, {again}"
    if came and not again:
        gc.collect()
        left = children()
        processes = getattr(loader._worker_pool, "_processes", ())
        # Between two calls of workers there is nothing to end: they wait for the next epoch.
        assert len(left) == len(processes), (where, left)
    assert epoch(loader) == list(range(COUNT)), where
    loader._mx_stop_workers()
    assert not children(), where
    assert not multiprocessing.active_children()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, where
    return came


def main() -> None:
    faulthandler.dump_traceback_later(500, exit=True)
    gc.collect()
    gc.freeze()
    with Injector() as all_lines:
        loader = make()
        epoch(loader)
    loader._mx_stop_workers()
    came = 0
    lines = [each for each in all_lines.lines if "queues" not in each[0]]
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    for number, line in enumerate(lines):
        if number % parts == part:
            came += scenario(line, 1)
            if number % 6 == 0:
                came += scenario(line, 2)
            if number % 8 == 0:
                came += scenario(line, 1, again=1 + number % 40)
    print(len(lines), came)
    assert came > 10


if __name__ == "__main__":
    main()
