"""Why is this not fused? XLA records no reasons; the kinds of the pieces show which rule separates them."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.widgets.why.question import Payload, question

_ALONE = {
    "library call": (
        "a library computes it on whole arrays, so its inputs are written to memory first "
        "and its results are read from memory"
    ),
    "copy": "it moves elements to another layout or position, and its readers need the whole result",
    "loop": "a loop is a separate program: its body is fused, but not with the code around it",
    "branch": "a branch is a separate program: its two sides are fused, but not with the code around them",
    "call": "XLA calls it as a separate program",
    "collective": "all devices take part, so its input must be complete before it starts",
}
_ASK = "Why not fused?"


def rule(first: str, second: str, readers: int, output: bool) -> str:
    """The rule that separates two pieces, the second of which reads the result of the first.

    Args:
        first, second: kinds of the pieces, see ``mixnet.stages.fusion.Group``.
        readers: pieces that read the first one's result.
        output: whether the result leaves the program.
    """
    for kind, which in ((first, "first"), (second, "second")):
        if kind in _ALONE:
            return f"The {which} is a {kind}: {_ALONE[kind]}."
    if output:
        return "The result of the first leaves the program, so it must be written to memory anyway."
    if readers > 1:
        return (
            f"{readers} pieces read the result of the first: fused into each of them, it would be "
            f"computed {readers} times."
        )
    return (
        "Both are loops over elements, and XLA records no reason for its choice; it ends a "
        "piece at a reduction over many elements, and wherever it estimates that fusing "
        "costs more than it saves."
    )


@question("mixnet.stages/1", "fused", _ASK)
def of_stages(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For each piece that reads another one's result, by program number and piece number: ``0/3``."""
    for p, program in enumerate(payload["programs"]):
        groups = program["groups"]
        readers = [sum(i in each["reads"] for each in groups) for i in range(len(groups))]
        for i, group in enumerate(groups):
            members = [
                f"Piece {k + 1} ({groups[k]['kind']}) and piece {i + 1} ({group['kind']}) are separate. "
                f"{rule(groups[k]['kind'], group['kind'], readers[k], False)}"
                for k in group["reads"]
                if k < i and groups[k].get("parent") == group.get("parent")
            ]
            if members:
                yield f"{p}/{i}", members[:4]


@question("mixnet.look/1", "fused", _ASK)
def of_look(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For each row whose reader runs in another piece, by row number."""
    pieces, graph = payload["pieces"], payload["graph"]
    if not pieces:
        return
    of: dict[int, list[int]] = {}
    for i, piece in enumerate(pieces):
        for row in piece["rows"] if "parent" not in piece else ():
            of.setdefault(row, []).append(i)

    def name(row: int) -> str:
        label: str = payload["labels"].get(graph["names"][row], graph["names"][row])
        return label

    readers: dict[int, list[int]] = {}
    inputs_back = iter(graph["edges"]["back"])
    for row, count in enumerate(graph["edges"]["count"]):
        for read in dict.fromkeys(row - next(inputs_back) for _ in range(count)):
            readers.setdefault(read, []).append(row)
    single = [len(graph["outs"][each]) == 1 for each in graph["nodes"]["outputs"]]
    outputs = {row for row in graph["heads"] if single[row]}  # of several, another may leave
    for row, after in readers.items():
        if graph["nodes"]["op"][row] < 0 or row not in of:
            continue
        sentences: list[str] = []
        for each in after:
            steps = [(a, b) for a in of[row] for b in of.get(each, ()) if a < b]
            if not steps or set(of[row]) & set(of[each]) or len(sentences) == 3:
                continue
            a, b = max(steps, key=lambda pair: (pair[0], -pair[1]))
            reading = len({of[other][0] for other in after if other in of})
            sentences.append(
                f"{name(row)} runs in piece {a + 1} ({pieces[a]['kind']}), {name(each)} reads "
                f"it in piece {b + 1} "
                f"({pieces[b]['kind']}). "
                f"{rule(pieces[a]['kind'], pieces[b]['kind'], reading, row in outputs)}"
            )
        if sentences:
            yield str(row), sentences
