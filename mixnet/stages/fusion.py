"""Fusion groups: which graph nodes XLA fused, recovered from the optimized program.

Every node runs in a scope of its name (``mixnet.runtime.compile.lower``), which XLA keeps as ``op_name`` of
the instructions that came of it, also inside of fusions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from mixnet.stages.hlo import Instruction, Program

# No work at run time: names for what is there already.
VIEWS = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
_LIBRARY = frozenset(
    {"dot", "convolution", "custom-call", "fft", "cholesky", "triangular-solve", "topk", "sort"}
)
_MOVES = frozenset({"copy", "transpose", "copy-start", "copy-done"})
_ACROSS = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective")


@dataclass(frozen=True)
class Group:
    """The instructions that run as one piece.

    Args:
        id: number, in the order of the program.
        kind: ``fusion`` (one kernel of several instructions), ``kernel`` (of one), ``library call``
            (products, convolutions, decompositions, custom calls), ``copy`` (moves and changes of
            layout), ``loop``, ``branch``, ``call``, ``collective``.
        hlo_name: name of its instruction.
        target: of a library call, the library's name of it, where the program tells.
        nodes: scopes of the nodes that it computes, or parts of them, in the program's order.
        inferred: its instructions have no ``op_name``; the nodes are those beside it.
        bytes_in: bytes that it reads, ``bytes_out`` that it writes.
        reads: numbers of the groups whose results it reads.
        inputs: numbers of the program's inputs that it reads.
        instructions: names of its instructions, also those inside.
        parent: number of the loop, branch or call that it runs in, None in the entry.
    """

    id: int
    kind: str
    hlo_name: str
    target: str
    nodes: tuple[str, ...]
    inferred: bool
    bytes_in: int
    bytes_out: int
    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    instructions: tuple[str, ...]
    parent: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "hlo_name": self.hlo_name,
            "target": self.target,
            "nodes": list(self.nodes),
            "inferred": self.inferred,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "reads": list(self.reads),
            "inputs": list(self.inputs),
            "instructions": list(self.instructions),
            "parent": self.parent,
        }


def scope_in(op_name: str, scopes: Collection[str]) -> str | None:
    """The node's scope in an ``op_name``, ``jit(program)/dense0/dot_general``; None if none is."""
    for part in op_name.split("/"):
        if part in scopes:
            return part
    return None


def nodes_of(instructions: Iterable[Instruction], scopes: Collection[str]) -> tuple[str, ...]:
    """The scopes that instructions came of, each once, in order."""
    names: dict[str, None] = {}
    for each in instructions:
        scope = scope_in(each.op_name, scopes) if each.op_name else None
        if scope is not None and each.opcode not in ("parameter", "constant"):
            names[scope] = None
    return tuple(names)


def groups(program: Program, scopes: Collection[str]) -> list[Group]:
    """The pieces that a program runs, in its order; those of a loop's body follow the loop.

    Args:
        program: the optimized program.
        scopes: of the graph's nodes, see ``mixnet.runtime.compile.lower.scopes``.
    """
    scopes = frozenset(scopes)
    result: list[Group] = []
    made_by: dict[str, int] = {}  # name of an instruction -> number of its group
    # (computation, number of the group that runs it): a stack, since loops nest.
    pending: deque[tuple[str, int | None]] = deque([(program.entry, None)])
    done: set[str] = set()
    while pending:
        name, parent = pending.popleft()
        if name in done:
            continue
        done.add(name)
        rows = program.computations.get(name, [])
        users = _users(rows)
        for each in rows:
            if each.opcode in VIEWS:
                continue
            inside = program.inside(each)
            kind = _kind(each, inside)
            nodes = nodes_of([*inside, each], scopes)
            inferred = False
            if not nodes:
                nodes = _beside(each, program, users, scopes)
                inferred = bool(nodes)
            operands = {operand: program.instructions[operand] for operand in each.operands}
            sources = _sources(each, program)
            number = len(result)
            made_by[each.name] = number
            result.append(
                Group(
                    number,
                    kind,
                    each.name,
                    each.target,
                    nodes,
                    inferred,
                    sum(operand.nbytes for operand in operands.values()),
                    each.nbytes,
                    tuple(made_by[one.name] for one in sources if one.name in made_by),
                    tuple(one.number for one in sources if one.number >= 0 and parent is None),
                    (each.name, *[one.name for one in inside]),
                    parent,
                )
            )
            if kind in ("loop", "branch", "call"):
                pending += [(called, number) for called in each.calls]
    return result


