"""Live memory: bytes of arrays on devices over time, with the lines that created them."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from itertools import count as counting
from typing import Any

import jax

from mixnet.base import MXNetError, OutOfMemoryError
from mixnet.context import Context
from mixnet.process.source import Source, source_lines, user_source
from mixnet.runtime.value.state import state
from mixnet.units import size_text, time_text

SHOWN = 8
"""The most arrays that an error or a summary lists."""


before_listing: list[Callable[[], None]] = []
"""Functions to call before arrays are listed: they make JAX arrays of contents that are not yet."""


def device_arrays(platform: str) -> list[jax.Array]:
    """All live arrays on devices of a platform, as JAX lists them; some may have been deleted."""
    for prepare in before_listing:
        prepare()
    arrays: list[jax.Array] = jax.live_arrays(platform)
    return arrays


def live_bytes(ctx: Context | None = None) -> int:
    """Bytes of all live arrays on a context's device, by default on all devices.

    Two arrays that share a buffer count once. Pending operations and a running program's buffers
    do not count.

    Args:
        ctx: the context; None for all devices.
    """
    device = None if ctx is None else ctx.device
    return sum(size for _, size in _buffers(device))


def _buffers(device: jax.Device) -> list[tuple[jax.Array, int]]:
    """Live arrays with their bytes on a device (on all if it is None)."""
    buffers = []
    pointers: set[int] = set()
    over_devices = []
    # JAX lists the arrays of one backend at a time.
    platforms = {"cpu", jax.default_backend()} if device is None else {device.platform}
    for array in chain.from_iterable(map(device_arrays, platforms)):
        if array.is_deleted():
            continue
        devices = array.devices()
        if len(devices) > 1:
            over_devices.append(array)
        elif _is_new(array, pointers) and (device is None or device in devices):
            buffers.append((array, array.nbytes))
    for array in over_devices:  # their shards may be among the arrays above
        shards = [
            shard.data
            for shard in array.addressable_shards
            if (device is None or shard.device == device) and _is_new(shard.data, pointers)
        ]
        if shards:
            buffers.append((array, sum(shard.nbytes for shard in shards)))
    return buffers


def _is_new(array: Any, pointers: set[int]) -> bool:
    """Whether no earlier array has the same buffer; adds its pointer."""
    pointer = _pointer(array)
    if pointer is None:
        return True
    if pointer in pointers and array.nbytes:
        return False
    pointers.add(pointer)
    return True


def _pointer(array: Any) -> int | None:
    """The address of an array's buffer, which other arrays may share; None if it has no address.

    Only a computed array on one device has one. Empty arrays have none: each is counted, with 0 bytes.
    """
    if not array.is_ready():
        return None
    try:
        pointer: int = array.unsafe_buffer_pointer()
    except jax.errors.JaxRuntimeError:  # the array has several buffers on one device
        return None
    return pointer


@dataclass
class Allocation:
    """One array.

    Args:
        id: number, in order of creation.
        name: the operation that created it; ``before`` for one that existed at the start.
        shape, dtype, bytes, context: of the array.
        source: the user's line that created it, None if unknown; its ``callers`` led there.
        born: seconds since the start.
        died: the same; None while it is alive.
    """

    id: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    context: str
    source: Source | None
    born: float
    died: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        source = None if self.source is None else self.source.to_dict()
        callers = [] if self.source is None else [each.to_dict() for each in self.source.callers]
        return {**vars(self), "shape": list(self.shape), "source": source, "callers": callers}

    def __str__(self) -> str:
        at = f" at {self.source}" if self.source is not None else ""
        size = size_text(self.bytes)
        return f"{size} {self.dtype}{list(self.shape)} on {self.context}, {self.name}{at}"


@dataclass
class MemoryLog:
    """The log of ``with mx.runtime.memory() as log:``: every array, when it was created and freed.

    Buffers inside a running program are not arrays, so they are not included.
    """

    allocations: list[Allocation] = field(default_factory=list)
    _start: float = 0.0
    _references: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    _known: dict[int, Allocation] = field(default_factory=dict)  # id of a live array -> its record
    _numbers: Any = field(default_factory=counting)
    _lines: Any = None

    def __enter__(self) -> MemoryLog:
        for segment in list(state.segments.values()):
            if not segment.finished:
                # Values recorded before have no source lines.
                segment.finish("memory log", wait=False)
        self._start = time.perf_counter()
        for array, size in _buffers(None):
            device = next(iter(array.devices()))
            self._add(array, "before", None, _context_name(device), size)
        self._lines = source_lines(calls=True)
        self._lines.__enter__()
        logs.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        logs.remove(self)
        _last[:] = [self]
        self._lines.__exit__(*error)

    # ---- recording ----------------------------------------------------------------------------

    def created(self, array: Any, name: str, source: Source | None, context: Context) -> None:
        """Record a new array."""
        if id(array) not in self._known:
            self._add(array, name, source, str(context), array.nbytes)

    def freed(self, array: object) -> None:
        """Record that the buffer of an array has been reused by another one."""
        self._end(id(array))

    def _add(self, array: Any, name: str, source: Source | None, context: str, size: int) -> None:
        record = Allocation(
            next(self._numbers),
            name,
            tuple(array.shape),
            str(array.dtype),
            size,
            context,
            source,
            time.perf_counter() - self._start,
        )
        key = id(array)
        self.allocations.append(record)
        self._known[key] = record
        # ``_end`` drops the reference and with it the callback: when a donated array dies after its buffer
        # was recorded as reused, the id may already belong to a new array, whose record has to stay open.
        self._references[key] = weakref.ref(array, lambda _: self._end(key))

    def _end(self, key: int) -> None:
        record = self._known.pop(key, None)
        self._references.pop(key, None)
        if record is not None:
            record.died = time.perf_counter() - self._start

    # ---- reading ------------------------------------------------------------------------------

    def alive(self, at: float | None = None, ctx: Context | None = None) -> list[Allocation]:
        """Arrays alive at a time, the largest first.

        Args:
            at: seconds since the start; by default now.
            ctx: the context; by default any.
        """
        alive = [
            each
            for each in self.allocations
            if (ctx is None or each.context == str(ctx))
            and (each.died is None if at is None else _lives(each, at))
        ]
        return sorted(alive, key=lambda each: (-each.bytes, each.id))

    def timeline(self, ctx: Context | None = None) -> list[tuple[float, int]]:
        """Pairs of seconds since the start and the live bytes from then on."""
        events: list[tuple[float, int, int]] = []
        for each in list(self.allocations):
            if ctx is None or each.context == str(ctx):
                events.append((each.born, 1, each.bytes))
                if each.died is not None:
                    events.append((each.died, 0, -each.bytes))
        total, points = 0, []
        for at, _, change in sorted(events):
            total += change
            points.append((at, total))
        return points

    def peak(self, ctx: Context | None = None) -> tuple[float, int]:
        """The time of the first maximum of live bytes, and its size."""
        return max(self.timeline(ctx), key=lambda point: point[1], default=(0.0, 0))

    @property
    def peak_bytes(self) -> int:
        """The maximum of live bytes, over all contexts."""
        return self.peak()[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain data.

        ``allocations``, ``contexts`` with ``timeline`` and ``peak`` each, and ``at_peak``: the
        ids of the allocations that were alive then.
        """
        contexts = {}
        for name in dict.fromkeys(each.context for each in self.allocations):
            context = Context(name.partition("(")[0], int(name.partition("(")[2].rstrip(")")))
            at, size = self.peak(context)
            contexts[name] = {
                "timeline": [list(point) for point in self.timeline(context)],
                "peak": {"seconds": at, "bytes": size},
                "at_peak": [each.id for each in self.alive(at, context)],
            }
        return {
            "version": 1,
            "allocations": [each.to_dict() for each in self.allocations],
            "contexts": contexts,
        }

    def __str__(self) -> str:
        at, size = self.peak()
        lines = [f"peak {size_text(size)} after {time_text(at)}, held by"]
        lines += [f"  {each}" for each in self.alive(at)[:SHOWN]]
        return "\n".join(lines) + "\n"


