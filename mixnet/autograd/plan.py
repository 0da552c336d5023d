"""Backward plans: the operations that backward records for a tape, cached by the tape's structure.

A loop records the same operations in every step, so their gradients are the same operations, too. Deriving
them takes several times as long as recording them. A plan stores the derived operations, with numbers for
nodes and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator
from mixnet.passes.differentiate import BackwardOp
from mixnet.runtime.record.batch import Batch
from mixnet.runtime.record.record import record, record_call
from mixnet.runtime.value.value import Value

MOST_PLANS, MOST_NODES = 1000, 200_000
"""The most plans, and the most nodes of all their tapes; beyond either, all plans are dropped."""


class Step(NamedTuple):
    """An operation of a plan.

    Args:
        op: what to compute.
        statics: its static attributes.
        numbers: the tape's node whose scalars it uses; -1 for none.
        places: the numbers of its inputs among all values.
        call: the recorded call; None if it has to be looked up every time.
    """

    op: Any
    statics: Any
    numbers: int
    places: tuple[int, ...]
    call: Any


class Structure(NamedTuple):
    """A tape that a plan is for, with numbers in place of nodes.

    Args:
        heads: the number of the node of each head, and the index of its output.
        operations: the number, the call and the inputs (numbers and indices) of each operation, users before
            the operations that they read.
        leaves: the numbers of the nodes without inputs, and whether their gradients are requested.
        size: the number of nodes.
        gradients: the specs of the heads' gradients.
    """

    heads: tuple[tuple[int, int], ...]
    operations: tuple[tuple[int, Any, tuple[tuple[int, int], ...]], ...]
    leaves: tuple[tuple[int, bool], ...]
    size: int
    gradients: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        positions: Mapping[Node, int],
        heads: Sequence[Entry],
        head_gradients: Sequence[Value],
        variables: Sequence[Node],
    ) -> Structure:
        """The structure of a tape; the arguments are those of :func:`structure`."""
        operations = [
            (position, node.call, tuple([(positions[each], index) for each, index in node.inputs]))
            for node, position in positions.items()
            if node.inputs
        ]
        requested = {*variables}
        leaves = [(i, node in requested) for node, i in positions.items() if not node.inputs]
        return cls(
            tuple([(positions[node], index) for node, index in heads]),
            tuple(operations[::-1]),
            tuple(leaves),
            len(positions),
            tuple([each.spec for each in head_gradients]),
        )

    def nodes_below(self, heads: Sequence[Entry]) -> list[Node] | None:
        """The nodes of a tape in the order of their numbers; None if it has another structure.

        Whether its leaves are those of the structure is left to the caller.
        """
        nodes: list[Any] = [None] * self.size
        if len(heads) != len(self.heads):
            return None
        for number, (place, own_index) in enumerate(self.heads):
            node, index = heads[number]
            if index != own_index or (nodes[place] or node) is not node:
                return None
            nodes[place] = node
        for place, call, inputs in self.operations:
            node = nodes[place]
            if node.call is not call or node.op is None:  # freed
                return None
            entries = node.inputs
            for number, (place, own_index) in enumerate(inputs):
                source, index = entries[number]
                known = nodes[place]
                if known is None:
                    nodes[place] = source
                elif known is not source:
                    return None
                if index != own_index:
                    return None
        return nodes if len({*nodes}) == self.size else None


class Plan(NamedTuple):
    """How gradients are recorded.

    Its values are those read from the tape, the head gradients, and the results of the steps.

    Args:
        loads: the values that are read from the tape: number of a node, index of its value.
        steps: the operations, in order.
        results: numbers of the values that are the gradients; None for no gradient.
        passed: numbers of the nodes with state updates that backward passes, in order.
        batch: records all steps at once; None if they are recorded one by one.
        batch_results: numbers of the gradients among the values that are read and the batch's results.
        numbered: numbers of the nodes whose scalars the batch takes, in order.
        structure: that of the tapes.
    """

    loads: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]
    results: tuple[int | None, ...]
    passed: tuple[int, ...]
    batch: Batch | None = None
    batch_results: tuple[int | None, ...] = ()
    numbered: tuple[int, ...] = ()
    structure: Structure | None = None

    def run(self, nodes: Sequence[Node], head_gradients: Sequence[Value]) -> list[Value | None]:
        """Record the gradients of a tape.

        Args:
            nodes: the nodes of the tape, in the order of the plan's numbers.
            head_gradients: one for each head.
        """
        values = []
        for number, place in self.loads:
            values.append(nodes[number].values[place])
        values += head_gradients
        if self.batch is not None:
            scalars_of_all = []
            for number in self.numbered:
                scalars_of_all.append(nodes[number].scalars)
            recorded = self.batch.record(values, scalars_of_all)
            if recorded is not None:
                values += recorded
                results: list[Value | None] = []
                for i in self.batch_results:
                    results.append(None if i is None else values[i])
                return results
        for op, statics, numbers, places, call in self.steps:
            scalars = nodes[numbers].scalars if numbers >= 0 else ()
            listed = []
            for place in places:
                listed.append(values[place])
            operands = tuple(listed)
            if call is None:
                values += record(op, statics, scalars, operands)
            else:
                values += record_call(call, scalars, operands)
        return [None if i is None else values[i] for i in self.results]

    def batched(self, inputs: int) -> Plan:
        """This plan with its batch, if it can have one.

        Args:
            inputs: the number of values that are read from the tape, and of head gradients.
        """
        if not Batch.accepts(step.call for step in self.steps):
            return self
        results = sorted({i for i in self.results if i is not None and i >= inputs})
        place = {number: inputs + k for k, number in enumerate(results)}
        return self._replace(
            batch=Batch(
                [(step.call, step.places, step.numbers >= 0) for step in self.steps], results
            ),
            batch_results=tuple([None if i is None else place.get(i, i) for i in self.results]),
            numbered=tuple([step.numbers for step in self.steps if step.numbers >= 0]),
        )


def _writes_states(node: Node) -> bool:
    """Whether a node is a gradient that writes states of its operation."""
    return bool(
        isinstance(node.op, BackwardOp)
        and node.op.forward.written_in_backward(node.statics[0], len(node.inputs))
    )


_plans: dict[Any, Plan] = {}
_latest: dict[Any, tuple[Plan, Structure]] = {}
_size = 0


def walk(heads: Iterable[Node]) -> tuple[dict[Node, int], list[Any] | None]:
    """The nodes below ``heads`` with their numbers, inputs before their users, and what plans depend on.

    The second part is None for a tape with nodes that are not ordinary operations. One walk does both, since
    every backward needs it.
    """
    positions: dict[Node, int] = {}
    key: list[Any] | None = []
    stack = [*heads][::-1]
    while stack:
        node = stack[-1]
        if node in positions:
            stack.pop()
            continue
        inputs = node.inputs
        waits = False
        for source, _ in inputs:
            if source not in positions:
                if source.inputs:
                    stack.append(source)
                    waits = True
                else:  # without a second visit
                    positions[source] = len(positions)
                    if key is not None:
                        key.append(source.call)
        if waits:
            continue
        stack.pop()
        positions[node] = len(positions)
        if key is None:
            continue
        call = node.call
        if call is None and node.op is not None:
            key = None
            continue
        key.append(call)
        for source, index in inputs:
            key.append(positions[source])
            if index:
                key.append(-index)
    return positions, key


def structure(
    walked: Sequence[Any],
    positions: Mapping[Node, int],
    heads: Sequence[Entry],
    head_gradients: Sequence[Value],
    variables: Sequence[Node],
) -> Any:
    """The key of a plan.

    Args:
        walked: what the nodes of the tape contribute, from ``walk``.
        positions: the number of each node.
        heads: the heads to differentiate.
        head_gradients: one for each head.
        variables: the variables whose gradients are requested.
    """
    key: list[Any] = [len(heads)]
    for entry, gradient in zip(heads, head_gradients, strict=True):
        key += (positions[entry.node], entry.index, gradient.spec)
    key += [positions[node] for node in variables]
    key.append(None)
    key += walked
    return tuple(key)


def known(key: object) -> Plan | None:
    """The stored plan of a structure, if there is one."""
    return _plans.get(key)


def latest(heads: Sequence[Entry]) -> tuple[Plan, Structure] | None:
    """The plan of the last tape whose first head was computed by the same call, with its structure."""
    return _latest.get(heads[0].node.call)


def note_latest(plan: Plan, heads: Sequence[Entry]) -> None:
    """Note that a plan was used for a tape with these heads."""
    call = heads[0].node.call
    if call is not None and plan.structure is not None:
        _latest[call] = plan, plan.structure


def keep(key: object, plan: Plan, nodes: int) -> None:
    """Store a plan for tapes of one structure, with this number of nodes."""
    global _size
    if len(_plans) >= MOST_PLANS or _size + nodes > MOST_NODES:
        _plans.clear()
        _latest.clear()
        _size = 0
    _plans[key] = plan
    _size += nodes


def _runs_between_programs(node: Node) -> bool:
    """Whether a backward node cannot be part of a plan: Python code, or a gradient that writes states."""
    return type(node.op).run_values is not Operator.run_values or _writes_states(node)


def _scalars_of(order: Sequence[Node], nodes: Sequence[Node]) -> list[int] | None:
    """The number of the tape's node whose scalars each backward node uses, -1 for none; None if ambiguous."""
    numbers: dict[int, list[int]] = {0: [-1]}
    for number, node in enumerate(nodes):
        if node.op is not None and node.scalars:
            numbers.setdefault(id(node.scalars), []).append(number)
    sources = [numbers.get(id(node.scalars) if node.scalars else 0, []) for node in order]
    return [each[0] for each in sources] if all(len(each) == 1 for each in sources) else None


