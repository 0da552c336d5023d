"""SyncBatchNorm over several devices against BatchNorm of the whole batch on one."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import GradientError, MXNetError
from mixnet.runtime.devices import meeting
from tests import processes
from tests.devices import run_again_on_four_devices
from tests.waiting import join

ROOT = Path(__file__).parents[3]
CONTEXTS = [mx.cpu(i) for i in range(4)]
TWO = CONTEXTS[:2]


def test_on_four_devices() -> None:
    """The same in a process where the four contexts are four devices."""
    run_again_on_four_devices(__file__)


@pytest.fixture
def layer() -> Iterator[gluon.Block]:
    normalization = gluon.contrib.nn.SyncBatchNorm(in_channels=3, num_devices=2)
    normalization.initialize(ctx=TWO)
    yield normalization
    nd.waitall()  # no thread still waits


def parts() -> list[nd.NDArray]:
    rng = np.random.default_rng(0)
    return [nd.array(rng.normal(5, 2, (4, 3, 2, 2)), ctx=c, dtype="float32") for c in TWO]


def normalized(layer: gluon.Block) -> np.ndarray:
    with autograd.record():
        results = [layer(x) for x in parts()]
    return np.concatenate([each.asnumpy() for each in results])


def expected() -> np.ndarray:
    whole = np.concatenate([x.asnumpy() for x in parts()]).astype(np.float64)
    axes = (0, 2, 3)
    return (whole - whole.mean(axes, keepdims=True)) / np.sqrt(
        whole.var(axes, keepdims=True) + 1e-5
    )


# ---- training as on one device -----------------------------------------------------------------------


def network(contexts: list[mx.Context]) -> gluon.nn.HybridSequential:
    def normalize(channels: int) -> gluon.Block:
        if len(contexts) == 1:
            return gluon.nn.BatchNorm(in_channels=channels)
        return gluon.contrib.nn.SyncBatchNorm(in_channels=channels, num_devices=len(contexts))

    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(4, 3, in_channels=2), normalize(4), gluon.nn.Activation("relu"))
        net.add(gluon.nn.Conv2D(3, 3, in_channels=4), normalize(3), gluon.nn.Dense(5, in_units=48))
    net.initialize(ctx=contexts)
    rng = np.random.default_rng(3)
    for parameter in net.collect_params().values():
        if parameter.grad_req != "null":
            parameter.set_data(nd.array(rng.normal(0, 0.5, parameter.shape)))
    return net


def trained(contexts: list[mx.Context], flags: dict[str, Any] | None, one_by_one: bool) -> Any:
    net = network(contexts)
    if flags is not None:
        net.hybridize(**flags)
    rng = np.random.default_rng(1)
    split = gluon.utils.split_and_load
    xs = split(nd.array(rng.normal(5, 1, (16, 2, 8, 8))), contexts)
    ys = split(nd.array(rng.integers(0, 5, 16)), contexts)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in zip(xs, ys, strict=True)]
        if one_by_one:
            for loss in losses:
                loss.backward()
        else:
            autograd.backward(losses)
        trainer.step(16)
    parameters = [p.data(contexts[-1]).asnumpy() for p in net.collect_params().values()]
    prediction = np.concatenate([net(x).asnumpy() for x in xs])
    return parameters, prediction


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize(
    "flags, one_by_one",
    [(None, False), ({}, True), ({"static_alloc": True, "static_shape": True}, False)],
)
def test_trains_as_batch_norm_on_one_device(
    devices: int, flags: dict[str, Any] | None, one_by_one: bool
) -> None:
    parameters, prediction = trained(CONTEXTS[:devices], flags, one_by_one)
    alone, prediction_alone = trained(CONTEXTS[:1], None, False)
    for of_four, of_one in zip(parameters, alone, strict=True):
        np.testing.assert_allclose(of_four, of_one, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(prediction, prediction_alone, rtol=1e-3, atol=1e-4)


def test_a_module_on_two_contexts_trains_as_on_one() -> None:
    def fitted(contexts: list[mx.Context], symbol: Any) -> dict[str, np.ndarray]:
        net = mx.sym.FullyConnected(symbol(mx.sym.var("data")), num_hidden=3, name="fc")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=contexts)
        rng = np.random.default_rng(2)
        x, y = rng.normal(3, 2, (16, 6)), rng.integers(0, 3, 16)
        batches = mx.io.NDArrayIter(x.astype("float32"), y.astype("float32"), 8)
        options = {"learning_rate": 0.1}
        module.fit(batches, num_epoch=2, optimizer_params=options, initializer=mx.init.One())
        arguments, states = module.get_params()
        return {name: each.asnumpy() for name, each in (*arguments.items(), *states.items())}

    over = fitted(TWO, lambda x: mx.sym.contrib.SyncBatchNorm(x, ndev=2, key="a", name="norm"))
    alone = fitted([mx.cpu(0)], lambda x: mx.sym.BatchNorm(x, name="norm"))
    for name, value in alone.items():
        np.testing.assert_allclose(over[name], value, rtol=1e-3, atol=1e-5, err_msg=name)


def test_a_layer_may_be_called_twice_by_each_device(layer: gluon.Block) -> None:
    with autograd.record():
        results = [(layer(x), layer(x * 2)) for x in parts()]
    for place in (0, 1):
        actual = np.concatenate([pair[place].asnumpy() for pair in results])
        np.testing.assert_allclose(actual, expected(), atol=1e-4)


def test_each_device_may_have_its_own_thread(layer: gluon.Block) -> None:
    results: list[Any] = [None, None]
    xs = parts()

    def call(place: int) -> None:
        with autograd.record():
            results[place] = layer(xs[place]).asnumpy()

    threads = [threading.Thread(target=call, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    join(*threads)
    np.testing.assert_allclose(np.concatenate(results), expected(), atol=1e-4)


def test_prediction_does_not_wait_for_other_devices(layer: gluon.Block) -> None:
    x = parts()[0]
    np.testing.assert_allclose(layer(x).asnumpy(), x.asnumpy(), rtol=1e-4)


# ---- a device that does not come ---------------------------------------------------------------------


@pytest.fixture
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other thread runs: the layer would wait for it, since it might call for the other device."""
    monkeypatch.setattr(meeting, "_MOST_SECONDS", 0)


