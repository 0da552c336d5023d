"""Python's garbage collector waits while a graph is built.

Building makes thousands of objects that stay. Every 700th starts a collection, which visits the young ones
again and at times all objects: a fifth of the time that a graph of 2,000 nodes takes.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mixnet.process import locks

_builders: set[object] = set()
_is_ours = False  # whether it was switched off here, and not by the program
# Reentrant: a finalizer may build a graph, too.
_lock = locks.renewed(threading.RLock())


@contextmanager
def collector_paused() -> Iterator[None]:
    """``with collector_paused():`` nothing is collected inside, in any thread.

    For work that ends soon. A collector that the program has switched off stays off.
    """
    builder = object()
    try:  # begins before anything is changed: an interrupt may come after every line
        _builders.add(builder)
        _pause()
        yield
    finally:
        _builders.discard(builder)
        _resume()


def _pause() -> None:
    global _is_ours
    with _lock:
        if gc.isenabled():
            _is_ours = True
            gc.disable()


def _resume() -> None:
    global _is_ours
    with _lock:  # otherwise another thread may pause it in between, and it would stay off
        if _is_ours and not _builders:
            gc.enable()
            _is_ours = False


def _forget_other_threads() -> None:
    """A forked process has none of the threads that were building."""
    _builders.clear()
    _resume()


os.register_at_fork(after_in_child=_forget_other_threads)
