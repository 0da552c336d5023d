"""Why is this array still in memory? Answered from the plan (its last reader) or from live references."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.widgets.why.question import Payload, question


@question("mixnet.memory/1", "kept", "Why is it still in memory?")
def kept(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For each array, by graph number and array number: ``0/17``."""
    for g, graph in enumerate(payload["graphs"]):
        columns = graph["arrays"]
        if payload["unit"] != "step":
            for number, holders in graph.get("holders", {}).items():
                yield f"{g}/{number}", _holder_sentences(holders)
            continue
        for number, readers in enumerate(columns["readers"]):
            yield f"{g}/{number}", _needed(graph, columns["kind"][number], readers)


def _needed(graph: Payload, kind: str, readers: list[int]) -> list[str]:
    names, length = graph["steps"]["name"], graph["length"]
    turn = graph["regions"][0]["end"]
    last = (
        f"{names[readers[-1]]} reads it last, at step {readers[-1] + 1} of {length}"
        if readers
        else ""
    )
    if kind == "O":
        text = (
            f"It is an output: it belongs to the caller, so it stays until the end, step {length}."
        )
        return [text, f"In the graph {_many(readers)}."] if readers else [text]
    if not readers:
        return [
            (
                "No step reads it: its operation produces it in addition to the results that are "
                "needed, and its memory is freed at once."
            )
        ]
    if kind == "A":
        forward = [each for each in readers if each < turn]
        sentences = [f"It is saved for a gradient: {last}."]
        if forward:
            sentences.append(
                f"Without backward, it would be needed only until step {forward[-1] + 1}, "
                f"{names[forward[-1]]}."
            )
        return sentences
    if kind == "R":
        return [f"It was recomputed instead of saved: {last}."]
    sentences = [f"A later operation needs it: {last}."]
    return [*sentences, f"{_many(readers).capitalize()}."] if len(readers) > 1 else sentences


def _many(readers: list[int]) -> str:
    if len(readers) == 1:
        return f"step {readers[0] + 1} reads it"
    shown = ", ".join(str(each + 1) for each in readers[:6])
    return f"{len(readers)} steps read it: {shown}{' …' if len(readers) > 6 else ''}"


def _holder_sentences(holders: list[str]) -> list[str]:
    if not holders:
        return [
            (
                "Nothing that Python's garbage collector tracks holds it; a running program or an "
                "extension may."
            )
        ]
    return [
        f"It was alive when the view was made: {holders[0]}.",
        *(f"Also {each}." for each in holders[1:]),
    ]