def make(
    nodes: Sequence[Node],
    starts: Sequence[Node],
    head_gradients: Sequence[Value],
    gradients: Sequence[Entry | None],
    passed: Sequence[Node],
    order: Sequence[Node],
    entries_of: Callable[[Node], Sequence[Entry]],
) -> tuple[Plan, list[Value | None]] | None:
    """Record derived gradients, and make a plan of that.

    Returns None, and records nothing, if another tape of this structure might have to be recorded
    differently.

    Args:
        nodes: the nodes of the tape.
        starts: the nodes that represent the heads' gradients.
        head_gradients: one for each head.
        gradients: the derived gradients.
        passed: the nodes that backward passes.
        order: the nodes that the gradients need beyond the tape, inputs before their users.
        entries_of: returns the entries whose values a node of the tape holds.
    """
    sources = _scalars_of(order, nodes)
    if sources is None or any(_runs_between_programs(node) for node in order):
        return None
    places = {
        entry: (number, k)
        for number, node in enumerate(nodes)
        if node.op is not None
        for k, entry in enumerate(entries_of(node))
    }
    read = [entry for node in order for entry in node.inputs]
    read += [entry for entry in gradients if entry is not None]
    loads = {entry: places[entry] for entry in read if entry in places}
    place = {entry: i for i, entry in enumerate(loads)}
    values = [nodes[number].values[k] for number, k in loads.values()]
    for start, value in zip(starts, head_gradients, strict=True):
        place[Entry(start)] = len(values)
        values.append(value)
    steps = []
    for node, numbers in zip(order, sources, strict=True):
        op, statics = node.op, node.statics
        inputs = tuple([place[entry] for entry in node.inputs])
        operands = tuple([values[i] for i in inputs])
        outputs = record(op, statics, node.scalars, operands)
        place.update({Entry(node, i): len(values) + i for i in range(len(outputs))})
        values += outputs
        call = op.calls.get((statics, tuple([value.spec for value in operands]), None))
        if call is not None and call.parties is not None:
            call = None
        steps.append(Step(op, statics, numbers, inputs, call))
    results = [None if entry is None else place[entry] for entry in gradients]
    position = {node: i for i, node in enumerate(nodes)}
    # In later steps, equal calls update states at the same nodes.
    moving = tuple([position[node] for node in passed if node.moves])
    plan = Plan(tuple(loads.values()), tuple(steps), tuple(results), moving)
    plan = plan.batched(len(loads) + len(starts))
    return plan, [None if i is None else values[i] for i in results]
