"""Simplification only removes operations without an effect."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops import find
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes.facts import Facts
from mixnet.passes.simplify import drop_gradient_rules, simplify
from tests.passes.programs import SHAPE, apply, gradients, graphs, same_bits, values

FLOAT32 = np.dtype("float32")
FACTS = Facts("cpu", [(SHAPE, FLOAT32), (SHAPE, FLOAT32), STREAM_SPEC])
QUICK = settings(max_examples=50, deadline=None)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not node.is_variable]


def simplified(head: Entry, dtype: str = "float32") -> list[str]:
    graph = Graph((head,))
    facts = Facts("cpu", [(SHAPE, np.dtype(dtype)) for _ in graph.inputs])
    return names(simplify(graph, facts))


@pytest.fixture
def x() -> Entry:
    return Entry(Node(None, name="x"))


@QUICK
@given(graphs())
def test_simplification_preserves_every_bit(graph: Graph) -> None:
    for facts in (None, FACTS):
        simple = simplify(graph, facts)
        assert len(simple.nodes) <= len(graph.nodes)
        assert simple.inputs == graph.inputs
        same_bits(values(simple), values(graph))


@QUICK
@given(graphs())
def test_simplification_preserves_gradients(graph: Graph) -> None:
    for before, after in zip(gradients(graph), gradients(simplify(graph, FACTS)), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6)


@QUICK
@given(graphs())
def test_values_are_preserved_without_gradient_rules(graph: Graph) -> None:
    dropped = drop_gradient_rules(graph)
    assert "BlockGrad" not in names(dropped)
    same_bits(values(dropped), values(graph))


def test_redundant_copies_and_casts_are_removed(x: Entry) -> None:
    assert simplified(apply("_copy", apply("_np_copy", x))) == []
    assert simplified(apply("Cast", x, dtype="float32")) == []
    assert simplified(apply("Cast", x, dtype="float16")) == ["Cast"]
    narrow = apply("Cast", x, dtype="float16")
    assert simplified(apply("Cast", narrow, dtype="float16")) == ["Cast"]
    back = apply("Cast", narrow, dtype="float32")  # it has lost digits
    assert simplified(back) == ["Cast", "Cast"]
    assert simplified(apply("Cast", apply("relu", narrow), dtype="float16")) == ["Cast", "relu"]


def test_a_dtype_that_is_not_known_is_not_guessed(x: Entry) -> None:
    assert names(simplify(Graph((apply("Cast", x, dtype="float32"),)))) == ["Cast"]
    assert names(simplify(Graph((apply("_mul_scalar", x, scalar=1.0),)))) == ["_mul_scalar"]


def test_operations_with_neutral_numbers_are_removed(x: Entry) -> None:
    assert simplified(apply("_mul_scalar", x, scalar=1.0)) == []
    assert simplified(apply("_mul_scalar", x, scalar=1.0), "int32") == []
    # booleans become integers
    assert simplified(apply("_mul_scalar", x, scalar=1.0), "bool") == ["_mul_scalar"]
    assert simplified(apply("_mul_scalar", x, scalar=2.0)) == ["_mul_scalar"]
    assert simplified(apply("_minus_scalar", x, scalar=0.0)) == []
    assert simplified(apply("_plus_scalar", x, scalar=0.0)) == ["_plus_scalar"]
    assert simplified(apply("_div_scalar", x, scalar=1.0)) == []


def test_an_attribute_passed_at_run_time_is_not_a_constant(x: Entry) -> None:
    known = apply("_mul_scalar", x, scalar=1.0).node
    later = Node(known.op, known.statics, (ScalarSlot(1),), known.inputs)
    assert simplified(Entry(later)) == ["_mul_scalar"]


def test_redundant_transposes_are_removed(x: Entry) -> None:
    def twice(first: tuple, second: tuple) -> list[str]:
        return simplified(apply("transpose", apply("transpose", x, axes=first), axes=second))

    assert twice((2, 0, 1), (1, 2, 0)) == []
    assert twice((), ()) == []
    assert twice((), (2, 1, 0)) == []
    assert twice((2, 0, 1), (2, 0, 1)) == ["transpose"]
    assert simplified(apply("transpose", x, axes=(0, 1, 2))) == []
    assert simplified(apply("SwapAxis", apply("SwapAxis", x, dim1=0, dim2=2), dim1=0, dim2=1)) == [
        "SwapAxis",
        "SwapAxis",
    ]


def test_redundant_reshapes_are_removed(x: Entry) -> None:
    flat = apply("Flatten", apply("expand_dims", x, axis=0))
    assert simplified(apply("Reshape", flat, shape=(4, -1))) == ["Reshape"]
    # 0 keeps an axis that the reshape before has made
    stored = ["expand_dims", "Flatten", "Reshape"]
    assert simplified(apply("Reshape", flat, shape=(0, 4, -1))) == stored


def test_dropout_is_removed_in_prediction() -> None:
    x, key = Entry(Node(None, name="x")), Entry(Node(None, name="key"))
    op = find("Dropout")
    for p, mode, training, dropped in [
        (0.5, "training", True, False),
        (0.5, "training", False, True),
        (0.5, "always", False, False),
        (0.0, "always", True, True),
    ]:
        statics, _ = op.bind({"p": p, "mode": mode}, training)
        graph = Graph((Entry(Node(op, statics, (0.0,), (x, key))),))
        assert (names(simplify(graph)) == []) is dropped


def test_block_grad_stays_in_graphs_that_are_differentiated(x: Entry) -> None:
    assert simplified(apply("BlockGrad", x)) == ["BlockGrad"]
    data = mx.nd.array([1.0, 2.0])
    data.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BlockGrad(data) * data
    y.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), data.asnumpy())


def test_a_block_that_copies_gives_another_array() -> None:
    class Copy(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.identity(x), x

    net = Copy()
    net.hybridize()
    x = mx.nd.ones((64, 64))
    first, second = net(x)
    first[:] = 5
    assert (x.asnumpy() == 1).all()
    assert (second.asnumpy() == 1).all()


@pytest.mark.parametrize("name", ["_copy", "transpose", "expand_dims", "Cast"])
def test_a_chain_of_10000_nodes_is_simplified(x: Entry, name: str) -> None:
    attributes = {"expand_dims": {"axis": 0}, "Cast": {"dtype": "float32"}}.get(name, {})
    head = x
    for _ in range(10_000):
        head = apply(name, head, **attributes)
    if name == "expand_dims":
        head = apply("Reshape", head, shape=(-1,))
    graph = simplify(Graph((head,)), Facts("cpu", [(SHAPE, FLOAT32)]))
    if name != "expand_dims":
        assert names(graph) == []
