"""Monitor: the results that it sees and logs; numbers are MXNet 1.9.1's."""

from __future__ import annotations

import ctypes
import logging
import re
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import NDArrayHandle


def network() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    parts = mx.sym.split(net, num_outputs=3, name="sp")
    net = mx.sym.FullyConnected(parts[0] + parts[1], num_hidden=2, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def ready() -> tuple[Any, Any]:
    draw = np.random.RandomState(0)
    data = draw.rand(8, 5).astype("float32")
    labels = draw.randint(0, 2, 8).astype("float32")
    arrays = {
        "fc1_weight": draw.rand(3, 5) * 0.3, "fc1_bias": np.zeros(3),
        "fc2_weight": draw.rand(2, 1) * 0.3 - 0.1, "fc2_bias": np.zeros(2),
        "bn_gamma": np.ones(3), "bn_beta": np.zeros(3),
    }  # fmt: skip
    params = {name: mx.nd.array(each) for name, each in arrays.items()}
    states = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    module = mx.mod.Module(network())
    train = mx.io.NDArrayIter(data, labels, 4)
    module.bind(train.provide_data, train.provide_label)
    module.init_params(arg_params=params, aux_params=states)
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    return module, train


# name and statistic of the first batch, as MXNet logs them; arguments after the update
MONITORED = {
    "fc1_output": 0.38007557, "bn_output": 0.8739829, "bn_mean": 0.3749081, "bn_var": 15.367301,
    "relu1_output": 0.5512365, "sp_output0": 0.4572217, "sp_output1": 0.63019395,
    "fc2_output": 0.04230094, "softmax_output": 0.5000427, "softmax_backward_output0": 0.49982607,
    "fc2_backward_output0": 0.0128139425, "fc2_backward_output1": 0.04089612,
    "fc2_backward_output2": 0.021222696, "relu1_backward_output": 0.008282162,
    "bn_backward_output0": 0.10297437, "bn_backward_output2": 0.0070912717,
    "fc1_backward_output1": 0.036034174, "data": 0.6436888, "fc1_weight": 0.14428821,
    "bn_gamma": 1.0, "bn_beta": 0.0001772818, "fc2_weight": 0.04184597,
    "softmax_label": 0.70710677, "bn_moving_mean": 0.03749082, "bn_moving_var": 0.90039015,
}  # fmt: skip


def test_everything_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    module, train = ready()
    monitor = mx.mon.Monitor(2)
    module.install_monitor(monitor)
    with caplog.at_level(logging.INFO):
        for batch in train:
            monitor.tic()
            module.forward_backward(batch)
            module.update()
            monitor.toc_print()
    pattern = re.compile(r"Batch: {7}1 (\S+) +(\S+)\t$")
    actual = {}
    for line in caplog.messages:
        match = pattern.match(line)
        assert match and len(line) > len("Batch:       1 ") + 30, line
        actual[match[1]] = float(match[2])
    assert {name: actual[name] for name in MONITORED} == pytest.approx(MONITORED, rel=2e-4)
    assert monitor.step == 2 and not monitor.activated and monitor.toc() == []


def test_the_text_is_that_of_numpy() -> None:
    module, train = ready()
    monitor = mx.mon.Monitor(1, pattern="fc1_output|fc2.*weight", sort=True)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward_backward(next(train))
    statistics = monitor.toc()
    assert [(step, name) for step, name, _ in statistics] == [(1, "fc1_output"), (1, "fc2_weight")]
    value = np.float32(float(statistics[0][2]))
    assert statistics[0][2] == f"{value!s}\t" and value == np.float32(statistics[0][2].strip())


def test_a_custom_statistic_is_monitored() -> None:
    module, train = ready()
    monitor = mx.mon.Monitor(
        1, lambda x: [x.min(), x.reshape((-1,))[:2]], pattern="fc2_(weight|bias)"
    )
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(next(train))
    text = {name: text for _, name, text in monitor.toc()}
    weight = module.get_params()[0]["fc2_weight"].asnumpy()
    assert text["fc2_weight"] == f"{weight.min()!s}\t{weight.ravel()!s}\t"
    bad = mx.mon.Monitor(1, lambda x: 3.0, pattern="fc2_weight")
    module.install_monitor(bad)
    bad.tic()
    module.forward(next(train))
    with pytest.raises(AssertionError, match=r"stat_func returned 3\.0 for fc2_weight"):
        bad.toc()


def test_inputs_of_operators_are_monitored() -> None:
    module, train = ready()
    names: list[str] = []
    executor = module._exec_group.execs[0]
    executor.set_monitor_callback(lambda name, array: names.append(name), monitor_all=True)
    module.forward(next(train), is_train=False)
    assert {"data", "fc1_weight", "fc1_output", "softmax_output"} <= set(names)


def test_dropout_is_seen_as_it_was_drawn() -> None:
    net = mx.sym.Dropout(mx.sym.Variable("data"), p=0.5, name="drop") * 2
    executor = net.simple_bind(mx.cpu(), data=(40,))
    executor.arg_dict["data"][:] = 1
    arrays: dict[str, Any] = {}
    executor.set_monitor_callback(lambda name, array: arrays.update({name: array}))
    actual = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_array_equal(arrays["drop_output"].asnumpy() * 2, actual)
    assert 0 < (actual == 0).sum() < 40


def test_names_of_inputs() -> None:
    """As MXNet 1.9.1 prints them."""
    data = mx.sym.Variable("data")
    both = (data + 1) * mx.sym.exp(data, name="e")
    net = mx.sym.concat(mx.sym.FullyConnected(both, num_hidden=3, name="fc1"), data, name="cc")
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    names: list[str] = []
    executor.set_monitor_callback(lambda name, array: names.append(name), monitor_all=True)
    executor.forward()
    plus, product = (node.name for node in net.graph.nodes[1:4] if node.name not in ("data", "e"))
    assert names == [
        "data", f"{plus}_input0", f"{plus}_output", "data", "e_input0", "e_output",
        f"{product}_lhs", f"{product}_rhs", f"{product}_output",
        "fc1_data", "fc1_weight", "fc1_weight", "fc1_bias", "fc1_bias", "fc1_output",
        "cc_arg0", "data", "cc_arg1", "cc_output",
    ]  # fmt: skip


def _first_names(symbol: Any, dtype: str, count: int) -> list[str]:
    variables = symbol.list_arguments()
    arrays = {name: mx.nd.ones((1,) if "m" in name else (2, 3), dtype=dtype) for name in variables}
    for name in variables:
        if "m" in name:
            arrays[name] = arrays[name].astype("float32")
    executor = symbol.bind(mx.cpu(), arrays, grad_req="null")
    names: list[str] = []
    executor.set_monitor_callback(lambda name, array: names.append(name), monitor_all=True)
    executor.forward()
    return [name for name in names if name.startswith("y_")][:count]


def test_names_of_inputs_of_several_arrays() -> None:
    """As MXNet 1.9.1 prints them."""
    a, b = (mx.sym.Variable(name) for name in "ab")
    ends = [mx.sym.Variable(f"m{i}") for i in range(4)]
    joined = mx.sym.contrib.quantized_concat(a, b, *ends, dim=1, num_args=2, name="y")
    assert _first_names(joined, "int8", 6) == [
        "y_arg0", "y_arg1", "y_arg0_min", "y_arg0_max", "y_arg1_min", "y_arg1_max",
    ]  # fmt: skip
    at_least = mx.sym.np.atleast_1d(a.as_np_ndarray(), name="y")
    assert _first_names(at_least, "float32", 1) == ["y_ary0"]
    assert _first_names(mx.sym.amp_cast(a, dtype="float16", name="y"), "float32", 1) == ["y_input0"]


@pytest.mark.parametrize(
    "network",
    [
        lambda x: mx.sym.LeakyReLU(x, slope=0.25, name="hidden"),
        lambda x: mx.sym.Dropout(x, p=0.5, name="hidden"),
        lambda x: mx.sym.LeakyReLU(mx.sym.Dropout(-x, p=0.5), act_type="rrelu", name="hidden"),
    ],
)
def test_backward_is_seen_with_the_random_numbers_of_forward(network: Any) -> None:
    loss = mx.sym.MakeLoss(mx.sym.sum(network(mx.sym.var("data")), name="total"))
    executor = loss.simple_bind(mx.cpu(), data=(4, 5))
    executor.arg_dict["data"][:] = mx.nd.arange(20).reshape((4, 5)) - 9
    arrays: dict[str, np.ndarray] = {}
    executor.set_monitor_callback(lambda name, array: arrays.update({name: array.asnumpy()}))
    executor.forward(is_train=True)
    executor.backward()
    expected = executor.grad_dict["data"].asnumpy()
    assert len(np.unique(expected)) > 1
    shown = [name for name in arrays if name.endswith("_backward_output")]
    assert "hidden_backward_output" in shown
    np.testing.assert_allclose(arrays[shown[-1]], expected)


def test_a_monitor_changes_no_random_numbers() -> None:
    loss = mx.sym.Dropout(mx.sym.var("data"), p=0.5)
    masks = []
    for is_watched in (False, True):
        mx.random.seed(3)
        executor = loss.simple_bind(mx.cpu(), data=(4, 5))
        executor.arg_dict["data"][:] = 1
        if is_watched:
            executor.set_monitor_callback(lambda name, array: None)
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((4, 5)))
        masks.append(executor.outputs[0].asnumpy())
    np.testing.assert_array_equal(*masks)


