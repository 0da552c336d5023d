"""The call order of random operators, for graphs whose structure does not imply it.

``b + dropout(a)`` and ``dropout(a) + b`` are traversed in different orders, though in both, ``b`` may have
been called first. Arrays draw when an operator is called, so symbols store the order of calls: with
threefry, a graph then draws the same numbers as arrays. MXNet's generators are used in the order of the
traversal, as in MXNet.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mixnet.graph.node import Node, topological

_calls = itertools.count(1)


class _Watch(threading.local):
    drawing: list[Node] | None = None


_watch = _Watch()


@contextmanager
def calls_watched() -> Iterator[list[Node]]:
    """Scope with a list of all random operators that this thread composes inside, in order."""
    before, _watch.drawing = _watch.drawing, []
    try:
        yield _watch.drawing
    finally:
        _watch.drawing = before


def note_call(node: Node) -> None:
    """Number a new node, if its operator draws."""
    if node.op.takes_key:
        node.order = next(_calls)
        if _watch.drawing is not None:
            _watch.drawing.append(node)


def note_copies(nodes: Sequence[Node]) -> None:
    """Number copies of composed nodes as calls made now, in the order of the originals."""
    for node in drawing(nodes):
        note_call(node)


def drawing(nodes: Sequence[Node]) -> list[Node]:
    """The nodes whose operators draw, in the order in which they were called.

    Nodes without a number, from symbol files, come first, in the order of ``nodes``.
    """
    nodes_that_draw = [node for node in nodes if node.op is not None and node.op.takes_key]
    return sorted(nodes_that_draw, key=lambda node: node.order or 0)


def in_order_of_calls(nodes: Sequence[Node]) -> list[Node]:
    """All ``nodes``, inputs before users; the random ones in the order in which they were called."""
    first = drawing(nodes)
    return topological([*first, *nodes]) if len(first) > 1 else list(nodes)


def numbers_of_draws(
    nodes: Sequence[Node], called: Sequence[Node], statics_of: Callable[[Node], Any]
) -> tuple[dict[Node, int], int]:
    """The index of each random node's first draw, and the total number of draws.

    Args:
        nodes: the nodes of a graph.
        called: random nodes that were composed with it; those that no output needs take draws, too.
        statics_of: returns the attributes of a node, with its mode.
    """
    reached = {node.order or 0 for node in drawing(nodes)}
    unused = [node for node in called if node.order not in reached]
    numbers: dict[Node, int] = {}
    count = 0
    for node in drawing([*nodes, *unused]):
        assert node.op is not None
        numbers[node] = count
        count += node.op.draws(statics_of(node))
    return numbers, count