def _lives(record: Allocation, at: float) -> bool:
    return record.born <= at and (record.died is None or record.died > at)


def _context_name(device: jax.Device) -> str:
    return f"{'cpu' if device.platform == 'cpu' else 'gpu'}({device.id})"


logs: list[MemoryLog] = []
"""Active logs; every function that creates an array reports to them."""


_last: list[MemoryLog] = []  # the log that ended last


def last_log() -> MemoryLog | None:
    """The last finished log, or None. It holds no arrays, only data about them."""
    return _last[0] if _last else None


def memory() -> MemoryLog:
    """Scope that logs every array: ``with mx.runtime.memory() as log: ...; print(log)``.

    Operations record their source lines inside, which costs a few microseconds each.
    """
    return MemoryLog()


def note(array: object, name: str, context: Context) -> None:
    """Add an array that the user's code is creating to the logs."""
    if logs:
        source = user_source()
        for log in logs:
            log.created(array, name, source, context)


def explained_shortage(error: Exception, context: Context, line: str | None) -> Exception:
    """An error that names the largest live arrays, if ``error`` says that memory ran out.

    Args:
        error: of running a program.
        context: it ran on.
        line: ``file:line`` of the user's code that triggered it.
    """
    reason = str(error).strip()
    if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in reason:
        return error
    known: dict[int, Allocation] = {}
    for log in logs:
        known.update(log._known)
    arrays = sorted(_buffers(context.device), key=lambda each: -each[1])
    rows = []
    for array, size in arrays[:SHOWN]:
        record = known.get(id(array))
        description = f"{size_text(size)} {array.dtype}{list(array.shape)}"
        rows.append(f"  {record or description}")
    total = sum(size for _, size in arrays)
    advice = (
        ""
        if logs
        else " Run it inside of `with mx.runtime.memory():` to see the lines that made them."
    )
    at = f" at {line}" if line else ""
    shortage = OutOfMemoryError(
        f"{context} has no memory left for a program{at}: {_first_line(reason)} Arrays hold "
        f"{size_text(total)} there; the largest are\n" + "\n".join(rows) + "\n"
        "Delete arrays that are no longer needed, make the batch smaller, or predict without "
        f"autograd.record().{advice}"
    )
    shortage.__cause__ = error
    return shortage


