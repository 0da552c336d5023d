"""The hash of a graph's structure, numbers of values, names that no two nodes share."""

from __future__ import annotations

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.signature import structure_hash, value_numbers
from mixnet.ops.registry import find
from mixnet.runtime.compile.lower import scopes


def chain(hidden: int, first: str = "a", relu: bool = True) -> Graph:
    data = mx.sym.Variable(first)
    dense = mx.sym.FullyConnected(data, num_hidden=hidden, name=first + "fc")
    return (mx.sym.relu(dense) if relu else mx.sym.sigmoid(dense)).graph


def test_names_take_no_part_in_the_hash_but_attributes_and_operators_do() -> None:
    same = structure_hash(chain(3))
    assert len(same) == 12 and int(same, 16) >= 0
    assert structure_hash(chain(3, "b")) == same
    assert structure_hash(chain(4)) != same
    assert structure_hash(chain(3, relu=False)) != same


def test_signatures_depend_on_the_connections() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    assert structure_hash((a - b).graph) == structure_hash((b - a).graph)  # names aside
    assert structure_hash((a - a).graph) != structure_hash((a - b).graph)
    shared = mx.sym.relu(a)
    twice = mx.sym.relu(a) + mx.sym.relu(a)
    assert structure_hash((shared + shared).graph) != structure_hash(twice.graph)


def test_the_same_in_a_long_chain() -> None:
    x = Node(None, name="x")
    node = x
    for i in range(10_000):
        node = Node(find("relu"), (), (), (Entry(node),), f"r{i}")
    graph = Graph((Entry(node),))
    assert structure_hash(graph) != structure_hash(Graph((node.inputs[0],)))
    assert len(set(value_numbers(graph).values())) == 10_001


def test_equal_operations_have_equal_numbers() -> None:
    a = mx.sym.Variable("a")
    graph = (mx.sym.relu(a) + mx.sym.relu(a) * mx.sym.sigmoid(a)).graph
    numbers = value_numbers(graph)
    by_op: dict[str, set[int]] = {}
    for node, number in numbers.items():
        by_op.setdefault(node.op.name if node.op else "a", set()).add(number)
    assert len(by_op["relu"]) == 1
    assert len(set(numbers.values())) == 5


def test_every_node_has_a_name_of_its_own_in_graph_and_program() -> None:
    x = Node(None, name="x")
    nodes = [
        Node(find("relu"), (), (), (Entry(x),), name)
        for name in ("r", "r", "r_1", "", "a/b", "a_b")
    ]
    graph = Graph(tuple(Entry(node) for node in nodes))
    names = list(graph.names.values())
    assert len(set(names)) == len(names) == 7
    assert graph.names[nodes[0]] == "r" and graph.names[nodes[3]] == "relu"
    actual = scopes(graph)
    assert len(set(actual.values())) == 6 and not any("/" in scope for scope in actual.values())
    assert x not in actual
