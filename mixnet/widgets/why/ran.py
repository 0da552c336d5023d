"""Why was this interpreted, or compiled? From what the runtime decided when the program was new."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.runtime.programs import decision
from mixnet.widgets.why.question import Answer, Payload, question

ASK = "Why interpreted or compiled?"


@question("mixnet.engine/1", "ran", ASK)
def ran(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For the tasks that ran a program, by run number and task number: ``0/12``."""
    for r, run in enumerate(payload["runs"]):
        for i, text in enumerate(run["ops"].get("how", ())):
            if text >= 0:
                yield f"{r}/{i}", [run["strings"][text]]


def of_line(line: str) -> list[Answer]:
    """The programs that a line of the user's program had run first, the oldest first.

    Args:
        line: ``file:line`` or its end: ``train.py:12``.
    """
    return [
        Answer(
            ASK,
            source,
            decision.sentence(history[-1]),
            tuple(f"Before: {decision.sentence(each)}" for each in history[-2::-1]),
        )
        for source, history in decision.of_lines().items()
        if source == line or source.endswith(f"/{line}")
    ]
