"""The cache of compiled programs by structure: equal segments are compiled once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Protocol

import jax

from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.ops.lowering.convolution import CONVOLUTION
from mixnet.ops.tracing import trace_cache
from mixnet.ops.tracing.tensor_cores import products_for
from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.private_jax.programs import bare_call, is_bare_call
from mixnet.process.collector import collector_paused
from mixnet.runtime.compile import background, disk_cache
from mixnet.runtime.compile import watch as compile_watch
from mixnet.runtime.compile.ahead import check_threads, compile_for, forgetters, make_room
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.compile.options import (
    can_be_written,
    compiler_options,
    joint_options,
    quick_options,
)
from mixnet.runtime.compile.program_key import ProgramKey, drop_operations
from mixnet.runtime.devices.host_memory import keep_freed_memory, return_freed_memory
from mixnet.runtime.interpret import patience, runner
from mixnet.runtime.interpret.interpreter import Interpreter
from mixnet.runtime.interpret.on_device import OnDevice, submit
from mixnet.runtime.programs import donation, first_sight, prepared
from mixnet.runtime.programs.decision import Decision, decided
from mixnet.runtime.programs.numbers_on_device import NumbersOnDevice
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.value import Spec, Value

HOT_RUNS = 50
"""The runs after which a program with convolutions may call oneDNN, so that it cannot be stored on disk."""


QUICK_RUNS = 1000
"""The runs of a quickly compiled program before another thread compiles it for speed.

