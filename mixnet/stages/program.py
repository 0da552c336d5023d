"""From a recorded segment to the compiled program: texts, times, groups and links."""

from __future__ import annotations

import contextlib
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Node
from mixnet.passes.changes import changes
from mixnet.passes.facts import Known
from mixnet.private_jax.jaxprs import Literal
from mixnet.process.locks import cached_property
from mixnet.runtime.compile.lower import lower, scopes
from mixnet.runtime.compile.options import compiler_options, options_to_read
from mixnet.runtime.compile.scope import compiling_for
from mixnet.runtime.value.value import array_of
from mixnet.stages import hlo
from mixnet.stages.fusion import VIEWS, Group, groups, scope_in
from mixnet.stages.graph_data import graph_data, specs_of
from mixnet.stages.hlo import Program as XlaProgram
from mixnet.stages.memory import memory_plan
from mixnet.stages.recording import Recording, Step

_RUNS, _SECONDS = 10, 0.5  # how often, and for how long in all, a program runs to be timed
_LOCATION = re.compile(r'^(#loc\d*) = loc\("([^"]*)"')
_USE = re.compile(r" loc\((?:#loc\d*|unknown|\"[^\"]*\"(?:\([^)]*\))?)\)")
_EQUATION = re.compile(r" {4}[^\s\])}]")
_LAST_USE = re.compile(r"loc\((#loc\d*)\)$")


