"""Lower precision: which operators run in half precision, and the pass that inserts the casts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixnet.dtype import as_dtype
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import OPERATORS, find

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike

LOW, FULL, WIDEST = "low", "full", "widest"
SINGLE = np.dtype("float32")
Condition = tuple[str, str, Sequence[str]]


class Precision:
    """The dtypes that operators require for their floating-point inputs.

    An operator in none of the lists requires what it declares; by default, it takes any dtype. For an
    operator with several names, the name with which it is registered counts.

    Args:
        dtype: the half precision, ``float16`` or ``bfloat16``.
        low: names of operators that compute in half precision.
        full: names of operators that need float32.
        widest: names of operators whose inputs all get the widest dtype among them.
        conditional: triples of an operator's name, an attribute, and the values with which it needs
            float32.
        either: names of operators that accept any precision.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        low: Iterable[str],
        full: Iterable[str],
        widest: Iterable[str],
        conditional: Iterable[Condition] = (),
        either: Iterable[str] = (),
    ):
        self.dtype = as_dtype(dtype)
        named: dict[str, str | None] = dict.fromkeys(either)
        for kind, names in ((WIDEST, widest), (FULL, full), (LOW, low)):
            named.update(dict.fromkeys(names, kind))
        self._kinds: dict[Operator, str | None] = {}
        for name, nodes in named.items():
            if name in OPERATORS:
                op = OPERATORS[name]
                if op.name == name or op.name not in named:
                    self._kinds[op] = nodes
        self._conditions: dict[Operator, list[tuple[str, frozenset[str]]]] = {}
        for name, attribute, values in conditional:
            if name in OPERATORS:
                conditions = self._conditions.setdefault(OPERATORS[name], [])
                conditions.append((attribute, frozenset(values)))

    def kind(self, op: Operator, statics: Statics) -> str | None:
        """The precision that an operator with these attributes needs: ``LOW``, ``FULL``, ``WIDEST``, None."""
        conditions = self._conditions.get(op)
        if conditions is None and op not in self._kinds:
            conditions = [(name, frozenset(values)) for name, values in op.full_where.items()]
        if conditions:
            known = op.keywords(statics)
            if any(str(known.get(name)) in values for name, values in conditions):
                return FULL
        return self._kinds[op] if op in self._kinds else self._declared(op)

    def _declared(self, op: Operator) -> str | None:
        if op.bfloat16 is None or self.dtype.name != "bfloat16":
            return op.precision
        return op.bfloat16 if op.bfloat16 in (LOW, FULL, WIDEST) else None

    def target(self, kind: str, dtypes: Iterable[np.dtype]) -> np.dtype:
        """The dtype for the inputs of an operator of a kind, given their present dtypes."""
        if kind == LOW or (kind == WIDEST and SINGLE not in dtypes):
            return self.dtype
        return SINGLE

    def is_cast(self, dtype: np.dtype, target: np.dtype) -> bool:
        """Whether an array of a dtype must be cast: integers and float64 stay as they are."""
        return dtype != target and dtype in (self.dtype, SINGLE)


# The operators that this pass inserts.
_CASTS = ("amp_cast", "amp_multicast")


def lower_precision(graph: Graph, precision: Precision, excluded: Collection[str] = ()) -> Graph:
    """The graph with ``amp_cast`` and ``amp_multicast`` where operators require another dtype.

    The dtypes are derived from the operators alone, since those of the variables are not known. All heads
    are cast back to float32.

    Args:
        graph: the graph of a symbol.
        precision: the dtypes that each operator needs.
        excluded: names of nodes that always compute in float32.
    """
    casts = _Casts(precision)

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        kind = FULL if node.name in excluded else precision.kind(node.op, node.statics)
        fixed = len(inputs) - (1 if node.op.takes_key else 0)
        arrays = casts.fit(kind, inputs[:fixed]) + inputs[fixed:]
        changed = node.replaced(arrays)
        if node.op.name == "amp_cast":
            target_dtype = as_dtype(node.op.keywords(node.statics)["dtype"])
            casts.kinds[changed] = LOW if target_dtype == precision.dtype else FULL
        elif kind in (LOW, FULL):
            casts.kinds[changed] = kind
        elif arrays:  # like its inputs, if these agree
            own = _of_their_own(node)
            kinds = {
                casts.kind(entry)
                for place, entry in enumerate(arrays)
                if place not in own and not _is_parameter(entry, node)
            }
            casts.kinds[changed] = kinds.pop() if len(kinds) == 1 else None
        return changed

    lowered = graph.rebuild(change)
    heads = [
        head if casts.kind(head) == FULL else casts.cast(head, SINGLE)
        for head in lowered.heads[: lowered.num_outputs]
    ]
    return lowered.with_heads([*heads, *lowered.heads[lowered.num_outputs :]])