That takes 10 s of many cores, and a process that ends must wait for it.
"""

MOST_PROGRAMS = 3000
"""The most programs in the cache; beyond that, the older half is dropped."""


class Recorded(Protocol):
    """The recorded operations that become a program: a segment that has not run yet."""

    leaves: list[Value]
    scalars: list[float]
    source: str | None

    def graph(self, slots: tuple[int, ...]) -> Graph:
        """Its operations, with these slots as heads."""


class Program:
    """A program in the cache, which may be replaced after some runs.

    ``numbers`` keeps scalars on the device if ``call`` is a compiled program without Python around it.

    Args:
        call: ``(scalars, *arrays) -> live outputs``.
        runs: the runs until it is replaced; 0: never.
        change: replaces it; called with the program, its key and a segment.
        decision: how it runs, and what decided that.
    """

    __slots__ = ("call", "change", "decision", "numbers", "runs")
    call: Callable[..., Any]
    numbers: NumbersOnDevice | None

    def __init__(
        self,
        call: Any,
        runs: int = 0,
        change: Change | None = None,
        decision: Decision | None = None,
    ):
        self.runs, self.change, self.decision = runs, change, decision
        self.numbers = None
        self.set_call(call)

    def set_call(self, call: Any) -> None:
        """Run ``call`` from now on."""
        # In this order: a thread that sees the numbers, which it reads first, must see the call.
        self.call = call
        self.numbers = NumbersOnDevice() if is_bare_call(call) else None


Change = Callable[[Program, ProgramKey, Recorded], None]
Compiled = tuple[Callable[..., Any], int, Change | None]

trace_cache.use(disk_cache.use())
_programs: dict[ProgramKey, Program] = {}
# The first parts of programs that were split in two.
_preparations: dict[Any, prepared.Preparation] = {}
_prepared: set[Any] = set()  # segments whose parts are, or will be, compiled before they run


def executable(key: tuple[Any, ...], segment: Recorded) -> Program:
    """The program of a segment, compiled or interpreted.

    Args:
        key: the items of a :class:`ProgramKey`.
        segment: provides the graph if the key is new.
    """
    # No lock: a dictionary is safe to share, and if two threads make the same program, either will do.
    program: Program | None = _programs.get(key)  # type: ignore[call-overload]  # an equal tuple
    if program is not None:
        count("cache_hits", operations=len(key[0]))
        if program.change is not None:
            # Threads may lose a count, which delays the change by a run; a lock would slow down every run.
            program.runs -= 1
            if program.runs <= 0 or _is_outdated(program):
                _change(program, ProgramKey(*key), segment)
        return program
    return _new_executable(ProgramKey(*key), segment)


def _new_executable(key: ProgramKey, segment: Recorded) -> Program:
    """The program of a segment that is new to the cache."""
    operations, slots, _, context, _ = key
    count("operations", len(operations))
    if context.device.platform == "cpu":
        keep_freed_memory()
    interpreter = None
    # An operation that runs Python is the only one in its segment.
    may_be_python = operations[0][0].alone
    if patience.interprets() or may_be_python:
        specs = [value.spec for value in segment.leaves]
        with collector_paused():
            interpreter = Interpreter(operations, slots, specs, context)
        if not (patience.interprets() or interpreter.is_python):
            interpreter = None
    first = _first(len(operations), interpreter)
    if first.way == "interpreted":
        program = Program(interpreter, first.runs, _compile_behind if first.runs else None, first)
    elif first.because == "away":
        assert interpreter is not None
        program = Program(OnDevice(interpreter, context), first.runs, _compile_behind, first)
    elif first_sight.runs_by_operator(key, operations):
        decided(segment.source, _by_operator(len(operations)))
        return Program(first_sight.stepwise(operations, slots))
    else:
        program = Program(None, decision=first)
        _compile_at_once(program, key, segment)
    decided(segment.source, first)
    if len(_programs) >= MOST_PROGRAMS:
        forget_older_half()
        gc.collect()
    _programs[key] = program
    return program


def prepare(
    operations: Sequence[tuple[Any, ...]],
    slots: tuple[int, ...],
    specs: Sequence[Spec],
    context: Context,
) -> None:
    """Start to compile a GPU's segment before its inputs are computed, if it will run in parts.

    Otherwise, a network whose layers are separate segments would compile them one after another.

    Args:
        operations: the operations of the segment.
        slots: its live outputs.
        specs: the specs of its inputs.
        context: where it will run.
    """
    key = operations, slots, context
    if key in _prepared or not patience.interprets():
        return
    if len(_prepared) >= MOST_PROGRAMS:
        _prepared.clear()
    _prepared.add(key)

    def begin() -> None:
        with suppress(Exception):  # raised where the segment runs
            interpreter = Interpreter(operations, slots, specs, context)
            if _first(len(operations), interpreter).way == "in parts":
                OnDevice(interpreter, context).compile()

    submit(begin)


def _first(operations: int, interpreter: Interpreter | None) -> Decision:
    """The decision for the first run of a new program."""
    if interpreter is None:
        return Decision("compiled", "setting", operations)
    if interpreter.is_python:
        return Decision("interpreted", "python", len(interpreter))
    if patience.is_only_way:
        return Decision("interpreted", "forked", len(interpreter))
    cost = interpreter.cost
    runs = patience.interpreted_runs(cost)
    if runs:
        return Decision("interpreted", "worth", len(interpreter), cost.work, cost.compiling, runs)
    if cost.is_away:
        runs = patience.RUNS_ON_DEVICE
        return Decision("in parts", "away", len(interpreter), cost.work, cost.compiling, runs)
    return Decision("compiled", "slow", len(interpreter), cost.work, cost.compiling)


def _by_operator(operations: int) -> Decision:
    return Decision("by operator", "worth", operations)


def how_it_runs(key: tuple[Any, ...]) -> Decision:
    """The decision for a segment that has just run; see :func:`executable` for the key."""
    program = _programs.get(key)  # type: ignore[call-overload]  # an equal tuple
    known = None if program is None else program.decision
    return known or _by_operator(len(key[0]))


def _is_outdated(program: Program) -> bool:
    """Whether a program is interpreted although the settings now ask for compiled programs."""
    return not patience.interprets() and isinstance(program.call, Interpreter | OnDevice)


def _change(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Replace the program, in one of the threads that run it."""
    # Removed before the call: of several threads that get here, only one compiles.
    change, program.change = program.change, None
    if change is None:
        return
    try:
        change(program, key, segment)
    except BaseException:  # an interrupt: the next run does it
        program.change = change
        raise


