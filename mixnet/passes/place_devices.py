"""Placement: the device of each operation of a graph, and where the graph is split.

It is cut where a value crosses devices, and where a shape or the number of the host's draws depends on
values, which are read between two parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.generators.source import does_host_draw
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics


class CrossDeviceCopy(Operator):
    """A copy between two devices, which are its statics. Its gradient is the copy back."""

    name = "_CrossDeviceCopy"
    differentiable = True

    def keywords(self, statics: Statics, scalars: Sequence[Any] = ()) -> dict[str, Any]:
        """Names of both devices."""
        return {"source": str(statics[0]), "target": str(statics[1])}

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """The value itself, because one program has only one device."""
        return (arrays[0],)

    def backward_node(self, node: Node, heads: Sequence[Entry | None], wrt: Any) -> Node:
        """The copy of the gradient back to the device of the value."""
        (head,) = heads
        assert head is not None
        source, target = node.statics
        return Node(self, (target, source), (), (head,), f"{node.name}_backward")


COPY = CrossDeviceCopy()


@dataclass(frozen=True)
class Part:
    """Operations of one device that run as one program.

    If ``alone`` is a node, the part consists of that operation. If it waits for values, it runs after they
    have been read.

    Args:
        context: the device.
        graph: its inputs correspond to ``inputs``, its heads to ``outputs``, then to ``states``.
        inputs: entries of the placed graph that it reads, computed by earlier parts or copied.
        outputs: entries of the placed graph that others need.
        states: numbers of the states of the whole graph that get new values here.
    """

    context: Context
    graph: Graph
    inputs: tuple[Entry, ...]
    outputs: tuple[Entry, ...]
    states: tuple[int, ...]
    alone: Node | None = None


@dataclass(frozen=True)
class Placement:
    """A graph with copies, the device of each of its nodes, and the parts in the order in which they run."""

    graph: Graph
    places: Mapping[Node, Context]
    parts: tuple[Part, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: that of ``Graph.to_dict``, with ``device`` and ``part`` for each node."""
        data = self.graph.to_dict()
        part = _part_of(self.graph, self.places)
        order = {key: i for i, key in enumerate(_in_order(part.values()))}
        for row, node in zip(data["nodes"], self.graph.nodes, strict=True):
            row["device"] = str(self.places[node])
            row["part"] = order[part[node]] if node in part else None
        data["parts"] = [str(each.context) for each in self.parts]
        return data


def place_devices(
    graph: Graph, groups: Mapping[str, Context], default: Context, inputs: Sequence[Context]
) -> Placement:
    """Cut a graph into parts: by device, and at operators that wait for values.

    An operation runs on the device of its group (``ctx_group``); without one, where its first placed
    input is; without inputs, where its first reader runs. A value that another device reads is
    copied there once.

    Args:
        graph: the graph, before random keys are assigned: each part gets its own.
        groups: device of each group.
        default: the device of operations that nothing else determines.
        inputs: the device of each of the graph's inputs.

    Raises:
        MXNetError: a node belongs to a group without a device.
    """
    places = assign_devices(graph, groups, default, inputs)
    if len(set(places.values())) == 1:
        return Placement(graph, places, _cut(graph, places))
    copied = _with_copies(graph, places)
    return Placement(copied, places, _cut(copied, places))


def group_of(node: Node) -> str | None:
    """The group in which a node was created, see :class:`~mixnet.attribute.AttrScope`."""
    return node.attrs.get("__ctx_group__", node.attrs.get("ctx_group"))


def assign_devices(
    graph: Graph, groups: Mapping[str, Context], default: Context, inputs: Sequence[Context]
) -> dict[Node, Context]:
    """The device of each node; see :func:`place_devices`."""
    places: dict[Node, Context] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        group = group_of(node)
        if group is not None and group not in groups:
            raise MXNetError(
                f"Node {node.name!r} is of group {group!r}, for which group2ctx has no device; it has "
                f"{', '.join(map(repr, groups)) or 'none'}. Add group2ctx[{group!r}] = a context."
            )
        if node in places:
            continue
        if group is not None:
            places[node] = groups[group]
        else:
            placed = [places[e.node] for e in node.inputs if e.node in places]
            if placed:
                places[node] = placed[0]
    for node in reversed(graph.nodes):
        place = places.setdefault(node, default)
        for entry in node.inputs:
            places.setdefault(entry.node, place)
    return places


def _with_copies(graph: Graph, places: dict[Node, Context]) -> Graph:
    """The graph with copies where a node reads from another device; adds their devices to ``places``."""
    copies: dict[tuple[Entry, Context], Entry] = {}

    def change(node: Node, entries: tuple[Entry, ...]) -> Node:
        place = places[node]
        inputs = []
        for entry in entries:
            source = places[entry.node]
            if source is place:
                inputs.append(entry)
                continue
            if (entry, place) not in copies:
                name = f"{entry.node.name}_{entry.index}_copy"
                copied = Node(
                    COPY,
                    (source, place),
                    (),
                    (entry,),
                    name,
                    COPY.keywords((source, place)),
                )
                places[copied] = place
                copies[entry, place] = Entry(copied)
            inputs.append(copies[entry, place])
        copied = node.replaced(tuple(inputs))
        places[copied] = place
        return copied

    return graph.rebuild(change)


