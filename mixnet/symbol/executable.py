"""The graph of a symbol as it runs."""

from __future__ import annotations

import time

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.facts import Facts
from mixnet.passes.set_training import set_training
from mixnet.symbol.symbol import Symbol


def executable_graph(
    symbol: Symbol,
    training: bool,
    facts: Facts | None = None,
    watch: pipeline.Watch | None = None,
) -> Graph:
    """The symbol's graph as it runs: modes set, keys assigned, states as further heads.

    Args:
        symbol: its arguments, then its auxiliary states become the inputs.
        training: mode of operators that behave otherwise in training.
        facts: known facts about these inputs.
        watch: called with the name of each change, the graph after it, and its seconds.
    """
    if watch is None:
        graph = pipeline.run(unplaced_graph(symbol, training), "graph", facts)
        return assign_keys(graph)
    watch("recorded", state_graph(symbol), 0.0)
    start = time.perf_counter()
    graph = unplaced_graph(symbol, training)
    watch("set_training", graph, time.perf_counter() - start)
    graph = pipeline.run(graph, "graph", facts, watch=watch)
    start = time.perf_counter()
    graph = assign_keys(graph)
    watch("assign_keys", graph, time.perf_counter() - start)
    return graph


def unplaced_graph(symbol: Symbol, training: bool) -> Graph:
    """The symbol's graph before any pass but its mode, with states as further heads."""
    return set_training(state_graph(symbol, training), training)


def state_graph(symbol: Symbol, training: bool | None = None) -> Graph:
    """The symbol's graph as composed, with the new values of states as further heads.

    Operators that write the same state do so one after the other.

    Args:
        symbol: the symbol.
        training: leave out states that stay as they are in this mode.
    """
    inputs = (*symbol.graph.arguments, *symbol.graph.written_variables)
    latest: dict[Node, Entry] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if not node.op.states:
            return node if inputs == node.inputs else node.replaced(inputs)
        if training is None:
            written = node.op.written(node.statics, len(inputs))
        else:
            written = node.op.changed(node.in_mode(training), len(inputs))
        states = {place: node.inputs[place].node for place in written}
        now = [
            latest.get(states[place], entry) if place in states else entry
            for place, entry in enumerate(inputs)
        ]
        rebuilt = node if tuple(now) == node.inputs else node.replaced(tuple(now))
        for place, index in written.items():
            if states[place].is_variable:
                latest[states[place]] = Entry(rebuilt, index)
        return rebuilt

    graph = Graph(symbol._heads, inputs).rebuild(change)
    heads = (*graph.heads, *latest.values())
    replaced = tuple(inputs.index(variable) for variable in latest)
    return Graph(heads, inputs, len(symbol._heads), replaced)