def _compile_behind(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Compile on another thread, and switch to the compiled program some runs later."""
    before = program.decision
    assert before is not None
    if not patience.interprets():
        _compile_whole(program, key, segment)
        program.decision = decided(segment.source, _first(len(key.operations), None))
        return
    assert isinstance(program.call, Interpreter | OnDevice)
    cost = program.call.cost
    # The segment drops its graph after its run, maybe before the other thread starts.
    source = Source(key, segment)
    future = background.submit(partial(_compiled, source, cost.is_away))

    def take_over(program: Program, key: ProgramKey, segment: Recorded) -> None:
        _set_compiled(program, key, segment, future.result)
        background.submit(return_freed_memory)
        program.decision = decided(segment.source, before._replace(way="compiled", because=because))

    because = "away" if before.because == "away" else "runs"
    program.decision = before._replace(way="compiling", because=because)
    if cost.is_away:
        _change_when_ready(program, future, take_over)
    else:
        program.runs = patience.runs_meanwhile(cost)
        program.change = take_over


def _change_when_ready(program: Program, future: Future[Compiled], take_over: Change) -> None:
    """Replace a program at its first run after another thread has compiled the new one.

    That depends on timing, but so does XLA's choice of algorithms for GPUs: two runs of a script do not
    print the same bits there anyway, and waiting would take seconds.
    """

    def at_a_run(program: Program, key: ProgramKey, segment: Recorded) -> None:
        if future.done():
            take_over(program, key, segment)
        else:
            program.runs, program.change = 1, at_a_run

    program.runs, program.change = 1, at_a_run


def _compile_whole(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Compile in the foreground."""
    _set_compiled(program, key, segment, partial(_compiled, Source(key, segment)))


def _compile_at_once(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Compile in the foreground; if quickly, then later once more, for speed, in the background."""
    source = Source(key, segment)
    _set_compiled(program, key, segment, partial(_compiled, source, patience.interprets()))


def _compile_for_speed(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Compile a quickly compiled program for speed, on another thread."""
    future = background.submit(partial(_compiled, Source(key, segment)))

    def take_over(program: Program, key: ProgramKey, segment: Recorded) -> None:
        # Trying algorithms may exceed the device's memory; the present program is correct, too.
        if future.exception() is None:
            _set_compiled(program, key, segment, future.result)

    _change_when_ready(program, future, take_over)


def _set_compiled(
    program: Program,
    key: ProgramKey,
    segment: Recorded,
    compiled: Callable[[], Compiled],
) -> None:
    """Switch to the compiled program."""
    with compile_watch.reported(segment.source, key):
        call, program.runs, program.change = compiled()
        program.set_call(call)


def _heat(program: Program, key: ProgramKey, segment: Recorded) -> None:
    """Compile the program as a frequently run one, if that makes a difference, on another thread."""
    hot = partial(_hot, Source(key, segment))
    decision = program.decision
    if decision is None or not patience.interprets():
        _set_hot(program, key, segment, hot)
        return
    future = background.submit(hot)

    def result() -> Callable[..., Any] | None:
        # Where compiling failed, as for want of memory, the present program is correct, too.
        return None if future.exception() else future.result()

    def take_over(program: Program, key: ProgramKey, segment: Recorded) -> None:
        _set_hot(program, key, segment, result)

    program.runs = patience.compiled_runs_meanwhile(decision.work, decision.compiling)
    program.change = take_over


def _hot(source: Source) -> Callable[..., Any] | None:
    """A frequently run program, compiled; None if it would be the same as the present one."""
    graph = graph_of(source, hot=True)
    # A program that can be stored calls no oneDNN.
    return None if can_be_written(graph) else _compile(graph, source)


def _set_hot(
    program: Program,
    key: ProgramKey,
    segment: Recorded,
    hot: Callable[[], Callable[..., Any] | None],
) -> None:
    with compile_watch.reported(segment.source, key):
        call = hot()
    if call is not None:
        program.set_call(call)


class Source:
    """The source of a program, taken from a segment, which may be released before compilation.

    Args:
        key: the key of the program.
        segment: the segment, before it has run.
    """

    def __init__(self, key: ProgramKey, segment: Recorded):
        self.key = key
        self.graph: Graph = segment.graph(key.slots)
        self.specs = [value.spec for value in segment.leaves]
        self.scalars = len(segment.scalars)


def _compiled(source: Source, may_be_quick: bool = False) -> Compiled:
    """The program, the number of runs until it may be replaced, and the function that replaces it.

    Args:
        source: the recorded operations.
        may_be_quick: whether it may be compiled quickly first.
    """
    graph = graph_of(source)
    platform = source.key.context.device.platform
    options = quick_options(graph, platform) if may_be_quick else {}
    call = _compile(graph, source, options)
    if options:
        return call, QUICK_RUNS, _compile_for_speed
    if can_be_written(graph) and any(node.op is CONVOLUTION for node in graph.nodes):
        return call, HOT_RUNS, _heat
    return call, 0, None


def graph_of(source: Source, hot: bool = False) -> Graph:
    """The graph of a program, after all passes.

    Args:
        source: the recorded operations.
        hot: whether it runs often.
    """
    platform = source.key.context.device.platform
    specs = [(spec.shape, spec.dtype) for spec in source.specs]
    return pipeline.run(source.graph, "segment", Facts(platform, specs, hot))


def _compile(
    graph: Graph, source: Source, options: Mapping[str, str] | None = None
) -> Callable[..., Any]:
    donated, context = source.key.donated, source.key.context
    specs = source.specs
    # With donated buffers the graph is not split, because a single program must consume them.
    split = None if donated else prepared.cut(graph)
    if split is None:
        return _program(graph, source.scalars, specs, context, donated, options)
    input_specs = [specs[i] for i in split.places]
    first = lower(split.first)
    with jax.enable_x64(True):
        structs = jax.eval_shape(
            lambda *arrays: first(arrays, ()), *[s.struct for s in input_specs]
        )
    result_specs = [Spec.of(each.shape, each.dtype, context) for each in structs]
    # Not the key of the whole program: programs for other batch sizes read the same weights.
    which = split.key, tuple(input_specs)
    preparation = _preparations.get(which)
    if preparation is None:
        program = _program(split.first, 0, input_specs, context)
        preparation = _preparations.setdefault(which, prepared.Preparation(program))
    # This may make room for programs, and clear the cache of preparations.
    rest = _program(split.rest, source.scalars, [*specs, *result_specs], context, options=options)
    return prepared.Prepared(preparation, rest, split.places)


def _program(
    graph: Graph,
    scalars: int,
    specs: Sequence[Spec],
    context: Context,
    donated: Sequence[int] = (),
    options: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    run = lower(graph)

    def call(scalars: object, *arrays: object) -> list[Any]:
        return run(arrays, scalars)

    count("programs_compiled")
    options = {**compiler_options(graph, context.device.platform), **(options or {})}
    with nullcontext() if can_be_written(graph) else disk_cache.not_on_disk():
        return compile_for(call, scalars, specs, context, donated, options)


class JointPrograms:
    """Programs over several devices: see :mod:`mixnet.runtime.record.joint`."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    @staticmethod
    def compile(
        function: Callable[..., Any],
        structs: Sequence[Any],
        donated: Sequence[int],
        graph: Graph,
        platform: str,
    ) -> Callable[..., Any]:
        """Compile ``function(scalars, *arrays)`` for arrays sharded over devices.

        Args:
            function: a function over a mesh.
            structs: shapes, dtypes and shardings of the scalars and the arrays.
            donated: indices of the arrays whose buffers it may reuse.
            graph: the graph of each device.
            platform: the platform of the devices.
        """
        check_threads()
        make_room()
        jitted = jax.jit(
            function,
            donate_argnums=tuple(1 + i for i in donated),
            keep_unused=True,
            compiler_options=joint_options(graph, platform),
        )
        caching = nullcontext() if can_be_written(graph) else disk_cache.not_on_disk()
        with caching, products_for(platform):
            return bare_call(jitted.lower(*structs).compile())


joint_programs = JointPrograms()


def forget_older_half() -> None:
    """Drop the older half of the programs; they can be reloaded from disk."""
    joint_programs.known.clear()
    for key in list(_programs.copy())[: len(_programs) // 2]:
        _programs.pop(key, None)
    _clear_preparations()
    runner.clear()


def _clear_preparations() -> None:
    drop_operations()
    _preparations.clear()
    _prepared.clear()
    first_sight.clear()
    donation.clear()


forgetters.append(forget_older_half)


def is_compiled(key: tuple[Any, ...]) -> bool:
    """Whether there is a compiled program, with whatever donations.

    Args:
        key: ``(program, live slots, context)``.
    """
    programs = _programs.copy()  # a copy, since a finalizer may run a program during the loop
    return any(
        (each.operations, each.slots, each.context) == key
        and not isinstance(program.call, Interpreter | OnDevice)
        for each, program in programs.items()
    )


def set_aside() -> dict[ProgramKey, Program]:
    """Forget the programs without destroying them: the caller holds them."""
    global _programs
    programs, _programs = _programs, {}
    return programs


def clear() -> None:
    """Drop all compiled programs."""
    joint_programs.known.clear()
    _programs.clear()
    _clear_preparations()
