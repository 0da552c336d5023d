"""Exchanges between the processes of a job, as engine tasks.

The arrays of a bucket become one flat array in host memory, which is one shard of an array over all
processes; a program on a separate XLA client exchanges them (gloo on CPUs). The process's own devices and
programs are independent of the other processes.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mixnet import config
from mixnet.base import MXNetError
from mixnet.distributed import deadlocks
from mixnet.distributed.agreement import Description, described
from mixnet.distributed.awaited import WITHOUT_LIMIT, Awaited, Result, Steps
from mixnet.distributed.buckets import flattened, places_in
from mixnet.distributed.direct import Direct, PeerError, connect
from mixnet.distributed.exchanges import (
    DIRECTLY,
    Copies,
    Shaped,
    gathered,
    over_processes,
    program_of,
    sums,
    swapped,
)
from mixnet.distributed.job import Job, JobError, WorkerLostError, find_job
from mixnet.distributed.lines import flush_output, quiet
from mixnet.distributed.member import Member
from mixnet.distributed.turns import CHECK_SECONDS, Turn, Turns, finished
from mixnet.engine.current import current, whole_or_not_at_all
from mixnet.engine.engine import mark_reported
from mixnet.engine.task import Done
from mixnet.engine.timeline import timeline
from mixnet.engine.variable import Var
from mixnet.ops.schema.over_devices import AXIS, Exchange
from mixnet.private_jax.jobs import connected_client
from mixnet.process.source import function_name, user_line
from mixnet.process.tracebacks import print_error, show, show_in_notebook
from mixnet.runtime.devices.meeting import join_workers
from mixnet.runtime.value.later import Later, arrays_of, variables_of
from mixnet.runtime.value.value import Spec, Value, check_pending, handed_over

_SHORT_BYTES = 1 << 20  # messages that the thread that pushes them begins to send
_PATIENCE = 3.0  # seconds between a broken connection and the message that names the lost process

Rows = Sequence[Sequence[Value]]


@dataclass(frozen=True)
class _Call:
    """A call of an exchange.

    Args:
        question: its number for ``Agreement.wait``; 0 if the processes are known to agree.
        place: its number among the exchanges of its processes.
        description: of the exchange.
        line: of the program.
    """

    question: int
    place: int
    description: Description
    line: str | None


class World:
    """The processes of a job, as seen by one of them.

    Args:
        job: from the environment.

    Raises:
        JobError: they cannot connect.
    """

    def __init__(self, job: Job):
        self.member = Member(job)
        self.rank, self.size = self.member.rank, job.workers
        self.agreement = self.member.agreement
        # All exchanges write it, so they run in the order in which they are pushed.
        self.wire = Var("exchanges between processes")
        self.broken: BaseException | None = None
        self._is_failure_known = False  # whether the program got the error
        self._ranks: tuple[int, ...] = ()  # of a part of the job
        self._direct: Direct | None = None
        self._ordering = threading.Lock()
        self._turns = Turns()
        self._sharding = _connected_sharding(self.member)
        self._connect()

    def _connect(self) -> None:
        """Let all processes connect, which call this at the same time."""
        with quiet(1):  # gloo prints its connections
            # The first exchange makes them; XLA leaves out a sum over one process.
            self.run(sums if self.size > 1 else gathered, [np.ones(16, np.int32)])
            self._direct = connect(
                self.rank,
                self.size,
                self.member.address,
                config.get("MIXNET_JOIN_SECONDS"),
                lambda data: self.run(gathered, [data])[0],
            )

    # ---- exchanging -----------------------------------------------------------------------------

    def exchange(
        self,
        exchange: Exchange,
        rows: Rows,
        priority: int = 0,
        name: str = "",
        labels: Sequence[Any] = (),
        has_any_length: bool = False,
        purpose: str = "",
    ) -> list[list[Value]]:
        """The result of an exchange of a bucket of values; pending until all processes have reached it.

        The k-th call of a process is matched with the k-th call of the others, regardless of priorities.

        Args:
            exchange: gets one flat array for each row, and returns as many of the same shapes.
            rows: values of one dtype, of the same shapes in every process, as many in every row.
            priority: of the task.
            name: shown in timelines.
            labels: names of the values, the same in all processes, such as their keys.
            has_any_length: whether the flat arrays are as long as the values; otherwise lengths are
                rounded up, so that many buckets share a program.
            purpose: the end of its description.
        """
        count = len(rows[0])
        specs = tuple(value.spec for value in rows[0])
        values = self._later(
            [value for row in rows for value in row],
            partial(self._exchanged, exchange, count, has_any_length),
            priority,
            name,
            described(name or function_name(exchange), tuple(labels), specs, purpose),
        )
        return [values[i : i + count] for i in range(0, len(values), count)]

    def is_direct(self, specs: Sequence[Spec]) -> bool:
        """Whether the sum of values of these specs, of one dtype, is exchanged without a program."""
        kind, length = specs[0].dtype, _places(tuple(specs), True)[1]
        return self._direct is not None and self._direct.carries(length * kind.itemsize, kind)

    def pooled(self, name: str, exchange: Exchange, values: Sequence[Value]) -> Value:
        """The first result of an exchange of arrays of one shape; pending, as for ``exchange``.

        Args:
            name: shown in timelines.
            exchange: gets the arrays in their shape.
            values: of one shape and dtype.
        """
        shaped = Shaped(exchange, tuple(value.spec.shape for value in values))
        return self.exchange(shaped, [[value] for value in values], 0, name)[0][0]

    def gather(self, data: np.ndarray) -> np.ndarray:
        """The arrays of all processes, ``(processes, *data.shape)``. Waits for them."""
        return self._now(gathered, data).reshape(self.size, *data.shape)

    def swap(self, data: np.ndarray) -> np.ndarray:
        """``data[i]`` goes to process ``i``; the ``i``-th row of the result is from process ``i``. Waits."""
        return self._now(swapped, data).reshape(data.shape)

    def gather_bytes(self, content: bytes) -> list[bytes]:
        """The values of all processes, in the order of ranks. Waits for them."""
        sizes = self.gather(np.array([len(content)], np.int64))[:, 0]
        every = self.gather(_padded(content, int(sizes.max())))
        return [row[:size].tobytes() for row, size in zip(every, sizes, strict=True)]

    def copy_bytes(self, content: bytes, root: int) -> bytes:
        """The value of the process ``root``. Waits for it."""
        copies = Copies(root)
        (size,) = self._now(copies, np.array([len(content)], np.int64))
        row = _padded(content, int(size)) if self.rank == root else _padded(b"", int(size))
        return self._now(copies, row)[:size].tobytes()

    def together(
        self,
        sources: Sequence[Value],
        work: Callable[[list[Any]], None],
        name: str,
        label: str,
        priority: int = 0,
    ) -> Var:
        """Push a task in which all processes call ``run`` one or more times.

        Args:
            sources: values that ``work`` gets the arrays of.
            work: runs on the thread of exchanges.
            name: shown in timelines.
            label: description of the task, the same text in all processes.
            priority: of the task.

        Returns:
            a variable to wait for.
        """
        inputs, var = list(sources), Var(name)

        def run() -> Steps[None]:
            yield WITHOUT_LIMIT
            arrays = self._ready(inputs, name)
            inputs.clear()
            work(arrays)

        reads = variables_of(inputs, "an exchange between processes")
        self._push(run, reads, (var,), priority, name, Description(f"{name} of {label}"))
        return var

    def _now(self, exchange: Exchange, data: np.ndarray) -> np.ndarray:
        flat = np.ascontiguousarray(data).reshape(-1)
        if not flat.size:
            return flat
        results: list[np.ndarray] = []
        name = function_name(exchange)
        var = Var(name)
        description = Description(f"{name} of {flat.size} {flat.dtype.name}")

        def run() -> Steps[None]:
            results.extend((yield from self._steps(exchange, [flat])))

        self._push(run, (), (var,), 0, name, description, flat.nbytes)
        current.engine.wait_for_var(var)
        return results[0]

    def _exchanged(
        self,
        exchange: Exchange,
        count: int,
        has_any_length: bool,
        arrays: list[Any],
        specs: list[Spec],
    ) -> Steps[list[Any]]:
        flat, places = [], []
        for i in range(0, len(arrays), count):
            row = [np.asarray(array) for array in arrays[i : i + count]]
            starts, length = _places(tuple(specs[i : i + count]), has_any_length)
            flat.append(flattened(row, starts, length))
            places += starts
        exchanged = yield from self._steps(exchange, flat)
        results = []
        with jax.enable_x64(True):
            for i, (start, spec) in enumerate(zip(places, specs, strict=True)):
                part = exchanged[i // count][start : start + math.prod(spec.shape)]
                results.append(handed_over(part.reshape(spec.shape), spec))
        return results

    def _later(
        self,
        sources: list[Value],
        work: Callable[[list[Any], list[Spec]], Steps[list[Any]]],
        priority: int,
        name: str,
        description: Description,
    ) -> list[Value]:
        """Values of the specs of ``sources`` that ``work`` makes of them.

        If it ends at once, because the others have sent their parts, it needs no task: that saves a
        third of the time of a kilobyte.
        """
        self._begin_call()  # a program that reads no result would not notice the end of the job
        for value in sources:
            check_pending(value)
        specs = [value.spec for value in sources]
        nbytes = sum([spec.nbytes for spec in specs])
        line = user_line()
        # Before the lock: where many programs are queued, this waits for one of them.
        reads = variables_of(sources, "an exchange between processes")
        with whole_or_not_at_all(), self._ordering:
            number = self.agreement.note(description, line)
            begun: Steps[list[Any]] | None = None
            if not number and nbytes <= _SHORT_BYTES and self._may_begin(sources):
                begun = work([value.array for value in sources], specs)
                try:
                    begun = _continued(next(begun), begun)
                except StopIteration as end:
                    self.agreement.begun = self.agreement.count
                    pairs = zip(specs, end.value, strict=True)
                    return [_of_shared_memory(spec, array) for spec, array in pairs]
                except Exception as error:
                    begun = _failed(error)
            holder = Later(name)
            values = []
            for slot, spec in enumerate(specs):
                value = _of_shared_memory(spec, None)
                value.segment, value.slot = holder, slot
                holder.references.append(weakref.ref(value))
                values.append(value)
            inputs = list(sources)

            def run() -> Steps[None]:
                if begun is None:
                    result = yield from work(self._ready(inputs, name), specs)
                else:
                    result = yield from begun
                inputs.clear()
                holder.fill(result)

            call = _Call(number, self.agreement.count, description, line)
            self._push_task(run, reads, (holder.var,), priority, name, call, nbytes)
        self.agreement.speak()
        return values

    def _may_begin(self, sources: Sequence[Value]) -> bool:
        """Whether an exchange of these values may begin before there is a task for it."""
        is_free = self.wire.version == self.wire.pushed and not (current.naive or timeline.on)
        return is_free and all(value.array is not None for value in sources)

    def _push(
        self,
        work: Callable[[], Steps[None]],
        reads: Sequence[Var],
        writes: Sequence[Var],
        priority: int,
        name: str,
        description: Description,
        nbytes: float = math.inf,
    ) -> None:
        """Push an exchange as a task; they run in push order.

        Args:
            work: the exchange.
            reads: variables that it reads.
            writes: variables that it changes.
            priority: of the task.
            name: shown in timelines.
            description: of the exchange.
            nbytes: that it sends.
        """
        self._begin_call()
        line = user_line()
        # Exchanges are numbered in push order, and an interrupt never counts one that is not pushed.
        # The scheduler is not asked under this lock. Nothing waits under it either, except the naive
        # engine, which runs a task while it is pushed: threads then take turns.
        with whole_or_not_at_all(), self._ordering:
            number = self.agreement.note(description, line)
            call = _Call(number, self.agreement.count, description, line)
            self._push_task(work, reads, writes, priority, name, call, nbytes)
        self.agreement.speak()

    def _push_task(
        self,
        work: Callable[[], Steps[None]],
        reads: Sequence[Var],
        writes: Sequence[Var],
        priority: int,
        name: str,
        call: _Call,
        nbytes: float,
    ) -> None:
        """Push an exchange that was called, in the order of the calls."""
        number = call.question

        def steps() -> Steps[None]:
            if number:
                yield WITHOUT_LIMIT
            self.agreement.wait(number, self._is_over)
            yield from work()

        turn = Turn(steps(), self.check, nbytes <= _SHORT_BYTES)

        def start(done: Done) -> None:
            self.agreement.begun = call.place
            turn.done = done
            self._turns.put(turn)

        def report(seconds: float) -> None:
            if seconds > max(turn.next_report, deadlocks.SECONDS):
                turn.next_report = seconds + deadlocks.SECONDS
                self._report(turn, call)

        def on_wait(seconds: float) -> None:
            report(seconds)
            if current.naive:  # which calls this once
                start = time.monotonic()
                while not turn.wait(CHECK_SECONDS):
                    report(time.monotonic() - start)
            # An exchange notices the end of a connection; this is for ends that it cannot see.
            elif (
                seconds > _PATIENCE
                and (done := turn.done)
                and (reason := self._why_over()) is not None
            ):
                done(reason)
            elif not number:
                self._turns.run_now(turn)

        current.engine.push_async(
            start,
            reads,
            (*writes, self.wire),
            "communication",
            priority,
            name,
            on_wait,
            quick=True,
            source=call.line,
        )

    def _report(self, turn: Turn, call: _Call) -> None:
        """Tell the scheduler that this process waits in an exchange."""
        begun = self.member.begun()
        # In this order: what had not ended afterwards had not ended when the others were counted.
        if turn.done is not None:
            text = call.description.called_at(call.line)
            self.member.report_waiting(self._ranks, call.place, text, begun)

    def _begin_call(self) -> None:
        """Check for the program, which gets to know the error."""
        try:
            self.check()
        except BaseException:
            self._is_failure_known = True
            raise

    @property
    def has_failed_unseen(self) -> bool:
        """Whether an exchange failed, and no call told the program."""
        has_failed = self.broken is not None or self._why_over() is not None
        return has_failed and not self._is_failure_known

    def _is_over(self) -> bool:
        return self.broken is not None or self.member.lost is not None or bool(self._left())

    def _why_over(self) -> MXNetError | None:
        return self.agreement.difference or self.member.lost

    def _ready(self, values: list[Value], name: str) -> list[Any]:
        """The arrays of values that have been computed.

        Raises:
            BaseException: one of them failed. The other processes are notified, so that they do not wait.
        """
        try:
            return arrays_of(values, name)
        except BaseException as error:
            self.give_up(error)
            raise

    def run(self, exchange: Exchange, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The result of an exchange of flat arrays on the host. One at a time; waits for the other processes.

        Raises:
            WorkerLostError: another process has exited.
        """
        return finished(self._steps(exchange, arrays), self.check)

    def _steps(self, exchange: Exchange, arrays: Sequence[np.ndarray]) -> Steps[list[np.ndarray]]:
        """An exchange of flat arrays on the host, which yields where it waits."""
        self.check()
        direct, directly = self._direct, DIRECTLY.get(exchange)
        try:
            if (
                direct is None
                or directly is None
                or not all(direct.carries(array.nbytes, array.dtype) for array in arrays)
            ):
                yield WITHOUT_LIMIT
                return self._by_program(exchange, arrays)
            results = []
            for array in arrays:
                results.append((yield from directly(direct, array)))
            return results
        except Exception as error:  # JaxRuntimeError or ValueError, by how it was dispatched
            failure = error
        yield WITHOUT_LIMIT
        raise self.failed(failure) from None

    def _by_program(self, exchange: Exchange, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with jax.enable_x64(True):
            global_arrays = [over_processes(array, self._sharding) for array in arrays]
            results = program_of(exchange, self._sharding)(*global_arrays)
            return [np.asarray(each.addressable_data(0)) for each in results]

    def check(self) -> None:
        """Raise an error if exchanges are no longer possible.

        Raises:
            WorkerLostError: another process has exited.
        """
        reason = self._why_over()
        if reason is not None:
            raise reason
        if self.broken is not None:
            raise self.broken

    def failed(self, error: Exception) -> BaseException:
        """Translate an error of an exchange, and notify the others."""
        if self._why_over() is None:
            self.member.loss_noted.wait(_PATIENCE)
        reason = self._why_over()
        self.broken = reason or WorkerLostError(self._reason(error))
        if reason is None and isinstance(error, PeerError) and not self._left():
            self.member.report_unreachable(self._rank_of(error), str(error))
        elif reason is None:
            self.member.fail(self.broken)
        return self.broken

    def give_up(self, error: BaseException) -> None:
        """Notify the others, which wait, that this process cannot take part in an exchange."""
        if self.broken is None:
            self.broken = error
            self.member.fail(error)

    def forget(self) -> None:
        """In a forked process: close the connections, which belong to the parent."""
        self.member.forget()
        if self._direct is not None:
            self._direct.close()

    def _left(self) -> list[int]:
        """The workers that have ended their programs."""
        return sorted(self.member.left)

    def _rank_of(self, error: PeerError) -> int:
        return self._ranks[error.rank] if self._ranks else error.rank

    def _reason(self, error: Exception) -> str:
        if left := self._left():
            ended = f"rank {left[0]} has ended its program"
            if len(left) > 1:
                ended = f"ranks {', '.join(map(str, left))} have ended their programs"
            return (
                f"{ended}, while rank {self.member.rank} has more to exchange. Every worker has to push the "
                f"same keys the same number of times: give all of them as many batches."
            )
        if isinstance(error, PeerError):
            problem = f"{self.member.peers[self._rank_of(error)]} cannot be reached any more"
        else:
            problem = f"rank {self.member.rank}: an exchange with the other workers failed"
        return f"{problem}: {error}. Start all workers again from the last checkpoint."


def _of_shared_memory(spec: Spec, array: object) -> Value:
    """A value whose memory is that of all arrays of a bucket."""
    value = Value(spec, array)
    value.shared = True
    return value


def _continued(awaited: Awaited, steps: Steps[Result]) -> Steps[Result]:
    """Work that has begun and waits."""
    yield awaited
    return (yield from steps)


def _failed(error: Exception) -> Steps[Any]:
    """Work that has failed."""
    raise error
    # Makes it a generator, as other work is.
    yield WITHOUT_LIMIT


def _padded(content: bytes, size: int) -> np.ndarray:
    """Bytes, and zeros up to the next power of two: few lengths, so that there are few programs."""
    room = np.zeros(1 << max(0, size - 1).bit_length(), np.uint8)
    room[: len(content)] = np.frombuffer(content, np.uint8)
    return room


@lru_cache(maxsize=4096)
def _places(specs: tuple[Spec, ...], has_any_length: bool) -> tuple[list[int], int]:
    """Where each array of a row begins in the flat one, and how long that is: see ``places_in``."""
    sizes = [math.prod(spec.shape) for spec in specs]
    return places_in(sizes, specs[0].dtype.itemsize, has_any_length)


def _connected_sharding(member: Member) -> NamedSharding:
    """The sharding of an array over all processes: one device of each, of a connected client."""
    from mixnet.distributed.scheduler import HEARTBEAT

    try:
        client = connected_client(
            f"{member.root}:{member.port}",
            member.rank,
            member.job.workers,
            member.address,
            HEARTBEAT,
            int(config.get("MIXNET_JOIN_SECONDS")) + 1,
        )
    except jax.errors.JaxRuntimeError as error:
        raise JobError(
            f"rank {member.rank} found the scheduler, but not the other workers: {error}"
        ) from None
    devices = sorted(client.devices(), key=lambda device: device.process_index)
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(AXIS))


