"""``mx.stages``: inspect every stage of a network, a symbol or a function."""

from __future__ import annotations

import inspect
import linecache
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

from mixnet.base import AttributeTypeError
from mixnet.context import Context, current_context
from mixnet.gluon.block import Block, HybridBlock
from mixnet.process.source import code_of, function_name, is_users
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import state
from mixnet.stages.program import Program, compile_program
from mixnet.stages.recording import (
    Target,
    function_of,
    inputs_by_name,
    of_block,
    of_function,
    of_symbol,
    parameter_names,
)
from mixnet.stages.text import program_lines, source_lines
from mixnet.symbol.symbol import Symbol

VERSION = 1
# What was looked at last, per block, symbol or function, so that the next look can say what changed.
_last: weakref.WeakKeyDictionary[Any, dict[bool | None, TraceKey]] = weakref.WeakKeyDictionary()


class Stages:
    """Every stage of a target, as plain data.

    ``programs`` holds one program, or one for each segment of a function that reads values in
    between. ``source`` holds the user's lines, ``key`` what the trace was made for, ``known``
    whether the block has it already, and ``reasons`` why it, or this look, had to trace anew.
    """

    def __init__(
        self, target: Target, programs: list[Program], source: list[dict[str, Any]], reasons: Any
    ):
        self.kind, self.name, self.training = target.kind, target.name, target.training
        self.context = target.context
        self.programs = programs
        self.source = source
        self.key: dict[str, Any] = {**target.key.to_dict(), "context": str(target.context)}
        self.known = target.known
        self.reasons: list[str] = reasons
        self.notes = target.notes

    @property
    def program(self) -> Program:
        """The program that holds most operations."""
        return max(self.programs, key=lambda each: len(each.graph["nodes"]))

    def at_line(self, line: int, file: str | None = None) -> list[dict[str, Any]]:
        """The links of all nodes that come from a line, over all programs.

        Args:
            line: number from 1; also that where a layer was made.
            file: path, or its end; any by default.
        """
        rows = []
        for program in self.programs:
            for link in program.links:
                lines = [link["source"], *link["also"]]
                lines += [source["layer"] for source in lines if source is not None]
                if any(
                    source["line"] == line and source["file"].endswith(file or "")
                    for source in lines
                    if source is not None
                ):
                    rows.append(link)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain data of everything; ``json.dumps`` takes it."""
        return {
            "version": VERSION,
            "kind": self.kind,
            "name": self.name,
            "training": self.training,
            "context": str(self.context),
            "platform": self.context.device.platform,
            "source": self.source,
            "cache": {"key": self.key, "known": self.known, "reasons": self.reasons},
            "notes": self.notes,
            "programs": [program.to_dict() for program in self.programs],
        }

    def __str__(self) -> str:
        mode = "" if self.kind == "function" else ", training" if self.training else ", predicting"
        lines = [f"stages of {self.kind} {self.name}{mode} on {self.context}"]
        lines += self.notes
        if self.source:
            lines += ["source", *source_lines(self.source)]
        inputs = [
            f"{row['name']} {row['dtype']}{row['shape']}"
            for row in (*self.key["inputs"], *self.key["parameters"])
        ]
        lines.append(f"key: {', '.join(inputs)}; structure {self.key['structure']}")
        lines.append("known already" if self.known else f"traced: {'; '.join(self.reasons)}")
        for program in self.programs:
            lines += program_lines(program)
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"<Stages of {self.kind} {self.name!r}, {len(self.programs)} program(s)>"


def stages(
    target: object,
    *inputs: object,
    train: bool | None = None,
    loss: object = None,
    run: bool = True,
    ctx: Context | None = None,
    **named: object,
) -> Stages:
    """All stages of a network, a symbol or a function, without changing anything of it.

    The user's lines, the recorded graph, the graph after each pass with what changed, jaxpr,
    StableHLO, the optimized HLO, which nodes XLA computes together, times, memory, the key of the
    trace and why it differs from last time, and links from lines to nodes to instructions.
    Parameters, their gradients and states, random streams, and the network's own compiled graphs
    stay as they are; only shapes that wait for data are completed, as by the first call.

    Args:
        target: a ``HybridBlock``, hybridized or not; any other ``Block`` or a function of arrays,
            which is called once, and whose operations are recorded, but run only where it reads a
            value; or a ``Symbol``.
        inputs: the arrays to call it with; for a symbol, a dict of arrays or shapes by name.
        train: training mode, with gradients for a block's parameters, and for a symbol's arguments
            that are not given; by default the current mode.
        loss: for a block: a loss block. The last input is the label then.
        run: run the program, to time it. Otherwise LLVM does not optimize it, so it compiles faster
            than in use; the instructions of XLA are the same.
        ctx: where a symbol runs whose inputs are shapes.
        named: for a symbol arrays or shapes by name; for a function its keyword arguments.

    Raises:
        AttributeTypeError: the target is none of these, or does not take these inputs.
        ShapeError: the shapes do not fit together.
    """
    boundary = sys._getframe()
    known: Any
    if isinstance(target, Symbol):
        known = target._heads[0].node
        by_name = inputs_by_name("stages", inputs, named)
        training = bool(state.training) if train is None else bool(train)
        result = of_symbol(target, by_name, training, ctx or current_context())
    elif isinstance(target, HybridBlock):
        if named:
            raise AttributeTypeError(
                f"stages: a block takes arrays by position, not {', '.join(named)} by name."
            )
        known = target
        training = bool(state.training) if train is None else bool(train)
        result = of_block(target, inputs, training, loss, boundary)
    elif callable(target):
        known = _code(target)
        function: Callable[..., Any] = target
        names, name = {}, function_name(target)
        if isinstance(target, Block):
            function = function_of(target, inputs, train, loss)
            names, name = parameter_names(target), target.name
        elif loss is not None:
            raise AttributeTypeError("stages: loss= is for blocks: a function calls its own loss.")
        result = of_function(function, name, inputs, named, train, boundary, names)
    else:
        raise AttributeTypeError(
            f"stages: {type(target).__name__} is not a network, symbol or function. Pass a "
            f"HybridBlock, a Symbol, or a function of NDArrays, followed by its inputs."
        )
    reasons = _reasons(known, result, loss)
    programs = [compile_program(each, run) for each in result.programs]
    return Stages(result, programs, _source(target, programs), reasons)


def _reasons(known: object, target: Target, loss: object) -> list[str]:
    """Why the target's graph has to be traced; noted for the next look."""
    before = target.last
    try:
        looked = _last.setdefault(known, {})
    except TypeError:  # an object that no weak reference takes
        looked = {}
    if before is None:
        before = looked.get(loss is None)
    looked[loss is None] = target.key
    if target.known:
        return []
    reasons = target.key.reasons(before)
    if not reasons and target.last is not None:
        return ["its compiled graphs were dropped since: by hybridize(), cast() or a new child"]
    return reasons or ["nothing differs from the last look, and it has not run since"]


