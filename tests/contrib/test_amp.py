"""Mixed precision: casts as MXNet 1.9.1 inserts them, loss scaling with its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.contrib import amp
from mixnet.runtime.record import precision

TWO = [mx.cpu(0), mx.cpu(1)]
FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


@pytest.fixture
def half() -> Iterator[None]:
    """``amp.init()`` for the length of a test."""
    with precision.using(None):
        amp.init()
        yield
    amp.amp._amp_initialized = False


def nodes(symbol: Any) -> list[tuple]:
    result = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    return [
        (n["op"], n["name"], [result[i]["name"] for i, *_ in n["inputs"]])
        for n in result
        if n["op"] != "null"
    ]


# ---- arrays ------------------------------------------------------------------------------------------


def test_operators_on_arrays_cast_their_inputs(half: None) -> None:
    x = nd.array([[1, 2], [3, 4]])
    h = x.astype("float16")
    for actual in (h + x, x + h, x * h, h > x, nd.broadcast_add(x, h), nd.concat(h, x), 1 / h,
                  nd.add_n(h, x), nd.exp(h), h.exp(), nd.softmax(h), nd.dot(x, x), h**x):  # fmt: skip
        assert actual.dtype == np.float32
    for actual in (h + h, h * 2, nd.relu(h), nd.FullyConnected(x, x, no_bias=True, num_hidden=2)):
        assert actual.dtype == np.float16
    assert nd.Activation(h, act_type="relu").dtype == np.float16
    assert nd.Activation(h, act_type="softrelu").dtype == np.float32
    assert nd.exp(nd.array([1], dtype="int32")).dtype == np.int32
    ones = mx.np.ones((2, 2))
    assert mx.npx.fully_connected(ones, ones, no_bias=True, num_hidden=2).dtype == np.float16
    assert nd.FullyConnected(x, x, no_bias=True, num_hidden=2).asnumpy().tolist() == [
        [5, 11], [11, 25],
    ]  # fmt: skip


def test_without_init_nothing_is_cast() -> None:
    x = nd.ones((2, 2))
    assert nd.FullyConnected(x, x, no_bias=True, num_hidden=2).dtype == np.float32
    with pytest.raises(mx.MXNetError, match="same dtype"):
        x + x.astype("float16")


def test_gradients_have_the_dtype_of_their_variables(half: None) -> None:
    x, w = nd.array([[1, 2]]), nd.array([[3, 4], [5, 6]])
    for each in (x, w):
        each.attach_grad()
    with autograd.record():
        y = nd.FullyConnected(x, w, no_bias=True, num_hidden=2)
        loss = y.softmax().sum() + y.sum()
    loss.backward()
    assert y.dtype == np.float16 and loss.dtype == np.float32
    assert x.grad.dtype == w.grad.dtype == np.float32
    assert x.grad.asnumpy() == pytest.approx(np.array([[8, 10]]), abs=1e-2)


def test_networks_run_in_mixed_precision(half: None) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.BatchNorm(in_channels=3))
    net.add(gluon.nn.Activation("relu"), gluon.nn.Dense(2, in_units=3))
    net.initialize()
    x = nd.array([[1, 2], [3, 4]])
    eager = net(x)
    net.hybridize()
    traced = net(x)
    assert eager.dtype == traced.dtype == np.float16
    assert np.allclose(eager.asnumpy(), traced.asnumpy(), atol=1e-3)
    assert all(np.dtype(p.dtype) == np.float32 for p in net.collect_params().values())
    names = [op for op, _, _ in nodes(net.to_symbol())]
    assert names.count("amp_cast") >= 4
    assert "amp_cast" not in net.to_symbol().tojson()


# ---- symbols -----------------------------------------------------------------------------------------


def test_symbols_are_composed_with_casts(half: None) -> None:
    with mx.name.NameManager():
        a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        assert nodes(mx.sym.FullyConnected(a, num_hidden=2, name="fc")) == [
            ("amp_cast", "amp_cast0", ["a"]),
            ("amp_cast", "amp_cast1", ["fc_weight"]),
            ("amp_cast", "amp_cast2", ["fc_bias"]),
            ("FullyConnected", "fc", ["amp_cast0", "amp_cast1", "amp_cast2"]),
        ]
        assert nodes(mx.sym.exp(a)) == [
            ("amp_cast", "amp_cast3", ["a"]),
            ("exp", "exp0", ["amp_cast3"]),
        ]
        assert nodes(a + b)[0] == ("amp_multicast", "amp_multicast0", ["a", "b"])
        assert nodes(mx.sym.relu(a)) == [("relu", "relu0", ["a"])]


def test_convert_symbol_inserts_casts() -> None:
    def dense(data: Any, name: str) -> Any:
        return mx.sym.FullyConnected(data, num_hidden=2, name=name)

    data, other = mx.sym.Variable("data"), mx.sym.Variable("other")
    body = dense(mx.sym.Activation(dense(data, "fc1"), act_type="relu", name="relu"), "fc2")
    with mx.name.NameManager():
        symbol = mx.sym.SoftmaxOutput(body + data, name="softmax")
    converted = amp.convert_symbol(symbol)
    assert nodes(converted) == [
        ("amp_cast", "data_amp_cast_float16", ["data"]),
        ("amp_cast", "fc1_weight_amp_cast_float16", ["fc1_weight"]),
        ("amp_cast", "fc1_bias_amp_cast_float16", ["fc1_bias"]),
        ("FullyConnected", "fc1", ["data_amp_cast_float16", "fc1_weight_amp_cast_float16",
                                   "fc1_bias_amp_cast_float16"]),
        ("Activation", "relu", ["fc1"]),
        ("amp_cast", "fc2_weight_amp_cast_float16", ["fc2_weight"]),
        ("amp_cast", "fc2_bias_amp_cast_float16", ["fc2_bias"]),
        ("FullyConnected", "fc2", ["relu", "fc2_weight_amp_cast_float16",
                                   "fc2_bias_amp_cast_float16"]),
        ("elemwise_add", "_plus0", ["fc2", "data_amp_cast_float16"]),
        ("amp_cast", "_plus0_output_amp_cast_float32", ["_plus0"]),
        ("SoftmaxOutput", "softmax", ["_plus0_output_amp_cast_float32", "softmax_label"]),
    ]  # fmt: skip
    assert converted.list_arguments() == symbol.list_arguments()
    assert converted.list_outputs() == ["softmax_output"]
    assert converted.tojson() == symbol.tojson()  # files have no casts
    excluded = nodes(amp.convert_symbol(symbol, excluded_sym_names=["fc2"]))
    assert ("amp_cast", "relu_output_amp_cast_float32", ["relu"]) in excluded
    assert ("elemwise_add", "_plus0", ["fc2", "data_amp_cast_float32"]) in excluded
    # The same with what is not known to be of one precision, and float32 at the end.
    with mx.name.NameManager():
        assert nodes(amp.convert_symbol(dense(data, "f") + other))[-3:] == [
            ("amp_multicast", "f_output_amp_multicast", ["f", "other"]),
            ("elemwise_add", "_plus0", ["f_output_amp_multicast"] * 2),
            ("amp_cast", "_plus0_output_amp_cast_float32", ["_plus0"]),
        ]
        wide = dense(data, "f") + mx.sym.exp(other, name="e")
        assert nodes(amp.convert_symbol(wide))[-3:] == [
            ("amp_cast", "f_output_amp_cast_float32", ["f"]),
            ("exp", "e", ["other"]),
            ("elemwise_add", "_plus1", ["f_output_amp_cast_float32", "e"]),
        ]
    soft = mx.sym.Activation(dense(data, "f"), act_type="softrelu", name="soft")
    assert nodes(amp.convert_symbol(soft))[-2:] == [
        ("amp_cast", "f_output_amp_cast_float32", ["f"]),
        ("Activation", "soft", ["f_output_amp_cast_float32"]),
    ]
    assert "data_amp_cast_bfloat16" in str(nodes(amp.convert_symbol(symbol, "bfloat16")))


def test_statistics_and_lengths_do_not_say_what_precision_an_output_has() -> None:
    """What MXNet 1.9.1 inserts, whatever the parameters are called: Gluon's have no name of a node."""
    var, convolved = mx.sym.var, mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3))
    params = {"moving_mean": var("mean"), "moving_var": var("var"), "beta": var("beta")}
    half = [
        mx.sym.BatchNorm(convolved, gamma=var("gamma"), **params),
        mx.sym.BatchNorm(convolved, gamma=mx.sym.relu(var("gamma")), **params),
        mx.sym.SequenceMask(convolved, var("length"), use_sequence_length=True),
    ]
    unknown = [
        mx.sym.BatchNorm(var("x"), gamma=var("gamma"), **params),
        mx.sym.BatchNorm(mx.sym.softmax(convolved), gamma=var("gamma"), **params),
    ]
    for symbols, is_cast in ((half, False), (unknown, True)):
        for symbol in symbols:
            dense = mx.sym.FullyConnected(symbol, num_hidden=2)
            casts = [name for op, name, _ in nodes(amp.convert_symbol(dense)) if op == "amp_cast"]
            assert (f"{symbol.name}_output_amp_cast_float16" in casts) is is_cast, casts


