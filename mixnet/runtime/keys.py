"""Random keys: one per context, drawn from by number, so that a seed makes runs repeatable."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mixnet.context import Context
from mixnet.runtime.state import is_tracing, state
from mixnet.runtime.value import Value, from_host

_seed = 0
_keys: dict[Context, tuple[Value, Any]] = {}


def seed(number: int, context: Context | None = None) -> None:
    """Start the stream of random numbers of one context, or of all, anew.

    Of one context: the stream does not depend on its device's number.
    """
    global _seed
    if context is not None:
        _keys[context] = _start(number, context, 0)
        return
    _seed = number
    _keys.clear()


def next_draw(context: Context) -> tuple[Value, float]:
    """The context's key and the number of the next draw from it."""
    if is_tracing():
        return state.trace.next_draw(context)
    found = _keys.get(context)
    if found is None:
        found = _keys[context] = _start(_seed, context, context.device_id)
    key, numbers = found
    return key, float(next(numbers))


@contextmanager
def preserved() -> Iterator[None]:
    """Scope after which all streams go on as if nothing had been drawn inside."""
    before = {context: (key, next(numbers)) for context, (key, numbers) in _keys.items()}

    def restore() -> None:
        _keys.clear()
        _keys.update({c: (key, itertools.count(at)) for c, (key, at) in before.items()})

    seed_before = _seed
    restore()
    try:
        yield
    finally:
        _set_seed(seed_before)
        restore()


def _set_seed(number: int) -> None:
    global _seed
    _seed = number


def _start(number: int, context: Context, device: int) -> tuple[Value, Any]:
    # The two words of a threefry key; contexts get different streams from the same seed.
    words = np.array([context.device_typeid * 1000 + device, number & 0xFFFFFFFF], np.uint32)
    value = from_host(words, context)
    value.shared = True  # kept for all draws to come: never donated
    return value, itertools.count()
