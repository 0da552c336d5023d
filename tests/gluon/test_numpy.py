"""Gluon under ``npx.set_np()``: parameters, gradients, results and batches are ``mx.np`` arrays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as onp
import pytest

import mixnet as mx
from mixnet import autograd, gluon, np, npx
from mixnet.gluon import nn
from tests.each_record import each_record

FIXTURES = Path(__file__).parent.parent / "parity" / "fixtures"


@pytest.fixture(autouse=True)
def _numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


class Net(nn.HybridBlock):
    """A layer, a parameter of its own, functions of ``F.np`` and ``F.npx``, an operator."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(3, activation="relu")
            self.scale = self.params.get("scale", shape=(3,), init="ones")

    def hybrid_forward(self, F, x, scale):
        y = F.npx.softmax(self.dense(x) * scale - 1)
        y = F.np.concatenate([y, F.np.ones((2, 1))], axis=1).reshape((2, -1))
        return F.np.mean(y.T, axis=0, keepdims=True) + F.np.sum(scale)


def initialized(hybridize: bool) -> Net:
    net = Net()
    net.initialize(mx.init.Constant(0.5))
    if hybridize:
        net.hybridize()
    return net


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_network_of_numpy_functions_computes_gradients(hybridize: bool) -> None:
    net = initialized(hybridize)
    x = np.arange(8.0).reshape((2, 4))
    with autograd.record():
        actual = net(x)
        total = actual.sum()
    total.backward()
    for each in (actual, total, net.scale.data(), net.scale.grad(), net.dense.weight.data(),
                 net.dense.weight.grad(), net.dense.weight.list_data()[0]):  # fmt: skip
        assert type(each) is np.ndarray
    assert actual.shape == (1, 2) and total.shape == () and net.dense.weight.shape == (3, 4)
    onp.testing.assert_allclose(actual.asnumpy(), [[3.5, 3.5]], rtol=1e-6)
    onp.testing.assert_allclose(net.scale.grad().asnumpy(), [2, 2, 2], atol=1e-5)
    before = net.scale.data().asnumpy()
    gluon.Trainer(net.collect_params(), "adam").step(2)
    assert type(net.scale.data()) is np.ndarray
    assert (net.scale.data().asnumpy() != before).all()


def test_hybridized_computes_what_imperative_does(tmp_path: Path) -> None:
    x = np.random.uniform(size=(2, 4))
    plain, compiled = initialized(False), initialized(True)
    onp.testing.assert_allclose(plain(x).asnumpy(), compiled(x).asnumpy(), rtol=1e-6)
    symbol_file, params_file = compiled.export(str(tmp_path / "net"))
    assert json.loads(Path(symbol_file).read_text())["attrs"]["is_np_shape"] == ["int", 1]
    again = gluon.SymbolBlock.imports(symbol_file, "data", params_file)
    actual = again(x)
    assert type(actual) is np.ndarray
    onp.testing.assert_allclose(actual.asnumpy(), plain(x).asnumpy(), rtol=1e-6)
    for hybridize in (False, True):
        again.hybridize(hybridize)
        with autograd.record():
            again(x).sum().backward()
    assert all(type(each.grad()) is np.ndarray for each in again.collect_params().values())


def test_a_network_exported_by_mxnet_runs() -> None:
    stored = onp.load(FIXTURES / "gluon_np-io.npz")
    files = [str(FIXTURES / f"gluon_np-{end}") for end in ("symbol.json", "0000.params")]
    net = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    for hybridize in (False, True):
        net.hybridize(hybridize)
        actual = net(np.array(stored["in:0"]))
        assert type(actual) is np.ndarray
        onp.testing.assert_allclose(actual.asnumpy(), stored["out:0"], rtol=1e-5)

    class Same(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.d = nn.Dense(4, activation="relu")
            self.o = nn.Dense(2)

        def hybrid_forward(self, F, x):
            y = F.np.tanh(self.o(self.d(x)))
            return y + F.npx.softmax(F.npx.reshape(x[:, :2], (-2, -2, -4)))

    same = Same()
    same.load_parameters(str(FIXTURES / "gluon_np-save_parameters.params"))
    for hybridize in (False, True):
        same.hybridize(hybridize)
        actual = same(np.array(stored["in:0"]))
        onp.testing.assert_allclose(actual.asnumpy(), stored["out:0"], rtol=1e-5)
    assert type(same.d.weight.data()) is np.ndarray


LAYERS = {
    "dense": (lambda: nn.Dense(3), (2, 4)),
    "flat": (lambda: nn.Dense(3, flatten=False, activation="tanh"), (2, 3, 4)),
    "convolution": (lambda: nn.Conv2D(3, 3, padding=1, activation="relu"), (2, 2, 5, 5)),
    "pooling": (lambda: nn.MaxPool2D(2), (2, 2, 4, 4)),
    "global": (lambda: nn.GlobalAvgPool2D(), (2, 2, 4, 4)),
    "batch norm": (lambda: nn.BatchNorm(), (4, 3, 2, 2)),
    "dropout": (lambda: nn.Dropout(0.5), (4, 3)),
    "flatten": (lambda: nn.Flatten(), (4, 3, 2)),
    "activation": (lambda: nn.Activation("sigmoid"), (4, 3)),
    "lambda": (lambda: nn.HybridLambda(lambda F, x: F.np.exp(x)), (4, 3)),
}


@each_record("name", LAYERS)
def test_layers_give_what_they_give_for_other_arrays(name: str) -> None:
    make, shape = LAYERS[name]
    data = onp.random.default_rng(0).normal(size=shape).astype("float32")
    results = {}
    for kind in ("np", "nd", "np hybrid"):
        if kind == "nd":
            npx.reset_np()
        layer = make()
        layer.initialize(mx.init.Constant(0.1))
        layer.hybridize(kind == "np hybrid")
        x = (np.array if kind != "nd" else mx.nd.array)(data)
        if name == "lambda" and kind == "nd":
            x = x.as_np_ndarray()
        x.attach_grad()
        with autograd.record(train_mode=name != "dropout"):
            actual = layer(x)
        actual.backward()
        if kind != "nd":
            assert type(actual) is np.ndarray and type(x.grad) is np.ndarray
        results[kind] = actual.asnumpy(), x.grad.asnumpy()
        npx.set_np()
    for kind in ("np", "np hybrid"):
        for ours, theirs in zip(results[kind], results["nd"], strict=True):
            onp.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["L2Loss", "L1Loss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_losses_give_what_they_give_for_other_arrays(loss: str, hybridize: bool) -> None:
    pred = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]])
    label = np.array([0, 2]) if "Softmax" in loss else np.ones((2, 3))
    function = getattr(gluon.loss, loss)()
    function.hybridize(hybridize)
    pred.attach_grad()
    with autograd.record():
        actual = function(pred, label)
    actual.backward()
    assert type(actual) is np.ndarray and actual.shape == (2,)
    x = pred.asnumpy()
    expected = {
        "L2Loss": ((x - 1) ** 2 / 2).mean(1),
        "L1Loss": abs(x - 1).mean(1),
        "SoftmaxCrossEntropyLoss": onp.log(onp.exp(x).sum(1)) - x[[0, 1], [0, 2]],
    }
    onp.testing.assert_allclose(actual.asnumpy(), expected[loss], rtol=1e-5)
    assert abs(pred.grad.asnumpy()).sum() > 0
    weighted = function(pred, label, np.array([[2.0], [0.0]]))
    onp.testing.assert_allclose(weighted.asnumpy(), expected[loss] * [2, 0], rtol=1e-5)


