"""Puzzle: plan memory, schedule tasks on threads, or choose what to fuse, by hand and without a kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.units import size_text
from mixnet.widgets.memory.plans import PlanRequest
from mixnet.widgets.puzzle import fusion, memory, tasks
from mixnet.widgets.puzzle.picture import picture, score_text
from mixnet.widgets.puzzle.ready import NETWORKS, TASKS
from mixnet.widgets.puzzle.rules import judge, letter, numbered
from mixnet.widgets.sight import sight
from mixnet.widgets.view import View

MOST = 40
"""The most boxes, tasks or operations of a puzzle: more are too many for a person."""

KINDS = ("memory", "tasks", "fusion")
_SIGHTS = {
    "memory": (
        "Drag the highest box down to a place that is free at its [step]s: the [arena] "
        "shrinks; the score is its height."
    ),
    "tasks": "Move the first [task] that could run earlier to another [lane]: the score is the end of "
    "the last one, and the [longest chain] shows how short it can get.",
    "fusion": (
        "Drag one [node] onto its neighbour: they run as one [piece], and values between "
        "them do not go through memory; the score is the bytes moved."
    ),
}


class Puzzle(View):
    """A puzzle about a decision of a planner, an engine or a compiler; solved with the mouse, a
    finger or keys.

    ==========  ==================================================  ==========================================
    kind        to do                                               score, lower is better
    ==========  ==================================================  ==========================================
    ``memory``  give each array its place in one arena              the arena's bytes
    ``tasks``   put tasks on threads, in an order that is allowed   when the last task ends, in units of time
    ``fusion``  choose what runs as one kernel                      bytes read and written
    ==========  ==================================================  ==========================================

    Whatever breaks a rule is marked, with the reason. The score is shown beside a lower bound and the
    scores of mixnet, MXNet's rule or XLA; they are computed here, so the page (``to_html``)
    needs no kernel.

    Args:
        name: a ready-made puzzle: ``memory``, ``memory-training``, ``tasks``, ``tasks-branches``, ``fusion``,
            ``fusion-softmax``.
        threads: of a puzzle of tasks; by default 2.
        answers: let the reader see the other solutions; False shows only their scores.

    Raises:
        AttributeValueError: there is no such puzzle, or no such number of threads.

    State: ``place`` (an entry for each item: offset in bytes, ``[thread, start]``, or number of
    a group), ``selected`` (number of an item).

    Source: the payload ``mixnet.puzzle/1`` has ``kind``, ``name``, ``items`` (boxes, tasks or
    operations), for fusion ``values`` (the arrays between them), for tasks ``threads``,
    ``start`` (where the reader begins) and ``references`` (``name``, ``means``, ``score``,
    ``place``; ``bound`` if no answer can be better).
    """

    schema = "mixnet.puzzle/1"
    bundle = "puzzle"

    def __init__(self, name: str = "memory", *, threads: int | None = None, answers: bool = True):
        if name in TASKS:
            title, usual, rows = TASKS[name]
            puzzle_tasks = _tasks(title, tasks.checked(rows), usual if threads is None else threads)
        elif name in NETWORKS:
            kind, title, make, shapes, train = NETWORKS[name]
            request = PlanRequest(make(), (), train, None, shapes, sys._getframe(), "Puzzle")
            puzzle_tasks = _network(request, kind, 2 if threads is None else threads, title)
        else:
            ready = ", ".join([*NETWORKS, *TASKS])
            raise AttributeValueError(
                f"Puzzle: expected one of {ready}, got {name!r}. Puzzle.of(net, x) makes one "
                "from your own network."
            )
        self._begin(puzzle_tasks, answers)

    @classmethod
    def of(  # type: ignore[override]  # View.of draws what is stored; this makes a puzzle
        cls,
        target: object,
        *inputs: object,
        kind: str = "memory",
        train: bool = False,
        loss: object = None,
        threads: int = 2,
        answers: bool = True,
        **shapes: object,
    ) -> Puzzle:
        """A puzzle made from a network.

        Args:
            target: a ``HybridBlock``, with arrays; or a ``Symbol``, with shapes or arrays by name.
            inputs: arrays for a block; the last one is the label where there is a loss.
            kind: ``memory``, ``tasks`` or ``fusion``.
            train: forward and gradients, or forward alone.
            loss: for a block, a loss block that the gradients are of.
            threads: of a puzzle of tasks.
            answers: let the reader see the other solutions.
            shapes: for a symbol, shapes or arrays by name.

        Raises:
            AttributeTypeError: the target is neither, or does not take these inputs.
            AttributeValueError: no such kind; or the network has nothing to decide, or too much for a person.
        """
        if kind not in KINDS:
            raise AttributeValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}.")
        frame = sys._getframe()
        request = PlanRequest(target, inputs, train, loss, shapes, frame, "Puzzle")
        return cls._of_payload(_network(request, kind, threads, request.name), answers)

    @classmethod
    def of_tasks(
        cls, rows: Sequence[Any], *, threads: int = 2, name: str = "tasks", answers: bool = True
    ) -> Puzzle:
        """A puzzle made from your own tasks.

        Args:
            rows: ``(name, time, reads, writes)`` of each task, in the order of pushing: units of
                time, and names of variables.
            threads: how many there are.
            name: shown.
            answers: let the reader see the other solutions.

        Raises:
            AttributeValueError: a task has another form, or there are too many.
        """
        try:
            items = tasks.checked(rows)
        except ValueError as error:
            raise AttributeValueError(f"Puzzle.of_tasks: {error}.") from None
        return cls._of_payload(_tasks(name, items, threads), answers)

    @classmethod
    def _of_payload(cls, payload: dict[str, Any], answers: bool) -> Puzzle:
        puzzle = cls.__new__(cls)
        puzzle._begin(payload, answers)
        return puzzle

    def _begin(self, payload: dict[str, Any], answers: bool) -> None:
        for each in payload["references"]:
            if each["place"] is not None:
                verdict = judge(payload, each["place"])
                assert not verdict["conflicts"], (each["name"], verdict["conflicts"])
                each["score"] = verdict["score"]
                if not answers:
                    each["place"] = None
        super().__init__(payload, {"place": payload["start"]})

    @property
    def answer(self) -> list[Any]:
        """The current answer, with an entry for each item: offset, ``[thread, start]`` or group.
        Assign one to show it.
        """
        return list(self.state["place"])

    @answer.setter
    def answer(self, place: Sequence[Any]) -> None:
        self.choose(place=_checked(self.payload, place))

    @property
    def score(self) -> int:
        """The score of the answer; lower is better."""
        return int(judge(self.payload, self.answer)["score"])

    @property
    def conflicts(self) -> list[str]:
        """The conflicts of the answer, one sentence each; an answer with conflicts does not count."""
        return [each["text"] for each in judge(self.payload, self.answer)["conflicts"]]

    def summary(self) -> str:
        p = self.payload
        known = ", ".join(
            f"{each['name']} {score_text(p, each['score'])}" for each in p["references"]
        )
        wrong = len(self.conflicts)
        score = score_text(p, self.score) + (
            f" with {wrong} conflict{'s' if wrong > 1 else ''}" if wrong else ""
        )
        task = _TO_DO[p["kind"]].format(len(p["items"]))
        return f"Puzzle, {p['name']}: {task}; this answer {score}; {known}"

    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        p, place = self.payload, self.answer
        items = p["items"]
        if p["kind"] == "memory":
            return ["array", "size", "from step", "to step", "offset"], [
                [each["name"], size_text(each["size"]), each["begin"] + 1, each["end"], at]
                for each, at in zip(items, place, strict=True)
            ]
        if p["kind"] == "tasks":
            return ["task", "time", "reads", "writes", "thread", "start"], [
                [
                    each["name"],
                    each["time"],
                    ", ".join(each["reads"]),
                    ", ".join(each["writes"]),
                    thread + 1,
                    start,
                ]
                for each, (thread, start) in zip(items, place, strict=True)
            ]
        name = [f"{value['name']} ({size_text(value['bytes'])})" for value in p["values"]]
        return ["operation", "operator", "kind", "reads", "writes", "group"], [
            [each["name"], each["op"], each["kind"], ", ".join(name[v] for v in each["reads"]),
             ", ".join(name[v] for v in each["writes"]), letter(group)]
            for each, group in zip(items, numbered(place), strict=True)
        ]  # fmt: skip

    def svg(self) -> str:
        return picture(self.payload, self.answer, self.summary())


_TO_DO = {
    "memory": "plan the memory of {} arrays",
    "tasks": "run {} tasks on threads",
    "fusion": "choose which of {} operations run as one",
}


def _network(request: PlanRequest, kind: str, threads: int, name: str) -> dict[str, Any]:
    """The payload of a network's puzzle."""
    plan = request.plan()
    extra: dict[str, Any] = {}
    if kind == "memory":
        items = memory.items_of(plan)
        _check_count(name, items, "arrays with their own memory", request.train)
        known, start = memory.references(items)
    elif kind == "tasks":
        return _tasks(name, tasks.items_of(plan), threads, request.train)
    else:
        items, values = fusion.items_of(plan)
        _check_count(name, items, "operations", request.train)
        known, start = fusion.references(items, values, plan)
        extra = {"values": values}
    return _payload(kind, name, items, known, start, extra)