def awaits_values(node: Node, context: Context) -> bool:
    """Whether a node's shape, or its draws on the host, depend on values that are not read yet."""
    op = node.op
    return isinstance(op, Op) and (
        op.awaits_values(node.statics)
        or (op.draws_by_value and bool(node.inputs) and does_host_draw(context))
    )


def is_cut(graph: Graph, context: Context) -> bool:
    """Whether a graph has operators that run alone, so that it cannot run as one program."""
    return any(_runs_alone(node, context) for node in graph.nodes if not node.is_variable)


def _runs_alone(node: Node, context: Context) -> bool:
    """Whether a node waits for values, or its gradient writes states, whose arrays backward then writes."""
    written = node.op.written_in_backward(node.statics, len(node.inputs))
    return bool(written) or awaits_values(node, context) or _draws_by_turns(node, context)


def _draws_by_turns(node: Node, context: Context) -> bool:
    """Whether values decide which bodies of a loop or branch run, and the host draws for them."""
    op = node.op
    if not (isinstance(op, Op) and op.turns_by_value and does_host_draw(context)):
        return False
    bodies = op.keywords(node.statics)["subgraphs"]
    return any(body.draws(training) for body in bodies for training in (False, True))


PartKey = tuple[int, Context, Node | None]


def _part_of(graph: Graph, places: Mapping[Node, Context]) -> dict[Node, PartKey]:
    """The part of each operation: its stage, its device, and itself if it waits for values.

    The stage is the number of cuts before an operation: at copies between devices, and before and after
    each operation that waits for values. An operation could run as soon as its inputs are available, but it
    is delayed until its first reader runs; otherwise a layer would be split into the operations that do not
    need its input and the rest.
    """
    waits = {
        node for node in graph.nodes if not node.is_variable and _runs_alone(node, places[node])
    }
    nodes = graph.nodes
    after = {node: [entry.node for entry in node.inputs] for node in nodes}
    # Parts draw random numbers in the order of the graph, as in MXNet.
    if any(node.op.takes_key for node in waits):
        drawing = [node for node in nodes if node.op is not None and node.op.takes_key]
        for first, second in itertools.pairwise(drawing):
            after[second].append(first)
    earliest: dict[Node, int] = {}
    for node in nodes:
        before = [earliest[each] + (each in waits) for each in after[node]]
        earliest[node] = max(before, default=0) + _crosses(node) + (node in waits)
    latest: dict[Node, int] = {}
    for node in reversed(nodes):
        stage = latest.setdefault(node, earliest[node])
        for each in after[node]:
            needed = stage - _crosses(node) - (node in waits) - (each in waits)
            latest[each] = min(latest.get(each, needed), needed)
    return {
        node: (latest[node], places[node], node if node in waits else None)
        for node in graph.nodes
        if not node.is_variable and node.op is not COPY
    }


def _crosses(node: Node) -> bool:
    """Whether a node copies from another device; graph inputs do not count, since they can be copied any
    time.
    """
    return node.op is COPY and not node.inputs[0].node.is_variable


def _in_order(keys: Any) -> list[PartKey]:
    """Parts ordered by stage, and by first occurrence within a stage."""
    return sorted(dict.fromkeys(keys), key=lambda key: key[0])


def _cut(graph: Graph, places: Mapping[Node, Context]) -> tuple[Part, ...]:
    part = _part_of(graph, places)
    keys = _in_order(part.values())
    coming: dict[PartKey, dict[Entry, Node]] = {key: {} for key in keys}
    leaving: dict[PartKey, dict[Entry, None]] = {key: {} for key in keys}
    segments: dict[Node, Node] = {}

    def leave(entry: Entry) -> None:
        if entry.node in part:
            leaving[part[entry.node]][entry] = None

    for node in graph.nodes:
        if node.op is COPY:
            leave(node.inputs[0])
        if node not in part:
            continue
        inputs = []
        for entry in node.inputs:
            if part.get(entry.node) == part[node]:
                inputs.append(Entry(segments[entry.node], entry.index))
                continue
            leave(entry)
            known = coming[part[node]]
            if entry not in known:
                known[entry] = Node(None, name=entry.node.name, attrs=entry.node.attrs)
            inputs.append(Entry(known[entry]))
        segments[node] = node.replaced(tuple(inputs))
    for head in graph.heads[: graph.num_outputs]:
        leave(head)
    states: dict[PartKey, list[int]] = {key: [] for key in keys}
    for i, head in enumerate(graph.heads[graph.num_outputs :]):
        if head.node in part:
            states[part[head.node]].append(i)
    return tuple(
        _part(graph, key, coming[key], leaving[key], states[key], segments) for key in keys
    )


def _part(
    graph: Graph,
    key: PartKey,
    coming: Mapping[Entry, Node],
    leaving: Mapping[Entry, None],
    states: Sequence[int],
    new_nodes: Mapping[Node, Node],
) -> Part:
    new = [graph.heads[graph.num_outputs + i] for i in states]
    heads = tuple(Entry(new_nodes[e.node], e.index) for e in (*leaving, *new))
    inner = Graph(heads, tuple(coming.values()), len(leaving), tuple(states))
    return Part(key[1], inner, tuple(coming), tuple(leaving), tuple(states), key[2])
