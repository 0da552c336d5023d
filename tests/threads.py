"""Running a function in several threads of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable


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