@pytest.mark.usefixtures("nobody_else")
def test_a_result_read_too_early_is_an_error(layer: gluon.Block) -> None:
    with autograd.record():
        result = layer(parts()[0])
    with pytest.raises(MXNetError, match=r"is over 2 devices.* only cpu\(0\) had called it.*num_d"):
        result.asnumpy()
    assert np.isfinite(layer.running_mean.data(TWO[0]).asnumpy()).all()  # as it was
    np.testing.assert_allclose(normalized(layer), expected(), atol=1e-4)


@pytest.mark.usefixtures("nobody_else")
def test_waitall_raises_the_error(layer: gluon.Block) -> None:
    with autograd.record():
        layer(parts()[0])
    with pytest.raises(MXNetError, match="is over 2 devices"):
        nd.waitall()
    np.testing.assert_allclose(normalized(layer), expected(), atol=1e-4)


def test_an_error_before_the_next_device_is_raised(layer: gluon.Block) -> None:
    result = None
    with pytest.raises(ValueError, match="the second device"), autograd.record():
        result = layer(parts()[0])
        raise ValueError("the second device has other data")
    with pytest.raises(MXNetError, match=r"not all 2 devices called it, because of ValueError"):
        result.asnumpy()
    np.testing.assert_allclose(normalized(layer), expected(), atol=1e-4)


def test_a_failing_part_fails_all_parts(layer: gluon.Block) -> None:
    class Fails(mx.operator.CustomOp):
        def forward(self, *_: Any) -> None:
            raise ValueError("no data on this device")

    @mx.operator.register("fails_on_a_device")
    class Property(mx.operator.CustomOpProp):
        def create_operator(self, *_: Any) -> Fails:
            return Fails()

    one, two = parts()
    with autograd.record():
        results = [layer(one), layer(nd.Custom(two, op_type="fails_on_a_device"))]
    for each in results:
        with pytest.raises(MXNetError, match="no data on this device"):
            each.asnumpy()
    np.testing.assert_allclose(normalized(layer), expected(), atol=1e-4)


def test_second_derivatives_are_refused(layer: gluon.Block) -> None:
    xs = parts()
    for x in xs:
        x.attach_grad()
    with autograd.record():
        results = [(layer(x) ** 3).sum() for x in xs]
        first = autograd.grad(results, xs, create_graph=True)
        with pytest.raises(GradientError, match="no gradient of a gradient over devices"):
            autograd.backward([(each * each).sum() for each in first])


def test_the_naive_engine_says_what_to_do() -> None:
    program = (
        "import mixnet as mx\n"
        "layer = mx.gluon.contrib.nn.SyncBatchNorm(in_channels=3, num_devices=2)\n"
        "layer.initialize()\n"
        "with mx.autograd.record():\n"
        "    layer(mx.nd.ones((2, 3)))\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "MXNET_ENGINE_TYPE": "NaiveEngine"}, timeout=240
    )  # fmt: skip
    assert "Use MXNET_ENGINE_TYPE=ThreadedEngine" in done.stderr


@pytest.mark.parametrize("hybridize", [False, True])
def test_sync_batch_norm_alone_waits_for_no_other_device(
    layer: gluon.Block, hybridize: bool
) -> None:
    net = gluon.nn.HybridSequential()
    net.add(layer)
    net.hybridize(hybridize)
    with autograd.record():
        stages = mx.stages(net, parts()[0])
    assert "_contrib_SyncBatchNorm" in str(stages.to_dict()["programs"])
    np.testing.assert_allclose(normalized(net), expected(), atol=1e-4)
