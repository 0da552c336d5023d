"""Constants are computed once, to the same bits, and small."""

from __future__ import annotations

import jax
import numpy as np
from hypothesis import given, settings

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops import find
from mixnet.ops.schema.rewrites import MAX_BYTES
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes import pipeline
from mixnet.passes.eliminate_common import eliminate_common
from mixnet.passes.facts import Facts
from mixnet.passes.fold_constants import fold_constants
from mixnet.runtime.compile.lower import lower
from tests.each_record import each_record
from tests.passes.programs import SHAPE, apply, gradients, graphs, same_bits, values

FLOAT32 = np.dtype("float32")
FACTS = Facts("cpu", [(SHAPE, FLOAT32), (SHAPE, FLOAT32), STREAM_SPEC])
QUICK = settings(max_examples=50, deadline=None)


def folded(head: Entry) -> list[str]:
    graph = Graph((head,))
    known = Facts("cpu", [(SHAPE, FLOAT32) for _ in graph.inputs])
    result = fold_constants(graph, known)
    same_bits(_run(result), _run(graph))
    return [node.op.name for node in result.nodes if not node.is_variable]


def _run(graph: Graph) -> list[np.ndarray]:
    arrays = [np.full(SHAPE, 0.3, np.float32) for _ in graph.inputs]
    with jax.enable_x64(True):
        return [np.asarray(each) for each in lower(graph)(arrays)]


@QUICK
@given(graphs())
def test_folding_preserves_every_bit(graph: Graph) -> None:
    for facts in (None, FACTS):
        actual = fold_constants(graph, facts)
        assert actual.inputs == graph.inputs
        same_bits(values(actual), values(graph))
        for before, after in zip(gradients(graph), gradients(actual), strict=True):
            np.testing.assert_array_equal(after, before)


@QUICK
@given(graphs())
def test_all_passes_together_keep_every_bit(graph: Graph) -> None:
    for purpose in pipeline.PASSES:
        same_bits(values(pipeline.run(graph, purpose, FACTS)), values(graph))


@each_record(
    "constant",
    [
        apply("_zeros", shape=(2, 3), dtype="int32"),
        apply("_npi_ones", shape=(2, 3), dtype="float16"),
        apply("_full", shape=(2, 3), value=2.5),
        apply("_full", shape=(2, 3), value=-0.0),
        apply("_eye", N=3, M=2, k=1),
        apply("_npi_eye", N=3, k=-1, dtype="int64"),
        apply("_npi_identity", shape=(3, 3)),
        apply("_arange", start=6.0),
        apply("_arange", start=7.0, stop=-2.0, step=-3.0, repeat=2, dtype="int32"),
        apply("_npi_arange", start=2.0, stop=8.0, step=2.0),
        apply("_npi_arange", start=5.0, stop=2.0),
    ],
    ids=lambda entry: entry.node.op.name,
)
def test_operators_that_follow_a_constant_are_folded(constant: Entry) -> None:
    # itself it stays, for it says more than its numbers; what follows is a literal
    assert folded(constant) == [constant.node.op.name]
    assert folded(apply("_copy", constant)) == ["_constant"]
    assert folded(apply("Reshape", apply("transpose", constant), shape=(-1,))) == ["_constant"]


def test_operations_that_round_are_not_folded() -> None:
    assert folded(apply("_copy", apply("_arange", start=0.0, stop=1.0, step=0.1))) == [
        "_arange",
        "_copy",
    ]
    third = apply("_full", shape=(2,), value=1 / 3)
    assert folded(apply("_copy", third)) == ["_full", "_copy"]
    exact = apply("_full", shape=(2,), value=0.5)
    assert folded(apply("exp", exact)) == ["_full", "exp"]
    assert folded(apply("elemwise_add", exact, exact)) == ["_full", "elemwise_add"]
    assert folded(apply("Cast", exact, dtype="int32")) == ["_full", "Cast"]
    assert folded(apply("Cast", exact, dtype="float64")) == ["_constant"]


def test_integers_wrap_as_on_the_device() -> None:
    large = apply("_full", shape=(2,), value=100, dtype="int8")
    assert folded(apply("elemwise_add", large, large)) == ["_constant"]
    assert folded(apply("broadcast_mul", large, large)) == ["_constant"]


def test_shapes_are_known_where_inputs_are() -> None:
    x = Entry(Node(None, name="x"))
    assert folded(apply("shape_array", x)) == ["_constant"]
    assert folded(apply("size_array", x)) == ["_constant"]
    assert folded(apply("zeros_like", x)) == ["_zeros"]
    assert folded(apply("ones_like", apply("exp", x))) == ["exp", "ones_like"]
    graph = Graph((apply("shape_array", x),))
    assert fold_constants(graph).heads[0].node.op.name == "shape_array"


def test_large_results_are_not_folded() -> None:
    for extent, expected in (
        (MAX_BYTES // 4, ["_constant"]),
        (MAX_BYTES // 4 + 1, ["_ones", "_copy"]),
    ):
        assert folded(apply("_copy", apply("_ones", shape=(extent,)))) == expected
    half = apply("_ones", shape=(MAX_BYTES // 8,))
    assert folded(apply("Concat", half, half, dim=0)) == ["_constant"]
    more = apply("_ones", shape=(MAX_BYTES // 8 + 1,))
    assert folded(apply("Concat", half, more, dim=0)) == ["_ones", "_ones", "Concat"]


def test_random_numbers_are_never_folded() -> None:
    draws = [mx.nd.random.uniform(shape=(3,)).asnumpy() for _ in range(2)]
    assert (draws[0] != draws[1]).any()
    op = find("_random_uniform")
    statics, scalars = op.bind({"shape": (2,)})
    key = Entry(Node(None, name="random key"))
    drawn = Entry(Node(op, statics, (*scalars, 0.0), (key,)))
    graph = fold_constants(Graph((apply("_copy", drawn),)))
    assert [n.op.name for n in graph.nodes if n.op] == ["_random_uniform", "_copy"]


def test_an_attribute_passed_at_run_time_is_not_a_constant() -> None:
    known = apply("_full", shape=(2,), value=2.0).node
    later = Entry(Node(known.op, known.statics, (ScalarSlot(2),), ()))
    graph = fold_constants(Graph((apply("_copy", later),)))
    assert graph.heads[0].node.op.name == "_copy"


def test_equal_constants_are_one() -> None:
    first, second = (apply("_copy", apply("_ones", shape=(2,))) for _ in range(2))
    other = apply("_copy", apply("_zeros", shape=(2,)))
    graph = eliminate_common(fold_constants(Graph((first, second, other))))
    assert graph.heads[0] == graph.heads[1]
    assert graph.heads[0] != graph.heads[2]


def test_a_block_with_constants_trains() -> None:
    class Positions(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.broadcast_mul(x, F.arange(4).reshape((1, 4)) + F.zeros((1, 4)))

    net = Positions()
    net.hybridize()
    x = mx.nd.ones((2, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [[0, 1, 2, 3]] * 2)


def test_a_chain_of_10000_nodes_is_folded() -> None:
    head = apply("_ones", shape=(4,))
    for _ in range(10_000):
        head = apply("_copy", head)
    graph = fold_constants(Graph((head,)))
    assert [node.op.name for node in graph.nodes] == ["_constant"]
