"""Recomputation: the same gradients from fewer activations that are kept."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.passes.inline import inline
from mixnet.passes.recompute import AFTER, MODES, kept_nodes, recompute
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.trace.graph_op import GraphOp
from mixnet.symbol.symbol import Symbol
from tests.passes.programs import ARRAYS, apply, graphs

QUICK = settings(max_examples=25, deadline=None)


def gradients(op: GraphOp, arrays: list) -> list[np.ndarray]:
    """Gradients of the sum of an operator's outputs by all arrays, through its own backward."""
    expected = tuple(range(len(arrays)))
    forward = op.for_backward(expected)
    values = [Node(None, name=f"value{i}") for i in range(len(op.graph.inputs))]
    starts = [Node(None, name=f"start{i}") for i in range(op.graph.num_outputs)]
    draw = (0.0,) if forward.takes_key else ()
    node = Node(forward, (), draw, tuple(Entry(each) for each in values), "forward")
    backward = forward.backward_node(node, [Entry(each) for each in starts], expected)
    graph = Graph(tuple(Entry(backward, i) for i in expected), (*values, *starts))
    with jax.enable_x64(True):
        inputs = [*arrays, *[jnp.zeros(3, jnp.uint32)] * (len(values) - len(arrays))]
        ones = [jnp.ones(each.shape, each.dtype) for each in lower(op.graph)(inputs)]
        plain = lower(graph)([*inputs, *ones])
        passed = lower(pipeline.run(graph, "segment", Facts()))([*inputs, *ones])
    for one, other in zip(plain, passed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    return [np.asarray(each) for each in plain]


@QUICK
@given(graphs(), st.sampled_from(MODES))
def test_recomputation_preserves_gradients(graph: Graph, mode: str) -> None:
    arrays = [jnp.asarray(each) for each in ARRAYS]
    actual = gradients(GraphOp(graph, "net", recompute=mode), arrays)
    for again, once in zip(actual, gradients(GraphOp(graph, "net"), arrays), strict=True):
        np.testing.assert_allclose(again, once, rtol=1e-6, atol=1e-6)


def of_operators(names: list[str], nodes: list[Node]) -> set[str]:
    return {n.name for n in nodes if n.op is not None and n.op.name in names}


def symbol() -> Symbol:
    """A network with an operator of each kind."""
    n = mx.sym.Variable("data")
    n = mx.sym.Convolution(n, num_filter=8, kernel=(3, 3), pad=(1, 1), name="conv")
    n = mx.sym.BatchNorm(n, name="bn", fix_gamma=False)
    n = mx.sym.Activation(n, act_type="relu", name="relu")
    n = mx.sym.Pooling(n, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    n = mx.sym.Dropout(n, p=0.5, name="drop")
    n = mx.sym.Concat(n, mx.sym.sigmoid(n, name="sig"), name="cat")
    n = mx.sym.FullyConnected(n, num_hidden=10, name="fc")
    n = mx.sym.tanh(n, name="tanh")
    n = mx.sym.dot(n, mx.sym.Variable("w", shape=(10, 10)), name="dot")
    n = mx.sym.FullyConnected(mx.sym.softmax(n, name="smax"), num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(n, mx.sym.Variable("softmax_label"), name="softmax")


def test_mirror_keeps_what_mxnet_keeps() -> None:
    # "<name>_mirror" in debug_str() of an executor of MXNet 1.9.1 tells what is computed again
    graph = symbol().graph
    names = {node.name for node in kept_nodes(graph, "mirror")}
    assert names == {"conv", "drop", "cat", "fc", "fc2", "softmax"}


@pytest.mark.parametrize(
    ("text", "mode", "again"),
    [("1", None, True), ("True", None, True), ("0", None, False), ("False", None, False),
     ("False", "mirror", True)],
)  # fmt: skip
def test_an_attribute_forces_recomputation(text: str, mode: str | None, again: bool) -> None:
    with mx.AttrScope(force_mirroring=text):
        n = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
        n = mx.sym.Dropout(n, name="drop")
    stored = {node.name for node in kept_nodes(mx.sym.exp(n, name="exp").graph, mode)}
    assert ("bn" not in stored) is again
    assert "drop" in stored  # as in MXNet, whatever the attribute says


def test_an_attribute_forces_a_convolution() -> None:
    with mx.AttrScope(force_mirroring="1"):
        n = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    for mode in (None, "mirror"):
        assert kept_nodes(n.graph, mode) == set()


def test_recomputation_is_off_by_default() -> None:
    assert recompute(symbol().graph, None) is None
    with pytest.raises(mx.base.MXNetError, match=r"'mirror'.*'sublinear'"):
        recompute(symbol().graph, "all")


def train(monkeypatch: pytest.MonkeyPatch, mirror: str) -> tuple[list[np.ndarray], int]:
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", mirror)
    executor = symbol().simple_bind(mx.cpu(), data=(4, 3, 8, 8), softmax_label=(4,))
    generator = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = generator.normal(size=array.shape) * 0.3
    executor.arg_dict["softmax_label"][:] = np.arange(4)
    mx.random.seed(1)
    executor.forward(is_train=True)
    executor.backward()
    op = next(iter(executor.graph_op(True)._for_backward.values()))
    arrays = [*executor.grad_arrays, *executor.aux_arrays, *executor.outputs]
    return [each.asnumpy() for each in arrays], op.residuals


def test_an_executor_obeys_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    once, more = train(monkeypatch, "0")
    again, fewer = train(monkeypatch, "1")
    assert fewer < more
    for one, other in zip(once, again, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def deep(recompute: str | None, layers: int = 12) -> mx.gluon.HybridBlock:
    net = mx.gluon.nn.HybridSequential()
    for _ in range(layers):
        net.add(mx.gluon.nn.Dense(32, activation="tanh"))
        net.add(mx.gluon.nn.Activation("softrelu"), mx.gluon.nn.Activation("sigmoid"))
    net.initialize(mx.init.Xavier())
    net.hybridize(recompute=recompute)
    return net


def trained(recompute: str | None) -> tuple[list[np.ndarray], int, int]:
    """Gradients of a deep network, how many residuals it has, and temporary bytes of its program."""
    mx.random.seed(5)
    net = deep(recompute)
    x = mx.nd.random.normal(shape=(512, 32))
    x.attach_grad()
    with mx.autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    results = [x.grad, *[each.grad() for each in net.collect_params().values()]]
    gradients = [each.asnumpy() for each in results]
    (_, op) = next(iter(net._mx_cache.values()))
    forward = next(iter(op._for_backward.values()))
    return gradients, forward.residuals, temporary_bytes(forward, [x, *_parameters(net)])


def _parameters(net: mx.gluon.HybridBlock) -> list[mx.nd.NDArray]:
    traced, _ = next(iter(net._mx_cache.values()))
    return traced.parameter_handles(mx.cpu())


def temporary_bytes(forward: GraphOp, arrays: list[mx.nd.NDArray]) -> int:
    """What XLA allocates beside inputs and outputs for forward and backward in one program."""
    inputs = [Node(None, name=f"x{i}") for i in range(len(arrays))]
    node = Node(forward, (), (), tuple(Entry(each) for each in inputs), "forward")
    head = apply("ones_like", Entry(node))
    expected = tuple(range(len(arrays)))
    gradients = forward.backward_node(node, [head], forward._wrt)
    graph = Graph(tuple(Entry(gradients, i) for i in range(len(expected))), tuple(inputs))
    run = lower(pipeline.run(graph, "segment", Facts()))
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays]
    program = jax.jit(lambda *arguments: run(arguments)).lower(*structs).compile()
    return program.memory_analysis().temp_size_in_bytes


def test_a_deep_network_needs_less_memory() -> None:
    once, stored, bytes_once = trained(None)
    for mode in MODES:
        again, fewer, bytes_again = trained(mode)
        for one, other in zip(once, again, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
        assert fewer < stored / 2
        assert bytes_again < bytes_once / 2


def test_sublinear_recomputation_keeps_about_the_square_root() -> None:
    head = Entry(Node(None, name="x"))
    for _ in range(400):
        head = apply("tanh", head)
    stored = kept_nodes(Graph((head,)), "sublinear")
    assert 30 <= len(stored) <= 45  # 19 borders, and the last segment


def test_the_graph_is_cut_where_few_results_cross() -> None:
    x = Entry(Node(None, name="x"))
    for i in range(30):  # blocks of four operations around which a result passes
        inner = apply("sigmoid", apply("tanh", apply("exp", x)))
        x = apply("elemwise_add", inner, x)
        x.node.name = f"border{i}"
    stored = kept_nodes(Graph((x,)), "sublinear")
    borders = [n for n in stored if n.name.startswith("border")]
    # only the last segment has others
    assert len(stored) - len(borders) <= 12
    assert len(borders) >= 8


def test_custom_operators_are_not_recomputed() -> None:
    x = Entry(Node(None, name="x"))
    op = find("Custom")
    statics, _ = op.bind({"op_type": "anything", "parameters": ()})
    custom = Entry(Node(op, statics, (), (x,), "custom"))
    head = custom
    for _ in range(50):
        head = apply("tanh", head)
    for mode in MODES:
        assert custom.node in kept_nodes(Graph((head,)), mode)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_the_value_after_a_gradient_is_unchanged(dtype: str) -> None:
    data = np.array([[np.nan, -0.0, 1e-45, np.inf]], np.float32)
    key = np.array([1, 2**31, 5], np.uint32)
    for number in (0.0, -1.0, np.nan, np.inf):
        with jax.enable_x64(True):
            gradient = jnp.asarray(np.full((2, 2), number).astype(np.float32)).astype(dtype)
            for value in (data, key):
                (actual,) = jax.jit(lambda v, g: AFTER.apply((), [v, g]))(value, gradient)
                assert np.asarray(actual).tobytes() == value.tobytes()
            empty = jnp.zeros((0, 2), dtype)
            (actual,) = AFTER.apply((), [jnp.asarray(data), empty])
            assert np.asarray(actual).tobytes() == data.tobytes()


def test_recomputation_preserves_second_derivatives() -> None:
    def second(recompute: str | None) -> np.ndarray:
        mx.random.seed(5)
        net = deep(recompute, 2)
        x = mx.nd.ones((2, 32)) * 0.1
        x.attach_grad()
        with mx.autograd.record():
            y = (net(x) ** 2).sum()
            (first,) = mx.autograd.grad(y, [x], create_graph=True)
            z = (first**2).sum()
        z.backward()
        return x.grad.asnumpy()

    for mode in MODES:
        np.testing.assert_allclose(second(mode), second(None), rtol=1e-4, atol=1e-7)


def test_recomputed_dropout_has_the_same_mask() -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            for _ in range(6):
                x = F.Dropout(F.tanh(x), p=0.3)
            return x

    def run(mode: str | None) -> np.ndarray:
        net = Net()
        net.hybridize(recompute=mode)
        mx.random.seed(2)
        x = mx.nd.ones((20, 20)) * 0.5
        x.attach_grad()
        with mx.autograd.record():
            y = net(x)
        y.backward()
        return x.grad.asnumpy()

    expected = run(None)
    assert 0 < (expected == 0).mean() < 1
    for mode in MODES:
        np.testing.assert_allclose(run(mode), expected, rtol=1e-6)


def test_a_chain_of_10000_operations_is_recomputed() -> None:
    head = x = Entry(Node(None, name="x"))
    for _ in range(10_000):
        head = apply("tanh", head)
    for mode in MODES:
        op = GraphOp(Graph((head,), (x.node,)), "chain", recompute=mode)
        forward = op.for_backward((0,))
        assert forward.residuals <= 210
        node = Node(forward, (), (), (x,), "forward")
        start = Entry(Node(None, name="start"))
        backward = Entry(forward.backward_node(node, [start], (0,)))
        nodes = inline(Graph((backward,))).nodes
        assert of_operators(["_backward_tanh"], nodes)
