"""Gluon: names, deferred shapes, hybridize, files, Trainer against MXNet's numbers."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


def small() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(4, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(),
            nn.Flatten(), nn.Dropout(0.5), nn.Dense(3),
        )  # fmt: skip
    net.initialize(mx.init.Xavier())
    return net


DATA = np.random.default_rng(0).random((2, 1, 8, 8), np.float32)


def test_parameters_are_named_and_shaped_as_mxnets() -> None:
    net = small()
    assert list(net.collect_params()) == [
        "net_conv0_weight", "net_conv0_bias", "net_batchnorm0_gamma", "net_batchnorm0_beta",
        "net_batchnorm0_running_mean", "net_batchnorm0_running_var", "net_dense0_weight",
        "net_dense0_bias",
    ]  # fmt: skip
    assert net[0].weight.shape == (4, 0, 3, 3)
    with pytest.raises(gluon.DeferredInitializationError, match="follows from the first data"):
        net[0].weight.data()
    net(nd.array(DATA))
    assert net[0].weight.shape == (4, 1, 3, 3) and net[5].weight.shape == (3, 64)
    assert repr(net[0]).startswith("Conv2D(1 -> 4, kernel_size=(3, 3)")


@pytest.mark.parametrize("training", [False, True])
def test_hybridized_is_the_same(training: bool) -> None:
    net, x = small(), nd.array(DATA)
    net(x)
    results = []
    for hybridize in (False, True):
        net.hybridize(hybridize)
        net[1].running_mean.set_data(nd.zeros((4,)))
        mx.random.seed(5)
        with autograd.record(train_mode=training):
            out = net(x) if not training else nn.HybridSequential.__call__(net[:4], x)
            loss = (out * out).sum()
        loss.backward()
        state = net[1].running_mean.data().asnumpy()
        results.append((out.asnumpy(), net[0].weight.grad().asnumpy(), state))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert (results[1][2] != 0).any() == training


def test_a_graph_is_traced_once_for_each_shape_and_mode() -> None:
    calls = []

    class Counting(nn.HybridBlock):
        def forward(self, x):
            calls.append(x.shape)
            return x * 2

    net = Counting()
    net.hybridize()
    for shape in ((2,), (2,), (3,), (2,)):
        np.testing.assert_array_equal(net(nd.ones(shape)).asnumpy(), 2)
    assert calls == [(2,), (3,)]


def test_reading_a_value_while_tracing_is_an_error() -> None:
    net = nn.HybridLambda(lambda F, x: x * float(x.sum()))
    net.hybridize()
    with pytest.raises(mx.MXNetError, match="being traced"):
        net(nd.ones((2,)))
    net.hybridize(False)
    assert net(nd.ones((2,))).sum().asscalar() == 4


@pytest.mark.parametrize("hybridize", [False, True])
def test_parameter_files_cross(tmp_path: Path, hybridize: bool) -> None:
    net, x = small(), nd.array(DATA)
    expected = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "a.params"))
    other = small()
    if hybridize:
        other.hybridize()
    other.load_parameters(str(tmp_path / "a.params"))
    np.testing.assert_allclose(other(x).asnumpy(), expected, rtol=1e-6)


def test_loading_says_what_is_missing_and_changes_nothing(tmp_path: Path) -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    before = net.weight.data().asnumpy()
    nd.save(tmp_path / "a.params", {"weight": nd.ones((2, 3))})
    with pytest.raises(mx.MXNetError, match=r"no value for dense\d+_bias"):
        net.load_parameters(str(tmp_path / "a.params"))
    nd.save(tmp_path / "b.params", {"weight": nd.ones((9, 3)), "bias": nd.ones((2,))})
    with pytest.raises(mx.MXNetError, match=r"weight.*its shape is \(9, 3\) there"):
        net.load_parameters(str(tmp_path / "b.params"))
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)


def test_export_and_imports(tmp_path: Path) -> None:
    net, x = small(), nd.array(DATA)
    net.hybridize()
    expected = net(x).asnumpy()
    symbol_file, params_file = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(symbol_file, ["data"], params_file)
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    block.hybridize()
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["gluon_conv"])
def test_exports_of_mxnet_run(name: str) -> None:
    stored = np.load(FIXTURES / f"{name}-io.npz")
    inputs = [nd.array(stored[k]) for k in stored if k.startswith("in:")]
    block = gluon.SymbolBlock.imports(
        str(FIXTURES / f"{name}-symbol.json"), ["data"], str(FIXTURES / f"{name}-0000.params")
    )
    np.testing.assert_allclose(block(*inputs).asnumpy(), stored["out:0"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.001}),
        ("adam", {"learning_rate": 0.01}),
    ],
)
@pytest.mark.parametrize("hybridize", [False, True])
def test_the_trainer_makes_the_steps_of_mxnet(name: str, options: dict, hybridize: bool) -> None:
    stored = np.load(FIXTURES / f"trainer_{name}.npz")
    x, y = nd.array(stored["X"]), nd.array(stored["Y"])
    net = nn.Dense(2, in_units=x.shape[1])
    net.initialize()
    net.weight.set_data(nd.array(stored["W0"]))
    net.bias.set_data(nd.array(stored["B0"]))
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), name, options)
    for i in range(4):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
        trainer.step(4)
        np.testing.assert_allclose(loss.asnumpy(), stored[f"loss{i}"], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            net.weight.data().asnumpy(), stored[f"W{i + 1}"], rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(
            net.bias.data().asnumpy(), stored[f"B{i + 1}"], rtol=1e-4, atol=1e-6
        )


def test_functionalize_gives_jax_a_pure_function() -> None:
    optax = pytest.importorskip("optax", reason="pip install optax to try a network with it")
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh"), nn.Dense(1))
    net.initialize(mx.init.Xavier())
    x = np.random.rand(32, 4).astype("float32")
    y = x.sum(1, keepdims=True)
    function, params = net.functionalize(nd.array(x))
    expected = net(nd.array(x)).asnumpy()
    np.testing.assert_allclose(function(params, x), expected, rtol=1e-5, atol=1e-6)
    optimizer = optax.adam(0.03)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(lambda p: ((function(p, x) - y) ** 2).mean())(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    for _ in range(200):
        params, state, loss = step(params, state)
    assert loss < 5e-3
    one_by_one = jax.vmap(lambda row: function(params, row[None])[0])(x)
    np.testing.assert_allclose(one_by_one, function(params, x), rtol=1e-4, atol=1e-5)


def test_a_network_of_both_styles_and_its_symbol() -> None:
    class Scale(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=(3,), init="ones")

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(x, scale)

    net = Scale()
    net.initialize()
    x = nd.ones((2, 3))
    symbol = net(mx.sym.Variable("data"))
    assert symbol.list_arguments() == ["data", net.scale.name]
    np.testing.assert_array_equal(net(x).asnumpy(), 1)


def test_a_data_loader_stacks_batches() -> None:
    data = gluon.data.ArrayDataset(np.arange(10, dtype="float32"), np.arange(10))
    for workers in (0, 2):
        batches = list(gluon.data.DataLoader(data, 4, num_workers=workers))
        assert [b[0].shape for b in batches] == [(4,), (4,), (2,)]
        np.testing.assert_array_equal(np.concatenate([b[1].asnumpy() for b in batches]), range(10))
    loader = gluon.data.DataLoader(data, 4, shuffle=True, last_batch="discard")
    assert len(loader) == 2 and len({int(v) for b in loader for v in b[1].asnumpy()}) == 8


def test_errors_name_the_way_out() -> None:
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        nn.Dense(2, in_units=3)(nd.ones((1, 3)))
    with pytest.raises(ValueError, match="Cannot find optimizer sdg"):
        gluon.Trainer({}, "sdg")
    with pytest.raises(AssertionError, match="zavier is not registered"):
        mx.init.create("zavier")
    with pytest.raises(mx.MXNetError, match="hybridize the network"):
        nn.Dense(1).export("x")


def test_accuracy_counts_correct_predictions() -> None:
    metric = mx.metric.create("acc")
    metric.update([nd.array([0, 1, 1])], [nd.array([[0.9, 0.1], [0.3, 0.7], [0.8, 0.2]])])
    assert metric.get() == ("accuracy", pytest.approx(2 / 3))
    with pytest.raises(ValueError, match="labels 3 does not match shape of predictions 2"):
        metric.update([nd.zeros((3,))], [nd.zeros((2, 2))])


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_sparse_embedding_moves_only_the_rows_that_were_read(
    hybrid: bool, optimizer: str
) -> None:
    layer = gluon.nn.Embedding(50, 4, sparse_grad=True)
    layer.initialize()
    if hybrid:
        layer.hybridize()
    trainer = gluon.Trainer(layer.collect_params(), optimizer, {"learning_rate": 0.1})
    before = layer.weight.data().asnumpy()
    for _ in range(2):
        with mx.autograd.record():
            loss = layer(nd.array([1, 7, 7])).sum()
        loss.backward()
        assert layer.weight.grad().stype == "row_sparse"
        assert layer.weight.grad().indices.asnumpy().tolist() == [1, 7]
        assert layer.weight.grad().data.shape == (2, 4)
        trainer.step(1)
    with mx.autograd.record():
        loss = (layer(nd.array([2])) * 0).sum()
    loss.backward()  # the row is there although its gradient is 0: nothing dense was cut down
    assert layer.weight.grad().indices.asnumpy().tolist() == [2]
    moved = (layer.weight.data().asnumpy() != before).any(1)
    assert np.nonzero(moved)[0].tolist() == [1, 7]