def test_parameters_by_numpys_shapes() -> None:
    assert gluon.Parameter("p", shape=(0, 3)).shape == (-1, 3)
    single = gluon.Parameter("p", shape=())
    single.initialize(mx.init.One())
    assert single.data().shape == () and single.data().item() == 1
    sized = gluon.Parameter("p", shape=(onp.int64(2), onp.int32(3)))
    sized.initialize(mx.init.One())
    assert sized.data().shape == (2, 3)
    sized.set_data(onp.zeros((2, 3)))
    sized.cast("float64")
    assert type(sized.data()) is np.ndarray and sized.grad().dtype == onp.float64
    assert type(gluon.Constant("c", [1, 2]).value) is np.ndarray
    deferred = gluon.Parameter("p", shape=(-1, 3), allow_deferred_init=True)
    deferred.initialize()
    deferred.shape = (4, 3)
    assert deferred.shape == (4, 3)


def test_parameters_survive_files(tmp_path: Path) -> None:
    x = np.ones((2, 4))
    net, other = initialized(False), Net()
    expected = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    other.load_parameters(str(tmp_path / "net.params"))
    onp.testing.assert_allclose(other(x).asnumpy(), expected)
    assert type(other.scale.data()) is np.ndarray


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_numpy_arrays(workers: int) -> None:
    data = gluon.data.ArrayDataset(onp.arange(12.0).reshape(6, 2), onp.arange(6))
    for x, y in gluon.data.DataLoader(data, batch_size=3, num_workers=workers):
        assert type(x) is np.ndarray and type(y) is np.ndarray and x.shape == (3, 2)


def test_numpy_scalars_as_attributes() -> None:
    x = mx.sym.Variable("x").as_np_ndarray()
    symbol = mx.sym.np.sum(x.reshape((onp.int64(2), onp.int32(3))), axis=onp.int64(1))
    symbol = mx.sym.np.clip(symbol * onp.float32(2), onp.float64(0), onp.int64(100))
    text = symbol.tojson()
    assert "int64" not in text and "float" not in text.replace("float32", "")
    executor = mx.sym.load_json(text).bind(mx.cpu(), {"x": np.arange(6.0)})
    onp.testing.assert_allclose(executor.forward()[0].asnumpy(), [6, 24])
    layer = nn.Dense(onp.int64(3), in_units=onp.int32(6))
    layer.initialize()
    layer.hybridize()
    assert layer(np.ones((2, 6))).shape == (2, 3)
    json.loads(layer.to_symbol().tojson())


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_the_negative_in_a_hybridized_block_is_that_outside(dtype: str) -> None:
    class Negative(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # type: ignore[no-untyped-def]
            return -x

    x = mx.np.array([1, 0], dtype=dtype)
    block = Negative()
    block.hybridize()
    assert block(x).dtype == (-x).dtype
    assert block(x).tolist() == (-x).tolist()
    assert (-mx.sym.var("x").as_np_ndarray()).name.startswith("multiply_scalar")  # MXNet 1.9.1's


def test_a_symbol_with_one_output_is_not_a_sequence() -> None:
    """MXNet 1.9.1 refuses, too; a loop over it would see the whole array once."""
    x = mx.sym.var("x").as_np_ndarray()
    for use in (len, iter, list):
        with pytest.raises(TypeError, match="split"):
            use(x)
    pair = mx.sym.Group([x.as_nd_ndarray(), x.as_nd_ndarray() + 1]).as_np_ndarray()
    assert len(pair) == len(list(pair)) == 2
    for key in ("a", 1.5, [0, 1], (0, "a")):
        with pytest.raises(IndexError):
            x[key]
