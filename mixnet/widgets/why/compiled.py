"""Why was this compiled again? Answered from trace keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixnet.runtime.compile import watch
from mixnet.widgets.why.question import Answer, Payload, question

ASK = "Why was it compiled?"


@question("mixnet.stages/1", "compiled", ASK)
def of_stages(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For the whole: key ``all``."""
    cache = payload["cache"]
    entries = cache["entries"]
    if cache["known"]:
        text = "This call is not compiled again: its key is in the cache."
    else:
        text = f"This call has to be traced: {'; '.join(cache['reasons']) or 'its key is new'}."
    yield (
        "all",
        [
            text,
            *(
                f"Entry {i + 1}, {each['key']}: {_because(each['reasons'])}"
                for i, each in enumerate(entries)
            ),
        ],
    )


@question("mixnet.look/1", "compiled", ASK)
def of_look(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For the whole: key ``all``; for a compiled block, what it was compiled for."""
    if payload.get("traces"):
        yield "all", _sentences(payload["traces"])


def traces_of(keys: Any) -> list[list[Any]]:
    """Compiled graphs, oldest first: what each was made for, and why the previous one did not fit.

    Args:
        keys: of ``HybridBlock.trace_keys``.
    """
    traces, before = [], None
    for key in keys:
        inputs = ", ".join(f"{each.dtype.name}{list(each.shape)}" for each in key.inputs)
        traces.append(
            [f"{inputs}, {'training' if key.training else 'predicting'}", key.reasons(before)]
        )
        before = key
    return traces


def of_block(block: Any) -> Answer:
    """Why a hybridized block has the compiled graphs that it has."""
    traces = traces_of(block.trace_keys())
    if not traces:
        why = (
            "It has no compiled graph yet: it has not been called since hybridize() or its last change."
            if block._active
            else (
                "It is not hybridized: its operations are compiled together with those around it; "
                "see mx.why()."
            )
        )
        return Answer(ASK, block.name, why)
    text, *more = _sentences(traces)
    return Answer(ASK, block.name, text, tuple(more))


def _sentences(traces: list[list[Any]]) -> list[str]:
    count = len(traces)
    count_text = (
        f"{count} graphs were compiled, one for each key" if count > 1 else "One graph was compiled"
    )
    advice = (
        ("; keep shapes and attributes constant to compile less often (pad or drop the last batch)")
        if count > 2
        else ""
    )
    return [f"{count_text}{advice}.", *(f"{key}: {_because(reasons)}" for key, reasons in traces)]


def _because(reasons: list[str]) -> str:
    return f"{'; '.join(reasons) or 'nothing differs from the previous entry'}."


def of_lines() -> list[Answer]:
    """Lines of the program that compiled more than once, those with the most programs first."""
    return [
        Answer("Why was it compiled again?", f"{each['line']} on {each['device']}",
               f"{each['programs']} programs were compiled for this line.",
               tuple(f"{'' if n == 1 else f'{n} times: '}{reason}." for reason, n in each["reasons"]))
        for each in watch.history()
    ]  # fmt: skip