def late_failure(error: Exception, context: Context | None) -> Exception:
    """The error for a program that failed on its device after XLA had returned.

    Args:
        error: XLA's error.
        context: where the program ran; None if that is not known.
    """
    if context is not None:
        shortage = explained_shortage(error, context, None)
        if shortage is not error:
            return shortage
    where = "A program" if context is None else f"A program on {context}"
    return MXNetError(f"{where} failed while it ran: {_first_line(str(error).strip())}")


def _first_line(reason: str) -> str:
    line = reason.splitlines()[0]
    text = (line.partition("RESOURCE_EXHAUSTED:")[2] or line).strip()
    return text if text.endswith(".") else text + "."


def note_results(
    segment: Any, slots: Sequence[int], results: Sequence[Any], donated: Sequence[Any]
) -> None:
    """Add the results of a segment to the logs.

    Args:
        segment: the segment that ran.
        slots: the slots of its live outputs.
        results: their arrays.
        donated: arrays whose buffers were donated to the program.
    """
    made_by = {}
    slot = 0
    for number, (call, *_) in enumerate(segment.program):
        for _ in call.outputs:
            made_by[slot] = (call.op.name, segment.sources.get(number))
            slot += 1
    for log in logs:
        # Donated arrays first: a result in a reused buffer must not count twice at the peak.
        for array in donated:
            log.freed(array)
        for slot, array in zip(slots, results, strict=True):
            log.created(array, *made_by[slot], segment.context)
