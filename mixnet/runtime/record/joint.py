"""Joint programs over several devices: their pending operations, the sums over all, and the operations
after them.

Devices that train on parts of a batch record the same operations, each in its own segment.
``JointStep.sums`` adds sums over the devices to these segments, ``JointStep.follow`` repeats on the other
devices the operations that the first one records afterwards, and ``JointStep.run`` pushes all of them to
the engine as one XLA program over a mesh of the devices: nothing waits in between, and XLA sees backward,
sums and updates together.
"""

from __future__ import annotations

import sys
import threading
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.sharding import NamedSharding, PartitionSpec

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.timeline import timeline
from mixnet.engine.variable import Var
from mixnet.ops.operator import Operator
from mixnet.ops.schema.over_devices import Exchange
from mixnet.ops.tracing.traced import Known
from mixnet.private_jax.arrays import assembled, parts_of
from mixnet.process.interrupt import Deferred
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.compile.program_key import ProgramKey
from mixnet.runtime.devices.collective import (
    _sharding,
    _sum,
    broadcast,
    exchange_variables,
    last_exchange,
)
from mixnet.runtime.devices.shard_value import Shard, Sharded, ShardValue
from mixnet.runtime.programs.donation import reusing, unheld
from mixnet.runtime.programs.executable_cache import Source, graph_of, joint_programs
from mixnet.runtime.record.record import open_segment, record
from mixnet.runtime.record.segment import Segment
from mixnet.runtime.value.call import MOST_CALLS, Call, make_call
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.later import push_in_turn
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics


class SumsOver(Operator):
    """The operator that sums each of its inputs over all devices of a team; it occurs only in joint programs.

    Args:
        exchange: computes the sums, with collectives along ``AXIS``.
    """

    name = "sums_over_devices"

    def __init__(self, exchange: Exchange):
        super().__init__()
        self.exchange = exchange

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """One output for each input."""
        return int(statics[0])

    def output_specs(self, statics: Statics, inputs: Sequence[Known]) -> list[Known]:
        """The specs of the inputs."""
        return list(inputs)

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """The sums."""
        return tuple(self.exchange(arrays))


class Team:
    """Devices that run joint programs together; here those of one process.

    Args:
        contexts: contexts of this process, each on another device.
    """

    donates = True  # whether a program may take over buffers of its inputs
    divides_later = True  # results are divided among the devices when they are read

    def __init__(self, contexts: Sequence[Context]):
        self.contexts = tuple(contexts)
        self.devices = tuple(context.device for context in contexts)
        self.sharding: NamedSharding = _sharding(self.devices)
        self.size = len(contexts)  # devices of all processes
        self.sums = SumsOver(_sum)

    def whole(self, struct: jax.ShapeDtypeStruct, parts: list[Any]) -> Any:
        """The global array with these local parts."""
        return _assembled(struct, parts)

    def parts(self, whole: Any, spec: Spec) -> list[Any]:
        """The local parts of an array, in the order of devices.

        Args:
            whole: the array; it has one axis if the parts have none.
            spec: the spec of a part.
        """
        parts = parts_of(whole)
        # A compiled function: `part.reshape(())` takes four times as long.
        return parts if spec.shape else [_without_axes(part) for part in parts]

    def call(self, program: Callable[..., Any], scalars: object, wholes: list[Any]) -> list[Any]:
        """Run a program; the results may be computed later."""
        if not exchange_variables(self.devices):
            return list(program(scalars, *wholes))
        last_exchange.wait()
        results = program(scalars, *wholes)
        last_exchange.note(results)
        return list(results)

    def start(
        self, run: Callable[[], None], reads: Sequence[Var], writes: Sequence[Var], name: str
    ) -> None:
        """Run a task with a joint program: in this thread if all its inputs are available, since XLA does
        not block.

        Otherwise the engine runs it later.
        """
        engine, turns = current.engine, exchange_variables(self.devices)
        if not reads:
            engine.run_quietly(
                engine.claim(run, (), (*writes, *turns), "communication", name=name, resumable=True)
            )
            return
        push_in_turn(run, reads, writes, turns, "communication", 0, name)

    def fail(self, error: BaseException) -> None:
        """Record that an input of a program could not be computed."""


