"""Operations that run one at a time, each as its own program, give the same results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.engine import timeline
from mixnet.runtime.record.record import run_one_by_one
from mixnet.runtime.trace.graph_op import by_operator


@pytest.fixture
def one_by_one() -> Iterator[None]:
    run_one_by_one(True)
    by_operator.on = True
    yield
    run_one_by_one(False)
    by_operator.on = False


def ran() -> list[str]:
    """Names of the tasks that ran since the last call."""
    nd.waitall()
    names = [row["name"] for row in timeline.to_dict()["rows"]]
    timeline.clear()
    return names


def test_every_operation_is_a_segment(one_by_one: None, recorded_timeline: None) -> None:
    x = nd.ones((2, 2))
    y = x + 1  # an arithmetic operator takes a shorter path into the segment
    z = nd.dot(x, y)
    assert ran() == ["_ones", "_plus_scalar", "dot"]
    assert z.asnumpy().tolist() == [[4, 4], [4, 4]]


def test_the_naive_engine_runs_the_first_operation_immediately() -> None:
    x = nd.ones((2,))
    x.wait_to_read()
    with mx.engine.using("NaiveEngine"):
        assert (x + 1).to_dict()["state"] == "ready"
        assert x.exp().to_dict()["state"] == "ready"


def test_segments_are_named_by_their_operations(recorded_timeline: None) -> None:
    x = nd.ones((2,))
    (x * 2 * 3 + 1).exp().asnumpy()
    assert ran()[0] == "segment of 5 operations: _ones, 2 x _mul_scalar, _plus_scalar, exp"
    x = nd.ones((2,))
    x.exp().sin().cos().tanh().sqrt().abs().asnumpy()
    assert ran()[0] == "segment of 7 operations: _ones, exp, sin, cos, tanh, sqrt, ..."


def network() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(6, activation="relu", in_units=4))
        net.add(gluon.nn.BatchNorm(in_channels=6))
        net.add(gluon.nn.Dropout(0.5))
        net.add(gluon.nn.Dense(2, in_units=6))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def train(net: gluon.nn.HybridSequential, graphs: bool) -> dict[str, np.ndarray]:
    by_operator.on = graphs
    try:
        mx.random.seed(7)
        x = nd.array(np.linspace(-1, 1, 20).reshape(5, 4))
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        result = {"loss": loss.asnumpy(), "prediction": net(x).asnumpy()}
        for name, parameter in net.collect_params().items():
            result[name] = parameter.data().asnumpy()
            if parameter.grad_req != "null":
                result[f"gradient of {name}"] = parameter.grad().asnumpy()
        return result
    finally:
        by_operator.on = False


def test_a_block_computes_the_same_operator_by_operator() -> None:
    whole, parts = train(network(), False), train(network(), True)
    assert set(whole) == set(parts)
    for name, value in whole.items():  # dropout masks and moving statistics included
        np.testing.assert_allclose(parts[name], value, rtol=2e-5, atol=1e-6, err_msg=name)
    (mean,) = [value for name, value in whole.items() if name.endswith("running_mean")]
    assert np.abs(mean).max() > 0


def test_outputs_that_are_inputs_or_repeated_are_separate_arrays() -> None:
    x = mx.sym.var("x")
    y = mx.sym.exp(x)
    group = mx.sym.Group([x, y, y])
    inputs = nd.array([0.0, 1.0])
    by_operator.on = True
    try:
        outputs = group.bind(args={"x": inputs}).forward()
        outputs[1][:] = 9
    finally:
        by_operator.on = False
    assert outputs[0].asnumpy().tolist() == [0, 1]
    np.testing.assert_allclose(outputs[2].asnumpy(), np.exp([0.0, 1.0]), rtol=1e-6)
    assert inputs.asnumpy().tolist() == [0, 1]


def test_an_operator_without_inputs_runs_in_a_graph() -> None:
    net = mx.sym.zeros((2,)) + mx.sym.var("x")
    by_operator.on = True
    try:
        (out,) = net.bind(args={"x": nd.array([1.0, 2.0])}).forward()
    finally:
        by_operator.on = False
    assert out.asnumpy().tolist() == [1, 2]
