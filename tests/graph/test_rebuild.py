"""Rebuilding a graph shares unchanged nodes; changed nodes and all their readers are new."""

from __future__ import annotations

import threading

import mixnet as mx
from mixnet.passes.set_training import set_training
from mixnet.process.locks import cached_property
from tests.threads import in_threads


def test_a_graph_that_no_pass_changes_stays_the_same_object():
    graph = mx.sym.relu(mx.sym.Variable("a") + 1).graph
    assert set_training(graph, True) is graph


def test_only_nodes_that_depend_on_a_change_are_rebuilt():
    a = mx.sym.Variable("a")
    early = mx.sym.relu(a, name="early")
    dropped = mx.sym.Dropout(early, name="dropped")
    beside = mx.sym.exp(early, name="beside")
    graph = (mx.sym.sqrt(dropped, name="late") + beside).graph
    trained = set_training(set_training(graph, False), True)
    predicting = set_training(graph, False)
    before = {node.name: node for node in trained.nodes}
    after = {node.name: node for node in predicting.nodes}
    assert before["early"] is after["early"]
    assert before["beside"] is after["beside"]
    assert before["dropped"] is not after["dropped"]
    assert before["late"] is not after["late"]


def test_a_symbol_has_one_graph():
    symbol = mx.sym.relu(mx.sym.Variable("a"))
    assert symbol.graph is symbol.graph
    later = symbol + 1
    assert len(later.graph.nodes) == len(symbol.graph.nodes) + 1


def test_a_property_of_a_graph_waits_for_no_thread_that_computes_another() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def number(self) -> int:
            if not begun.is_set():
                begun.set()
                go_on.wait(60)
            return 3

    thread = threading.Thread(target=lambda: Slow().number)
    thread.start()
    begun.wait(60)
    try:
        # as a forked process, in which nobody goes on
        in_threads(1, lambda _: Slow().number, seconds=5)
    finally:
        go_on.set()
        thread.join(60)
