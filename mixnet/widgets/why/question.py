"""Questions of views, answered only from the data of a payload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Payload = Mapping[str, Any]
Find = Callable[[Payload], Iterable[tuple[str, list[str]]]]


@dataclass(frozen=True)
class Answer:
    """An answer.

    Args:
        ask: the question, ``Why is it still in memory?``.
        of: what it is about.
        text: the answer in a sentence.
        more: further facts, a sentence each.
    """

    ask: str
    of: str
    text: str
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.of}: {self.ask}" if self.of else self.ask
        return "\n".join([head, f"  {self.text}", *(f"  - {each}" for each in self.more)])


@dataclass(frozen=True)
class Question:
    """A question that a reader of a view may ask about the selection.

    Args:
        name: key of its answers in the payload.
        ask: its words.
        find: gives the things of a payload that it is answered for, by a key, and the answer: a
            sentence, then further ones.
    """

    name: str
    ask: str
    find: Find


QUESTIONS: dict[str, list[Question]] = {}
"""Questions by the schema of the payload with the facts."""


def question(schema: str, name: str, ask: str) -> Callable[[Find], Find]:
    """Declare a question for the payloads of a schema; the function finds its answers.

    Args:
        schema: of the payload.
        name: key of its answers.
        ask: its words.
    """

    def declare(find: Find) -> Find:
        QUESTIONS.setdefault(schema, []).append(Question(name, ask, find))
        return find

    return declare


def same_questions(schema: str, other: str) -> None:
    """Give a schema the questions of another one, which it extends."""
    QUESTIONS[schema] = QUESTIONS.setdefault(other, [])


def answers(payload: Payload) -> dict[str, Any]:
    """The entry ``why`` of a payload: ``{name: {"ask": words, "of": {key: [sentence, ...]}}}``.

    A question without answers is left out.
    """
    texts = {}
    for each in QUESTIONS.get(payload.get("schema", ""), ()):
        of = dict(each.find(payload))
        if of:
            texts[each.name] = {"ask": each.ask, "of": of}
    return texts


def answered(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with its answers, so that a page without a kernel has them too."""
    if "why" in payload or payload.get("schema") not in QUESTIONS:
        return payload
    return {**payload, "why": answers(payload)}


def answers_of(payload: Payload, key: str, of: str) -> list[Answer]:
    """The answers of a payload about one thing.

    Args:
        payload: with its answers.
        key: of the thing.
        of: what it is called.
    """
    return [
        Answer(entry["ask"], of, entry["of"][key][0], tuple(entry["of"][key][1:]))
        for entry in payload.get("why", {}).values()
        if key in entry["of"]
    ]