def test_convert_symbol_refuses_wrong_arguments() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    with pytest.raises(AssertionError, match="sym must be a Symbol, not int"):
        amp.convert_symbol(3)
    with pytest.raises(AssertionError, match="Only target_dtype float16 and bfloat16"):
        amp.convert_symbol(symbol, target_dtype="int8")
    with pytest.raises(AssertionError, match="list of names, not 'fc'"):
        amp.convert_symbol(symbol, excluded_sym_names="fc")
    with pytest.raises(AssertionError, match=r"Op \{'nope'\} not in any"):
        amp.convert_symbol(symbol, target_dtype_ops=["nope"])
    with pytest.raises(AssertionError, match="Ops cannot be in two or more lists"):
        amp.convert_symbol(symbol, fp32_ops=["FullyConnected"])


def test_convert_model_and_bind() -> None:
    data = mx.sym.Variable("data")
    symbol = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    params = {"fc_weight": nd.array([[1, 2], [3, 4]]), "fc_bias": nd.zeros(2)}
    converted, arguments, states = amp.convert_model(symbol, params, {})
    assert {each.dtype for each in arguments.values()} == {np.float32} and states == {}
    executor = converted.bind(mx.cpu(), {**arguments, "data": nd.array([[1, 1.0004]])})
    (actual,) = executor.forward()
    # 1.0004 is 1 in half precision.
    assert actual.dtype == np.float32 and actual.asnumpy().tolist() == [[3, 7]]
    stored, arguments, _ = amp.convert_model(symbol, params, {}, cast_optional_params=True)
    assert {each.dtype for each in arguments.values()} == {np.float16}
    assert stored.get_internals().list_outputs() == [  # the names of MXNet 1.9.1
        "data",
        "data_amp_cast_float16_output",
        "fc_weight",
        "fc_bias",
        "fc_output",
        "fc_output_amp_cast_float32_output",
    ]
    assert stored.infer_type(data="float32")[0] == [np.float32, np.float16, np.float16]
    executor = stored.bind(mx.cpu(), {**arguments, "data": nd.array([[1, 1.0004]])})
    assert executor.forward()[0].asnumpy().tolist() == [[3, 7]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_convert_hybrid_block_inserts_casts(dtype: str) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.BatchNorm(in_channels=3))
    net.initialize()
    net.hybridize()
    x = nd.array([[1, 2], [3, 4]])
    with pytest.raises(RuntimeError, match="run forward with this block at least once"):
        amp.convert_hybrid_block(net, dtype, ctx=mx.cpu())
    expected = net(x).asnumpy()
    converted = amp.convert_hybrid_block(net, dtype, ctx=mx.cpu(), cast_optional_params=True)
    actual = converted(x)
    assert actual.dtype == np.float32
    assert np.allclose(actual.asnumpy(), expected, atol=0.05)
    dtypes = {name: str(np.dtype(p.dtype)) for name, p in converted.collect_params().items()}
    assert all(t == (dtype if "dense" in n else "float32") for n, t in dtypes.items())
    with pytest.raises(AssertionError, match="must be a HybridBlock"):
        amp.convert_hybrid_block(3)


