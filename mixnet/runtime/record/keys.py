"""Random streams: one per context, with numbered draws, so that a seed makes runs reproducible.

A call of an operator takes one draw, a call of a graph as many as its operators, so a hybridized block
draws the same numbers as one that runs operator by operator. With threefry, a loop takes one draw, from
which a stream of its own is derived.

On CPUs, the numbers are those that MXNet draws from the same seed: the host draws them when a call is
recorded, and passes them in place of a stream, see :mod:`mixnet.ops.generators.source`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import numpy as np

from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.variable import Var
from mixnet.ops.generators.mersenne import Generator
from mixnet.ops.generators.source import Demands, does_host_draw, fill, size_of
from mixnet.ops.random.threefry import fold_in
from mixnet.process import locks
from mixnet.process.interrupt import Deferred
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.value.later import later
from mixnet.runtime.value.state import is_on_host, is_tracing, state
from mixnet.runtime.value.value import Spec, Value, aligned_empty, from_host, handed_over

Result = TypeVar("Result")

_seed = 0


class _Stream:
    """The stream of a context and the index of its next draw."""

    __slots__ = ("at", "key", "lock", "value")

    def __init__(self, key: Sequence[int], context: Context):
        self.key = key
        self.value = from_host(np.array([*key, 0], np.uint32), context)
        self.value.shared = True  # later draws need it: never donated
        self.at = 0
        self.lock = locks.make("random numbers")

    def take(self, count: int) -> int:
        """Reserve ``count`` consecutive draws; returns the index of the first."""
        with self.lock:
            first = self.at
            self.at = first + count
        return first


_streams: dict[Context, _Stream] = {}


_QUICK = 1 << 14  # words, which are drawn faster than the engine starts a task


class _OnHost:
    """MXNet's generators from a seed on, which all CPU contexts share.

    Long draws are tasks of the engine. Draws use the generators in the order of the calls.

    Args:
        number: the seed.
        of_context: whether it is the seed of one context.
    """

    lock = locks.make("random numbers of the host")

    def __init__(self, number: int, of_context: bool = False):
        self._seed = (number, of_context)
        self._generator: Generator | None = None
        self._var = Var("random numbers")
        self._pushed = self._drawn = 0  # the numbers of tasks that were pushed and that have run

    def draw(self, draws: int, demands: Demands, context: Context) -> Value:
        """A table of draws, with the numbers that calls of operators draw."""
        size = size_of(draws, demands)
        spec = Spec.of((size,), np.dtype(np.uint32), context)
        at_once = size <= _QUICK or current.naive or is_on_host()
        while True:
            # An interrupt must not leave a generator between two states.
            with Deferred(), self.lock:
                if at_once and self._pushed == self._drawn:
                    words = np.empty(size, np.uint32)
                    fill(words, self._started(), draws, demands)
                    return HostValue(spec, words)
                # The engine orders draws; a draw in this thread has to wait for those that the engine has.
                if not is_on_host():
                    return self._push(draws, demands, spec)
            self._finish()

    def run(self, work: Callable[[Generator], Result]) -> Result:
        """Call ``work`` with the generators, after all earlier draws."""
        while True:
            with Deferred(), self.lock:
                if self._pushed == self._drawn:
                    return work(self._started())
            self._finish()

    def _started(self) -> Generator:
        if self._generator is None:
            self._generator = Generator(*self._seed)
        return self._generator

    def _push(self, draws: int, demands: Demands, spec: Spec) -> Value:
        def work(_: object) -> Sequence[Any]:
            with Deferred():
                try:
                    words = aligned_empty(spec.shape, spec.dtype)
                    fill(words, self._started(), draws, demands)
                    return [handed_over(words, spec)]
                finally:
                    self._drawn += 1

        name = "random numbers"
        (value,) = later(
            name, (), (spec,), work, f"copy:{spec.context}", kind=name, also=(self._var,)
        )
        self._pushed += 1
        return value

    def _finish(self) -> None:
        """Wait for the draws that the engine has."""
        current.engine.wait_for_var(self._var)

    def copy(self) -> _OnHost:
        """Generators that draw what these will draw."""
        self._finish()
        other = _OnHost(*self._seed)
        with self.lock:
            other._generator = self._generator and self._generator.copy()
        return other


_on_host = _OnHost(0)
_in_operators = _OnHost(0)  # of Python operators, see drawing_in_operator


def seed(number: int, context: Context | None = None) -> None:
    """Restart the random stream of one context, or of all.

    With a context, the stream does not depend on the device's number. Within a Python operator, this seeds
    the numbers that operators draw; elsewhere, those restart, too, but always from 0.
    """
    global _seed, _on_host, _in_operators
    if context is None or context.device_type != "gpu":
        generators = _OnHost(number, of_context=context is not None)
        if _drawing.in_operator:
            _in_operators = generators
        else:
            _on_host, _in_operators = generators, _OnHost(0)
    if context is not None:
        _streams[context] = _start(number, context, 0)
        return
    _seed = number
    _streams.clear()


class Reserved:
    """A reserved place in the stream of a context for later draws, see :func:`drawing_from`.

    A parameter with an unknown shape reserves its place when ``initialize`` is called. So it gets the same
    numbers as a parameter of known shape, whatever draws before its shape is inferred.
    """

    def __init__(self, context: Context):
        self.context = context
        self._root = _stream_of(context)
        self._stream, self._first = _take(context, 1)
        self._derived: _Stream | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the stream has not been restarted since."""
        return _streams.get(self.context) is self._root

    def take(self, count: int) -> tuple[_Stream, int]:
        """The first draw is from the context's stream, later ones from a stream derived from it."""
        if self._derived is None:
            self._derived = self._begin()
            # A single draw is the reserved one, as for a parameter of known shape.
            if count == 1:
                return self._stream, self._first
        return self._derived, self._derived.take(count)

    def _begin(self) -> _Stream:
        return _Stream(fold_in(self._stream.key, self._first).tolist(), self.context)


