"""Nodes: one class for the graphs of lazy arrays, symbols, tapes and traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mixnet.ops.operator import Operator
from mixnet.process.source import (
    Place,
    Source,
    are_lines_kept,
    notebook_shell,
    source_of,
    user_place,
    user_source,
)


class Entry(NamedTuple):
    """One output of a node."""

    node: Node
    index: int = 0  # type: ignore[assignment]  # tuples have a method of that name


class ScalarSlot(int):
    """A scalar that is an input of the program: its index in the vector of scalars."""


class Node:
    """A variable (``op`` None) or an operator applied to entries.

    The operation of a node never changes while a graph contains it: passes create new nodes. The creator of
    a node may change other attributes: a symbol its attributes, which are text; a copy of a graph its name;
    a tape the values that it stores until backward. A finished tape turns its nodes into variables, so that
    they hold no arrays.

    Args:
        op: the operator, None for a variable.
        statics: its bound static attributes, see ``Op.bind``.
        scalars: its numbers: values, or indices into the program's vector of scalars.
        inputs: entries of other nodes.
        name: unique in a symbol; shown everywhere.
        attrs: attributes as text, as in a symbol file, including the user's.
        values: on a tape, the values of the outputs until backward has used them.

    Attributes that not every graph needs:

    * ``source`` is the user's line that created the node, for symbols, and for other nodes if lines were
      requested; ``line`` holds it, or the code position from which it is determined.
    * ``call`` is the recorded call, on a tape.
    * ``moves`` lists states that wait for backward, also on a tape; see :mod:`mixnet.runtime.record.moving`.
    * ``order`` is the order of drawing for random operators of symbols and of loop bodies; see
      :mod:`mixnet.graph.draws`.
    """

    __slots__ = (
        "__weakref__",
        "attrs",
        "call",
        "inputs",
        "line",
        "moves",
        "name",
        "op",
        "order",
        "scalars",
        "statics",
        "values",
    )

    op: Operator  # None for a variable, see ``is_variable``
    line: Source | Place | None
    call: Any
    moves: tuple[Any, ...]
    order: int | None

    def __init__(
        self,
        op: Operator | None,
        statics: Any = (),
        scalars: tuple[float, ...] = (),
        inputs: tuple[Entry, ...] = (),
        name: str = "",
        attrs: dict[str, str] | None = None,
        values: Any = None,
    ):
        self.op = op  # type: ignore[assignment]
        self.statics = statics
        self.scalars = scalars
        self.inputs = inputs
        self.name = name
        self.attrs = attrs or {}
        self.values = values
        self.line = self.call = self.order = None
        self.moves = ()

    @property
    def source(self) -> Source | None:
        """The user's line that made the node, if it is known."""
        line = self.line
        return source_of(line) if isinstance(line, tuple) else line

    @source.setter
    def source(self, source: Source) -> None:
        self.line = source

    @property
    def is_variable(self) -> bool:
        """Whether the node is an input of the graph."""
        return self.op is None

    def replaced(self, inputs: tuple[Entry, ...]) -> Node:
        """The same operation on other inputs."""
        node = Node(self.op, self.statics, self.scalars, inputs, self.name, self.attrs)
        return node.made_from(self)

    def with_inputs(self, inputs: tuple[Entry, ...]) -> Node:
        """This node, if these are its inputs; otherwise the same operation on them."""
        return self if inputs == self.inputs else self.replaced(inputs)

    def in_mode(self, training: bool) -> Any:
        """The attributes in training or in prediction mode."""
        assert self.op is not None
        return (*self.statics[:-1], training) if self.op.takes_training else self.statics

    def differentiated_in_prediction(self) -> Node:
        """The node whose gradient ``backward(train_mode=False)`` takes for that of this one."""
        assert self.op is not None
        op, statics = self.op.differentiated_in_prediction(self.statics)
        if op is self.op and statics == self.statics:
            return self
        changed = Node(op, statics, self.scalars, self.inputs, self.name, self.attrs)
        return changed.made_from(self)

    def made_from(self, other: Node) -> Node:
        """This node, with the line and the order of the node that it was derived from, if set there."""
        if other.line is not None:
            self.line = other.line
        if other.order is not None:
            self.order = other.order
        return self

    def __repr__(self) -> str:
        return f"<{'variable' if self.op is None else self.op.name} {self.name!r}>"


def keep_line(node: Node) -> None:
    """Store the user's line in a new node, if lines are recorded or this is a notebook.

    In a notebook, views show the lines of symbols that were composed earlier. Determining a line takes a few
    microseconds, so scripts have to request it.
    """
    if are_lines_kept() or notebook_shell() is not None:
        source = user_source()
        if source is not None:
            node.source = source


def keep_place(node: Node, above: int) -> None:
    """Store the code position of the user's call in a new node of a symbol.

    That takes half a microsecond; the line is determined only when it is read.

    Args:
        node: the new node.
        above: the least number of this library's frames between the caller of this function and the user's
            code.
    """
    if are_lines_kept() or notebook_shell() is not None:
        keep_line(node)
        return
    place = user_place(above + 1)
    if place is not None:
        node.line = place


def made_in(node: Node) -> str:
    """A sentence for errors, after a space: the user's line that created a node; empty if unknown."""
    return "" if node.source is None else f" It was made in {node.source}."


def topological(heads: Iterable[Node], without: Iterable[Node] = ()) -> list[Node]:
    """Nodes below ``heads``, inputs before their users; the order of a depth-first walk.

    The traversal has its own stack, because a lazy chain is easily 10,000 nodes deep.

    Args:
        heads: where the walk begins.
        without: nodes that it does not enter.
    """
    order: list[Node] = []
    visited: set[Node] = set(without)
    for head in heads:
        stack: list[Node | None] = [head]
        path: list[Node] = []  # the nodes that are entered and not left yet
        while stack:
            node = stack.pop()
            if node is None:  # all inputs of the last node on the path are done
                order.append(path.pop())
            elif node not in visited:
                visited.add(node)
                inputs = node.inputs
                if not inputs:
                    order.append(node)
                    continue
                path.append(node)
                stack.append(None)
                for source, _ in reversed(inputs):
                    if source not in visited:
                        stack.append(source)
    return order
