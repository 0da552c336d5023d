"""The layout pass: its changes, and equal results, forward and backward."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.gluon import nn
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.registry import OPERATORS, find
from mixnet.passes import pipeline
from mixnet.passes.choose_layout import choose_layout, multiplications
from mixnet.passes.differentiate import differentiate
from mixnet.passes.facts import Facts
from mixnet.runtime.compile import disk_cache
from mixnet.runtime.compile.lower import lower

FLOAT = np.dtype("float32")


def apply(name: str, *inputs: Entry, training: bool = False, **attributes) -> Entry:
    op = find(name)
    statics, scalars = op.bind(attributes, training)
    apply.count += 1  # type: ignore[attr-defined]
    return Entry(Node(op, statics, scalars, inputs, f"{name.lower()}{apply.count}"))


apply.count = 0  # type: ignore[attr-defined]


class Net:
    """Variables and operators by hand; ``check`` compares with and without the pass."""

    def __init__(self, training: bool = False) -> None:
        self.variables: list[Node] = []
        self.arrays: list[np.ndarray] = []
        self.training = training

    def variable(self, *shape: int, positive: bool = False) -> Entry:
        self.variables.append(Node(None, name=f"v{len(self.variables)}"))
        array = np.random.default_rng(len(self.arrays)).standard_normal(shape).astype(FLOAT)
        self.arrays.append(np.abs(array) + 0.5 if positive else array)
        return Entry(self.variables[-1])

    def convolution(self, x: Entry, channels: int, filters: int, kernel: int = 3, bias: bool = False,
                    **attributes) -> Entry:  # fmt: skip
        group = attributes.get("num_group", 1)
        inputs = [x, self.variable(filters, channels // group, kernel, kernel)]
        if bias:
            inputs.append(self.variable(filters))
        return apply(
            "Convolution", *inputs, kernel=(kernel, kernel), num_filter=filters, no_bias=not bias,
            **attributes,
        )  # fmt: skip

    def batch_norm(self, x: Entry, channels: int, **attributes) -> Entry:
        rest = [self.variable(channels) for _ in range(3)]
        rest.append(self.variable(channels, positive=True))
        return apply("BatchNorm", x, *rest, training=self.training, **attributes)

    def graph(self, *heads: Entry) -> tuple[Graph, Facts]:
        facts = Facts("cpu", [(a.shape, a.dtype) for a in self.arrays])
        return Graph(heads, tuple(self.variables)), facts

    def with_gradients(self, head: Entry) -> tuple[Graph, Facts]:
        start = Entry(Node(None, name="head"))
        graph, facts = self.graph(head)
        shape = facts.specs(graph)[head][0]
        result = differentiate([head], [start], [Entry(node) for node in self.variables])
        self.arrays.append(np.random.default_rng(99).standard_normal(shape).astype(FLOAT))
        self.variables.append(start.node)
        return self.graph(head, *[entry for entry in result if entry is not None])


def check(net: Net, *heads: Entry, gradients: bool = True) -> Graph:
    graph, facts = net.with_gradients(*heads) if gradients else net.graph(*heads)
    changed = pipeline.run(graph, "segment", facts)
    both = jax.jit(lambda arrays: (lower(changed)(arrays), lower(graph)(arrays)))
    for actual, expected in zip(*both(net.arrays), strict=True):
        assert actual.shape == expected.shape
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=3e-5 * scale)
    return changed


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if node.op is not None]


@pytest.fixture(params=["auto", "xla"], autouse=True)
def layout(request, monkeypatch) -> str:
    monkeypatch.setenv("MIXNET_LAYOUT", request.param)
    monkeypatch.setattr("mixnet.passes.choose_layout.ONEDNN_LEAST", 0)  # small networks here
    return request.param


@pytest.fixture(autouse=True)
def _not_on_disk():
    """Calls of oneDNN, made here outside of programs, cannot be written to disk."""
    with disk_cache.not_on_disk():
        yield


def test_transposes_are_only_at_the_borders() -> None:
    net = Net()
    x = net.variable(2, 3, 12, 10)
    y = apply("Activation", net.convolution(x, 3, 4, bias=True, pad=(1, 1)), act_type="relu")
    y = apply("Pooling", y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    y = net.convolution(y, 4, 5)
    graph = check(net, apply("Flatten", y), gradients=False)
    assert names(graph) == [
        "transpose",
        "Convolution_channels_last",  # relu is part of it
        "Pooling_channels_last",
        "Convolution_channels_last",
        "transpose",
        "Flatten",
    ]
    fused = next(node for node in graph.nodes if type(node.op) is Lowering)
    assert dict(fused.statics)["fusions"] == ("BIAS", "RELU")


def test_gradients_are_lowered_as_well() -> None:
    net = Net(training=True)
    x = net.variable(2, 3, 12, 10)
    y = apply("relu", net.batch_norm(net.convolution(x, 3, 4, stride=(2, 2)), 4))
    y = net.convolution(y, 4, 6, kernel=1)
    graph = check(net, apply("Pooling", y, global_pool=True, pool_type="avg"))
    actual = names(graph)
    for name in (
        "Convolution_data_gradient", "Convolution_weight_gradient", "Pooling_gradient",
        "BatchNorm_gradient", "relu_gradient",
    ):  # fmt: skip
        assert name in actual
    assert not [name for name in actual if name.startswith("_backward")]


def test_a_residual_block_of_a_trained_network() -> None:
    net = Net(training=True)
    x = net.convolution(net.variable(2, 3, 9, 9), 3, 4)
    y = apply(
        "Activation", net.batch_norm(net.convolution(x, 4, 4, pad=(1, 1)), 4), act_type="relu"
    )
    y = net.batch_norm(net.convolution(y, 4, 4, pad=(1, 1)), 4, fix_gamma=False)
    check(net, apply("relu", apply("elemwise_add", x, y)))


def test_prediction_of_a_residual_block_folds_and_fuses(layout) -> None:
    net = Net()
    x = net.convolution(net.variable(2, 3, 9, 9), 3, 4, bias=True)
    y = apply("relu", net.batch_norm(net.convolution(x, 4, 4, pad=(1, 1), bias=True), 4))
    y = net.batch_norm(net.convolution(y, 4, 4, pad=(1, 1)), 4, fix_gamma=False)
    graph = check(net, apply("relu", apply("elemwise_add", y, x)), gradients=False)
    actual = names(graph)
    assert "BatchNorm" not in actual and "relu" not in actual and "elemwise_add" not in actual
    last = [node for node in graph.nodes if node.op and node.op.name.startswith("Convolution")][-1]
    assert dict(last.statics)["fusions"] == ("BIAS", "BINARY_ADD", "RELU")


def test_folding_leaves_what_gradients_read() -> None:
    net = Net()
    y = net.batch_norm(net.convolution(net.variable(2, 3, 6, 6), 3, 4), 4)
    graph = check(net, y)
    assert "BatchNorm" in names(graph) and "BatchNorm_fold" not in names(graph)


def test_a_convolution_read_twice_is_not_fused() -> None:
    net = Net()
    y = net.convolution(net.variable(2, 3, 6, 6), 3, 4)
    graph = check(net, apply("elemwise_mul", apply("relu", y), y), gradients=False)
    assert "relu" in names(graph)


def test_a_gradient_of_relu_that_comes_first() -> None:
    """The head's gradient is given, so nothing but relu's own argument orders the two."""
    net = Net()
    check(net, apply("relu", net.convolution(net.variable(2, 3, 6, 6), 3, 4)))


@pytest.mark.parametrize("pool_type", ["max", "avg", "sum", "lp"])
def test_pooling_of_every_kind_follows_the_layout(pool_type) -> None:
    net = Net()
    y = net.convolution(net.variable(2, 3, 9, 8), 3, 4)
    more = {"p_value": 2} if pool_type == "lp" else {}
    check(net, apply("Pooling", y, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=pool_type,
                     pooling_convention="full", **more))  # fmt: skip


def test_joined_branches_and_broadcasts_follow_the_layout() -> None:
    net = Net()
    x = net.variable(2, 3, 8, 8)
    one, two = net.convolution(x, 3, 4, kernel=1), net.convolution(x, 3, 2, pad=(1, 1))
    joined = apply("Concat", one, two, dim=1)
    weights = apply("Pooling", joined, global_pool=True, pool_type="avg")
    check(net, apply("broadcast_mul", joined, apply("sigmoid", weights)))


def test_leaky_relu_follows_the_layout_and_others_do_not() -> None:
    net = Net()
    y = net.convolution(net.variable(2, 3, 6, 6), 3, 4, num_group=1)
    key = net.variable(3)
    net.arrays[-1] = np.zeros(3, np.uint32)
    op = find("LeakyReLU")
    statics, scalars = op.bind({"act_type": "leaky", "slope": 0.1})
    y = Entry(Node(op, statics, (*scalars, 0.0), (y, key), "leaky"))
    graph = check(net, apply("softmax", y, axis=1), gradients=False)
    assert names(graph)[-2:] == ["transpose", "softmax"]


def test_groups_dilation_and_float64_compute_the_same() -> None:
    net = Net()
    x = net.variable(2, 4, 9, 9)
    check(net, net.convolution(x, 4, 6, num_group=2, dilate=(2, 2), pad=(1, 1)))
    op = apply("Convolution", x, Entry(net.variables[1]), kernel=(3, 3), num_filter=6, num_group=2,
               no_bias=True)  # fmt: skip
    specs = [((2, 4, 9, 9), np.dtype("float64")), ((6, 2, 3, 3), np.dtype("float64"))]
    graph = choose_layout(Graph((op,), tuple(net.variables[:2])), Facts("cpu", specs))
    assert dict(graph.heads[0].node.inputs[0].node.statics)["method"] == "grouped"


def test_groups_in_one_dimension_keep_their_layout() -> None:
    net = Net()
    x, w, b = net.variable(2, 4, 9), net.variable(6, 2, 3), net.variable(6)
    y = apply("Convolution", x, w, b, kernel=(3,), stride=(2,), num_filter=6, num_group=2)
    graph = check(net, y)
    assert names(graph) == ["Convolution_grouped", "Convolution_grouped_gradients"]


@pytest.mark.parametrize(
    ("groups", "attributes"),
    [
        (1, {"kernel": (4, 4), "stride": (2, 2), "pad": (1, 1)}),
        (2, {"kernel": (3, 2), "stride": (2, 3), "adj": (1, 2)}),
        (4, {"kernel": (16, 16), "stride": (8, 8), "pad": (4, 4)}),
        (1, {"kernel": (5, 9), "stride": (1, 5), "pad": (2, 1), "target_shape": (6, 26)}),
        (2, {"kernel": (3, 3), "dilate": (2, 2), "pad": (3, 3)}),
        (1, {"kernel": (2, 2), "pad": (2, 2)}),  # padding beyond the kernel's reach
    ],
)
def test_transposed_convolutions_and_their_gradients(groups, attributes) -> None:
    net = Net()
    x = net.convolution(net.variable(2, 3, 8, 7), 3, 4)
    inputs = [x, net.variable(4, 8 // groups, *attributes["kernel"]), net.variable(8)]
    y = apply("Deconvolution", *inputs, num_filter=8, num_group=groups, no_bias=False, **attributes)
    graph = check(net, apply("relu", y))
    actual = names(graph)
    assert "Deconvolution" not in actual and "_backward_Deconvolution" not in actual
    assert "Deconvolution_channels_last" in actual
    # Only the data that comes in, the result that goes out and the gradients of both are transposed.
    assert actual.count("transpose") == 4


@pytest.mark.parametrize("layout_of_data", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize(
    ("groups", "attributes"),
    [
        (1, {"kernel": (3, 3, 3), "pad": (1, 1, 1)}),
        (2, {"kernel": (2, 3, 1), "stride": (2, 1, 2), "dilate": (2, 1, 1)}),
        (1, {"kernel": (3, 2, 3), "stride": (3, 2, 1), "pad": (2, 0, 1)}),
        (1, {"kernel": (1, 1, 1), "stride": (2, 2, 2)}),
        (4, {"kernel": (2, 4, 4), "stride": (1, 4, 4)}),
    ],
)
def test_three_dimensions_are_sums_over_images(groups, attributes, layout_of_data) -> None:
    net = Net()
    first = layout_of_data == "NCDHW"
    x = net.variable(*((2, 4, 6, 8, 9) if first else (2, 6, 8, 9, 4)))
    kernel = attributes["kernel"]
    w = net.variable(*((8, 4 // groups, *kernel) if first else (8, *kernel, 4 // groups)))
    y = apply(
        "Convolution", x, w, net.variable(8), num_filter=8, num_group=groups,
        layout=layout_of_data, **attributes,
    )  # fmt: skip
    graph = check(net, y)
    assert names(graph) == ["Convolution_volumes", "Convolution_volumes_gradients"]


def test_a_deep_kernel_stays_one_convolution() -> None:
    net = Net()
    x, w = net.variable(1, 2, 12, 3, 3), net.variable(2, 2, 9, 3, 3)
    y = apply("Convolution", x, w, kernel=(9, 3, 3), num_filter=2, no_bias=True)
    assert names(check(net, y, gradients=False)) == ["Convolution"]


def test_multiplications_of_transposed_convolutions_are_those_of_the_data() -> None:
    net = Net()
    x, w = net.variable(2, 8, 5, 5), net.variable(8, 6, 4, 4)
    y = apply("Deconvolution", x, w, kernel=(4, 4), stride=(2, 2), num_filter=6)
    assert multiplications(*_with_specs(net, y)) == 2 * 8 * 25 * 6 * 16


def test_groups_count_as_much_as_xla_needs_for_them() -> None:
    net = Net()
    dense = net.convolution(net.variable(2, 8, 5, 5), 8, 8, pad=(1, 1))
    assert multiplications(*_with_specs(net, dense)) == 2 * 25 * 8 * 8 * 9
    depthwise = net.convolution(net.variable(2, 8, 5, 5), 8, 8, pad=(1, 1), num_group=8)
    assert multiplications(*_with_specs(net, depthwise)) == 32 * 2 * 25 * 8 * 9


def _with_specs(net: Net, head: Entry):
    graph, facts = net.graph(head)
    return graph, facts.specs(graph)


def test_one_dimension_and_channels_last_stay_as_written() -> None:
    net = Net()
    x, w = net.variable(2, 3, 8), net.variable(4, 3, 3)
    y = apply("Convolution", x, w, kernel=(3,), num_filter=4, no_bias=True)
    assert names(check(net, y, gradients=False)) == ["Convolution"]
    net = Net()
    x, w = net.variable(2, 6, 6, 3), net.variable(4, 3, 3, 3)
    y = apply("Convolution", x, w, kernel=(3, 3), num_filter=4, no_bias=True, layout="NHWC")
    assert names(check(net, y, gradients=False)) == ["Convolution"]


def test_other_devices_and_graphs_are_unchanged(monkeypatch) -> None:
    net = Net()
    graph, facts = net.graph(net.convolution(net.variable(2, 3, 6, 6), 3, 4))
    assert choose_layout(graph, Facts("gpu", facts.inputs)) is graph
    assert choose_layout(graph, Facts("cpu")) is graph
    plain = Net()
    other, known = plain.graph(apply("relu", plain.variable(2, 3, 6, 6)))
    assert choose_layout(other, known) is other
    monkeypatch.setenv("MIXNET_LAYOUT", "off")
    assert choose_layout(graph, facts) is graph
    monkeypatch.setenv("MIXNET_LAYOUT", "sideways")
    with pytest.raises(MXNetError, match="sideways"):
        choose_layout(graph, facts)


def test_the_history_shows_what_changed() -> None:
    net = Net()
    graph, facts = net.graph(net.convolution(net.variable(2, 3, 6, 6), 3, 4))
    history: list = []
    pipeline.run(graph, "segment", facts, history)
    stages = {stage["pass"]: [n["op"] for n in stage["graph"]["nodes"]] for stage in history}
    assert "Convolution" in stages["fold_batch_norm"]
    assert "Convolution_channels_last" in stages["choose_layout"]


def test_a_long_chain_is_walked_without_recursion() -> None:
    net = Net()
    y = net.convolution(net.variable(1, 1, 3, 3), 1, 1, kernel=1)
    for _ in range(10_000):
        y = apply("relu", y)
    graph, facts = net.graph(y)
    assert names(choose_layout(graph, facts))[-1] == "transpose"


class Block(mx.gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.first = nn.Conv2D(4, 3, strides=2, padding=1, use_bias=False)
            self.norm = nn.BatchNorm()
            self.second = nn.Conv2D(4, 3, padding=1)
            self.out = nn.Dense(3)

    def hybrid_forward(self, F, x):
        x = F.Pooling(F.relu(self.norm(self.first(x))), kernel=(2, 2), stride=(2, 2))
        return self.out(x + F.relu(self.second(x)))


def test_training_a_block_gives_the_same_weights(monkeypatch) -> None:
    def trained() -> list[np.ndarray]:
        mx.runtime.programs.executable_cache.clear()
        mx.random.seed(3)
        net = Block()
        net.initialize(mx.init.Xavier())
        net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        x = mx.nd.array(np.random.default_rng(0).standard_normal((4, 3, 12, 12)))
        for _ in range(3):
            with mx.autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        return [net(x).asnumpy(), *[p.data().asnumpy() for p in net.collect_params().values()]]

    actual = trained()
    monkeypatch.setenv("MIXNET_LAYOUT", "off")
    for one, two in zip(actual, trained(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)
    mx.runtime.programs.executable_cache.clear()


def test_an_operator_that_no_file_names_stays_with_channels_last() -> None:
    mx.ops.register("bent_line")(lambda data, *, slope=2.0: jnp.where(data > 0, data, slope * data))
    try:
        net = Net()
        y = apply("bent_line", net.convolution(net.variable(2, 3, 6, 6), 3, 4))
        graph = check(net, net.convolution(y, 4, 2))
    finally:
        del OPERATORS["bent_line"]
    actual = names(graph)
    at = actual.index("bent_line")
    assert actual[at - 1] == actual[at + 1] == "Convolution_channels_last"
