"""Constants whose extents follow from those of the inputs, as the first states of recurrent
layers, where inputs are dynamic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mixnet.base import MXNetError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import to_text
from mixnet.passes.complete_shapes import attributes_of, complete_shapes

Shape = tuple[Any, ...]
_Origin = tuple[str, int]  # an input's name, and one of its axes


def follow_inputs(
    graph: Graph,
    completed: Graph,
    known: Mapping[str, Shape],
    open_shapes: Mapping[str, Shape],
) -> Graph:
    """The completed graph, with constants that grow with an input taking that extent from the input.

    The constants' shapes are inferred again with another size of each dynamic dimension: an
    extent that changes as much is that dimension.

    Args:
        graph: a symbol's, where constants have extents of 0 for what follows.
        completed: the same with these extents filled in, for the shapes ``known``.
        known: shapes of all variables by name.
        open_shapes: shapes of the inputs by name, with None or a name for a dynamic dimension.
    """
    before = _constants(completed)
    origins: dict[str, dict[int, _Origin]] = {}
    for places in _dimensions(known, open_shapes):
        name, axis = places[0]
        size = known[name][axis]
        changed = dict(known)
        for n, a in places:
            changed[n] = (*changed[n][:a], size + 1, *changed[n][a + 1 :])
        try:
            after = _constants(complete_shapes(graph, changed))
        except MXNetError:  # the network does not take another size
            continue
        for constant, shape in before.items():
            for i, (old, new) in enumerate(zip(shape, after.get(constant, shape), strict=True)):
                if (old, new) == (size, size + 1):
                    origins.setdefault(constant, {}).setdefault(i, (name, axis))
    return completed.rebuild(_change(completed, origins)) if origins else completed


def _constants(graph: Graph) -> dict[str, Shape]:
    """Shapes of constants, by names that no other node has."""
    return {
        graph.names[node]: tuple(node.op.keywords(node.statics)[node.op.shaped_by])
        for node in graph.nodes
        if not node.is_variable and node.op.shaped_by is not None and not node.op.arrays
    }


def _dimensions(
    known: Mapping[str, Shape], open_shapes: Mapping[str, Shape]
) -> Iterator[Sequence[_Origin]]:
    """Places of each dynamic dimension: those of one name; each without a name; those without
    that have one axis and size.
    """
    groups: dict[Any, list[_Origin]] = {}
    alike: dict[Any, list[_Origin]] = {}
    for name, shape in open_shapes.items():
        for axis, extent in enumerate(shape):
            if isinstance(extent, str):
                groups.setdefault(extent, []).append((name, axis))
            elif extent is None:
                groups[name, axis] = [(name, axis)]
                alike.setdefault((axis, known[name][axis]), []).append((name, axis))
    yield from groups.values()
    yield from (places for places in alike.values() if len(places) > 1)


def _change(graph: Graph, origins: Mapping[str, Mapping[int, _Origin]]) -> Callable[..., Any]:
    """Makes each of these constants with extents of 1, repeated as often as its inputs are long."""
    inputs = {node.name: Entry(node) for node in graph.inputs}
    like = find("broadcast_like")

    def change(node: Node, entries: tuple[Entry, ...]) -> Any:
        axes = origins.get(graph.names[node], {})
        if not axes:
            return node.replaced(entries)
        attribute = node.op.shaped_by
        assert attribute is not None
        shape = node.op.keywords(node.statics)[attribute]
        shape = tuple(1 if i in axes else extent for i, extent in enumerate(shape))
        statics, _ = node.op.bind({**attributes_of(node), attribute: shape})
        attrs = {**node.attrs, attribute: to_text(shape)}
        changed = Node(node.op, statics, node.scalars, entries, node.name, attrs).made_from(node)
        for axis, (name, place) in axes.items():
            statics, scalars = like.bind({"lhs_axes": (axis,), "rhs_axes": (place,)})
            changed = Node(
                like, statics, scalars, (Entry(changed), inputs[name]), f"{node.name}_like_{name}"
            )
        return (Entry(changed),)

    return change