def _tasks(
    name: str, items: list[dict[str, Any]], threads: int, train: bool | None = None
) -> dict[str, Any]:
    _check_count(name, items, "tasks", train)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 8:
        raise AttributeValueError(f"threads: expected 1 to 8, got {threads!r}.")
    known, start = tasks.references(items, threads)
    return _payload("tasks", name, items, known, start, {"threads": threads})


def _payload(
    kind: str, name: str, items: object, known: object, start: object, extra: dict[str, Any]
) -> dict[str, Any]:
    first = {"sight": sight(_SIGHTS[kind])}
    return {
        **first,
        "kind": kind,
        "name": name,
        "items": items,
        **extra,
        "start": start,
        "references": known,
    }


def _check_count(name: str, items: Sequence[Any], noun: str, train: bool | None) -> None:
    """Refuse what is no puzzle.

    Args:
        name: of the puzzle.
        items: what is to be placed.
        noun: what they are.
        train: whether a network trains; None for tasks that are not a network's.
    """
    if len(items) < 2:
        more = "More tasks are needed." if train is None else "Use a larger network."
        if train is False:
            more = "Use a larger network, or train=True."
        raise AttributeValueError(
            f"Puzzle: {name} has {len(items)} {noun}; there is nothing to decide. {more}"
        )
    if len(items) > MOST:
        fewer = "Leave some out." if train is None else "Use a part of the network."
        if train:
            fewer = "Use a part of the network, or train=False."
        raise AttributeValueError(
            f"Puzzle: {name} has {len(items)} {noun}, and a puzzle has at most {MOST}. {fewer}"
        )


def _checked(payload: dict[str, Any], place: Sequence[Any]) -> list[Any]:
    """An answer in the form that this kind of puzzle uses.

    Raises:
        AttributeValueError: it has another.
    """
    items, kind = payload["items"], payload["kind"]
    expected = {
        "memory": "an offset in bytes",
        "tasks": "[thread, start]",
        "fusion": "the number of a group",
    }[kind]
    if len(place) != len(items):
        raise AttributeValueError(
            f"answer: expected {expected} for each of {len(items)} items, got {len(place)}."
        )
    checked: list[Any] = []
    for item, each in zip(items, place, strict=True):
        numbers = list(each) if kind == "tasks" and isinstance(each, (list, tuple)) else [each]
        are_counts = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)
        threads = payload.get("threads", 0)
        if not are_counts or (kind == "tasks" and (len(numbers) != 2 or numbers[0] >= threads)):
            raise AttributeValueError(
                f"answer: {item['name']} takes "
                f"{expected}{f', threads 0 to {threads - 1}' if threads else ''}; got {each!r}."
            )
        checked.append(numbers if kind == "tasks" else numbers[0])
    return checked
