"""A segment: operations recorded on one context that have not run yet, and how they run.

A segment passes through four phases: open (``entries`` grows), closing (a thread reads the entries),
finished (the engine has its task), cleared (it has run). The order of steps within each phase
makes it safe against interrupts and against other threads:

* Recording is one ``list.append``, so an interrupt comes either before an operation or after it.
* Closing sets ``closing``, then reads the entries. Recording appends, then checks ``closing``. So in either
  order, an operation is either read, or detected as late and recorded again.
* The engine gets the task before ``finished`` is set. An interrupt between the two leaves a
  pushed variable, which the next thread sees (``_close_if_pushed``). The reverse order could leave
  a segment that counts as finished and that nothing ever runs.
* The live outputs, and the leaves that nobody else holds, are determined when the task is pushed, not
  when it runs. Otherwise the program would depend on timing.
* A value gets its array before its segment is cleared: a thread that finds no segment reads the
  array without a lock.
* A donated leaf loses its array before the call, since XLA invalidates the buffer at once; after a
  failure it gets the array back unless XLA has taken it.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial
from itertools import chain, starmap
from operator import call as called
from operator import itemgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.engine import Engine
from mixnet.engine.task import Task
from mixnet.engine.timeline import timeline
from mixnet.engine.variable import Var
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.control.custom import explained
from mixnet.process import ending, locks
from mixnet.process.source import Source, are_lines_kept, user_line, user_source
from mixnet.process.stack import CALLS_OF_PROGRAM, check_stack, is_stack_left
from mixnet.runtime.compile.program_key import stored
from mixnet.runtime.devices.host_value import become_host, content, is_deleted, moved
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.devices.shard_value import Shard, become_shard
from mixnet.runtime.interpret.interpreter import Interpreter
from mixnet.runtime.interpret.on_device import OnDevice
from mixnet.runtime.interpret.patience import is_away
from mixnet.runtime.programs.brief import BRIEF, LONG, is_brief, note_seconds
from mixnet.runtime.programs.donation import reused, unheld
from mixnet.runtime.programs.executable_cache import executable, how_it_runs, prepare
from mixnet.runtime.record.failed import Failed, error_of, restored
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.memory import explained_shortage, logs, note_results
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import (
    UNREAD,
    Value,
    check_pending,
    handed_over,
    left_to_workers,
    references,
    values_kept,
)

if TYPE_CHECKING:
    from mixnet.runtime.value.call import Call


MOST_AHEAD = 16
"""The most segments of a thread that may wait for a device, since they hold the values that they read: in a
loop that reads nothing, all batches of an epoch. With fewer, the device waits for Python."""

MOST_KINDS = 6
"""The most kinds of operators that the name of a segment lists."""

_OUTPUTS = itemgetter(3)
"""The references to the outputs of an entry."""


class Entries(list[Any]):
    """The entries of a segment, each with its source line."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[int, Source | None] = {}  # by the entry's index

    def append(self, entry: object) -> None:
        """Append an operation of the user's code."""
        self.sources[len(self)] = user_source()
        super().append(entry)


class _TooLate(list[Any]):
    """The entries of a segment that has been pushed: always empty."""

    def append(self, entry: object) -> None:
        """Do nothing: the recorder checks ``took`` afterwards and records again."""


_TOO_LATE = _TooLate()


@lru_cache
def _resource(context: Context) -> str:
    return f"compute:{context}"


