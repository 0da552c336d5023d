"""Recomputation: backward recomputes activations instead of storing them from forward."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet import config
from mixnet.base import AttributeValueError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator, Statics

MODES = ("mirror", "sublinear")


class After(Operator):
    """Returns the first input, but not before the second one is computed, which is a gradient in backward.

    A compiler would merge the recomputed operations with the first ones and keep their results, which would
    save no memory. XLA's remedy, ``optimization_barrier``, works on GPUs. The CPU backend drops barriers
    before it schedules, and would recompute everything at the start of backward. There, the value depends
    on a bit of the gradient in a way that has no effect, which the compiler cannot prove.
    """

    name = "_after"
    differentiable = True
    arrays = ("data", "gradient")

    def dataflow(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """The value alone; ``apply`` also makes it wait for the gradient."""
        return (arrays[0],)

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """``data``, unchanged to the bit."""
        return (jax.lax.platform_dependent(*arrays, cpu=_depend, default=_barrier),)


def _barrier(data: jax.Array, gradient: jax.Array) -> Any:
    return jax.lax.optimization_barrier((data, gradient))[0]


def _depend(data: jax.Array, gradient: jax.Array) -> Any:
    if not gradient.size or not jnp.issubdtype(gradient.dtype, jnp.floating):
        return _barrier(data, gradient)
    first = jax.lax.stop_gradient(
        jax.lax.slice(gradient, (0,) * gradient.ndim, (1,) * gradient.ndim)
    )
    bits = {2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[gradient.dtype.itemsize]
    bits_of_first = jax.lax.bitcast_convert_type(first.reshape(()), bits)
    always = jnp.bitwise_and(bits_of_first, bits(1)) < bits(2)
    return jnp.where(always, data, jnp.zeros_like(data))


AFTER = After()


def check_mode(mode: str | None) -> None:
    """Raise an error unless ``mode`` is one of :data:`MODES` or None.

    Raises:
        AttributeValueError: it is not.
    """
    if mode is not None and mode not in MODES:
        raise AttributeValueError(
            f"recompute={mode!r}: use 'mirror' (compute everything again but convolutions, matrix "
            f"products and joins), 'sublinear' (store about as many activations as the square root "
            f"of the number of operations), or None."
        )


def default_mode() -> str | None:
    """The mode that ``MXNET_BACKWARD_DO_MIRROR`` asks for."""
    return "mirror" if config.get("MXNET_BACKWARD_DO_MIRROR") else None


def kept_nodes(graph: Graph, mode: str | None) -> set[Node]:
    """The operations whose results forward stores for backward.

    Args:
        graph: a forward graph.
        mode: ``mirror``: as in MXNet with ``MXNET_BACKWARD_DO_MIRROR``. ``sublinear``: the graph is cut
            into about √n segments of its n operations, and results that a later segment reads are
            stored (Chen, Xu, Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost, 2016).
            None: all but nodes with the attribute ``__force_mirroring__``.
    """
    check_mode(mode)
    nodes = [node for node in graph.nodes if not node.is_variable]
    if mode == "sublinear":
        crossing = _crossing(nodes)
    elif mode == "mirror":
        crossing = {n for n in nodes if n.op.recomputed != "yes" and not _is_forced(n)}
    else:
        crossing = {node for node in nodes if not _is_forced(node)}
    return crossing | {node for node in nodes if node.op.recomputed == "never"}


def _is_forced(node: Node) -> bool:
    text = node.attrs.get("__force_mirroring__", node.attrs.get("force_mirroring", ""))
    return text.lower() in ("1", "true")


def _crossing(nodes: Sequence[Node]) -> set[Node]:
    """Nodes that one segment computes and a later one reads, and those of the last segment."""
    place = {node: i for i, node in enumerate(nodes)}
    last = list(range(len(nodes)))  # the last reader of each node
    for i, node in enumerate(nodes):
        for entry in node.inputs:
            if entry.node in place:
                last[place[entry.node]] = i
    # For each node, the number of results that are needed on both sides of a cut before it.
    change = [0] * (len(nodes) + 1)
    for i, end in enumerate(last):
        if end > i:
            change[i + 1] += 1
            change[end + 1] -= 1
    open_at, count = [], 0
    for each in change:
        count += each
        open_at.append(count)
    length = max(2, math.isqrt(len(nodes)))
    segment, number = [], 0
    cuts = set(_cuts(open_at, length))
    for i in range(len(nodes)):
        number += i in cuts
        segment.append(number)
    # Backward begins with the last segment, whose results are still in memory.
    return {
        n for i, n in enumerate(nodes) if segment[last[i]] != segment[i] or segment[i] == number
    }


def _cuts(open_at: Sequence[int], length: int) -> list[int]:
    """The cuts, about every ``length`` nodes, each where the fewest results cross it."""
    cuts = []
    for target in range(length, len(open_at) - 1, length):
        near = range(target - length // 2, min(target + (length + 1) // 2, len(open_at) - 1))
        cuts.append(min(near, key=lambda i: (open_at[i], abs(i - target))))
    return cuts


class Recomputation:
    """Recomputes forward's nodes for gradients; one object for each gradient graph.

    Args:
        retained: the operations whose results are stored.
    """

    def __init__(self, retained: Collection[Node]):
        self.retained = retained
        self._recomputed: dict[Node, Node] = {}
        self._late: dict[Entry, Entry] = {}

    def __call__(self, node: Node, heads: Sequence[Entry | None]) -> Node:
        """The node to differentiate, with recomputed inputs.

        Args:
            node: a node of the forward graph.
            heads: gradients that have arrived at its outputs; the recomputation waits for them.
        """
        gradient = next(head for head in heads if head is not None)
        self._compute([entry.node for entry in node.inputs], gradient)
        inputs = tuple(self._read(entry, gradient, node in self.retained) for entry in node.inputs)
        return node if inputs == node.inputs else node.replaced(inputs)

    def _is_kept(self, node: Node) -> bool:
        return node.is_variable or node in self.retained

    def _read(self, entry: Entry, gradient: Entry, at_once: bool = False) -> Entry:
        if not self._is_kept(entry.node):
            return Entry(self._recomputed[entry.node], entry.index)
        if at_once:
            return entry
        if entry not in self._late:
            after = Node(AFTER, (), (), (entry, gradient), f"{entry.node.name}_kept")
            self._late[entry] = Entry(after)
        return self._late[entry]

    def _compute(self, nodes: Sequence[Node], gradient: Entry) -> None:
        stack = list(nodes)
        while stack:
            node = stack[-1]
            if self._is_kept(node) or node in self._recomputed:
                stack.pop()
                continue
            missing = [
                entry.node
                for entry in node.inputs
                if not self._is_kept(entry.node) and entry.node not in self._recomputed
            ]
            if missing:
                stack += missing
                continue
            stack.pop()
            repeated = node.replaced(tuple(self._read(entry, gradient) for entry in node.inputs))
            repeated.name = f"{node.name}_mirror"
            self._recomputed[node] = repeated


def recompute(graph: Graph, mode: str | None) -> Recomputation | None:
    """The argument with which :func:`~mixnet.passes.differentiate.differentiate` recomputes a forward graph.

    Args:
        graph: the forward graph.
        mode: see :func:`kept_nodes`.

    Returns:
        None if nothing is recomputed.

    Raises:
        AttributeValueError: there is no such mode.
    """
    stored = kept_nodes(graph, mode)
    if all(node.is_variable or node in stored for node in graph.nodes):
        return None
    return Recomputation(stored)
