"""The payload of HybridizeStepper: the stages of ``mx.stages``, linked to each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mixnet.process.source import known_as
from mixnet.stages.program import Program
from mixnet.stages.text import changes_text
from mixnet.units import how_many
from mixnet.widgets.svg import short

CHARACTERS = 120_000  # most characters of one stage's text: what is beyond is left out, and said so
FEW = 20_000  # the same for the programs beside the largest
LINE = 240  # most characters of a line

# Stage: title, and what happens there and why, for a first-time reader.
WORDS = {
    "source": ("your code", "Your Python runs once, as usual. mixnet records which operations it calls, "
               "and from which lines; nothing is computed yet. The recording is valid for these shapes, "
               "dtypes and this mode."),
    "graph recorded": ("recorded graph", "Each operation that the code called is a node; each array that "
                       "flows between two of them is an edge. Nothing has been computed."),
    "segment recorded": ("what will run", "Everything that one call runs, before optimization: a traced "
                         "block is a single node here, next to gradients and updates."),
    "fold_constants": ("fold constants", "Results that depend only on constants are computed once, now, "
                       "instead of in every run."),
    "simplify": ("simplify", "Operations that have no effect, or cancel each other, are removed."),
    "eliminate_common": ("merge equals", "An operation that occurs twice on the same inputs is computed "
                         "once: equal nodes are merged."),
    "inline": ("inline blocks", "A node that represents a whole block is replaced by the block's own "
               "nodes, so that block, gradients and updates are optimized as one graph."),
    "drop_gradient_rules": ("drop gradient rules", "Operators that only define a gradient have served "
                            "their purpose and are removed."),
    "fold_batch_norm": ("fold batch norm", "In prediction, a BatchNorm is a fixed scale and shift: after "
                        "a convolution, it is folded into the convolution's weights."),
    "expand_layers": ("expand layers", "A layer that a file stores as one operation, such as a "
                      "convolution with its activation, is split into its operations, which later passes "
                      "can optimize."),
    "choose_layout": ("choose layout", "Convolutions and pooling get the axis order and the method that "
                      "are fastest on this device; transposes are needed only where a chain of such "
                      "operations starts or ends."),
    "plan": ("memory plan", "The lifetime of each array is known now, so arrays can share memory: a "
             "result overwrites an input that is no longer needed (in place), or reuses the memory of a "
             "dead array (co-share)."),
    "jaxpr": ("jaxpr", "Each node is a JAX function. Tracing it yields JAX's primitives: this list of "
              "equations."),
    "stablehlo": ("StableHLO", "JAX translates its equations into a language for compilers. One "
                  "operation per line; nothing is fused yet, and no memory is assigned."),
    "hlo": ("optimized HLO", "XLA has optimized the program for this device: neighbouring operations are "
            "fused into kernels that read and write memory once. The entry computation comes first, then "
            "the computations that it calls."),
    "run": ("what runs", "The pieces that run, in order. A fusion is one kernel of several operations; a "
            "library call is a matrix product or a convolution. The less a piece reads and writes, the "
            "faster it is."),
}  # fmt: skip

_METADATA = re.compile(r", (?:metadata|frontend_attributes|backend_config)=\{")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")


class Table:
    """Texts by number, each stored once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def payload(
    data: dict[str, Any],
    entries: list[dict[str, Any]],
    programs: list[Program],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """The payload of stages.

    Args:
        data: ``Stages.to_dict()``.
        entries: what the block has compiled so far: ``{"key", "reasons", "current"}``.
        programs: ``Stages.programs``.
        labels: what nodes are called in the program, by name.
    """
    files = [section["file"] for section in data["source"]]
    shown = {file: os.path.basename(known_as(file)) for file in files}
    key = data["cache"]["key"]
    largest = max(programs, key=lambda each: len(each.graph["nodes"]))
    return {
        "name": data["name"],
        "kind": data["kind"],
        "training": data["training"],
        "context": f"{data['context']} ({data['platform']})",
        "notes": data["notes"],
        "cache": {
            "inputs": [_spec_text(row) for row in key["inputs"]],
            "parameters": [_spec_text(row) for row in key["parameters"]],
            "arguments": _others(key["arguments"]),
            "known": data["cache"]["known"],
            "reasons": data["cache"]["reasons"],
            "entries": entries,
        },
        "source": [
            {
                "file": shown[section["file"]],
                "lines": [[row["line"], short(row["text"], LINE)] for row in section["lines"]],
            }
            for section in data["source"]
        ],
        "programs": [
            _program(each, files, CHARACTERS if each is largest else FEW, labels)
            for each in programs
        ],
    }


def key_text(key: dict[str, Any]) -> str:
    """A key in one line: ``data float32 32×8; training``."""
    inputs = ", ".join(_spec_text(row) for row in key["inputs"])
    return f"{inputs}; {'training' if key['training'] else 'predicting'}"


def _spec_text(row: dict[str, Any]) -> str:
    return f"{row['name']} {row['dtype']} {_shape(row['shape'])}"


def _others(arguments: str) -> str:
    """The arguments of a call as text; empty if they are arrays alone."""
    return arguments if re.sub(r"NDArray|[\[\](), ]", "", arguments) else ""


def _shape(shape: Iterable[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _text_stages(
    program: Program,
    links: Mapping[int, Any],
    instructions: list[str],
    of_instruction: dict[str, int],
    most: int,
) -> list[dict[str, Any]]:
    """The stages that are text: the jaxpr, StableHLO, and the instructions in their groups."""
    times, stages = program.times, []
    texts = [
        ("jaxpr", program.jaxpr.splitlines(), {n: each["jaxpr_lines"] for n, each in links.items()}),
        ("stablehlo", program.stablehlo.splitlines(), {n: each["stablehlo"] for n, each in links.items()}),
    ]  # fmt: skip
    for name, lines, at in texts:
        stages.append({**_text(name, lines, at, most), "seconds": times.get(name)})
    at = {n: _known(each["instructions"], of_instruction) for n, each in links.items()}
    at |= _parameters(instructions, program.graph["inputs"])
    text = _text("hlo", instructions, at, most)
    text["groups"] = _pairs(
        {row["id"]: _known(row["instructions"], of_instruction) for row in program.groups},
        text["text"].count("\n") + 1,
    )
    return [*stages, {**text, "seconds": times.get("compile")}]


def _program(
    program: Program, files: list[str], most: int, labels: Mapping[str, str]
) -> dict[str, Any]:
    table = Table()
    nodes = program.graph["nodes"]
    number = {row["name"]: row["id"] for row in nodes}
    meanings = stands_for(program, number)
    links = {link["id"]: link for link in program.links}
    things = [_row_data(row, links.get(row["id"]), table, files) for row in nodes]
    stages: list[dict[str, Any]] = [{"kind": "source", "words": "source"}]
    records: dict[tuple[Any, ...], int] = {}
    graphs: list[list[int]] = []
    for step, meaning in zip(program.steps, meanings, strict=True):
        graph = [
            records.setdefault(_record(row, step["graph"]["nodes"], meaning, table), len(records))
            for row in step["graph"]["nodes"]
        ]
        if not graphs or graphs[-1] != graph:
            graphs.append(graph)
        seconds = program.times.get("record") if len(stages) == 1 else step["seconds"] or None
        stages.append(_graph_stage(step, len(graphs) - 1, table, len(stages) == 1, labels))
        stages[-1]["seconds"] = seconds
    stages.append({"kind": "plan", "words": "plan", "seconds": None, **_plan(program, number)})
    times = program.times
    lines, of_instruction = _hlo(program.hlo)
    stages += _text_stages(program, links, lines, of_instruction, most)
    stages.append({"kind": "run", "words": "run", "seconds": times.get("run")})
    for stage in stages:
        stage["title"], stage["why"] = _words(stage.pop("words"))
        stage.setdefault("changed", None)
    stages[0]["seconds"] = None
    groups = [_group(row, number, of_instruction) for row in program.groups]
    _say_what(stages, program, groups)
    return {
        "name": program.name,
        "until": program.until,
        "strings": list(table.texts),
        "things": things,
        "records": [list(record) for record in records],
        "graphs": graphs,
        "stages": stages,
        "groups": groups,
        "times": {name: value for name, value in times.items() if value is not None},
        "memory": program.memory,
        "cost": program.cost,
    }


def _words(name: str) -> tuple[str, str]:
    if name in WORDS:
        return WORDS[name]
    return name.replace("_", " "), f"A pass of yours or of a plug-in: {name}."


def stands_for(program: Program, number: dict[str, int]) -> list[dict[str, list[int]]]:
    """For each step, what its nodes are in the last graph: names to numbers of nodes.

    A node that a pass has removed has no counterpart, unless the pass says what became of it, or
    new nodes carry its name (``pool0_backward_gradient`` in place of ``pool0_backward``).
    """
    rows: list[dict[str, list[int]]] = [{name: [n] for name, n in number.items()}]
    steps = program.steps
    for before, after in zip(reversed(steps[:-1]), reversed(steps[1:]), strict=True):
        later = rows[0]
        changed = after["changes"]
        names = [row["name"] for row in before["graph"]["nodes"]]
        if changed is None:
            rows.insert(0, _across(names, rows))
            continue
        merged = {each["name"]: [each["into"]] for each in changed["merged"]}
        expanded = {each["name"]: each["into"] for each in changed["expanded"]}
        added = changed["added"]
        rows_of: dict[str, list[int]] = {}
        for name in names:
            into = [name] if name in later else merged.get(name) or expanded.get(name)
            if into is None:
                into = [new for new in added if _is_in(name, new) or new.startswith(f"{name}_")]
            rows_of[name] = sorted({n for each in into for n in later.get(each, ())})
        rows.insert(0, rows_of)
    return rows


def _is_in(name: str, fused: str) -> bool:
    """Whether a fused node, ``net/conv0+relu0``, holds a node: the folder stands before the
    first part alone.
    """
    folder, _, last = name.rpartition("/")
    prefix = f"{folder}/" if folder else ""
    return fused.startswith(prefix) and last in fused.removeprefix(prefix).split("+")


def _across(names: list[str], later: list[dict[str, list[int]]]) -> dict[str, list[int]]:
    """The nodes of a block's own graph, by their names in the graph of the whole call."""
    inside: dict[str, list[int]] = {}
    for step in reversed(later):  # the earliest step wins: there most of the nodes still are
        by_last: dict[str, list[int]] = {}
        for name, numbers in step.items():
            by_last.setdefault(name.rpartition("/")[2], []).extend(numbers)
        inside.update(by_last)
    return {name: sorted(set(inside.get(name, ()))) for name in names}


def _row_data(
    row: dict[str, Any], link: dict[str, Any] | None, table: Table, files: list[str]
) -> dict[str, Any]:
    """A node of the last graph: what a selection is made of."""
    data: dict[str, Any] = {"name": row["name"], "part": row["part"], "op": table[row["op"] or ""]}
    if link is None:
        return data
    lines: list[list[int]] = []
    for first in [link["source"], *link["also"]]:
        source = first
        while source is not None:
            if source["file"] in files:
                place = [files.index(source["file"]), source["line"]]
                if place not in lines:
                    lines.append(place)
            source = source["layer"]
    data["lines"] = lines
    data["groups"] = link["groups"]
    if link["vanished"]:
        data["vanished"] = table[link["vanished"]]
    return data


def _record(
    row: dict[str, Any], nodes: list[dict[str, Any]], meanings: dict[str, list[int]], table: Table
) -> tuple[Any, ...]:
    """A row of a graph: name, operator, inputs, outputs, attributes, bytes, part, things."""
    inputs = tuple(
        table[nodes[n]["name"] + (f":{output}" if output else "")] for n, output in row["inputs"]
    )
    outputs = ", ".join(f"{out['dtype']} {_shape(out['shape'])}" for out in row["outputs"])
    attributes = ", ".join(f"{name}={short(v, 60)}" for name, v in row["attributes"].items())
    size = sum(out["bytes"] for out in row["outputs"])
    things = tuple(meanings.get(row["name"], ()))
    return (
        table[row["name"]], table[row["op"] or ""], inputs, table[outputs], table[attributes], size,
        row["part"][0], things,
    )  # fmt: skip


def _graph_stage(
    step: dict[str, Any], graph: int, table: Table, first: bool, labels: Mapping[str, str]
) -> dict[str, Any]:
    recorded = step["pass"] == "recorded"
    words = f"{step['purpose']} recorded" if recorded else step["pass"]
    if recorded and first:
        words = "graph recorded"
    stage: dict[str, Any] = {
        "kind": "graph" if recorded else "pass",
        "words": words,
        "purpose": step["purpose"],
        "pass": step["pass"],
        "graph": graph,
    }
    changed = step["changes"]
    if changed is not None:
        stage["changed"] = any(changed.values())
        if stage["changed"]:
            stage["changes"] = _changes(changed, table)
            stage["what"] = short(changes_text(changed, labels), 400)
    return stage


def _changes(changed: dict[str, list[Any]], table: Table) -> dict[str, Any]:
    return {
        "added": [table[name] for name in changed["added"]],
        "removed": [table[name] for name in changed["removed"]],
        "merged": [[table[each["name"]], table[each["into"]]] for each in changed["merged"]],
        "expanded": [
            [table[each["name"]], [table[name] for name in each["into"]]] for each in changed["expanded"]
        ],
        "changed": [
            [table[each["name"]], table[short(each["before"], 160)], table[short(each["after"], 160)]]
            for each in changed["changed"]
        ],
        "rewired": [table[each["name"]] for each in changed["rewired"]],
    }  # fmt: skip


def _plan(program: Program, number: dict[str, int]) -> dict[str, Any]:
    plan = program.memory_plan
    if plan is None:
        return {"missing": program.memory_plan_missing}
    inside = [each for each in plan["arrays"] if each["storage"] is not None]
    return {
        "plan": {
            "total": plan["total_bytes"],
            "least": plan["lower_bound_bytes"],
            "alone": sum(each["nbytes"] for each in inside),
            "arguments": plan["argument_bytes"],
            "steps": len(plan["steps"]),
            "storages": [each["nbytes"] for each in plan["storages"]],
            "arrays": [
                [each["storage"], each["first"], each["last"], each["nbytes"], number.get(each["node"], -1)]
                for each in inside
            ],
        }
    }  # fmt: skip


def _text(name: str, lines: list[str], at: dict[int, list[int]], most: int) -> dict[str, Any]:
    shown, size = [], 0
    for line in lines:
        size += min(len(line), LINE) + 1
        if size > most:
            break
        shown.append(short(line, LINE))
    return {
        "kind": name,
        "words": name,
        "text": "\n".join(shown),
        "of": len(lines),
        "things": _pairs(at, len(shown)),
    }


def _pairs(at: dict[int, list[int]], most: int) -> list[list[int]]:
    """Lines of each number as runs: ``[number, first, last, first, last, ...]``."""
    pairs = []
    for number, lines in at.items():
        runs: list[int] = []
        for line in sorted({line for line in lines if line <= most}):
            if runs and runs[-1] == line - 1:
                runs[-1] = line
            else:
                runs += [line, line]
        if runs:
            pairs.append([number, *runs])
    return pairs


def _hlo(text: str) -> tuple[list[str], dict[str, int]]:
    """The text without metadata, the entry first; and the line (from 1) of each instruction."""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if re.match(r"(?:ENTRY )?%?[\w.\-]+ .*\{$", line) and not line.startswith("HloModule"):
            parts.append([])
        if len(parts) > 1 or line.startswith("HloModule"):
            parts[-1].append(_without_metadata(line))
    head, *computations = parts
    entry = [part for part in computations if part[0].startswith("ENTRY")]
    others = [part for part in computations if not part[0].startswith("ENTRY")]
    lines: list[str] = []
    for part in [head, *entry, *others]:
        while part and not part[-1].strip():
            part.pop()
        lines += [*part, ""] if part else []
    at: dict[str, int] = {}
    for n, line in enumerate(lines, 1):
        match = _INSTRUCTION.match(line)
        if match:
            at.setdefault(match[1], n)
    return lines[:-1], at


def _parameters(lines: list[str], inputs: list[int]) -> dict[int, list[int]]:
    """The lines of the entry's parameters by input: the program's numbers are its first parameter."""
    places: dict[int, list[int]] = {}
    entry = False
    for n, line in enumerate(lines, 1):
        if line.startswith("ENTRY"):
            entry = True
        elif entry and line.startswith("}"):
            break
        elif entry and (number := re.search(r" parameter\((\d+)\)", line)):
            place = int(number[1]) - 1
            if 0 <= place < len(inputs):
                places[inputs[place]] = [n]
    return places


def _without_metadata(line: str) -> str:
    """A line without the braces that only say where it comes from, or how a library executes it."""
    while match := _METADATA.search(line):
        depth, end = 1, match.end()
        quoted = False
        while end < len(line) and depth:
            character = line[end]
            if character == '"' and line[end - 1] != "\\":
                quoted = not quoted
            elif not quoted:
                depth += (character == "{") - (character == "}")
            end += 1
        line = line[: match.start()] + line[end:]
    return line


def _known(instructions: list[str], lines: dict[str, int]) -> list[int]:
    return [lines[name] for name in instructions if name in lines]


def _group(row: dict[str, Any], number: dict[str, int], lines: dict[str, int]) -> dict[str, Any]:
    data = {
        "line": lines.get(row["hlo_name"], 0),
        "kind": row["kind"],
        "name": row["target"] or row["hlo_name"],
        "in": row["bytes_in"],
        "out": row["bytes_out"],
        "things": [number[name] for name in row["nodes"] if name in number],
        "reads": row["reads"],
        "inputs": row["inputs"],
    }
    if row["inferred"]:
        data["inferred"] = True
    if row["parent"] is not None:
        data["parent"] = row["parent"]
    return data


def _say_what(stages: list[dict[str, Any]], program: Program, groups: list[dict[str, Any]]) -> None:
    """One line for each stage: what there is now."""
    operations = [
        sum(node["op"] is not None for node in step["graph"]["nodes"]) for step in program.steps
    ]
    before = None
    steps = [stage for stage in stages if "graph" in stage]
    for stage, count in zip(steps, operations, strict=True):
        text = how_many(count, "operation")
        if stage["changed"] is not None:
            text = f"{before} → {how_many(count, 'operation')}" if before != count else text
            text += f": {stage.pop('what')}" if stage["changed"] else ": nothing to do here"
        stage["what"], before = text, count
    for stage in stages:
        if stage["kind"] in ("jaxpr", "stablehlo", "hlo"):
            shown = stage["text"].count("\n") + 1
            stage["what"] = how_many(stage["of"], "line")
            if shown < stage["of"]:
                stage["what"] += f", the first {shown:,} are shown"
        elif stage["kind"] == "run":
            outer = [each for each in groups if "parent" not in each]
            kinds = {each["kind"]: 0 for each in outer}
            for each in outer:
                kinds[each["kind"]] += 1
            last = operations[-1] if operations else 0
            counted = ", ".join(f"{n} × {kind}" for kind, n in kinds.items())
            stage["what"] = (
                f"{how_many(last, 'operation')} became {how_many(len(outer), 'piece')}: {counted}"
            )
        elif stage["kind"] == "plan" and "plan" in stage:
            plan = stage["plan"]
            count = len(plan["arrays"])
            stage["what"] = (
                f"{how_many(count, 'array')} in {how_many(len(plan['storages']), 'piece')} of memory"
            )
        stage.setdefault("what", "")
