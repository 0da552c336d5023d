"""First sight: what to look at first in a view, in one sentence, and the words in it that a reader may not know."""

from __future__ import annotations

import re
from typing import Any

MEANINGS = {
    "node": "one operation of a graph, or one of its inputs",
    "block": "a part of a network that has a name in the program; a box that opens",
    "overlay": "what the colours of boxes stand for: bytes, floating point operations, time, storage, piece",
    "stage": "one form of a program on its way from Python to instructions",
    "pass": "a function from graph to graph, with a name",
    "memory plan": "which place in memory each array gets, and when: decided before anything runs",
    "arena": "one piece of memory in which a plan gives every array its place",
    "peak": "the step at which the arrays that are needed at once take most bytes",
    "task": "work that the engine runs as soon as everything it reads is there",
    "lane": "one thread of the engine, as a row of a timeline",
    "longest chain": "the tasks of which each waits for the one before and that take longest together: no number of threads makes a run shorter",
    "piece": "what runs as one: a fused kernel, a library call, a copy",
    "step": "one operation in the order in which a plan runs them; in a training, one batch",
    "spec": "shape, dtype and device of a value",
    "pending": "recorded, and not computed yet",
    "efficiency": "speed on n devices, divided by n times the speed on one",
    "gradient": "how the loss changes with each number of an array",
    "curve": "a number that is measured again and again, over steps",
}  # fmt: skip
"""Words of views and what they mean; docs/concepts/glossary.md says the same."""


def sight(text: str) -> dict[str, Any]:
    """The entry ``sight`` of a payload: the sentence with its ``[words]``, and what they mean.

    Raises:
        KeyError: a word has no meaning.
    """
    return {"text": text, "words": {word: MEANINGS[word] for word in re.findall(r"\[([^\]]+)\]", text)}}  # fmt: skip


def plain(text: str) -> str:
    """The sentence without brackets."""
    return re.sub(r"\[([^\]]+)\]", r"\1", text)
