"""Meetings: where devices that process parts of one batch exchange arrays.

Every device contributes an array and gets the result of the exchange. No device blocks on
arrival: its result is pending until the last device has arrived.

How a meeting runs:

* For each device, ``begin`` pushes an asynchronous task that reads what the device contributes
  and writes its pending result. It starts once the contribution is computed, and ends only with
  the exchange. So any task that reads the result waits for the exchange.
* The last of these to start pushes the exchange itself, which runs the collective and fills all
  results.
* ``_end`` then ends the tasks of the devices, with the error of the exchange if there was one.

Invariants:

* A meeting leaves ``_open`` when its last device arrives or when it is aborted, under
  ``_gathering``. After that, no device can join it: late calls open the next meeting.
* ``_ended`` is set before ``_end`` runs. A device whose contribution is computed only after an
  abort then ends its own task in ``_go_on``.
* ``_gathering`` is never held while a task is pushed or ended. The engine has locks of its own,
  and the end of a task may start work that opens another meeting.
* All exchanges on the CPU write a common variable, so they run in push order on every device. Two
  collectives that interleave on the same devices would deadlock.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from mixnet import config
from mixnet.base import GradientError, MXNetError
from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.engine import mark_reported
from mixnet.engine.task import Done
from mixnet.engine.variable import Var
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.schema.over_devices import Exchange
from mixnet.process import locks
from mixnet.runtime.devices.collective import exchange_variables, exchanged
from mixnet.runtime.value.later import Later, arrays_of, variables_of
from mixnet.runtime.value.state import state, tape_entry
from mixnet.runtime.value.value import Value, check_pending


class _Part:
    """The contribution of one device, and its pending result."""

    def __init__(self, values: tuple[Value, ...], name: str):
        self.values = values
        self.holder = Later(name)
        # Held weakly: a result without readers is not filled, and its array is freed at once.
        (self.result,) = self.holder.pending([values[0].spec])
        self.done: Done | None = None  # set once the contribution is computed


class Meeting:
    """One exchange between devices, from the arrival of the first.

    Args:
        name: identifies the exchange in the program.
        count: devices that take part.
        exchange: see :func:`~mixnet.runtime.devices.collective.run_on_mesh`; its first result is returned.
    """

    def __init__(self, name: str, count: int, exchange: Exchange):
        self.name, self.count, self.exchange = name, count, exchange
        self.parts: dict[Context, _Part] = {}
        self._var = Var(name)  # the variable that the exchange writes
        self._ended = False
        self._error: Exception | None = None

    @property
    def is_open(self) -> bool:
        """Whether devices are still missing."""
        return len(self.parts) < self.count and not self._ended

    def arrive(self, context: Context, values: tuple[Value, ...]) -> _Part:
        """Register the arrival of a device with its arrays."""
        part = self.parts[context] = _Part(values, f"{self.name} on {context}")
        return part

    def begin(self, part: _Part) -> None:
        """Push the task that ends when the device's result is available."""
        reads = variables_of(part.values, "a meeting of devices")

        def start(done: Done) -> None:
            part.done = done
            self._go_on()

        var = part.holder.var
        current.engine.push_async(
            start, reads, (var,), "communication", 0, var.name, self._report_absent
        )

    def _go_on(self) -> None:
        """Push the exchange, if all devices have arrived and their values are computed.

        The last two devices may both see that; the second exchange then has nothing to do.
        """
        if self._ended:
            self._end()
        elif self._is_complete() and not self._var.pushed:
            devices = tuple(context.device for context in sorted(self.parts, key=_number))
            # CPU exchanges share a variable, so they run one after another; interleaved they would deadlock.
            writes = (self._var, *exchange_variables(devices))
            current.engine.push(
                self._exchange, (), writes, "communication", name=self.name, resumable=True
            )

    def _is_complete(self) -> bool:
        parts = list(self.parts.values())
        return not self.is_open and all(part.done is not None for part in parts)

    def _exchange(self) -> None:
        if not self._ended:  # it may have been pushed twice (see _go_on), or aborted
            parts = [self.parts[each] for each in sorted(self.parts, key=_number)]
            try:
                results = self._results(parts)
                for part, result in zip(parts, results, strict=True):
                    part.holder.fill([result])
            except Exception as error:  # passed to the devices' tasks by _end
                self._error = error
            self._ended = True
        self._end()

    def _end(self) -> None:
        """After the exchange, or when it is aborted: end the tasks of the devices that have arrived."""
        for part in list(self.parts.values()):
            part.values = ()  # a meeting lives as long as its results, and would hold the arrays
            if part.done is not None:
                part.done(self._error)

    def _results(self, parts: Sequence[_Part]) -> list[Any]:
        contexts = [part.result.spec.context for part in parts]
        contributions = [arrays_of(part.values, self.name) for part in parts]
        rows = [list(row) for row in zip(*contributions, strict=True)]
        with jax.enable_x64(True):  # per thread; workers start with JAX's default
            results: list[Any] = exchanged(self.exchange, rows, contexts)[0]
        return results

    def _report_absent(self, seconds: float) -> None:
        """Abort, while a thread waits for a result, if the other devices will not arrive."""
        if self._var.pushed:
            current.engine.settle(self._var)  # runs the exchange in this thread if no worker does
        elif self.is_open and seconds >= (_MOST_SECONDS if _can_others_arrive() else 0):
            came = ", ".join(str(context) for context in sorted(self.parts, key=_number))
            self.give_up(
                f"{self.name} is over {self.count} devices, and its result was read when only {came} "
                f"had called it. Call the network with the parts of the batch on all devices before you "
                f"read a result; or, to train on fewer devices, say on how many (num_devices, ndev)."
            )

    def give_up(self, reason: str, is_known: bool = False) -> None:
        """Abort, if devices are missing: the pending results fail.

        Args:
            reason: for the error message.
            is_known: whether the error has been reported already.
        """
        with _gathering:
            if not self.is_open:
                return
            _open[self.name].remove(self)
            self._error, self._ended = MXNetError(reason), True
            if is_known:
                mark_reported(self._error)
        # Without the lock: ending a task may start work that opens another meeting.
        self._end()


