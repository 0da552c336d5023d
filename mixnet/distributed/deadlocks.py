"""Deadlocks: processes that call the exchanges of two process sets in opposite order wait for each other.

Agreements compare the exchanges within one set. A process that has waited for long in an exchange reports it
to the scheduler, with the number of exchanges of each set that it has begun. It waits for another member
that waits, too, and has not begun that exchange. A circle of these never ends: each of them would have to
begin the exchange of another, and none can begin anything while it waits. This holds for reports of
different times as well, so a report is never wrong because it is old.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SECONDS = 10.0
"""How long a process waits in an exchange before it reports it."""

Ranks = tuple[int, ...]
"""Of a process set; empty for the whole job."""


def waiting(ranks: Ranks, number: int, text: str, begun: dict[Ranks, int]) -> dict[str, Any]:
    """The message of a process that waits.

    Args:
        ranks: of the process set of the exchange.
        number: of the exchange in that set.
        text: describes it.
        begun: for each set, the number of the last exchange that the process has begun.
    """
    return {
        "ranks": ranks,
        "number": number,
        "text": text,
        "begun": [[each, count] for each, count in begun.items()],
    }


@dataclass(frozen=True)
class _Waiting:
    ranks: Ranks
    number: int
    text: str
    begun: dict[Ranks, int]


class Deadlocks:
    """The scheduler's record of the processes that wait.

    Args:
        workers: how many there are.
    """

    def __init__(self, workers: int):
        self._all = tuple(range(workers))
        self._waiting: dict[int, _Waiting] = {}

    def add(self, rank: int, message: dict[str, Any]) -> dict[str, str]:
        """Record that a process waits.

        Returns:
            the exchanges of those that wait for each other, by rank; empty if it may still end.

        Raises:
            KeyError, TypeError, ValueError: the message is not valid.
        """
        begun = {tuple(map(int, ranks)): int(count) for ranks, count in message["begun"]}
        ranks, number = tuple(map(int, message["ranks"])), int(message["number"])
        self._waiting[rank] = _Waiting(ranks, number, str(message["text"]), begun)
        return {
            str(each): f"{self._waiting[each].text}, an exchange of {self._set_of(each)}"
            for each in self._circle(rank)
        }

    def _set_of(self, rank: int) -> str:
        ranks = self._waiting[rank].ranks
        return f"the ranks {', '.join(map(str, ranks))}" if ranks else "all workers"

    def _awaited_by(self, rank: int) -> list[int]:
        """Processes that have to begin the exchange of another one, but wait themselves."""
        state = self._waiting[rank]
        return [
            each
            for each in state.ranks or self._all
            if each in self._waiting
            and self._waiting[each].begun.get(state.ranks, 0) < state.number
        ]

    def _circle(self, start: int) -> list[int]:
        """The processes from one that waits back to itself; empty if there is no such circle."""
        paths, visited = [[start]], set[int]()
        while paths:
            path = paths.pop()
            for each in self._awaited_by(path[-1]):
                if each == start:
                    return path
                if each not in visited:
                    visited.add(each)
                    paths.append([*path, each])
        return []


def explained(texts: dict[str, str]) -> str:
    """The text of the error.

    Args:
        texts: the exchange of each process of the circle, by its rank.
    """
    parts = "; ".join(f"rank {rank} waits in {text}" for rank, text in sorted(texts.items()))
    return (
        f"The workers wait for each other and would never end. {parts}. Call the exchanges of process sets "
        "that have several processes in common in the same order in all of these."
    )