# ---- of this process ----------------------------------------------------------------------------

_worlds: list[World] = []


def world(may_be_alone: bool = False) -> World:
    """The job of this process; the first call joins it.

    Args:
        may_be_alone: where the environment describes no job, be the only process of one.

    Raises:
        JobError: the environment describes no job, or the processes cannot connect.
    """
    if not _worlds:
        _install()
        job = find_job()
        if job is None and may_be_alone:
            from mixnet.distributed.addresses import free_port

            job = Job(1, "127.0.0.1", free_port("127.0.0.1"), 0, has_scheduler=False)
        if job is None:
            raise JobError(
                "This process is not part of a job. Start it with mixnet-launch -n 2 python "
                "train.py, with mpirun or srun, or set DMLC_ROLE, DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, "
                "DMLC_NUM_WORKER and DMLC_WORKER_ID; or use 'device', for the devices of one process."
            )
        _worlds.append(World(job))
        join_workers(_worlds[0])
    return _worlds[0]


class _Hook:
    """Records the first error that ends the program, so that the exit code reflects it; prints errors
    without mixnet's own frames: several workers print them at once.
    """

    def __init__(self) -> None:
        self.before = print_error if sys.excepthook is sys.__excepthook__ else sys.excepthook
        self.error: BaseException | None = None

    def __call__(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        is_known = self.error is not None and str(error) == str(self.error)
        self.error = self.error or error
        if not is_known:  # as when what failed is tried again at the end
            show(self.before, error)


@lru_cache(maxsize=1)
def _install() -> None:
    """Let errors of the job decide the exit code of the process, those of joining it too."""
    hook = sys.excepthook = _Hook()
    show_in_notebook()
    atexit.register(_end, hook, os.getpid())


def _end(hook: _Hook, owner: int) -> None:
    """Leave the job at the end of the process, before the engine stops."""
    if os.getpid() != owner:
        return  # forked
    error, code = hook.error, None
    for world in _worlds:
        if error is not None and world.member.lost is None:
            world.give_up(error)  # exchanges that wait for it cannot end either
        try:
            current.engine.wait_for_all()
        except Exception as last:
            if error is None:
                show(print_error, last)
                error, code = last, 1 if world.has_failed_unseen else None
            mark_reported(last)
        world.member.leave()
        error = error or world.member.lost
        if error is not None and error is world.member.lost:
            world.member.let_lost_end(_PATIENCE)
    if isinstance(error, MXNetError) and error.exit_code is not None:
        code = error.exit_code
    if code is not None:
        flush_output()
        os._exit(code)  # threads in exchanges that never end are not to be waited for


def _after_fork() -> None:
    for world in _worlds:
        world.forget()
        world.broken = MXNetError(
            "Stores of a job belong to the process that created them and cannot be used in a "
            "forked one."
        )


os.register_at_fork(after_in_child=_after_fork)
