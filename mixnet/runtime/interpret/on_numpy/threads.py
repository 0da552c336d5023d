"""Running the parts of a computation on several threads, which sleep between computations.

OpenBLAS's own threads spin while they wait for each other and for the next product. On two cores that doubles
the processor time of a network, and on a busy machine its wall time too.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mixnet.process.interrupt import Deferred
from mixnet.runtime.compile import blas
from mixnet.runtime.interpret.on_numpy.run import quietly

_pool: ThreadPoolExecutor | None = None


def in_parts(compute: Callable[[Any], Any], parts: Iterable[Any], threads: int) -> None:
    """Call a function with each of the parts, in this thread and in others; BLAS uses one thread in each.

    A thread takes the next part when it has finished one, so a thread without a processor delays nobody.

    Args:
        compute: a function that releases the GIL most of the time, as NumPy does.
        parts: its arguments, one for each call.
        threads: the most threads, including this one.
    """
    waiting = deque(parts)

    def take() -> None:
        while waiting:
            try:
                part = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            compute(part)

    # An interrupt must not leave BLAS on one thread, or others at work on arrays.
    with Deferred(), blas.on_one_thread():
        helpers = _started(take, min(threads, len(waiting)) - 1)
        try:
            take()
        finally:
            running = [each for each in helpers if not each.cancel()]
            for each in running:
                each.result()


def _started(take: Callable[[], None], count: int) -> list[Future[Any]]:
    global _pool
    if count <= 0:
        return []
    if _pool is None:
        _pool = ThreadPoolExecutor(os.cpu_count(), "mixnet products")
    try:
        return [_pool.submit(quietly, take) for _ in range(count)]
    except RuntimeError:  # Python is ending
        return []


def _forget_pool() -> None:
    """Reset the state in a forked process, which has none of the threads."""
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)
