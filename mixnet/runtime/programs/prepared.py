"""The part of a prediction that depends only on weights, cached until the weights change.

Folding a normalization into the preceding convolution produces new weights, as large as the old ones, which
do not change between calls unless the network is trained. So a program is split in two: one computes these
weights, the other reads them. They are cached while the arrays exist from which they were computed: an
update of the parameters releases both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.lowering.batch_norm import FOLD
from mixnet.ops.lowering.integers import WEIGHTS

if TYPE_CHECKING:
    import jax

_NO_SCALARS = np.zeros(0, np.float64)
_RESULTS: dict[Any, int] = {FOLD: 2, WEIGHTS: 3}
"""The operator that a preparation computes, and the number of its results."""


class Cut:
    """A graph split in two.

    Args:
        first: computes the weights, from some of the whole graph's inputs.
        rest: has the inputs of the whole graph, and then one for each head of ``first``.
        places: indices of the inputs of ``first`` among those of the whole graph.
    """

    def __init__(self, first: Graph, rest: Graph, places: Sequence[int]):
        self.first, self.rest, self.places = first, rest, tuple(places)

    @property
    def key(self) -> Any:
        """The key of ``first``: equal keys mean equal programs for inputs of equal shapes."""
        number = {node: i for i, node in enumerate(self.first.inputs)}
        return tuple(
            (
                head.node.op.name,
                head.index,
                head.node.statics,
                tuple(number[e.node] for e in head.node.inputs),
            )
            for head in self.first.heads
        )


def cut(graph: Graph) -> Cut | None:
    """Split off the part of a graph that depends only on weights; None if there is none."""
    variables = set(graph.inputs)
    folds = [
        node
        for node in graph.nodes
        if node.op in _RESULTS and all(entry.node in variables for entry in node.inputs)
    ]
    if not folds:
        return None
    place = {node: i for i, node in enumerate(graph.inputs)}
    read = sorted({place[entry.node] for node in folds for entry in node.inputs})
    # ``first`` has variables of its own. Those of the whole graph stay inputs of ``rest``, so that a split
    # program is called with the same arrays as one that was not split.
    own_variables = {graph.inputs[i]: Node(None, name=graph.inputs[i].name) for i in read}
    heads, stand_ins = [], {}
    for node in folds:
        inputs = tuple(Entry(own_variables[entry.node]) for entry in node.inputs)
        copy = node.replaced(inputs)
        for index in range(_RESULTS[node.op]):
            heads.append(Entry(copy, index))
            stand_ins[Entry(node, index)] = Node(None, name=f"{node.name}_{index}")
    prepared = set(folds)

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if node not in prepared:
            return node.replaced(inputs)
        return tuple(Entry(stand_ins[Entry(node, i)]) for i in range(_RESULTS[node.op]))

    changed = graph.rebuild(change)
    rest = Graph(
        changed.heads, (*graph.inputs, *stand_ins.values()), graph.num_outputs, graph.states
    )
    return Cut(Graph(tuple(heads), tuple(own_variables.values())), rest, read)


class _Cached:
    """Cached results, with weak references to the arrays that they were computed from."""

    def __init__(
        self, arrays: Sequence[Any], results: Sequence[Any], forget: Callable[[Any], None]
    ):
        self.sources = [weakref.ref(each, forget) for each in arrays]
        self.results = results

    def is_of(self, arrays: Sequence[Any]) -> bool:
        """Whether they were computed from these arrays."""
        return all(source() is array for source, array in zip(self.sources, arrays, strict=True))


class Preparation:
    """Computes weights and caches them; shared by all programs that compute them in the same way.

    Programs of one network for different batch sizes share one.

    Args:
        call: ``(scalars, *arrays) -> weights``.
    """

    def __init__(self, call: Callable[..., Any]):
        self._call = call
        self.cached: dict[tuple[int, ...], _Cached] = {}

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The weights for these arrays."""
        key = tuple(map(id, arrays))
        entry = self.cached.get(key)
        # A new array may get the id of a freed one before the callback of the weak reference runs.
        if entry is None or not entry.is_of(arrays):
            results = self._call(_NO_SCALARS, *arrays)
            entry = self.cached[key] = _Cached(arrays, results, partial(self._forget, key))
        return entry.results

    def _forget(self, key: tuple[int, ...], source: object) -> None:
        self.cached.pop(key, None)


class Prepared:
    """Calls a program that was split in two.

    Args:
        first: computes the weights.
        rest: ``(scalars, *arrays, *weights) -> results``.
        places: indices of the arrays that ``first`` reads.
    """

    def __init__(self, first: Preparation, rest: Callable[..., Any], places: tuple[int, ...]):
        self._first, self._rest, self._places = first, rest, places

    def __call__(self, scalars: Sequence[Any], *arrays: jax.Array) -> Any:
        return self._rest(scalars, *arrays, *self._first([arrays[i] for i in self._places]))