def _number(context: Context) -> tuple[int, int]:
    return context.device_typeid, context.device_id


def _can_others_arrive() -> bool:
    """Whether another thread of the program may still make the calls of the missing devices."""
    this_thread = threading.current_thread()
    return any(not thread.daemon and thread is not this_thread for thread in threading.enumerate())


class Workers(Protocol):
    """The other processes of a job, which take part in operations over devices."""

    def pooled(self, name: str, exchange: Exchange, values: Sequence[Value]) -> Value:
        """The result of an exchange between all workers; pending until all have reached it."""


_workers: list[Workers] = []


def join_workers(workers: Workers) -> None:
    """Extend operations over devices to these workers from now on."""
    _workers[:] = [workers]


def is_over_others(count: int) -> bool:
    """Whether an operation over this many devices exchanges data, with devices or workers."""
    return count > 1 or bool(_workers)


_WORKERS = 0  # as the number of devices: an exchange between workers
_gathering = locks.make("meetings")
_open: defaultdict[str, list[Meeting]] = defaultdict(list)  # those with devices missing
_MOST_SECONDS = config.get("MIXNET_MEETING_SECONDS")


def meet(name: str, count: int, exchange: Exchange, values: tuple[Value, ...]) -> Value:
    """The result of an exchange with other devices; pending until the last device has arrived.

    The k-th call of a device is matched with the k-th call of the others.

    Args:
        name: the same on all devices.
        count: devices that take part.
        exchange: see :func:`~mixnet.runtime.devices.collective.run_on_mesh`.
        values: of this device.

    Raises:
        MXNetError: the naive engine cannot do this.
    """
    if current.naive:
        raise MXNetError(
            f"{name} spans {count} devices, but the naive engine runs each operation before the next "
            f"device calls it. Use MXNET_ENGINE_TYPE=ThreadedEngine."
        )
    for value in values:
        check_pending(value)
    context = values[0].spec.context
    with _gathering:
        gathering = _open[name]
        # The oldest meeting that this device has not joined matches its k-th call with the others' k-th.
        meeting = next((m for m in gathering if context not in m.parts), None)
        if meeting is None:
            meeting = Meeting(name, count, exchange)
            gathering.append(meeting)
        part = meeting.arrive(context, values)
        if not meeting.is_open:
            gathering.remove(meeting)
    # The thread's open meetings are aborted if its program ends with an error; see leave_meetings.
    state.meetings = [each for each in state.meetings if each.is_open]
    if meeting.is_open:
        state.meetings.append(meeting)
    meeting.begin(part)  # without the lock, because the engine has locks of its own
    return part.result