class Segment:
    """Pending operations as one flat list; recording only appends to it.

    An entry is ``(item, end, scalars, references)``: the operation as ``(call, *slots of the inputs)``, how
    many outputs there are up to here, its numbers, and weak references to the values of its outputs. One
    entry holds everything about an operation, so an interrupt comes either before it or after it. Slots
    number outputs from 0 upwards, and leaves, values from outside the segment, from -1 downwards.

    The items together with the live slots are the key of the compiled program in its cache.

    One thread records here, without the lock: ``list.append`` is atomic. Any thread may close the segment,
    under the lock. It sets ``closing`` before it reads the entries; a recorder that sees ``closing``
    after its append asks ``took`` whether the entry was in time.
    """

    __slots__ = (
        "__weakref__",
        "aliases",
        "alone",
        "arrays",
        "before",
        "brief",
        "closing",
        "context",
        "end",
        "entries",
        "finished",
        "joint",
        "leaf_slots",
        "leaves",
        "lock",
        "program",
        "references",
        "resource",
        "results",
        "scalars",
        "source",
        "sources",
        "var",
        "visited",
    )

    def __init__(self, context: Context):
        self.context = context
        self.resource = _resource(context)
        self.entries: list[Any] = Entries() if are_lines_kept() else []
        # Values computed elsewhere that the operations read -> their slots. An interrupt may leave a leaf
        # that no operation reads, which is harmless.
        self.leaf_slots: dict[Value, int] = {}
        self.aliases: list[weakref.ref[Value]] = []  # further values of outputs
        # Slot of an output -> slot or leaf of the previous value of its holder.
        self.before: dict[int, int] = {}
        self.lock = locks.make("segment")
        self.closing = False  # new entries may be too late
        self.end = 0  # outputs of the entries that were in time
        self.finished = False
        self.source: str | None = None  # the user's line that triggered the run
        self.joint: Any = None  # the step over several devices that it is part of
        self.alone = False  # one operation that runs Python: it may fail until its very end
        self.var: Var | None = None
        self.brief = False  # its program was brief the last time
        # Set when it is closed: the items, all numbers, leaves in order, and references to the outputs.
        self.program: tuple[Any, ...] = ()
        self.scalars: list[float] = []
        self.leaves: list[Value] = []
        self.references: list[weakref.ref[Value]] = []
        self.sources: dict[int, Source | None] = {}
        # How many entries, aliases and references the last collection of garbage has found.
        self.visited = 0, 0, 0
        # While it runs: live slots, donated leaves and the arrays of all leaves; then the program's results.
        self.arrays: tuple[tuple[int, ...], tuple[int, ...], list[Any]] | None = None
        self.results: list[list[Any]] = []

    def leaf(self, value: Value) -> int:
        """Slot of a value that this segment does not compute; the segment that computes it is pushed.

        Called without the lock, because pushing may wait.
        """
        slot = self.leaf_slots.get(value)
        if slot is None:
            # Most are plain: without a call.
            if (type(value) is not Value or value.array is None) and not value.is_computed():
                check_pending(value)
                segment = value.segment
                # Without a call if it has been pushed: others read hundreds of results of a large graph.
                if segment is not None and (type(segment) is not Segment or not segment.finished):
                    segment.finish("another segment", wait=False)
            slots = self.leaf_slots
            slots[value] = slot = -1 - len(slots)
        return slot

    def took(self, entries: list[Any], end: int) -> bool:
        """Whether an entry has been pushed or is pending.

        Args:
            entries: the list it was appended to.
            end: number of outputs up to it.
        """
        with self.lock:
            self._close_if_pushed()
            if entries is _TOO_LATE:
                return False
            if not self.finished:  # closing was interrupted
                self.closing = False
                return True
            return end <= self.end

    def _close_if_pushed(self) -> None:
        """With the lock: complete an interrupted push, if the engine has the task."""
        if not self.finished and self.var is not None and self.var.pushed:
            self._close()

    def alias(self, value: Value) -> Value:
        """Create another value with the same content as ``value``, which was pending here."""
        with self.lock:
            self._close_if_pushed()
            other = Value(value.spec, value.array, value.segment, value.slot)
            if value.array is None:
                references = self.references if self.finished else self.aliases
                references.append(weakref.ref(other))
        return other

    def replaces(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        """Record the previous values of holders, which are restored if this fails.

        They are recorded only if they are inputs or outputs of this segment; any other value would be kept
        alive by it.

        Args:
            pairs: each a pending value and the previous one of its holder.
        """
        done = []
        with self.lock:
            leaf_slot = self._leaf_slot if self.finished else self.leaf_slots.get
            for value, old in pairs:
                if value.segment is not self:  # this segment has just run
                    done.append((value, old))
                    continue
                place = old.slot if old.segment is self else leaf_slot(old)
                if place is not None:
                    self.before[value.slot] = place
        for value, old in done:
            segment = value.segment
            if segment is not None:
                segment.replaces([(value, old)])

    def _leaf_slot(self, value: Value) -> int | None:
        return next((-1 - i for i, leaf in enumerate(self.leaves) if leaf is value), None)

    def read_entries(self) -> None:
        """Derive the program of the segment from its entries."""
        operations, scalars, references, end = [], [], [], 0
        for item, end, numbers, outputs in self.entries.copy():  # noqa: B007  # the last one counts
            operations.append(item)
            if numbers:
                scalars += numbers
            if outputs:
                references += outputs
        self.program, self.end = tuple(operations), end
        self.scalars = scalars
        self.leaves = list(self.leaf_slots)
        self.references = references + self.aliases
        self.sources = self.entries.sources if isinstance(self.entries, Entries) else {}

    def finish(self, reason: str, wait: bool = True) -> None:
        """Push the pending operations to the engine, once.

        Args:
            reason: counted, see ``mx.runtime.counters()``.
            wait: wait until it has run; the program then runs in this thread.

        Raises:
            BaseException: the error of the run, if this waits.
        """
        ending.stop_if_ending()
        has_room = is_stack_left(CALLS_OF_PROGRAM)
        if not has_room:
            check_stack()
        engine = current.engine
        if self.joint is not None and not self.finished:
            self.joint.wait()
        try:
            if self.finished:
                if wait:
                    engine.wait_for_var(self.var)  # type: ignore[arg-type]
                return
            task, in_this_thread = self._hand_over(engine, reason, wait or current.naive, has_room)
            if task is not None and in_this_thread:  # after the lock is released
                engine.run(task) if wait else engine.run_quietly(task)
            elif wait:
                engine.wait_for_var(self.var)  # type: ignore[arg-type]
            else:
                self._hold_back(engine)
        except (KeyboardInterrupt, RecursionError):
            self._resume(engine)
            raise

    def _hand_over(
        self, engine: Engine, reason: str, in_this_thread: bool, has_room: bool
    ) -> tuple[Task | None, bool]:
        """Push the pending operations to the engine, unless that has been done.

        Returns the task, and whether this thread has to run it: because of ``in_this_thread``, or because the
        program is brief and need not wait for another. Where the stack has no room, a worker does.
        """
        with self.lock:
            self._close_if_pushed()
            if self.finished:
                return None, in_this_thread
            count(f"flush:{reason}")
            self.source = user_line()
            self.closing = True
            self.read_entries()
            self.program = stored(self.program)
            self.alone = len(self.program) == 1 and self.program[0][0].alone
            self.var = Var(self._name())
            # Determined now: when the task runs, the live outputs would depend on timing, and the same
            # loop would compile different programs.
            slots = self.alive()
            work = partial(self._run, slots, unheld(self.leaves))
            reads = self._reads()
            # The user's Python code may have to wait for its turn, so it is never brief.
            self.brief = not self.alone and is_brief(self.program)
            in_this_thread = in_this_thread or (self.brief and not reads and not timeline.on)
            in_this_thread = in_this_thread and has_room
            task = (engine.claim if in_this_thread else engine.push)(
                work,
                reads,
                (self.var, *(self.program[0][0].turns if self.alone else ())),
                self.resource,
                name=self.var.name,
                forgiving=True,
                source=self.source,
                resumable=not self.alone,  # Ctrl-C stops the user's own code
            )
            if reads and not in_this_thread and is_away(self.context):
                specs = [value.spec for value in self.leaves]
                prepare(self.program, slots, specs, self.context)
            self._close()
            if not in_this_thread:
                left_to_workers.add(self)
                state.handed_over[self.context].append(self.var)
            return task, in_this_thread

    def close_jointly(self, name: str, first: Segment | None = None) -> list[Var]:
        """Close the segment to run together with those of other devices; returns the variables it reads.

        Args:
            name: of its variable.
            first: one that was closed before and has recorded the same operations on another device.
        """
        with self.lock:
            self.closing = True
            if first is None:
                self.source = user_line()
                self.read_entries()
                self.program = stored(self.program)
            else:
                self.source, self.sources, self.end = first.source, first.sources, first.end
                self.program, self.scalars = first.program, first.scalars
                self.leaves = list(self.leaf_slots)
                self.references = [each for entry in self.entries for each in entry[3]]
                self.references += self.aliases
            self.var = Var(name)
        return self._reads()

    def retract(self, number: int) -> None:
        """Forget all entries after the first ``number``, whose outputs nobody holds."""
        with self.lock:
            del self.entries[number:]
            self.visited = 0, 0, 0
            end = self.entries[-1][1] if self.entries else 0
            self.before = {slot: place for slot, place in self.before.items() if slot < end}

    def check_leaves(self) -> None:
        """Check that no leaf has failed.

        Raises:
            BaseException: the error of a failed leaf.
        """
        for leaf in self.leaves:
            if not leaf.is_computed() and not restored(leaf):
                raise error_of(leaf)

    def _close(self) -> None:
        """Close the segment: later operations go to another one."""
        self.finished = True
        self.entries, self.leaf_slots, self.aliases = _TOO_LATE, {}, []
        self.visited = 0, 0, 0

    def _resume(self, engine: Engine) -> None:
        """After an interrupt during a push: leave the segment pending, or let workers run it."""
        with self.lock:
            self._close_if_pushed()
            var = self.var
            if not self.finished or var is None:
                return
        for task in [*var.holders, *(task for task, _ in var.queue)]:
            if var in task.writes:
                engine.release(task)

    def _hold_back(self, engine: Engine) -> None:
        """Wait for an earlier segment if many are queued: a loop must not run too far ahead of the device."""
        ahead = state.handed_over[self.context]
        if any(meeting.is_open for meeting in state.meetings):
            return  # the device waits for other devices, which this thread may be about to call
        while len(ahead) > MOST_AHEAD:  # an interrupt may have left more than one
            engine.settle(ahead.popleft())

    def _name(self) -> str:
        """A name: that of the operator if there is only one; otherwise operators and counts."""
        program = self.program
        if len(program) == 1:
            call: Call = program[0][0]
            return call.op.name
        name = f"segment of {len(program)} operations"
        if timeline.on:
            kinds = Counter(item[0].op.name for item in program)
            counts_by_kind = [k if n == 1 else f"{n} x {k}" for k, n in kinds.items()]
            rest = ["..."] if len(counts_by_kind) > MOST_KINDS else []
            name = f"{name}: {', '.join(counts_by_kind[:MOST_KINDS] + rest)}"
        return name

    def _reads(self) -> list[Var]:
        """Variables of the leaves that are not computed yet; of all leaves while traced."""
        reads = []
        for value in self.leaves:
            # Most are plain: without a call.
            if (type(value) is not Value or value.array is None) and not value.is_computed():
                segment = value.segment  # None if it was computed since the check
                if segment is not None:
                    reads.append(segment.var)
            elif timeline.on and value.var is not None:
                reads.append(value.var)
        return reads

    def alive(self) -> tuple[int, ...]:
        """Slots of the outputs that are still referenced; the others are dropped."""
        slots, alive = [], []
        for reference in self.references:
            value = reference()
            # What only a collection of garbage keeps is read by no array.
            if value is not None and not (values_kept and references(value) <= UNREAD):
                slots.append(value.slot)
                alive.append(reference)
        self.references = alive
        return tuple(sorted({*slots}))

    def _run(self, slots: tuple[int, ...], candidates: Sequence[int]) -> None:
        """Compute the live outputs; after an interrupt, finish the rest.

        Giving up would lose weights whose buffers were donated to the program.
        """
        try:
            if slots and self.program:
                self._run_program(slots, candidates)
        except Exception as error:
            self.fall_back(error)
            self._clear()
            raise
        self._clear()

    def _clear(self) -> None:
        self.program, self.scalars, self.leaves, self.sources = (), [], [], {}
        self.references, self.before, self.arrays, self.results = [], {}, None, []

    def _run_program(self, slots: tuple[int, ...], candidates: Sequence[int]) -> None:
        """Run the program and set the arrays of live outputs."""
        if self.arrays is None:
            self.arrays = self._inputs(slots, candidates)
        slots, donated, arrays = self.arrays
        if not slots:
            return
        try:
            if not self.results:
                self._call(slots, donated, arrays)
            if self.alone or timeline.on:
                # Python code may fail only now; a row of the timeline ends with the device's work.
                jax.block_until_ready(self.results)
        except Exception as error:
            for i in donated:  # restore what the program has not consumed
                if not self.leaves[i].is_computed() and not is_deleted(arrays[i]):
                    self.leaves[i].array = arrays[i]
            explained_error = explained(error)
            if isinstance(explained_error, Exception):
                explained_error = explained_shortage(explained_error, self.context, self.source)
            raise explained_error from explained_error.__cause__
        (results,) = self.results
        if logs:
            note_results(self, slots, results, [arrays[i] for i in donated])
        self.fill(slots, results)

    def _inputs(
        self, slots: tuple[int, ...], candidates: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...], list[Any]]:
        """The live slots, the leaves to donate, and the arrays of all leaves."""
        in_order, donated = reused(self.leaves, self.program, slots, candidates)
        arrays = []
        for value in self.leaves:
            known = value.array if type(value) is Value else content(value)
            if known is None:
                break
            arrays.append(known)
        else:
            return in_order, donated, arrays
        if self._has_failed_leaves():
            slots = self._give_up_failed(slots)
            return slots, (), [value.array for value in self.leaves]
        in_order, donated = reused(self.leaves, self.program, slots, candidates)
        return in_order, donated, [content(value) for value in self.leaves]

    def _has_failed_leaves(self) -> bool:
        """Whether a leaf has no array, not even a previous one."""
        failed = False
        for leaf in self.leaves:  # each of them gets its previous array back, so no early return
            if not leaf.is_computed() and not restored(leaf):
                failed = True
        return failed

    def fill(self, slots: Sequence[int], results: Sequence[Any]) -> None:
        """Set the arrays of live outputs from the program's results for these slots."""
        first = results[0]
        if type(first) is not np.ndarray:
            in_flight.add(first.whole.array if type(first) is Shard else first)
        computed = {}
        for number, slot in enumerate(slots):
            computed[slot] = results[number]
        var = self.var
        with self.lock:  # an alias created meanwhile would stay without an array
            for reference in self.references:
                value = reference()
                if value is not None:
                    # In this order: a reader that sees no segment must see the array.
                    value.var = var
                    result = computed[value.slot]
                    kind = type(result)
                    if kind is np.ndarray:
                        become_host(value, result)
                    elif kind is Shard:
                        become_shard(value, result)
                    else:
                        value.array = result
                    value.segment = None
            self.references = []

    def _call(self, slots: tuple[int, ...], donated: tuple[int, ...], arrays: list[Any]) -> None:
        """Run the program; its results are in ``results`` even if an interrupt occurs."""
        for i in donated:  # from here on, only the program holds these buffers
            self.leaves[i].array = None
        counts = len(self.leaves), len(self.scalars)
        key = (self.program, slots, donated, self.context, counts)
        program = executable(key, self)
        cache, call = program.numbers, program.call  # in this order: see ``set_call``
        if not isinstance(call, Interpreter) and np.ndarray in {*map(type, arrays)}:
            arrays[:] = [
                moved(value, array) if type(array) is np.ndarray else array
                for value, array in zip(self.leaves, arrays, strict=True)
            ]
        numbers = None if cache is None else cache.array_of(self.scalars, self.context)
        scalars = np.array(self.scalars, np.float64) if numbers is None else numbers
        arguments = (scalars, *arrays)
        # JAX's arrays keep their 64-bit types, and NumPy has no other. Operators in Python get the scope.
        if numbers is not None or (isinstance(call, Interpreter) and not self.alone):
            seconds = self._timed(call, arguments)
        else:
            with jax.enable_x64(True):
                seconds = self._timed(call, arguments)
        if seconds > LONG if self.brief else seconds < BRIEF:
            note_seconds(self.program, seconds, self.context)
        if timeline.on:
            timeline.note(how_it_runs(key))
        if donated and not isinstance(call, (Interpreter, OnDevice)):
            count("donated_bytes", sum([self.leaves[i].spec.nbytes for i in donated]))

    def _timed(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
        """Call a program; returns the seconds."""
        start = perf_counter()
        self.results.extend(starmap(call, (arguments,)))  # one call in C: see ``bare_call``
        return perf_counter() - start

    def _give_up_failed(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        """Propagate the errors of failed leaves to dependent outputs; returns the remaining slots.

        Operations that were recorded beside them but do not depend on them still run.
        """
        errors: dict[int, BaseException] = {}  # slot -> the error that it inherits
        failed_leaves: dict[int, Value] = {}
        for i, value in enumerate(self.leaves):
            if value.array is None:
                errors[-1 - i] = error_of(value)
                failed_leaves[-1 - i] = value
                spec = value.spec  # a placeholder; no remaining output depends on it
                with jax.enable_x64(True):  # no program of JAX: a forked process cannot run one
                    self.leaves[i] = Value(
                        spec, handed_over(np.zeros(spec.shape, spec.dtype), spec)
                    )
        slot = 0
        for call, *places in self.program:
            failed = next((errors[place] for place in places if place in errors), None)
            for _ in call.outputs:
                if failed is not None:
                    errors[slot] = failed
                slot += 1
        valid = {slot for slot in slots if slot not in errors}
        with self.lock:
            pending, self.references = self.references, []
            for reference in pending:
                output = reference()
                if output is not None and output.slot in errors:
                    place = self._place_before(output.slot, errors)
                    before = None
                    if place in failed_leaves:
                        below = failed_leaves[place].segment
                        before = below.before if isinstance(below, Failed) else None
                    elif place < 0:
                        before = self.leaves[-1 - place]
                    elif place not in errors:
                        before = Value(output.spec, None, self, place)
                        self.references.append(weakref.ref(before))
                        valid.add(place)
                    Failed(errors[output.slot], output, before)
                else:
                    self.references.append(reference)
        return tuple(sorted(valid))

    def _place_before(self, slot: int, failed: Collection[int]) -> int:
        """The slot of the last value of an output's holder that has not failed."""
        while slot in failed and slot in self.before:
            slot = self.before[slot]
        return slot

    def fall_back(self, error: Exception) -> None:
        """After a failure of the program: restore the previous values."""
        with self.lock:
            failed = range(sum(len(call.outputs) for call, *_ in self.program))
            for reference in self.references:
                output = reference()
                if output is not None and output.segment is self:
                    place = self._place_before(output.slot, failed)
                    before = self.leaves[-1 - place] if place < 0 else None
                    Failed(error, output, before)
            self.references = []

    def pending_graph(self, slots: tuple[int, ...]) -> tuple[Graph, list[Value]]:
        """The operations recorded so far as a graph with these heads, and the leaves, its inputs."""
        with self.lock:
            if not self.finished:
                self.read_entries()
            return self.graph(slots), self.leaves

    def pending_values(self, only_new: bool) -> Iterable[Value]:
        """The values of arrays that it has to compute.

        Args:
            only_new: only those that no earlier call has found.
        """
        entries, aliases, references = self.entries, self.aliases, self.references
        starts = self.visited if only_new else (0, 0, 0)
        self.visited = len(entries), len(aliases), len(references)
        outputs = chain.from_iterable(map(_OUTPUTS, entries[starts[0] :]))
        return filter(
            None, map(called, chain(outputs, aliases[starts[1] :], references[starts[2] :]))
        )

    def graph(self, slots: tuple[int, ...] | None = None) -> Graph:
        """The operations that ``read_entries`` has read as a graph, with the live outputs as heads."""
        if slots is None:
            slots = self.alive()
        leaves = [Node(None, name=f"leaf{i}") for i in range(len(self.leaves))]
        entries: list[Entry] = []
        scalars = 0
        for number, item in enumerate(self.program):
            call, *places = item
            inputs = tuple(entries[s] if s >= 0 else Entry(leaves[-1 - s]) for s in places)
            needed = call.num_scalars
            numbers = tuple(ScalarSlot(scalars + k) for k in range(needed))
            scalars += needed
            node = Node(
                call.op, call.statics, numbers, inputs, f"{call.op.name.strip('_')}{number}"
            )
            source = self.sources.get(number)  # only recorded if lines are asked for
            if source is not None:
                node.source = source
            entries += [Entry(node, k) for k in range(len(call.outputs))]
        return Graph(tuple(entries[s] for s in slots), tuple(leaves))
