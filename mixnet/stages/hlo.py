"""The text of an optimized XLA program (HLO) as plain data.

The form of the text is that of ``HloModule::ToString`` of XLA: one instruction a line,
``name = shape opcode(operands), attributes``, in computations, of which one is the entry.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from mixnet.process.locks import cached_property

_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*-> .*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (.*)$")
_ARRAY = re.compile(r"([a-z]+\d*[a-z0-9]*)\[([\d,<=]*)\]")
_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)"
)
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_OPERAND = re.compile(r"%([\w.\-]+)")
_BITS = {"pred": 8, "c64": 64, "c128": 128, "token": 0, "opaque": 0}


def shape_bytes(shape: str) -> int:
    """Bytes of a shape as HLO writes it, ``f32[2,3]{1,0}``; of a tuple, of all its parts."""
    total = 0
    for dtype, extents in _ARRAY.findall(shape):
        bits = _BITS.get(dtype)
        if bits is None:
            digits = re.search(r"\d+", dtype)
            bits = int(digits.group()) if digits else 0
        sizes = [int(extent.lstrip("<=")) for extent in extents.split(",") if extent]
        total += (math.prod(sizes) * bits + 7) // 8
    return total


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Args:
        name: unique in the program.
        opcode: ``add``, ``fusion``, ``convolution``, ...
        shape: as HLO writes it.
        operands: names of instructions of the same computation.
        computation: name of the computation that contains it.
        calls: names of the computations that it runs.
        op_name: scopes that it was traced in, separated by slashes; empty where XLA made it.
        kind: of a fusion, ``kLoop``, ``kOutput``, ``kCustom``, ...
        target: of a custom call or fusion, what the library calls it.
        is_root: whether it is the computation's result.
        number: of a parameter, its place; -1 for others.
    """

    name: str
    opcode: str
    shape: str
    operands: tuple[str, ...]
    computation: str
    calls: tuple[str, ...] = ()
    op_name: str = ""
    kind: str = ""
    target: str = ""
    is_root: bool = False
    number: int = -1

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the result."""
        return shape_bytes(self.shape)


@dataclass
class Program:
    """A parsed program: computations by name, each a list of instructions in order."""

    name: str
    entry: str
    computations: dict[str, list[Instruction]] = field(default_factory=dict)

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """All instructions by name."""
        return {each.name: each for rows in self.computations.values() for each in rows}

    @cached_property
    def within(self) -> dict[str, str]:
        """The instruction that runs a computation, by the computation's name."""
        names: dict[str, str] = {}
        for each in self.instructions.values():
            for name in each.calls:
                names.setdefault(name, each.name)
        return names

    def inside(self, instruction: Instruction) -> list[Instruction]:
        """The instructions of all computations that one runs, however deep."""
        instructions: list[Instruction] = []
        stack, visited = list(instruction.calls), set(instruction.calls)
        while stack:
            rows = self.computations.get(stack.pop(), [])
            instructions += rows
            for each in rows:
                new = [name for name in each.calls if name not in visited]
                visited.update(new)
                stack += new
        return instructions

    def to_dict(self) -> dict[str, Any]:
        """Plain data.

        ``{"name", "entry", "computations": [{"name", "instructions": [{"name", "opcode", "shape",
        "bytes", "operands", "calls", "within", "kind", "target", "op_name", "root"}]}]}``, where
        ``within`` is the fusion, call or loop that the instruction is run by.
        """
        return {
            "name": self.name,
            "entry": self.entry,
            "computations": [
                {
                    "name": name,
                    "instructions": [
                        {
                            "name": each.name,
                            "opcode": each.opcode,
                            "shape": each.shape,
                            "bytes": each.nbytes,
                            "operands": list(each.operands),
                            "calls": list(each.calls),
                            "within": self.within.get(name),
                            "kind": each.kind,
                            "target": each.target,
                            "op_name": each.op_name,
                            "root": each.is_root,
                        }
                        for each in rows
                    ],
                }
                for name, rows in self.computations.items()
            ],
        }


def parse(text: str) -> Program:
    """The program of ``compiled.as_text()``.

    Raises:
        ValueError: the text has no entry computation.
    """
    name = re.search(r"^HloModule ([\w.\-]+)", text)
    program = Program(name.group(1) if name else "", "")
    current = ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header is not None:
            current = header.group(2)
            program.computations[current] = []
            if header.group(1):
                program.entry = current
        elif line.startswith("}"):
            current = ""
        elif current:
            match = _INSTRUCTION.match(line)
            if match is not None:
                program.computations[current].append(_instruction(match, current))
    if not program.entry:
        raise ValueError("This is not HLO text: it has no ENTRY computation.")
    return program


def _instruction(match: re.Match[str], computation: str) -> Instruction:
    root, name, rest = match.groups()
    shape, rest = _shape(rest)
    opcode, _, rest = rest.partition("(")
    end = _closing(rest, 1)
    operands, attributes = rest[: end - 1], rest[end:]
    calls = [each for _, each in _CALLED.findall(attributes)]
    for branches in _BRANCHES.findall(attributes):
        calls += [each.strip().lstrip("%") for each in branches.split(",")]
    return Instruction(
        name,
        opcode,
        shape,
        () if opcode in ("constant", "parameter") else tuple(_OPERAND.findall(operands)),
        computation,
        tuple(calls),
        _quoted(attributes, "op_name"),
        _word(attributes, "kind"),
        _quoted(attributes, "custom_call_target") or _fusion_target(attributes),
        bool(root),
        int(operands) if opcode == "parameter" else -1,
    )


def _shape(text: str) -> tuple[str, str]:
    """The shape at the start of a text, and what follows it."""
    end = _closing(text[1:], 1) + 1 if text.startswith("(") else text.index(" ")
    return re.sub(r"/\*.*?\*/", "", text[:end]), text[end:].lstrip()


def _closing(text: str, depth: int) -> int:
    """Where ``depth`` open parentheses are closed: the place behind the last one."""
    quoted = False
    for i, character in enumerate(text):
        if character == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif not quoted and character == "(":
            depth += 1
        elif not quoted and character == ")":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def _fusion_target(text: str) -> str:
    match = re.search(r'"fusion_config":\{"kind":"([^"]*)"', text)
    return match.group(1) if match else ""


def _quoted(text: str, key: str) -> str:
    match = re.search(rf'\b{key}="((?:[^"\\]|\\.)*)"', text)
    return match.group(1) if match else ""


def _word(text: str, key: str) -> str:
    match = re.search(rf"\b{key}=(\w+)", text)
    return match.group(1) if match else ""
