"""Passes leave values as they are."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes.differentiate import differentiate
from mixnet.passes.eliminate_common import eliminate_common
from mixnet.runtime.compile.lower import lower

_OPS = ["elemwise_add", "elemwise_mul", "elemwise_sub", "tanh", "sin", "_copy"]


@st.composite
def graphs(draw) -> Graph:
    """Random graphs of two variables."""
    variables = [Node(None, name=f"x{i}") for i in range(2)]
    entries = [Entry(v) for v in variables]
    for i in range(draw(st.integers(1, 12))):
        op = find(draw(st.sampled_from(_OPS)))
        inputs = tuple(draw(st.sampled_from(entries)) for _ in op.arrays)
        entries.append(Entry(Node(op, (), (), inputs, f"n{i}")))
    heads = tuple(draw(st.lists(st.sampled_from(entries), min_size=1, max_size=3)))
    return Graph(heads, tuple(variables))


ARRAYS = [np.asarray([0.3, -0.7], "float32"), np.asarray([0.9, 0.2], "float32")]
QUICK = settings(max_examples=25, deadline=None)


@QUICK
@given(graphs())
def test_common_subexpressions_keep_the_values(graph: Graph) -> None:
    merged = eliminate_common(graph)
    assert len(merged.nodes) <= len(graph.nodes)
    for a, b in zip(lower(graph)(ARRAYS), lower(merged)(ARRAYS), strict=True):
        np.testing.assert_array_equal(a, b)


@QUICK
@given(graphs())
def test_gradients_are_jaxs(graph: Graph) -> None:
    import jax

    start = Node(None, name="head")
    entries = differentiate([graph.heads[0]], [Entry(start)], [Entry(v) for v in graph.inputs])
    expected = jax.grad(lambda a: lower(graph)(a)[0].sum())(ARRAYS)
    for entry, reference in zip(entries, expected, strict=True):
        if entry is None:
            np.testing.assert_array_equal(reference, 0)
            continue
        backward = Graph((entry,), (*graph.inputs, start))
        actual = lower(backward)([*ARRAYS, jnp.ones(2, jnp.float32)])[0]
        np.testing.assert_allclose(actual, reference, rtol=1e-5, atol=1e-6)


def test_same_expression_is_kept_once() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    graph = eliminate_common((a * b + a * b).graph)
    assert graph.heads[0].node.inputs[0] == graph.heads[0].node.inputs[1]


def test_two_draws_stay_two() -> None:
    x = mx.nd.random.uniform(shape=(4,)) - mx.nd.random.uniform(shape=(4,))
    assert (x.asnumpy() != 0).any()


def test_two_draws_of_a_symbol_stay_two() -> None:
    x = mx.sym.Variable("x")
    both = mx.sym.Group([mx.sym.Dropout(x, p=0.5), mx.sym.Dropout(x, p=0.5)])
    mx.random.seed(5)
    executor = both.bind(mx.cpu(), {"x": mx.nd.full((2, 3), 0.5)})
    first, second = (output.asnumpy().ravel() for output in executor.forward(is_train=True))
    assert first.tolist() == [0, 1, 0, 0, 1, 0]  # what MXNet 1.9.1 draws
    assert second.tolist() == [0, 0, 1, 1, 1, 0]


def test_an_internal_output_runs_nothing_above_it() -> None:
    data = mx.sym.Variable("data")
    first = mx.sym.FullyConnected(data, num_hidden=3, name="fc1")
    hidden = mx.sym.Activation(first, act_type="relu", name="relu1")
    ran: list[int] = []

    @mx.operator.register("counts_its_runs")
    class CountProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            class Count(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    ran.append(1)
                    self.assign(out_data[0], req[0], in_data[0])

            return Count()

    net = mx.sym.FullyConnected(
        mx.sym.Custom(hidden, op_type="counts_its_runs"), num_hidden=2, name="fc2"
    )
    inner = net.get_internals()["relu1_output"]
    arrays = {
        "data": mx.nd.ones((2, 4)),
        "fc1_weight": mx.nd.ones((3, 4)),
        "fc1_bias": mx.nd.zeros(3),
    }
    executor = inner.bind(mx.cpu(), arrays)
    (output,) = executor.forward()
    np.testing.assert_array_equal(output.asnumpy(), np.full((2, 3), 4))
    names = [node.name for node in executor.graph_op(False).graph.nodes]
    assert sorted(names) == ["data", "fc1", "fc1_bias", "fc1_weight", "relu1"]
    assert ran == []
    more = {"fc2_weight": mx.nd.ones((2, 3)), "fc2_bias": mx.nd.zeros(2)}
    net.bind(mx.cpu(), {**arrays, **more}).forward()[0].asnumpy()
    assert ran == [1]