def _code(function: object) -> Any:
    """The identity of a function: equal for one that is defined again with the same text."""
    if isinstance(function, MethodType):
        function = function.__func__
    return function.__code__ if isinstance(function, FunctionType) else function


def lines_of_code(target: object) -> dict[str, set[int]]:
    """Numbers of the lines of a function's or block's code, by file."""
    lines_of: dict[str, set[int]] = {}
    for code in codes_of(target):
        try:
            rows, first = inspect.getsourcelines(code)
        except (OSError, TypeError):
            continue  # typed at a prompt, or made by exec: there is no text
        first = max(first, 1)  # 0 for the code of a module: a notebook's cell
        lines_of.setdefault(code.co_filename, set()).update(range(first, first + len(rows)))
    return lines_of


def _source(target: object, programs: list[Program]) -> list[dict[str, Any]]:
    """The user's lines by file: the code of the target, and all lines that nodes come from."""
    lines_of = lines_of_code(target)
    for program in programs:
        for link in program.links:
            source = link["source"]
            while source is not None:
                lines_of.setdefault(source["file"], set()).add(source["line"])
                source = source["layer"]
    return [
        {
            "file": file,
            "lines": [
                {"line": line, "text": linecache.getline(file, line).rstrip("\n")}
                for line in sorted(lines)
            ],
        }
        for file, lines in lines_of.items()
    ]


def codes_of(target: object) -> list[CodeType]:
    """The functions of the user's that the target runs, as far as they can be known."""
    codes: dict[CodeType, None] = {}
    if isinstance(target, Block):
        for block in target._mx_walk():
            for name in ("forward", "hybrid_forward"):
                code = code_of(getattr(type(block), name, None))
                if code is not None and is_users(code.co_filename):
                    codes[code] = None
    elif not isinstance(target, Symbol) and isinstance(_code(target), CodeType):
        codes[_code(target)] = None
    return list(codes)