def leave_meetings(error: BaseException) -> None:
    """Abort the open meetings of this thread, whose program ended with an error."""
    meetings, state.meetings = state.meetings, []
    for each in meetings:
        each.give_up(
            f"{each.name}: not all {each.count} devices called it, because of "
            f"{type(error).__name__}: {error}",
            is_known=True,
        )


class _Taped(Operator):
    """A meeting as an operator on a tape: it runs between programs, not in one."""

    name = "_Meeting"
    differentiable = True

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """Raise GradientError: a meeting runs between programs."""
        raise GradientError("A meeting of devices does not run within one program.")

    def run_values(self, statics: Statics, values: Sequence[Value]) -> list[Value]:
        """The results."""
        name, count, exchange = statics
        return [_exchanged(name, count, exchange, tuple(values))]

    def backward_node(self, node: Node, heads: Sequence[Entry | None], wrt: Any) -> Node:
        """The meeting in which the devices exchange the gradients of their results."""
        (head,) = heads
        assert head is not None
        name, count, exchange = node.statics
        if isinstance(exchange, _Transposed):
            raise GradientError(f"{name}: there is no gradient of a gradient over devices.")
        statics = (f"gradient of {name}", count, _Transposed(exchange))
        return Node(self, statics, (), (head, *node.inputs), f"{node.name}_backward")


class _Transposed:
    """The exchange whose first array is the gradient of another exchange's result."""

    def __init__(self, exchange: Exchange):
        self.exchange = exchange

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        head, *rest = arrays
        _, transpose = jax.vjp(lambda *values: self.exchange(values), *rest)
        return (*transpose((head, *map(jnp.zeros_like, rest[1:]))), *rest[1:], head)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Transposed) and other.exchange == self.exchange

    def __hash__(self) -> int:
        return hash((_Transposed, self.exchange))


_TAPED = _Taped()


def meet_on_tape(name: str, count: int, exchange: Exchange, value: Value) -> Value:
    """Exchange between devices and then between workers; while recording, with a node on the tape.

    Args:
        name: the same on all devices.
        count: devices of the process that take part.
        exchange: see ``meet``; workers run it on the results of their devices.
        value: of this device.
    """
    if count > 1:
        value = _on_tape(name, count, exchange, value)
    if _workers:
        value = _on_tape(name, _WORKERS, exchange, value)
    return value


def _exchanged(name: str, count: int, exchange: Exchange, values: tuple[Value, ...]) -> Value:
    if count == _WORKERS:
        return _workers[0].pooled(name, exchange, values)
    return meet(name, count, exchange, values)


def _on_tape(name: str, count: int, exchange: Exchange, value: Value) -> Value:
    outputs = _exchanged(name, count, exchange, (value,))
    entry = tape_entry(value) if state.recording else None
    if entry is not None:
        statics = (name, count, exchange)
        outputs.node = Node(_TAPED, statics, (), (entry,), _TAPED.name, None, (value,))
        outputs.index = 0
    return outputs
