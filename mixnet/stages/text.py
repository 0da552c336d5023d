"""Stages as text, for ``print``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixnet.stages.program import Program
from mixnet.units import how_many, size_text, time_text

_WIDTH = 100


def source_lines(sections: list[dict[str, Any]]) -> list[str]:
    """The user's lines with their numbers."""
    lines = []
    for section in sections:
        lines.append(f"  {section['file']}")
        lines += [f"  {row['line']:>5}  {row['text']}" for row in section["lines"]]
    return lines


def program_lines(program: Program) -> list[str]:
    """One program: graphs, what runs as one piece, memory and times."""
    lines = [f"program {program.name}"]
    for step in program.steps:
        operations = sum(node["op"] is not None for node in step["graph"]["nodes"])
        title = f"{step['purpose']}: {step['pass']}"
        note = changes_text(step["changes"]) if step["changes"] is not None else "recorded"
        if step["pass"] == "recorded":
            note = ""
        lines.append(_cut(f"  {title:<28}{operations:>5} operations  {note}".rstrip()))
    lines.append("  operation -> line, groups")
    for link in program.links:
        source = link["source"]
        at = f"line {source['line']}: {source['text']}" if source else "no line known"
        outer = [each for each in link["groups"] if program.groups[each]["parent"] is None]
        groups = "in " + ", ".join(map(str, outer)) if outer else str(link["vanished"])
        lines.append(_cut(f"    {link['node']:<30} {at}"))
        lines.append(_cut(f"    {'':<30} {groups}"))
    lines.append("  group, kind, bytes read -> written, nodes")
    hidden = 0
    for group in program.groups:
        copy = group["kind"] == "copy" and (not group["nodes"] or group["bytes_out"] <= 64)
        if copy or group["parent"] is not None:
            hidden += 1
            continue
        nodes = ", ".join(group["nodes"]) or "made by XLA"
        moved = f"{size_text(group['bytes_in'])} -> {size_text(group['bytes_out'])}"
        lines.append(_cut(f"    {group['id']:>3} {group['kind']:<14}{moved:<22}{nodes}"))
    if hidden:
        lines.append(
            f"    and {hidden} copies of inputs or of numbers, and groups inside of loops and calls"
        )
    if program.memory:
        note = ", ".join(f"{name} {size_text(value)}" for name, value in program.memory.items())
        lines.append(f"  memory (XLA): {note}")
    if program.memory_plan is not None:
        lines.append(f"  memory (plan): {size_text(program.memory_plan['total_bytes'])}")
    note = ", ".join(
        f"{name} {'not run' if value is None else time_text(value)}"
        for name, value in program.times.items()
    )
    lines.append(f"  times: {note}")
    return lines


def changes_text(changes: dict[str, list[Any]], labels: Mapping[str, str] | None = None) -> str:
    """The changes of a pass, in one line.

    Args:
        changes: of a step.
        labels: what nodes are called, by name; others have their own name.
    """

    def name_in_text(name: str) -> str:
        return (labels or {}).get(name, name)

    parts = []
    for kind in ("expanded", "merged"):
        for each in changes[kind]:
            count = len(each["into"])
            into = name_in_text(each["into"]) if kind == "merged" else how_many(count, "node")
            parts.append(f"{kind} {name_in_text(each['name'])} into {into}")
    for kind in ("added", "removed"):
        if changes[kind]:
            parts.append(f"{kind} {', '.join(map(name_in_text, changes[kind]))}")
    for kind in ("changed", "rewired"):
        if changes[kind]:
            parts.append(
                f"{kind} {', '.join(name_in_text(each['name']) for each in changes[kind])}"
            )
    return "; ".join(parts) or "nothing changed"


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