@dataclass
class Program:
    """One compiled program and how it came about: plain data, and what makes more of it.

    Args:
        name: of what was called.
        steps: graphs in order: ``{"purpose", "pass", "seconds", "graph", "changes"}``.
        forward: graph of the forward pass, None where it cannot be separated.
        backward: graph of the gradients.
        jaxpr: JAX's text of the lowered graph.
        stablehlo: text of the program that XLA is given.
        hlo: text of the program that XLA made of it.
        groups: what runs as one piece, see ``mixnet.stages.fusion.Group``.
        links: one for each operation of the last graph, in order: ``{"node", "id", "part",
            "source", "also", "jaxpr", "jaxpr_lines", "stablehlo", "instructions", "groups",
            "vanished"}``. ``jaxpr_lines`` and ``stablehlo`` are numbers of lines from 1. ``also``
            holds the lines of nodes that a pass has made a part of this one.
        times: seconds of each stage.
        memory_plan_missing: why there is no ``memory_plan``.
        memory: bytes of the compiled program, XLA's figures.
        cost: ``flops`` and ``bytes`` read and written, XLA's estimate.
        until: why the program ends where it does.
        plan_of: makes ``memory_plan``, when it is first asked for: that takes as long as compiling
            a large network, and few readers ask.
        parsed: the text in ``hlo``, parsed; ``instructions`` are made of it when they are first asked for.
    """

    name: str
    steps: list[dict[str, Any]]
    forward: dict[str, Any] | None
    backward: dict[str, Any] | None
    jaxpr: str = ""
    stablehlo: str = ""
    hlo: str = ""
    groups: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    times: dict[str, float | None] = field(default_factory=dict)
    memory_plan_missing: str = ""
    memory: dict[str, int] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    until: str = ""
    plan_of: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)
    parsed: XlaProgram | None = field(default=None, repr=False)

    @cached_property
    def instructions(self) -> dict[str, Any]:
        """XLA's instructions as plain data, see :meth:`mixnet.stages.hlo.Program.to_dict`."""
        return {} if self.parsed is None else self.parsed.to_dict()

    @cached_property
    def memory_plan(self) -> dict[str, Any] | None:
        """The plan, None with a reason in ``memory_plan_missing``."""
        return None if self.plan_of is None else self.plan_of()

    @property
    def graph(self) -> dict[str, Any]:
        """The graph that is compiled: the one after the last pass."""
        graph: dict[str, Any] = self.steps[-1]["graph"]
        return graph

    def link(self, node: str) -> dict[str, Any]:
        """The link of a node of the last graph.

        Raises:
            KeyError: there is no such node; names the nodes there are.
        """
        for each in self.links:
            if each["node"] == node:
                return each
        raise KeyError(f"{node!r} is not one of {', '.join(each['node'] for each in self.links)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data: all fields by name, the instructions and the memory plan."""
        data = {**vars(self), "instructions": self.instructions, "memory_plan": self.memory_plan}
        del data["plan_of"], data["parsed"]
        return data


def compile_program(recording: Recording, run: bool) -> Program:
    """Lower, compile and, if asked to, run what was recorded; note what each stage made.

    Args:
        recording: what was recorded.
        run: run the program for its times; its results are dropped. Otherwise it is compiled to be
            read, which takes half the time.
    """
    recorded = recording.recorded
    leaves: list[Known] = [(value.spec.shape, value.spec.dtype) for value in recorded.leaves]
    graph = recording.steps[-1].graph
    program = Program(recording.name, _steps(recording, leaves), None, None, until=recorded.reason)
    if recording.forward is not None:
        program.forward = graph_data(recording.forward.graph)
    if recording.backward is not None:
        program.backward = graph_data(recording.backward.graph)
    program.plan_of = partial(memory_plan, graph, leaves)
    function = lower(graph)

    def called(scalars: object, *arrays: object) -> list[Any]:
        return function(arrays, scalars)

    structs = [value.spec.struct for value in recorded.leaves]
    scalars = np.array(recorded.scalars, np.float64)
    device = recorded.context.device
    times = program.times
    times["record"] = recording.seconds
    times["passes"] = sum(step.seconds for step in recording.steps)
    with compiling_for(device), compiled_anew():
        options = compiler_options(graph, device.platform)
        if not run:
            options = {**options, **options_to_read(device.platform)}
        with _timed(times, "jaxpr"):
            traced = jax.jit(called, keep_unused=True, compiler_options=options).trace(
                jax.ShapeDtypeStruct(scalars.shape, scalars.dtype), *structs
            )
        with _timed(times, "stablehlo"):
            lowered = traced.lower()
        with _timed(times, "compile"):
            compiled = lowered.compile()
        program.jaxpr = str(traced.jaxpr)
        with_locations = lowered.as_text(debug_info=True)
        program.hlo = compiled.as_text()
        program.memory = _memory(compiled)
        program.cost = _cost(compiled)
        times["first_run"] = times["run"] = None
        if run:
            arrays = [array_of(value) for value in recorded.leaves]
            arrays = [jax.device_put(array, device) for array in arrays]
            times["first_run"], times["run"] = _run(compiled, [scalars, *arrays])
    _link_stages(program, graph, traced.jaxpr, with_locations)
    return program


def _link_stages(program: Program, graph: Graph, jaxpr: Any, with_locations: str) -> None:
    """Note which lines and groups of each stage come from which node of the graph.

    Args:
        program: compiled, with the text of its jaxpr and of its instructions.
        graph: what was compiled.
        jaxpr: the same as equations.
        with_locations: the text of the StableHLO program with its locations.
    """
    names = scopes(graph)
    scope_names = set(names.values())
    program.stablehlo, lines = _stablehlo(with_locations, scope_names)
    program.parsed = parsed = hlo.parse(program.hlo)
    fused = groups(parsed, names.values())
    program.groups = _named(fused, graph, names)
    program.links = _links(graph, names, _equations(jaxpr, scope_names), lines, parsed, fused)
    of_scope = _equation_lines(program.jaxpr, jaxpr, scope_names)
    for link, scope in zip(program.links, names.values(), strict=True):
        link["jaxpr_lines"] = of_scope.get(scope, [])
    _join_lines(program)


def _since(start: float) -> float:
    return time.perf_counter() - start


@contextlib.contextmanager
def _timed(times: dict[str, Any], name: str) -> Iterator[None]:
    """Scope whose seconds are noted under a name."""
    start = time.perf_counter()
    yield
    times[name] = _since(start)


_CACHE_SETTINGS: dict[str, Any] = {
    "jax_compilation_cache_include_metadata_in_key": True,
    "jax_persistent_cache_min_compile_time_secs": 1e9,
}


@contextlib.contextmanager
def compiled_anew() -> Iterator[None]:
    """Scope in which XLA's cache on disk takes no part, for reading or for writing.

    A program from there has the names of its first compilation, and took no time. The cache
    cannot be switched off once it was used; but it keeps no program whose names are part of the
    key, and none that compiles faster than the limit.
    """
    before = {name: getattr(jax.config, name) for name in _CACHE_SETTINGS}
    for name, value in _CACHE_SETTINGS.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _run(compiled: Any, arguments: list[Any]) -> tuple[float, float]:
    """Seconds of the first run, and the median of those after it."""
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) <= _RUNS and (len(times) < 2 or _since(begin) < _SECONDS):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(_since(start))
    return times[0], statistics.median(times[1:])


