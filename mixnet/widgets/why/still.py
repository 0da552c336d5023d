"""The answers of a view where no script runs: below its picture, to each question the first few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mixnet.widgets.why.question import Answer, Payload

MOST_PRINTED = 4
"""Answers to each question that the still form of a view prints."""


def printed(subjects: Iterable[tuple[Payload, dict[str, str]]]) -> list[Answer]:
    """The first few answers to each question.

    Args:
        subjects: payloads with answers; for each the names of what these are about, by the keys of
            the answers, the most important first.
    """
    answers = []
    for payload, names in subjects:
        for entry in payload.get("why", {}).values():
            keys = [key for key in names if key in entry["of"]][:MOST_PRINTED]
            for key in keys:
                text, *more = entry["of"][key]
                answers.append(Answer(entry["ask"], names[key], text, tuple(more)))
    return answers


def arrays_by_key(payload: dict[str, Any], labels: dict[str, str]) -> dict[str, str]:
    """Names of the arrays in memory by key, those of the plan that is shown first, the largest first."""
    arrays = []
    for g, graph in enumerate(payload["graphs"]):
        names = graph["steps"]["name"]
        for i, step in enumerate(graph["arrays"]["step"]):
            name = names[step]
            arrays.append((g, -graph["arrays"]["bytes"][i], i, labels.get(name, name)))
    return {f"{g}/{i}": name for g, _, i, name in sorted(arrays)}


def tasks_by_key(payload: dict[str, Any], labels: dict[str, str]) -> dict[str, str]:
    """Names of tasks by key, those that waited longest first."""
    tasks = []
    for r, run in enumerate(payload["runs"]):
        ops = run["ops"]
        for i, number in enumerate(ops["name"]):
            name = run["strings"][number] if number >= 0 else "a task"
            tasks.append((-ops["queued"][i] - ops["waited"][i], r, i, labels.get(name, name)))
    return {f"{r}/{i}": name for _, r, i, name in sorted(tasks)}
