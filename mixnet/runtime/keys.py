"""Streams of random numbers: one per context, drawn from by number, so that a seed makes runs repeatable.

A call of an operator takes one number, a call of a graph as many as its operators would have taken: a
hybridized block draws what it draws operator by operator.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mixnet import locks
from mixnet.context import Context
from mixnet.ops.threefry import fold_in
from mixnet.runtime.state import is_tracing, state
from mixnet.runtime.value import Value, from_host

_seed = 0


class _Stream:
    """The stream of a context and the number of the next draw from it."""

    __slots__ = ("at", "key", "lock", "value")

    def __init__(self, key: Sequence[int], context: Context):
        self.key = key
        self.value = from_host(np.array([*key, 0], np.uint32), context)
        self.value.shared = True  # kept for all draws to come: never donated
        self.at = 0
        self.lock = locks.make("random numbers")

    def take(self, count: int) -> int:
        """The first of ``count`` numbers in a row, which nobody else gets."""
        with self.lock:
            first = self.at
            self.at = first + count
        return first


_streams: dict[Context, _Stream] = {}


def seed(number: int, context: Context | None = None) -> None:
    """Start the stream of random numbers of one context, or of all, anew.

    Of one context: the stream does not depend on its device's number.
    """
    global _seed
    if context is not None:
        _streams[context] = _start(number, context, 0)
        return
    _seed = number
    _streams.clear()


class Reserved:
    """A place in the stream of a context for what is drawn later, by :func:`drawing_from`.

    A parameter that waits for its shape takes its place when it is to be initialized. So its numbers are
    those of a parameter that does not wait, and do not depend on what draws before its shape is known.
    """

    def __init__(self, context: Context):
        self.context = context
        self._stream = _stream_of(context)
        self._first = self._stream.take(1)
        self._own: _Stream | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the stream was not started anew since."""
        return _streams.get(self.context) is self._stream

    def next_draw(self, count: int) -> tuple[Value, float]:
        """The first draw is of the context's stream, those after it of a stream that follows from it."""
        if self._own is None:
            self._own = _Stream(fold_in(self._stream.key, self._first).tolist(), self.context)
            if count == 1:
                return self._stream.value, float(self._first)
        return self._own.value, float(self._own.take(count))


class _Drawing(threading.local):
    reserved: Reserved | None = None


_drawing = _Drawing()


@contextmanager
def drawing_from(reserved: Reserved | None) -> Iterator[None]:
    """Scope in which this thread draws from a place that was reserved, if that is still there."""
    before, _drawing.reserved = _drawing.reserved, reserved
    try:
        yield
    finally:
        _drawing.reserved = before


def next_draw(context: Context, count: int = 1) -> tuple[Value, float]:
    """The context's stream and the number of the next draw from it.

    Args:
        context: where the numbers are drawn.
        count: how many numbers in a row are taken; 0 where an operator is given a stream and draws nothing.
    """
    if is_tracing():
        return state.trace.next_draw(context, count)
    reserved = _drawing.reserved
    if reserved is not None and reserved.context is context and count and reserved.is_valid:
        return reserved.next_draw(count)
    stream = _stream_of(context)
    return stream.value, float(stream.take(count)) if count else 0.0


def _stream_of(context: Context) -> _Stream:
    stream = _streams.get(context)
    if stream is None:
        stream = _streams.setdefault(context, _start(_seed, context, context.device_id))
    return stream


@contextmanager
def preserved() -> Iterator[None]:
    """Scope after which all streams go on as if nothing had been drawn inside."""
    seed_before = _seed
    before = {context: (stream, stream.at) for context, stream in _streams.items()}
    try:
        yield
    finally:
        _set_seed(seed_before)
        _streams.clear()
        for context, (stream, at) in before.items():
            stream.at = at
            _streams[context] = stream


def _set_seed(number: int) -> None:
    global _seed
    _seed = number


def _start(number: int, context: Context, device: int) -> _Stream:
    # The two words of a threefry key; contexts get different streams from the same seed.
    return _Stream((context.device_typeid * 1000 + device, number & 0xFFFFFFFF), context)