class _Casts:
    """The casts of a graph: one for each entry and dtype."""

    def __init__(self, precision: Precision):
        self.precision = precision
        # The precision of a node's outputs; None if unknown.
        self.kinds: dict[Node, str | None] = {}
        self._casts: dict[tuple[Entry, np.dtype], Entry] = {}

    def kind(self, entry: Entry) -> str | None:
        return self.kinds.get(entry.node)

    def cast(self, entry: Entry, dtype: np.dtype) -> Entry:
        key = entry, dtype
        if key not in self._casts:
            op = find("amp_cast")
            statics, scalars = op.bind({"dtype": dtype.name})
            name = f"{output_name(entry)}_amp_cast_{dtype.name}"
            node = Node(op, statics, scalars, (entry,), name, {"dtype": dtype.name})
            self.kinds[node] = FULL if dtype == SINGLE else LOW
            self._casts[key] = Entry(node)
        return self._casts[key]

    def fit(self, kind: str | None, inputs: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """The inputs of an operator of a kind, cast where necessary."""
        low, kinds = self.precision.dtype, [self.kind(entry) for entry in inputs]
        if kind == LOW:
            return tuple(
                e if k == LOW else self.cast(e, low) for e, k in zip(inputs, kinds, strict=True)
            )
        if kind == FULL:
            return tuple(
                self.cast(e, SINGLE) if k == LOW else e for e, k in zip(inputs, kinds, strict=True)
            )
        if kind != WIDEST or len(inputs) < 2:
            return inputs
        if FULL in kinds:
            return tuple(
                e if k == FULL else self.cast(e, SINGLE) for e, k in zip(inputs, kinds, strict=True)
            )
        known = [
            e if k == LOW else self._casts.get((e, low)) for e, k in zip(inputs, kinds, strict=True)
        ]
        if None not in known:
            return tuple(known)  # type: ignore[arg-type]
        op = find("amp_multicast")
        statics, scalars = op.bind({})
        name = f"{output_name(inputs[0])}_amp_multicast"
        node = Node(op, statics, scalars, inputs, name, {"num_outputs": str(len(inputs))})
        return tuple(Entry(node, i) for i in range(len(inputs)))


def _is_parameter(entry: Entry, node: Node) -> bool:
    """Whether an input is a parameter of the node, such as a statistic of BatchNorm."""
    return entry.node.is_variable and entry.node.name.startswith(f"{node.name}_")


def _of_their_own(node: Node) -> set[int]:
    """Places of inputs whose dtype says nothing of the output's: statistics of BatchNorm, lengths."""
    if not isinstance(node.op, Op):
        return set()
    names = {*node.op.dtypes.statistics, *node.op.dtypes.free}
    return {i for i, name in enumerate(node.op.argument_names(node.statics)) if name in names}


def output_name(entry: Entry) -> str:
    """The name of an entry, after which its casts are named."""
    node = entry.node
    if node.is_variable:
        return node.name
    several = node.op.num_visible(node.statics, len(node.inputs)) > 1
    return f"{node.name}_output{entry.index if several else ''}"


def remove_casts(graph: Graph) -> Graph:
    """The graph without ``amp_cast`` and ``amp_multicast`` between operators, as in symbol files.

    Casts whose results are outputs of the graph remain.
    """
    if not any(node.op is not None and node.op.name in _CASTS for node in graph.nodes):
        return graph

    last = {entry.node for entry in graph.heads}
    copies: dict[Node, Node] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if node.op.name not in _CASTS:
            return node.replaced(inputs)
        if node in last:
            copies[node] = node.replaced(inputs)
        return inputs

    rebuilt = graph.rebuild(change)
    heads = zip(graph.heads, rebuilt.heads, strict=True)
    return rebuilt.with_heads(
        tuple(Entry(copies[a.node], a.index) if a.node in copies else b for a, b in heads)
    )


def low_variables(graph: Graph, dtype: DTypeLike) -> set[str]:
    """Names of the variables that are only read by casts to a dtype."""
    target_dtype = as_dtype(dtype)
    read: dict[Node, bool] = {}
    for node in graph.nodes:
        for entry in node.inputs:
            if entry.node.is_variable:
                cast = node.op.name == "amp_cast"
                low = cast and as_dtype(node.op.keywords(node.statics)["dtype"]) == target_dtype
                read[entry.node] = read.get(entry.node, True) and low
    heads = {entry.node for entry in graph.heads}
    return {node.name for node, low in read.items() if low and node not in heads}


def without_casts_of(graph: Graph, names: Collection[str]) -> Graph:
    """The graph in which variables that are stored in half precision are read without a cast.

    Args:
        names: variables that only casts to their new dtype read, see :func:`low_variables`.
    """

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if (
            node.op.name == "amp_cast"
            and inputs[0].node.is_variable
            and inputs[0].node.name in names
        ):
            return inputs
        return node.replaced(inputs)

    return graph.rebuild(change) if names else graph