def _memory(compiled: Any) -> dict[str, int]:
    analysis = compiled.memory_analysis()
    if analysis is None:
        return {}
    return {
        "arguments": analysis.argument_size_in_bytes,
        "outputs": analysis.output_size_in_bytes,
        "temporaries": analysis.temp_size_in_bytes,
    }


def _cost(compiled: Any) -> dict[str, float]:
    analysis = compiled.cost_analysis() or {}
    return {
        name: float(analysis[key])
        for name, key in (("flops", "flops"), ("bytes", "bytes accessed"))
        if key in analysis
    }


def _steps(recording: Recording, leaves: list[Known]) -> list[dict[str, Any]]:
    first = recording.inputs
    steps: list[dict[str, Any]] = []
    before: Step | None = None
    for step in recording.steps:
        difference = None
        if before is not None and before.purpose == step.purpose:
            difference = changes(before.graph, step.graph)
        if before is not None and before.graph is step.graph:
            data = steps[-1]["graph"]
        else:
            inputs = leaves
            if step.purpose == "graph" and first is not None:
                inputs = [(spec.shape, spec.dtype) for spec in first][: len(step.graph.inputs)]
            known = len(inputs) == len(step.graph.inputs)
            data = graph_data(step.graph, specs_of(step.graph, inputs) if known else None)
        steps.append(
            {
                "purpose": step.purpose,
                "pass": step.name,
                "seconds": step.seconds,
                "graph": data,
                "changes": difference,
            }
        )
        before = step
    return steps


def _stablehlo(text: str, names: set[str]) -> tuple[str, dict[str, list[int]]]:
    """The text without locations, and the numbers of the lines (from 1) that came of each node."""
    places = {}
    for line in text.splitlines():
        match = _LOCATION.match(line)
        if match:
            places[match.group(1)] = scope_in(match.group(2), names)
    shown: list[str] = []
    lines: dict[str, list[int]] = {}
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        used = _LAST_USE.search(line)
        shown.append(_USE.sub("", line))
        scope = places.get(used.group(1)) if used else None
        if scope is not None:
            lines.setdefault(scope, []).append(len(shown))
    return "\n".join(shown).strip() + "\n", lines


def _equations(jaxpr: Any, names: set[str]) -> dict[str, list[str]]:
    """The primitives that each node became, by its scope; those that nothing reads left out."""
    equations: dict[str, list[str]] = {}
    needed = {var for var in jaxpr.jaxpr.outvars if not isinstance(var, Literal)}
    for equation in reversed(jaxpr.jaxpr.eqns):
        if not equation.effects and not any(var in needed for var in equation.outvars):
            continue
        needed.update(var for var in equation.invars if not isinstance(var, Literal))
        scope = scope_in(str(equation.source_info.name_stack), names)
        if scope is not None:
            equations.setdefault(scope, []).insert(0, equation.primitive.name)
    return equations


def _equation_lines(text: str, jaxpr: Any, names: set[str]) -> dict[str, list[int]]:
    """Numbers of the lines (from 1) that the equations of each node take, by its scope.

    The text has no scopes; its outermost equations are those of the program, in order. If their number
    differs (a new JAX may write the text in another way), the result is empty.
    """
    lines = text.splitlines()
    # Functions that are called several times come first, each as ``let name = { lambda ...``.
    first = next((n for n, line in enumerate(lines) if line.startswith("{ lambda")), 0)
    starts: list[int] = []
    end = inside = 0
    for number, line in enumerate(lines[first:], first + 1):
        if not inside:
            inside = line.endswith(" let")
        elif line.startswith("  in "):
            end = number
            break
        elif _EQUATION.match(line):
            starts.append(number)
    if not end or len(starts) != len(jaxpr.jaxpr.eqns):
        return {}
    lines_of: dict[str, list[int]] = {}
    for equation, first, after in zip(jaxpr.jaxpr.eqns, starts, [*starts[1:], end], strict=True):
        scope = scope_in(str(equation.source_info.name_stack), names)
        if scope is not None:
            lines_of.setdefault(scope, []).extend(range(first, after))
    return lines_of


