"""Inlining: blocks and their gradients give way to their own nodes, and nothing changes."""

from __future__ import annotations

import numpy as np

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.passes.inline import inline
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.trace.graph_op import GraphOp


def block() -> GraphOp:
    """(x, y) -> (x + y, x * y), the second head an output too."""
    x, y = Node(None, name="x"), Node(None, name="y")
    total = Node(find("elemwise_add"), (), (), (Entry(x), Entry(y)), "total")
    product = Node(find("elemwise_mul"), (), (), (Entry(x), Entry(y)), "product")
    return GraphOp(Graph((Entry(total), Entry(product)), (x, y)), "block")


def test_the_nodes_of_a_block_are_in_the_outer_graph() -> None:
    a = Node(None, name="a")
    first = Node(block(), (), (), (Entry(a), Entry(a)), "first")
    second = Node(block(), (), (), (Entry(first, 0), Entry(first, 1)), "second")
    graph = inline(Graph((Entry(second, 0),)))
    assert [node.name for node in graph.nodes] == [
        "a", "first/total", "first/product", "second/total",
    ]  # fmt: skip
    value = np.array([2.0, 3.0], np.float32)
    (result,) = lower(graph)([value])
    np.testing.assert_array_equal(result, value + value + value * value)


def test_nested_blocks_are_inlined() -> None:
    x = Node(None, name="x")
    inner = Node(block(), (), (), (Entry(x), Entry(x)), "inner")
    outer = GraphOp(Graph((Entry(inner, 1),), (x,)), "outer")
    a = Node(None, name="a")
    graph = inline(Graph((Entry(Node(outer, (), (), (Entry(a),), "net")),)))
    assert [node.name for node in graph.nodes] == ["a", "net/inner/product"]


def test_common_subexpressions_of_two_blocks_merge() -> None:
    a = Node(None, name="a")
    heads = [Entry(Node(block(), (), (), (Entry(a), Entry(a)), f"net{i}")) for i in range(2)]
    history: list = []
    graph = pipeline.run(Graph(tuple(heads)), "segment", Facts(), history)
    assert graph.heads[0] == graph.heads[1]
    assert [stage["pass"] for stage in history][:2] == ["recorded", "inline"]


def test_a_dropout_block_draws_the_same_as_alone() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dropout(0.5))
    net.hybridize()
    x = mx.nd.ones((40, 40))
    mx.random.seed(3)
    with mx.autograd.train_mode():
        first, second = net(x).asnumpy(), net(x).asnumpy()
        mx.random.seed(3)
        together = [net(x), net(x)]  # one program
    mx.nd.waitall()
    np.testing.assert_array_equal(first, together[0].asnumpy())
    np.testing.assert_array_equal(second, together[1].asnumpy())
    assert (first != second).any()


def test_specs_follow_from_the_inputs() -> None:
    a = Node(None, name="a")
    dense = Node(find("dot"), find("dot").bind({})[0], (), (Entry(a), Entry(a)), "dot")
    graph = Graph((Entry(dense),))
    specs = Facts("cpu", [((4, 4), np.dtype("float32"))]).specs(graph)
    assert specs[Entry(dense)] == ((4, 4), np.dtype("float32"))