class JointStep:
    """The segments of all devices of a team, from the sums until they are pushed.

    Args:
        team: the devices.
    """

    def __init__(self, team: Team):
        self.team = team
        self.segments = [open_segment(context) for context in team.contexts]
        if not _are_alike(self.segments):  # pending operations run separately on each device
            for segment in self.segments:
                segment.finish("devices that differ", wait=False)
            self.segments = [open_segment(context) for context in team.contexts]
        self._handed_over = threading.Event()
        self._owner = threading.get_ident()
        self._before: list[int] = []  # how many entries the segments had before the sums
        self.is_complete = False

    def _mx_changing(self) -> list[dict[str, Any]]:
        return [vars(self)]

    # ---- recording ------------------------------------------------------------------------------

    def sums(self, rows: Sequence[Sequence[Value]]) -> list[Value] | None:
        """Record the sums over all devices; returns the sum of each row on the first device.

        Args:
            rows: values of one shape and dtype, one for each device.

        Returns:
            None if something else was recorded on a device in the meantime; then the sums are discarded.
        """
        self._before = [len(segment.entries) for segment in self.segments]
        for segment in self.segments:
            segment.joint = self
        totals = []
        for values in zip(*rows, strict=True):
            totals.append(record(self.team.sums, (len(rows),), (), tuple(values)))
        # A finalizer may have recorded something in between, so that the sums have different slots.
        if all(
            len(segment.entries) == number + 1
            for segment, number in zip(self.segments, self._before, strict=True)
        ):
            self._followed = len(self.segments[0].entries)
            return totals[0]
        self.leave()
        return None

    def leave(self) -> None:
        """Retract the sums and everything recorded since; nobody may have read it."""
        for segment, number in zip(self.segments, self._before, strict=False):
            segment.retract(number)
            segment.joint = None
        self._handed_over.set()

    def follow(self, followers: weakref.WeakKeyDictionary[Value, list[Value]]) -> None:
        """Repeat the operations that the first device has recorded since the sums on the other devices.

        Args:
            followers: for values of the first device, their copies on the others. Values without copies
                get them; newly recorded values are added.
        """
        first, *others = self.segments
        entries = first.entries[self._followed :]
        leaves = list(first.leaf_slots)
        known = len(others[0].leaf_slots) if others else 0
        read = sorted({slot for item, *_ in entries for slot in item[1:] if slot < 0}, reverse=True)
        missing = [slot for slot in read if leaves[-1 - slot] not in followers and slot < -known]
        contexts = list(self.team.contexts[1:])
        # A value read for the first time, such as a state, is copied to the others.
        copies = broadcast([leaves[-1 - slot] for slot in missing], [contexts for _ in missing])
        for slot, row in zip(missing, copies, strict=True):
            followers[leaves[-1 - slot]] = row
        alive = {
            value.slot: value for *_, references in entries for r in references if (value := r())
        }
        copies_of: dict[Value, list[Value]] = {value: [] for value in alive.values()}
        for place, segment in enumerate(others):
            for slot in range(-1 - known, -1 - len(leaves), -1):
                copies_of_leaf = followers.get(leaves[-1 - slot])
                if copies_of_leaf is None or segment.leaf(copies_of_leaf[place]) != slot:
                    raise MXNetError(  # see are_followed
                        "A step over several devices: they read different arrays where the first device "
                        "reads parameters and states. Update all devices alike, or set "
                        "MIXNET_JOINT_STEP_AFTER=0."
                    )
            for item, end, scalars, _ in entries:
                call = _on(item[0], segment.context)
                outputs = [
                    Value(spec, None, segment, slot)
                    for slot, spec in enumerate(call.outputs, end - len(call.outputs))
                ]
                segment.entries.append(
                    ((call, *item[1:]), end, scalars, [weakref.ref(each) for each in outputs])
                )
                for output in outputs:
                    if output.slot in alive:
                        copies_of[alive[output.slot]].append(output)
        followers.update(copies_of)

    def are_followed(
        self, values: Sequence[Value], followers: weakref.WeakKeyDictionary[Value, list[Value]]
    ) -> bool:
        """Whether values of the first device have copies on the others, which are read in the same slots."""
        for value in values:
            row = followers.get(value)
            if row is None:
                return False
            slot = self.segments[0].leaf_slots.get(value)
            for copy, segment in zip(row, self.segments[1:], strict=True):
                if segment.leaf_slots.get(copy) != slot:
                    return False
        return True

    # ---- running --------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wait until the segments are pushed; for other threads that need one of their values.

        Raises:
            MXNetError: this is the thread that must push them.
        """
        if threading.get_ident() == self._owner:
            raise MXNetError(
                "A value was read while a step over several devices is being recorded. Set "
                "MIXNET_JOINT_STEP_AFTER=0, or give the Trainer update_on_kvstore=False."
            )
        self._handed_over.wait()

    def run(self, work: Callable[[], bool]) -> bool:
        """Record a step and push it.

        Args:
            work: records the step, sums first, and sets ``is_complete`` once arrays hold its results. If it
                fails, everything it recorded is retracted. It returns False if there are no sums.
        """
        try:
            if not work():
                return False
            self._hand_over()
            return True
        except BaseException:
            if self.is_complete:
                with Deferred():
                    self._hand_over()
            else:
                self.leave()
            raise

    def _hand_over(self) -> None:
        """Push the segments to the engine, unless that has been done."""
        var = self.segments[0].var
        try:
            if not self._handed_over.is_set() and (var is None or not var.pushed):
                self._push()
        except Exception:
            self._close()
            raise
        self._close()

    def _close(self) -> None:
        for segment in self.segments:
            with segment.lock:
                segment._close()
        self._handed_over.set()

    def _push(self) -> None:
        segments = self.segments
        if len({len(segment.entries) for segment in segments}) > 1:
            raise MXNetError(
                "A step over several devices: they have recorded different numbers of operations. Record "
                "the same ones on all devices, or set MIXNET_JOINT_STEP_AFTER=0."
            )
        count("flush:step over devices")
        reads: list[Var] = []
        name, first = f"step over {self.team.size} devices", None
        for segment in segments:
            reads += segment.close_jointly(name, first)
            first = segments[0]
        slots = tuple(sorted(set().union(*[segment.alive() for segment in segments])))
        candidates = set.intersection(*[set(unheld(segment.leaves)) for segment in segments])
        self.team.start(
            partial(self._run, slots, sorted(candidates)),
            list(dict.fromkeys(reads)),
            [segment.var for segment in segments if segment.var is not None],
            segments[0].var.name if segments[0].var is not None else "",
        )

    def _run(self, slots: tuple[int, ...], candidates: Sequence[int]) -> None:
        segments = self.segments
        try:
            try:
                for segment in segments:
                    segment.check_leaves()
            except Exception as error:
                self.team.fail(error)
                raise
            rows = list(zip(*[segment.leaves for segment in segments], strict=True))
            wholes = [_whole(row) for row in rows]
            if self.team.donates:
                # One program for all: it donates only leaves that every segment would, in the same slots.
                free = tuple([i for i in candidates if _is_free(rows[i], wholes[i])])
                slots, donated = reusing(segments[0].leaves, segments[0].program, slots, free)
            else:
                donated = ()
            inputs = [
                [value.array for value in row] if whole is None else whole.array
                for row, whole in zip(rows, wholes, strict=True)
            ]
            for i in donated:  # the program is the last to hold these buffers
                for value in rows[i]:
                    value.array = None
            program = _program(self.team, segments[0], slots, donated)
            results = program(self.team, segments[0].scalars, inputs)
            for place, segment in enumerate(segments):
                segment.fill(slots, [_part(each, place) for each in results])
        except Exception as error:
            for segment in segments:
                segment.fall_back(error)
            raise
        finally:
            for segment in segments:
                segment._clear()


def _whole(row: Sequence[Value]) -> Sharded | None:
    """The array whose shards the values are, in the order of devices; None if they are not."""
    first = row[0]
    whole = first.whole if type(first) is ShardValue else None
    if whole is None:
        return None
    for place, value in enumerate(row):
        if type(value) is not ShardValue or not value.is_shard(whole, place):
            return None
    return whole


def _part(result: Sharded | list[Any], place: int) -> Any:
    """The part of a result that one device has."""
    return Shard(result, place) if isinstance(result, Sharded) else result[place]


def _is_free(row: Sequence[Value], whole: Sharded | None) -> bool:
    """Whether the program may reuse the buffers: only values hold them, which only their segments hold."""
    if whole is not None:
        return whole.is_held_by(len(row) + 2)  # the variables of this function and of its caller
    # Another value, or another library, may hold a buffer.
    return all(sys.getrefcount(value.array) <= 2 for value in row)


@jax.jit
def _without_axes(part: Any) -> Any:
    return part.reshape(())


def _assembled(struct: jax.ShapeDtypeStruct, parts: list[Any]) -> Any:
    """A sharded array from its parts, without checks.

    JAX's public function looks at every part again, which takes longer than a small program.
    """
    try:
        aval = _avals.get(struct)
        if aval is None:
            aval = _avals[struct] = ShapedArray(struct.shape, struct.dtype)
        return _make(aval, struct.sharding, parts)
    except TypeError:  # another version of JAX
        return jax.make_array_from_single_device_arrays(struct.shape, struct.sharding, parts)


_make: Any = assembled()
_avals: dict[Any, Any] = {}


def _are_alike(segments: Sequence[Segment]) -> bool:
    """Whether segments of different devices have recorded the same operations."""
    # Calls are interned, so equality is identity once a call is mapped to the other device; the
    # table is read first, since this runs at every step.
    first, *others = segments
    for other in others:
        if len(other.entries) != len(first.entries) or len(other.leaf_slots) != len(
            first.leaf_slots
        ):
            return False
        twins = _twins[other.context]
        for (item, _, numbers, _), (item2, _, numbers2, _) in zip(
            first.entries, other.entries, strict=True
        ):
            call = item[0]
            if twins.get(call) is not item2[0] and _on(call, other.context) is not item2[0]:
                return False
            if item[1:] != item2[1:] or numbers != numbers2:
                return False
    return True


def _on(call: Call, context: Context) -> Call:
    """The call with the same operator, attributes and shapes on another context."""
    if call.context is context:
        return call
    twins = _twins[context]
    twin = twins.get(call)
    if twin is None:
        specs = tuple([Spec.of(spec.shape, spec.dtype, context) for spec in call.specs])
        where = None if specs else context
        twin = call.op.calls.get((call.statics, specs, where))
        if twin is None:
            twin = make_call(call.op, call.statics, specs, call.num_scalars, where)
        if len(twins) >= MOST_CALLS:
            twins.clear()
        twins[call] = twin
    return twin


_twins: defaultdict[Context, dict[Call, Call]] = defaultdict(dict)


class _Program:
    """A compiled joint program, with the shapes of its inputs and outputs."""

    def __init__(
        self, team: Team, segment: Segment, slots: tuple[int, ...], donated: tuple[int, ...]
    ):
        counts = len(segment.leaves), len(segment.scalars)
        key = ProgramKey(segment.program, slots, donated, segment.context, counts)
        source = Source(key, segment)
        # Hot from the start: a step that is worth several devices runs often.
        graph = graph_of(source, hot=True)
        run = lower(graph)
        shapes = [spec.shape for spec in source.specs]

        def shard(scalars: Sequence[Any], *arrays: jax.Array) -> tuple[Any, ...]:
            # Arrays without axes cannot be sharded: they are passed as arrays of one element.
            reshaped = [each.reshape(shape) for each, shape in zip(arrays, shapes, strict=True)]
            return tuple(each.reshape(each.shape or (1,)) for each in run(reshaped, scalars))

        size, sharding = team.size, team.sharding
        everywhere = PartitionSpec()
        mapped = jax.shard_map(
            shard,
            mesh=sharding.mesh,
            in_specs=(everywhere, *[sharding.spec] * len(shapes)),
            out_specs=sharding.spec,
            check_vma=False,
        )
        self.scalar_sharding = NamedSharding(sharding.mesh, everywhere)
        numbers = jax.ShapeDtypeStruct(
            (counts[1],), np.dtype("float64"), sharding=self.scalar_sharding
        )
        self.structs = []
        for spec in source.specs:
            first, *rest = spec.shape or (1,)
            self.structs.append(
                jax.ShapeDtypeStruct((size * first, *rest), spec.dtype, sharding=sharding)
            )
        self.specs = _specs(segment, slots)
        self.without_axes = [not shape for shape in shapes]
        count("programs_compiled")
        with jax.enable_x64(True):
            self.call = joint_programs.compile(
                mapped, [numbers, *self.structs], donated, graph, segment.context.device.platform
            )
        self._scalars: tuple[bytes, Any] | None = None

    def __call__(self, team: Team, scalars: Sequence[float], inputs: list[Any]) -> list[Any]:
        """The results: for each a list of its shards, or an array from which they are created later.

        Args:
            team: the devices.
            scalars: the numbers.
            inputs: for each leaf a list of its arrays on the devices, or one array over all devices.
        """
        with jax.enable_x64(True):
            wholes = []
            for struct, parts, without_axes in zip(
                self.structs, inputs, self.without_axes, strict=True
            ):
                if type(parts) is not list:
                    wholes.append(parts)
                    continue
                if without_axes:
                    parts = [part.reshape(1) for part in parts]
                wholes.append(team.whole(struct, parts))
            inputs.clear()
            results = team.call(self.call, self._numbers(scalars), wholes)
            outputs: list[Any] = []
            for spec, whole in zip(self.specs, results, strict=True):
                # Results without axes have to be computed, which a forked process cannot do.
                if team.divides_later and spec.shape:
                    outputs.append(Sharded(whole, parts_of))
                else:
                    outputs.append(team.parts(whole, spec))
        return outputs

    def _numbers(self, scalars: Sequence[float]) -> Any:
        """The numbers on all devices; they seldom change from step to step."""
        key = array("d", scalars).tobytes()  # bit by bit: programs distinguish 0 and -0
        if self._scalars is None or self._scalars[0] != key:
            data = np.array(scalars, np.float64)
            on_mesh = jax.make_array_from_callback(data.shape, self.scalar_sharding, lambda _: data)
            self._scalars = key, on_mesh
        return self._scalars[1]


def _specs(segment: Segment, slots: Sequence[int]) -> list[Spec]:
    outputs = [spec for item in segment.program for spec in item[0].outputs]
    return [outputs[slot] for slot in slots]


def _program(
    team: Team, segment: Segment, slots: tuple[int, ...], donated: tuple[int, ...]
) -> _Program:
    key = (segment.program, slots, donated, team.contexts, team.size)
    program = joint_programs.known.get(key)
    if program is None:
        program = joint_programs.known[key] = _Program(team, segment, slots, donated)
    else:
        count("cache_hits", operations=len(segment.program))
    return program


def can_be_joint(contexts: Sequence[Context]) -> bool:
    """Whether this thread's operations on these contexts may become one program."""
    devices = {context.device for context in contexts}
    return (
        len(devices) == len(contexts)
        and len({context.device_typeid for context in contexts}) == 1
        and state.trace is None
        and state.isolation is None
        and not current.naive
        and not timeline.on
    )