def test_convert_bucketing_module_inserts_casts() -> None:
    def buckets(key: int) -> tuple:
        data = mx.sym.reshape(mx.sym.Variable("data"), shape=(-1, 4))
        dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(dense, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(buckets, default_bucket_key=4)
    with pytest.raises(AssertionError, match="should not be empty; bind it first"):
        amp.amp.convert_bucketing_module(module)
    with pytest.raises(AssertionError, match="must be a BucketingModule"):
        amp.amp.convert_bucketing_module(3)
    shapes = [("data", (2, 4))], [("softmax_label", (2,))]
    module.bind(*shapes)
    module.init_params(mx.init.One())
    converted = amp.amp.convert_bucketing_module(module, cast_optional_params=True)
    assert not converted.binded and converted.params_initialized
    dtypes = {name: each.dtype for name, each in converted.get_params()[0].items()}
    assert dtypes == {"fc_weight": np.float16, "fc_bias": np.float16}
    converted = amp.amp.convert_bucketing_module(module)
    converted.bind(*shapes, for_training=False)
    batch = mx.io.DataBatch([nd.array([[1, 1.0004, 0, 0], [2, 1, 0, 0]])], [nd.zeros(2)])
    batch.bucket_key, batch.provide_data, batch.provide_label = 4, *shapes
    converted.forward(batch, is_train=False)
    assert converted.get_outputs()[0].asnumpy() == pytest.approx(np.full((2, 3), 1 / 3), rel=1e-3)


# ---- lists -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", ["fp16", "bf16"])
def test_lists_are_those_of_mxnet(half: str) -> None:
    """The fixture has what ``mxnet.contrib.amp.lists`` of MXNet 1.9.1 has; mixnet builds its
    lists from declarations.
    """
    theirs = json.loads((FIXTURES / "amp_lists.json").read_text())[half]
    module = getattr(amp.lists, f"symbol_{half}")
    ours = json.loads(json.dumps({name: getattr(module, name) for name in theirs}))
    for name, value in ours.items():
        if isinstance(value, list) and isinstance(value[0], str):
            assert sorted(value) == theirs[name], name
        else:
            assert value == theirs[name], name


def test_lists_exist_for_both_half_precisions() -> None:
    names = ["list_lp16_ops", "list_fp32_ops", "list_lp16_fp32_ops", "list_conditional_fp32_ops",
             "list_widest_type_cast", "list_loss_output_functions"]  # fmt: skip
    for name in names:
        assert getattr(amp, name)("float16") and getattr(amp, name)("bfloat16")
        with pytest.raises(AssertionError, match="not supported type"):
            getattr(amp, name)("int8")
    assert amp.list_lp16_use_fp32_params("float16") is None


# ---- loss scaling --------------------------------------------------------------------------------------


def learned(contexts: Any = None, optimizer: str = "sgd") -> tuple[Any, gluon.Trainer]:
    parameter = gluon.Parameter("w", shape=(2,))
    parameter.initialize("ones", ctx=contexts)
    trainer = gluon.Trainer([parameter], optimizer, {"learning_rate": 0.1})
    amp.init_trainer(trainer)
    return parameter, trainer


def step(parameter: Any, trainer: gluon.Trainer, factor: float = 1.0, size: int = 1) -> None:
    with autograd.record():
        losses = [(data * factor).sum() for data in parameter.list_data()]
        with amp.scale_loss(losses, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(size)


@pytest.mark.parametrize("contexts", [None, TWO])
def test_a_step_with_an_overflow_is_skipped(half: None, contexts: Any) -> None:
    parameter, trainer = learned(contexts)
    total = len(contexts or [0])
    scaler = trainer._amp_loss_scaler
    expected = 1.0
    for factor, scale, following in (
        (1.0, 65536, 65536),
        (np.inf, 65536, 32768),
        (1.0, 32768, 32768),
        (1.0, 32768, 32768),
    ):
        step(parameter, trainer, factor)
        expected -= 0.1 * total if factor == 1 else 0
        for data in parameter.list_data():
            assert data.asnumpy() == pytest.approx([expected] * 2)
        assert (scaler.loss_scale, scaler._next_loss_scale) == (scale, following)


def test_the_numbers_of_mxnet(half: None) -> None:
    """Adam, whose step depends on how many there were before; scale in use, next, steps."""
    parameter, trainer = learned(optimizer="adam")
    scaler = trainer._amp_loss_scaler
    scaler._scale_seq_len = 2
    inf, nan = np.inf, np.nan
    rows = [
        (1.0, 0.8999994, 65536, 65536, 1),
        (inf, 0.8999994, 65536, 32768, 0),
        (inf, 0.8999994, 32768, 16384, 0),
        (1.0, 0.79999876, 16384, 16384, 1),
        (nan, 0.79999876, 16384, 8192, 0),
        (1.0, 0.69999814, 8192, 8192, 1),
        (1.0, 0.5999975, 8192, 16384, 0),
        (1.0, 0.4999969, 16384, 16384, 1),
        (1.0, 0.39999628, 16384, 32768, 0),
    ]
    for factor, weight, scale, following, steps in rows:
        step(parameter, trainer, factor, size=2)
        assert parameter.data().asnumpy() == pytest.approx([weight] * 2, rel=1e-6)
        assert scaler.loss_scale == scale
        assert (scaler._next_loss_scale, scaler._unskipped) == (following, steps)


def test_a_step_reads_nothing_back(half: None) -> None:
    parameter, trainer = learned()
    step(parameter, trainer)
    nd.waitall()
    mx.runtime.reset_counters()
    for _ in range(3):
        step(parameter, trainer)
    assert mx.runtime.counters()["flushes"] == {"Trainer.step": 3}


def test_unscale_divides_the_gradients(half: None) -> None:
    parameter, trainer = learned()
    with autograd.record():
        loss = parameter.data().sum()
        with amp.scale_loss(loss, trainer) as scaled:
            scaled.backward()
    assert scaled.asscalar() == 131072
    assert parameter.grad().asnumpy().tolist() == [65536, 65536]
    for _ in range(2):  # the second time there is nothing left to do
        amp.unscale(trainer)
        assert parameter.grad().asnumpy().tolist() == [1, 1]
    trainer.step(1)
    assert parameter.data().asnumpy() == pytest.approx([0.9, 0.9])


def test_overflow_is_detected(half: None) -> None:
    parameter, trainer = learned()
    step(parameter, trainer)
    scaler = trainer._amp_loss_scaler
    assert not scaler.has_overflow([parameter]) and scaler._unskipped == 2
    parameter.grad()[:] = np.inf
    assert scaler.has_overflow([parameter]) and scaler._next_loss_scale == 32768


def test_a_network_learns(half: None) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="relu", in_units=4), gluon.nn.Dense(2, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03})
    amp.init_trainer(trainer)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    x = nd.array(np.random.randn(32, 4))
    y = nd.array((x.asnumpy()[:, 0] > 0).astype(float))
    totals = []
    for _ in range(25):
        with autograd.record():
            each = loss(net(x), y)
            with amp.scale_loss(each, trainer) as scaled:
                scaled.backward()
        trainer.step(32)
        totals.append(each.mean())
    assert totals[-1].asscalar() < 0.4 * totals[0].asscalar()


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(AssertionError, match=r"did you forget to call amp.init\(\)"):
        amp.init_trainer(None)
    with pytest.raises(AssertionError, match="only float16 or bfloat16"):
        amp.init("int8")
    parameter = gluon.Parameter("w", shape=(2,))
    parameter.initialize("ones")
    trainer = gluon.Trainer([parameter], "sgd")
    with pytest.raises(mx.MXNetError, match=r"call amp\.init_trainer"):
        amp.scale_loss(parameter.data(), trainer).__enter__()
    with pytest.raises(TypeError, match="only compatible with Gluon Trainer"):
        amp.unscale(mx.optimizer.SGD())


