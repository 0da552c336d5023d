"""The gradient pass: the graph of the gradients, made of ordinary nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from mixnet.graph.node import Entry, Node, topological
from mixnet.ops.backward import gradients
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import find
from mixnet.ops.row_gradient import RowGradient, stored_rows


class BackwardOp(Operator):
    """Gradient of an operator: heads and the operator's inputs in, gradients of some inputs out.

    Its statics are ``(forward's statics, which outputs have heads, which inputs need gradients)``.
    It calls the forward function again; in one program XLA merges that with the forward pass.
    """

    differentiable = True
    is_known_by_forward = True
    # Where the forward operator draws, its key is an ordinary input here: this one takes none.
    variadic = "heads and inputs"  # whatever the forward operator takes
    forward: Operator
    _operators: ClassVar[dict[Any, BackwardOp]] = {}

    def __new__(cls, forward: Operator) -> BackwardOp:
        # One per operator, so that nodes compare equal and programs are found again.
        if forward not in cls._operators:
            self = super().__new__(cls)
            self.forward = forward
            self.name = f"_backward_{forward.name}"
            self.calls = {}
            self.calls_python = forward.calls_python
            cls._operators[forward] = self
        return cls._operators[forward]

    def __init__(self, forward: Operator):
        """Nothing: ``__new__`` may have returned an operator that exists already."""

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """One for each input that needs a gradient."""
        return len(statics[2])

    def output_specs(self, statics: Statics, inputs: Sequence[Any]) -> list[Any]:
        """Shape and dtype of every gradient: those of the input that it is the gradient of."""
        _, headed, wrt = statics
        return [inputs[len(headed) + i] for i in wrt]

    def shared(self, statics: Statics) -> tuple[Any, ...]:
        """What the forward calls share."""
        return self.forward.shared(statics[0])

    def keywords(self, statics: Statics, scalars: Sequence[Any] = ()) -> dict[str, Any]:
        """The forward operator's attributes."""
        return self.forward.keywords(statics[0], scalars)

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """Gradients of the inputs asked for, in their order."""
        forward_statics, headed, wrt = statics
        heads, inputs = arrays[: len(headed)], arrays[len(headed) :]
        return gradients(self.forward, forward_statics, scalars, heads, headed, inputs, wrt)

    def __repr__(self) -> str:
        return f"<gradient of {self.forward!r}>"


class KeptBackwardOp(BackwardOp):
    """The same for an operator that keeps its outputs: it reads heads, inputs and those outputs.

    The forward operator is not called again. If its gradient writes states, their new values are further
    outputs.
    """

    forward: Op

    _operators: ClassVar[dict[Any, BackwardOp]] = {}

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """One for each input that needs a gradient, and one for each state that is written."""
        return len(statics[2]) + len(self.forward.written_in_backward(statics[0]))

    def output_specs(self, statics: Statics, inputs: Sequence[Any]) -> list[Any]:
        """Shapes and dtypes of the gradients and states: those of the inputs that they belong to."""
        forward_statics, headed, wrt = statics
        written = self.forward.written_in_backward(forward_statics)
        return [inputs[len(headed) + i] for i in (*wrt, *written)]

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """Gradients of the inputs asked for, in their order."""
        forward_statics, headed, wrt = statics
        count = self.forward.num_residuals(forward_statics)
        heads, inputs = arrays[: len(headed)], arrays[len(headed) : -count]
        outputs = arrays[-count:]
        placed = [jnp.zeros_like(each) for each in outputs]
        for i, head in zip(headed, heads, strict=True):
            placed[i] = head
        gradients = list(self.forward.gradient_of_call(forward_statics, placed, outputs, inputs))
        written = {i: gradients[i] for i in self.forward.written_in_backward(forward_statics)}
        for i in written:
            gradients[i] = None  # a new value, not a gradient
        return (
            *[jnp.zeros_like(inputs[i]) if gradients[i] is None else gradients[i] for i in wrt],
            *written.values(),
        )


def backward_node(node: Node, heads: Sequence[Entry | None], wrt: Sequence[int]) -> Node:
    """The node with the gradients of ``node``'s inputs ``wrt``, from those of its outputs."""
    own: Node | None = node.op.backward_node(node, heads, wrt)
    if own is not None:  # a whole graph knows its own backward graph
        return own.made_from(node)
    headed = tuple(i for i, head in enumerate(heads) if head is not None)
    residuals: tuple[Entry, ...] = ()
    if node.op.keeps_outputs:
        count = node.op.num_residuals(node.statics, len(node.inputs))
        residuals = tuple(Entry(node, count + i) for i in range(count))
    backward = Node(
        KeptBackwardOp(node.op) if residuals else BackwardOp(node.op),
        (node.statics, headed, tuple(wrt)),
        node.scalars,
        (*[head for head in heads if head is not None], *node.inputs, *residuals),
        f"{node.name}_backward",
    )
    return backward.made_from(node)


ROWS_OF_DENSE = RowGradient(find("_copy"), "data", lambda head: (stored_rows(head), head))


class Rows(NamedTuple):
    """A row_sparse gradient: pairs of entries, the numbers of some rows and what each adds."""

    parts: tuple[tuple[Entry, Entry], ...]


def differentiate(
    heads: Sequence[Entry],
    head_gradients: Sequence[Entry | None],
    variables: Sequence[Entry],
    row_sparse: Collection[Entry] = (),
    recomputation: Callable[[Node, Sequence[Entry | None]], Node] | None = None,
    passed: list[Node] | None = None,
) -> list[Any]:
    """Gradients of ``variables`` by reverse accumulation; None where the heads do not reach one.

    As in MXNet, operators that start gradients, as losses do, are differentiated even where none arrives:
    a loss below a ``BlockGrad`` trains.

    Args:
        heads: entries to differentiate.
        head_gradients: one entry each, of the head's shape and dtype; None if no gradient arrives at it.
        variables: entries whose gradients are wanted; usually variables, any entry will do.
        row_sparse: those of them whose gradients are to be :class:`Rows`, if the operators that read
            them support it.
        recomputation: returns, for a node and the gradients of its outputs, the node whose gradient is
            taken instead; see :mod:`mixnet.passes.recompute`.
        passed: receives the operations that backward passes, in its order; as in MXNet, also those at which
            no gradient arrives.
    """
    order = topological(entry.node for entry in heads)
    targets = set(variables)
    needed = _needed(order, variables)
    pending: dict[Node, dict[int, list[Entry]]] = {}  # node -> output -> gradients that arrived
    for head, gradient in zip(heads, head_gradients, strict=True):
        if gradient is not None:
            pending.setdefault(head.node, {}).setdefault(head.index, []).append(gradient)
    gradients: dict[Entry, Entry] = {}
    row_entries = read_by_rows(filter(needed.__contains__, order), set(row_sparse) - set(heads))
    by_rows: dict[Entry, list[tuple[Entry, Entry]]] = {entry: [] for entry in row_entries}
    for node in reversed(order):
        if node not in needed:
            continue
        has_arrived = node in pending
        parts = pending.pop(node, {})
        arrived = [_total(parts.get(i), node) for i in range(max(parts, default=0) + 1)]
        for i, total in enumerate(arrived):
            if total is not None and Entry(node, i) in targets:
                gradients[Entry(node, i)] = total
        positions = [
            i
            for i, entry in enumerate(node.inputs)
            if entry.node in needed and (entry in targets or _goes_on(entry))
        ]
        if not positions or not node.op.differentiable:
            continue
        if passed is not None:
            passed.append(node)
        if not (has_arrived or node.op.starts_gradients):
            continue
        if by_rows:
            positions = _take_rows(node, arrived, positions, by_rows)
            if not positions:
                continue
        read = node if recomputation is None else recomputation(node, arrived)
        gradient_node = backward_node(read, arrived, positions)
        for output, i in enumerate(positions):
            source = node.inputs[i]
            pending.setdefault(source.node, {}).setdefault(source.index, []).append(
                Entry(gradient_node, output)
            )
    results: list[Any] = [gradients.get(entry) for entry in variables]
    for i, entry in enumerate(variables):
        if by_rows.get(entry):
            results[i] = Rows((*by_rows[entry], *_rows_of_dense(gradients.get(entry))))
    return results


def _rows_of_dense(gradient: Entry | None) -> list[tuple[Entry, Entry]]:
    """The rows, other than those of zeros, of what arrived from operators that do not tell rows."""
    if gradient is None:
        return []
    node = Node(ROWS_OF_DENSE, inputs=(gradient, gradient), name=f"{gradient.node.name}_rows")
    return [(Entry(node, 0), Entry(node, 1))]


def _needed(order: Sequence[Node], variables: Sequence[Entry]) -> set[Node]:
    """The nodes that a gradient passes on its way to a variable, with those of the variables."""
    needed = {entry.node for entry in variables}
    for node in order:
        reads = any(entry.node in needed for entry in node.inputs)
        if reads and node.op.differentiable:
            needed.add(node)
    return needed


def _goes_on(entry: Entry) -> bool:
    """Whether a gradient goes on from an entry. That of a mask, say, would consist of booleans."""
    return entry.node.op is None or bool(entry.node.op.has_gradient(entry.index))


def read_by_rows(nodes: Iterable[Node], entries: Collection[Entry]) -> set[Entry]:
    """The entries whose gradients can be row-sparse, given the nodes that a gradient passes.

    Either every operator that reads such an entry names the rows of its gradient, or one of them also has
    rows in which its gradient is 0: a dense sum would lose those.
    """
    readers: dict[Entry, list[tuple[Operator, bool]]] = {entry: [] for entry in entries}
    for node in nodes if readers else ():
        for i, entry in enumerate(node.inputs):
            if entry in readers:
                readers[entry].append((node.op, node.op.names_rows(i)))
    return {entry for entry, each in readers.items() if _by_rows(each)}


def _by_rows(readers: Sequence[tuple[Operator, bool]]) -> bool:
    return all(names_rows for _, names_rows in readers) or any(
        names_rows and op.row_gradient is not None and op.row_gradient.has_zero_rows
        for op, names_rows in readers
    )


def _take_rows(
    node: Node,
    arrived: Sequence[Entry | None],
    positions: Sequence[int],
    by_rows: dict[Entry, list[tuple[Entry, Entry]]],
) -> list[int]:
    """Note row gradients of ``node``; returns the positions whose gradients are still to be made."""
    rows = [i for i in positions if node.inputs[i] in by_rows and node.op.names_rows(i)]
    together = node.op.rows_node(node, arrived, rows) if rows else None
    if together is not None:
        row_node, counts = together
        at = 0
        for i, count in zip(rows, counts, strict=True):
            for _ in range(count):
                by_rows[node.inputs[i]].append((Entry(row_node, at), Entry(row_node, at + 1)))
                at += 2
        return [i for i in positions if i not in rows]
    rest = []
    for i in positions:
        entry = node.inputs[i]
        if i not in rows:
            rest.append(i)
        elif arrived[0] is not None:
            row_node = Node(
                node.op.row_gradient,
                node.statics,
                node.scalars,
                (arrived[0], *node.inputs),
                f"{node.name}_rows",
            ).made_from(node)
            by_rows[entry].append((Entry(row_node, 0), Entry(row_node, 1)))
    return rest


def _total(parts: Sequence[Entry] | None, node: Node) -> Entry | None:
    """Sum of the gradients that arrive at one entry, in the order of their arrival."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    total = Node(find("add_n"), (), (), tuple(parts), f"{node.name}_gradient_sum")
    return Entry(total.made_from(node))