def _named(groups: list[Group], graph: Graph, scope_of: dict[Node, str]) -> list[dict[str, Any]]:
    """Groups as plain data, with the names of nodes in place of their scopes."""
    names = {scope: graph.names[node] for node, scope in scope_of.items()}
    inputs = ["scalars", *[graph.names.get(node, node.name) for node in graph.inputs]]
    return [
        {
            **each.to_dict(),
            "nodes": [names[scope] for scope in each.nodes],
            "inputs": [inputs[number] for number in each.inputs],
        }
        for each in groups
    ]


def _links(
    graph: Graph,
    scope_of: dict[Node, str],
    equations: dict[str, list[str]],
    lines: dict[str, list[int]],
    program: XlaProgram,
    groups: list[Group],
) -> list[dict[str, Any]]:
    names = frozenset(scope_of.values())
    instructions: dict[str, list[hlo.Instruction]] = {}
    for each in program.instructions.values():
        scope = scope_in(each.op_name, names) if each.op_name else None
        if scope is not None:
            instructions.setdefault(scope, []).append(each)
    in_groups: dict[str, list[int]] = {}
    for group in groups:
        for scope in group.nodes:
            in_groups.setdefault(scope, []).append(group.id)
    number = {node: i for i, node in enumerate(graph.nodes)}
    data = {row["id"]: row for row in graph_data(graph)["nodes"]}
    links = []
    for node, scope in scope_of.items():
        row = data[number[node]]
        of_scope = instructions.get(scope, [])
        primitives = equations.get(scope, [])
        ends_in = in_groups.get(scope, [])
        links.append(
            {
                "node": row["name"],
                "id": row["id"],
                "part": row["part"],
                "source": row["source"],
                "also": [],
                "jaxpr": primitives,
                "stablehlo": lines.get(scope, []),
                "instructions": [each.name for each in of_scope],
                "groups": ends_in,
                "vanished": None if ends_in else _why(of_scope, primitives),
            }
        )
    return links


def _join_lines(program: Program) -> None:
    """Add to each link the lines of the nodes that were merged with its node, or fused to it.

    A pass that makes one node of two, as of a convolution and what follows it, joins their names
    with a plus sign.
    """
    sources: dict[str, dict[str, Any]] = {}  # name of a node in any step -> its line
    merged: dict[str, list[str]] = {}  # last part of a name -> names of what is a part of it now
    for step in program.steps:
        for row in step["graph"]["nodes"]:
            if row["source"] is not None:
                sources.setdefault(row["name"], row["source"])
                sources.setdefault(_last(row["name"]), row["source"])
        for each in (step["changes"] or {}).get("merged", ()):
            parts = merged.setdefault(_last(each["into"]), [])
            parts += [each["name"], *merged.get(_last(each["name"]), ())]
    for link in program.links:
        first, *joined = link["node"].split("+")
        names = [
            *joined,
            *(part for name in (first, *joined) for part in merged.get(_last(name), ())),
        ]
        for name in names:
            source = sources.get(name) or sources.get(_last(name))
            if source is not None and source != link["source"] and source not in link["also"]:
                link["also"].append(source)


def _last(name: str) -> str:
    return name.rpartition("/")[-1]


def _why(instructions: list[hlo.Instruction], primitives: list[str]) -> str:
    """Why nothing runs for a node."""
    opcodes = {each.opcode for each in instructions}
    renamed = bool(primitives) and set(primitives) <= {"reshape", "squeeze", "expand_dims"}
    if renamed or "bitcast" in opcodes or "get-tuple-element" in opcodes:
        return "a view: its result is there already, in other dimensions"
    if "constant" in opcodes and opcodes <= VIEWS:
        return "folded into a constant"
    if not primitives:
        return "nothing to compute: what others read of it are its inputs, or nothing at all"
    return "merged by XLA with an equal operation, or simplified away"
