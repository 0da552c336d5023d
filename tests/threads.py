"""Running a function in several threads of a test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def in_threads(count: int, work: Callable[[int], object], seconds: float = 180) -> None:
    """Run ``work(number)`` in threads; raise what one of them raised, or that one hangs."""
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a thread hangs"
    if problems:
        raise problems[0]


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Scope in which threads take turns after every few lines."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def all_at_once(count: int, work: Callable[[int], object]) -> None:
    """``in_threads``, where all threads begin at the same moment and switch often."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> None:
        barrier.wait(60)
        work(number)

    with frequent_switches():
        in_threads(count, begin)
