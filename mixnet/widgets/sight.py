"""First sight: one sentence on what to look at first in a view, and definitions of its terms."""

from __future__ import annotations

import re
from typing import Any

MEANINGS = {
    "node": "one operation of a graph, or one of its inputs",
    "block": "a part of a network that has a name in the program; a box that opens",
    "overlay": "what the colours of boxes show: bytes, floating-point operations, time, storage, piece",
    "stage": "one form of a program on its way from Python to instructions",
    "pass": "a function from graph to graph, with a name",
    "memory plan": "the place in memory of each array, and for which steps: computed before anything runs",
    "arena": "one block of memory in which a plan places every array",
    "peak": "the step at which the arrays in use take the most bytes",
    "task": "work that the engine runs as soon as everything it reads is ready",
    "lane": "one thread of the engine, as a row of a timeline",
    "longest chain": "the slowest chain of tasks in which each waits for the previous one: "
    "no number of threads makes a run shorter",
    "piece": "a unit of the compiled program: a fused kernel, a library call, a copy",
    "step": "one operation in the order in which a plan runs them; in training, one batch",
    "spec": "shape, dtype and device of a value",
    "pending": "recorded, and not computed yet",
    "efficiency": "speed on n devices, divided by n times the speed on one",
    "gradient": "how the loss changes with each number of an array",
    "curve": "a number measured repeatedly, over steps",
}
"""Words of views and what they mean; docs/concepts/glossary.md says the same."""


def sight(text: str) -> dict[str, Any]:
    """The entry ``sight`` of a payload: the sentence with its ``[words]``, and what they mean.

    Raises:
        KeyError: a word has no meaning.
    """
    return {
        "text": text,
        "words": {word: MEANINGS[word] for word in re.findall(r"\[([^\]]+)\]", text)},
    }


def plain(text: str) -> str:
    """The sentence without brackets."""
    return re.sub(r"\[([^\]]+)\]", r"\1", text)
