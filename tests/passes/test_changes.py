"""The changes of a pass, derived from the graphs before and after it."""

from __future__ import annotations

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes import pipeline
from mixnet.passes.changes import changes
from mixnet.passes.eliminate_common import eliminate_common
from mixnet.passes.inline import inline
from mixnet.passes.set_training import set_training
from mixnet.runtime.trace.graph_op import GraphOp


def relu(entry: Entry, name: str) -> Node:
    return Node(find("relu"), (), (), (entry,), name)


def test_a_copied_graph_counts_as_unchanged() -> None:
    graph = mx.sym.relu(mx.sym.Variable("a") + 1).graph
    copy = graph.rebuild(lambda node, inputs: node.replaced(inputs))
    assert not any(changes(graph, copy).values())


def test_merged_nodes_are_listed_with_the_node_that_contains_them() -> None:
    x = Node(None, name="x")
    first, second = relu(Entry(x), "first"), relu(Entry(x), "second")
    above = [relu(Entry(first), "above1"), relu(Entry(second), "above2")]
    total = Node(find("elemwise_add"), (), (), tuple(Entry(n) for n in above), "total")
    graph = Graph((Entry(total),))
    actual = changes(graph, eliminate_common(graph))
    assert actual["merged"] == [
        {"name": "second", "into": "first"},
        {"name": "above2", "into": "above1"},
    ]
    assert not any(actual[kind] for kind in ("added", "removed", "expanded", "changed", "rewired"))


def test_an_expanded_node_is_listed_with_its_replacements() -> None:
    x = Node(None, name="x")
    inner = GraphOp(Graph((Entry(relu(Entry(relu(Entry(x), "one")), "two")),), (x,)), "net")
    a = Node(None, name="a")
    graph = Graph((Entry(relu(Entry(Node(inner, (), (), (Entry(a),), "net")), "last")),))
    actual = changes(graph, inline(graph))
    assert actual["expanded"] == [{"name": "net", "into": ["net/one", "net/two"]}]
    assert not any(actual[kind] for kind in ("added", "removed", "merged", "changed", "rewired"))


def test_added_removed_changed_and_rewired_nodes_are_listed() -> None:
    x, y = Node(None, name="x"), Node(None, name="y")
    before = Graph(
        (Entry(relu(Entry(relu(Entry(x), "gone")), "stays")), Entry(relu(Entry(y), "y1")))
    )
    new = Node(find("sigmoid"), (), (), (Entry(x),), "new")
    after = Graph(
        (Entry(relu(Entry(new), "stays")), Entry(Node(find("tanh"), (), (), (Entry(y),), "y1")))
    )
    actual = changes(before, after)
    assert actual["removed"] == ["gone"] and actual["added"] == ["new"]
    assert actual["rewired"] == [{"name": "stays", "before": ["gone"], "after": ["new"]}]
    assert actual["changed"] == [{"name": "y1", "before": "relu", "after": "tanh"}]


def test_a_mode_is_a_change_of_the_operator() -> None:
    graph = mx.sym.Dropout(mx.sym.Variable("a"), name="drop").graph
    actual = changes(graph, set_training(graph, True))
    assert [each["name"] for each in actual["changed"]] == ["drop"]


def test_the_pipeline_reports_every_pass_with_its_graph_and_time() -> None:
    calls: list = []
    graph = (mx.sym.Variable("a") + 1).graph
    result = pipeline.run(graph, "graph", watch=lambda *each: calls.append(each))
    assert [name for name, _, _ in calls] == [each.__name__ for each in pipeline.PASSES["graph"]]
    assert calls[-1][1] is result and all(seconds >= 0 for _, _, seconds in calls)