class _Derived(Reserved):
    """A scope whose draws all use a derived stream."""

    def take(self, count: int) -> tuple[_Stream, int]:
        if self._derived is None:
            self._derived = self._begin()
        return self._derived, self._derived.take(count)


class _Drawing(threading.local):
    reserved: Reserved | None = None
    in_operator = False


_drawing = _Drawing()


@contextmanager
def drawing_from(reserved: Reserved | None) -> Iterator[None]:
    """Scope in which this thread draws from a reserved place, if it is still valid."""
    before, _drawing.reserved = _drawing.reserved, reserved
    try:
        yield
    finally:
        _drawing.reserved = before


def drawing_in_loop(context: Context) -> AbstractContextManager[None]:
    """Scope of a loop on arrays: it takes one draw, and its body draws from a derived stream.

    So does the operator that a loop becomes in a graph, see :mod:`mixnet.ops.schema.stream`.
    """
    return drawing_from(_Derived(context))


@contextmanager
def drawing_in_operator() -> Iterator[None]:
    """Scope of the Python code of a custom operator, which draws from generators of its own.

    MXNet runs that code in another thread, and each of its threads has generators that start from 0: an
    operator's draws do not depend on the program's seeds, and do not advance the program's own streams.
    """
    before, _drawing.in_operator = _drawing.in_operator, True
    try:
        yield
    finally:
        _drawing.in_operator = before


def _generators() -> _OnHost:
    return _in_operators if _drawing.in_operator else _on_host


def next_draw(
    context: Context,
    count: int = 1,
    demands: Callable[[], Demands] | None = None,
) -> tuple[Value, float]:
    """The context's stream and the index of its next draw.

    Args:
        context: of the stream.
        count: number of consecutive draws; 0 if an operator needs a stream but no draw.
        demands: the numbers that the host draws for them; by default threefry draws them.
    """
    if is_tracing():
        draw: tuple[Value, float] = state.trace.next_draw(context, count)
        return draw
    if not count:
        return _stream_of(context).value, 0.0
    if demands is not None and does_host_draw(context):
        return _generators().draw(count, demands(), context), 0.0
    stream, first = _take(context, count)
    return stream.value, float(first)


def draw_at_once(work: Callable[[Generator], Result]) -> Result:
    """The result of ``work``, called with the host's generators."""
    return _generators().run(work)


def _take(context: Context, count: int) -> tuple[_Stream, int]:
    reserved = _drawing.reserved
    if reserved is not None and reserved.context is context and reserved.is_valid:
        return reserved.take(count)
    stream = _stream_of(context)
    return stream, stream.take(count)


def _stream_of(context: Context) -> _Stream:
    stream = _streams.get(context)
    if stream is None:
        stream = _streams.setdefault(context, _start(_seed, context, context.device_id))
    return stream


@contextmanager
def preserved() -> Iterator[None]:
    """Scope after which all streams continue as if nothing had been drawn inside."""
    seed_before = _seed
    before = {context: (stream, stream.at) for context, stream in _streams.copy().items()}
    global _on_host, _in_operators
    generators = _on_host, _in_operators
    _on_host, _in_operators = _on_host.copy(), _in_operators.copy()
    try:
        yield
    finally:
        _on_host, _in_operators = generators
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