def _sources(instruction: Instruction, program: Program) -> list[Instruction]:
    """The instructions that compute the operands, seen through views; parameters if none does."""
    sources: dict[str, Instruction] = {}
    stack = list(reversed(instruction.operands))
    visited = set(stack)
    while stack:
        each = program.instructions[stack.pop()]
        if each.opcode in VIEWS and each.operands:
            new = [name for name in reversed(each.operands) if name not in visited]
            visited.update(new)
            stack += new
        else:
            sources[each.name] = each
    return list(sources.values())


def _users(rows: list[Instruction]) -> dict[str, list[Instruction]]:
    users: dict[str, list[Instruction]] = {}
    for each in rows:
        for operand in each.operands:
            users.setdefault(operand, []).append(each)
    return users


def _kind(instruction: Instruction, inside: list[Instruction]) -> str:
    opcode = instruction.opcode
    if opcode == "while":
        return "loop"
    if opcode == "conditional":
        return "branch"
    if opcode.startswith(_ACROSS):
        return "collective"
    if opcode in _LIBRARY or instruction.kind == "kCustom":
        return "library call"
    if opcode in _MOVES:
        return "copy"
    work = [each for each in inside if each.opcode not in VIEWS]
    if opcode == "call":
        return _kind_of_call(work)
    if opcode == "fusion":
        if work and all(each.opcode in _MOVES for each in work):
            return "copy"
        single = [each for each in work if each.opcode != "broadcast"]
        if len(single) == 1:
            return "library call" if single[0].opcode in _LIBRARY else "kernel"
        return "fusion"
    return "kernel"


def _kind_of_call(work: list[Instruction]) -> str:
    """A call around one fusion is that fusion, split over threads; around one loop it is a call."""
    outer = [each for each in work if each.opcode in ("fusion", "while", "conditional", "call")]
    if len(outer) == 1 and outer[0].opcode == "fusion":
        rest = [each for each in work if each is not outer[0]]
        return _kind(outer[0], rest)
    if not outer and len(work) == 1:
        return _kind(work[0], [])
    return "call" if outer else "fusion"


def _beside(
    instruction: Instruction,
    program: Program,
    users: dict[str, list[Instruction]],
    scopes: Collection[str],
) -> tuple[str, ...]:
    """The nodes of what reads an instruction's result as it is, else of what it reads.

    XLA drops the ``op_name`` of instructions that it rewrites, but keeps it at the views behind.
    """
    for neighbours in (_behind(instruction, users), _before(instruction, program)):
        nodes = nodes_of(neighbours, scopes)
        if nodes:
            return nodes
    return ()


def _behind(instruction: Instruction, users: dict[str, list[Instruction]]) -> Iterable[Instruction]:
    views, stack = [], [instruction]
    while stack:
        for each in users.get(stack.pop().name, ()):
            if each.opcode in ("bitcast", "get-tuple-element"):
                views.append(each)
                stack.append(each)
    return views


def _before(instruction: Instruction, program: Program) -> Iterable[Instruction]:
    instructions = []
    for name in instruction.operands:
        operand = program.instructions[name]
        # Through the views that only name what was made before them.
        while operand.opcode in ("bitcast", "get-tuple-element") and operand.operands:
            if operand.op_name:
                break
            operand = program.instructions[operand.operands[0]]
        instructions += [*program.inside(operand), operand]
    return instructions