def test_arguments_are_listed_once_after_batches_of_several_sizes() -> None:
    """As in MXNet, but the data are those of the batch (MXNet shows those of the first shape)."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 2))])
    module.init_params(mx.init.One())
    monitor = mx.mon.Monitor(1, lambda x: x.sum(), sort=True)
    module.install_monitor(monitor)
    for size in (4, 3, 5, 4, 3):
        monitor.tic()
        module.forward(mx.io.DataBatch([mx.nd.ones((size, 2))], []), is_train=True)
        rows = {name: float(text) for _, name, text in monitor.toc()}
        assert len(monitor.exes) == 1
        assert rows == {
            "data": 2 * size,
            "fc_bias": 0,
            "fc_output": 6 * size,
            "fc_weight": 6,
        }


def test_a_callback_may_make_the_array_again_from_its_handle() -> None:
    """As MXNet's own monitor does, which programs copy."""
    monitored = []

    def collect(name: Any, array: Any) -> None:
        array = ctypes.cast(array, NDArrayHandle)
        array = mx.nd.NDArray(array, writable=False)
        monitored.append((name, array.asnumpy().tolist()))

    executor = (mx.sym.Variable("a") * 2).simple_bind(mx.cpu(), a=(2,))
    executor.set_monitor_callback(collect)
    executor.forward(is_train=True, a=mx.nd.array([3, 4]))
    executor.backward(mx.nd.ones((2,)))
    assert monitored[0] == ("_mulscalar0_output", [6, 8]) and all(values for _, values in monitored)