def test_names_to_exclude_that_a_symbol_lacks() -> None:
    """MXNet 1.9.1 passes over them; names of data must be there."""
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="f")
    with pytest.warns(UserWarning, match="no 'other' to exclude"):
        converted = amp.convert_symbol(symbol, excluded_sym_names=["f", "other"])
    assert converted.list_arguments() == symbol.list_arguments()
    with pytest.raises(mx.MXNetError, match="no 'zz'"):
        amp.convert_symbol(symbol, data_names=["zz"])


def test_overflow_of_parameters_of_which_some_have_no_gradient() -> None:
    net = gluon.nn.BatchNorm(in_channels=2)
    net.initialize()
    scaler = amp.amp.LossScaler()
    parameters = list(net.collect_params().values())
    assert {each.grad_req for each in parameters} == {"write", "null"}
    assert scaler.has_overflow(parameters) is False
    net.gamma.grad()[:] = np.inf
    assert scaler.has_overflow(parameters) is True


def test_converting_a_block_draws_no_random_numbers() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, in_units=8))
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 8)))
    mx.random.seed(3)
    expected = nd.random.uniform(shape=(3,)).asnumpy()
    mx.random.seed(3)
    amp.convert_hybrid_block(net, ctx=mx.cpu())
    np.testing.assert_array_equal(nd.random.uniform(shape=(3,)).asnumpy(), expected)
