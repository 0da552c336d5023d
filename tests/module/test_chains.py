"""SequentialModule and modules written in Python; numbers are MXNet 1.9.1's."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import mixnet as mx


def _dense(name: str, size: int) -> Any:
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=size, name=name)


def hinge(scores: Any, labels: Any) -> np.ndarray:
    """Gradient of the hinge loss of several classes, after Crammer and Singer."""
    values, classes = scores.asnumpy(), labels.asnumpy().astype(int)
    gradient = np.zeros_like(values)
    for i, own in enumerate(classes):
        margin = 1 + values[i] - values[i, own]
        margin[own] = 0
        worst = margin.argmax()
        if margin[worst] > 0:
            gradient[i, worst] += 1
            gradient[i, own] -= 1
    return gradient


@pytest.mark.filterwarnings("ignore:.*label_names")
@pytest.mark.parametrize("label_names", [[], ["softmax_label"]])  # the default, which it lacks
def test_a_loss_written_in_python_trains(
    caplog: pytest.LogCaptureFixture, label_names: list[str]
) -> None:
    draw = np.random.RandomState(0)
    params = {"fc_weight": mx.nd.array(draw.rand(3, 5) * 0.3), "fc_bias": mx.nd.zeros(3)}
    data = draw.rand(12, 5).astype("float32")
    train = mx.io.NDArrayIter(data, draw.randint(0, 3, 12).astype("float32"), 4)
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(_dense("fc", 3), label_names=label_names))
    loss = mx.mod.PythonLossModule(grad_func=hinge)
    assert chain.add(loss, take_labels=True, auto_wiring=True) is chain
    with caplog.at_level(logging.INFO):
        chain.fit(
            train, num_epoch=2, arg_params=params, optimizer_params={"learning_rate": 0.1},
            eval_metric="acc",
        )  # fmt: skip
    assert [line for line in caplog.messages if "Train" in line] == [
        "Epoch[0] Train-accuracy=0.500000",
        "Epoch[1] Train-accuracy=0.750000",
    ]
    actual = chain.get_params()[0]
    np.testing.assert_allclose(actual["fc_bias"].asnumpy(), [-0.125, -0.2, 0.325], rtol=1e-5)
    weight = actual["fc_weight"].asnumpy().ravel()[:3]
    np.testing.assert_allclose(weight, [0.10503522, 0.11973791, 0.16442278], rtol=1e-5)


def test_a_chain_of_modules_trains_as_one() -> None:
    draw = np.random.RandomState(1)
    data = draw.rand(12, 5).astype("float32")
    train = mx.io.NDArrayIter(data, draw.randint(0, 3, 12).astype("float32"), 4)
    params = {
        "fc1_weight": mx.nd.array(draw.rand(4, 5)), "fc1_bias": mx.nd.zeros(4),
        "fc2_weight": mx.nd.array(draw.rand(3, 4)), "fc2_bias": mx.nd.zeros(3),
    }  # fmt: skip
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(_dense("fc1", 4), label_names=[]))
    head = mx.sym.SoftmaxOutput(_dense("fc2", 3), name="softmax")
    chain.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
    whole = mx.sym.FullyConnected(_dense("fc1", 4), num_hidden=3, name="fc2")
    alone = mx.mod.Module(mx.sym.SoftmaxOutput(whole, name="softmax"))
    for each in (chain, alone):
        train.reset()
        each.fit(
            train, num_epoch=1, arg_params=params, eval_data=train,
            optimizer_params={"learning_rate": 0.5},
        )  # fmt: skip
    ours, theirs = chain.get_params()[0], alone.get_params()[0]
    for name in params:
        np.testing.assert_allclose(ours[name].asnumpy(), theirs[name].asnumpy(), rtol=1e-5)
    assert chain.data_names == ["data"] and chain.output_names == ["softmax_output"]
    assert chain.output_shapes == [("softmax_output", (4, 3))]
    assert chain.label_shapes[0].name == "softmax_label"
    assert chain.predict(train).shape == (12, 3)
    with pytest.raises(AssertionError):
        chain.get_input_grads()


def test_chains_that_are_refused() -> None:
    chain = mx.mod.SequentialModule()
    assert chain.data_names == [] and chain.output_names == []
    with pytest.raises(AssertionError, match="Attempting to bind an empty SequentialModule"):
        chain.bind([("data", (4, 5))])
    with pytest.raises(AssertionError, match=r'Unknown meta "foo", a typo\?'):
        chain.add(mx.mod.Module(_dense("a", 2), label_names=[]), foo=1)
    chain.add(mx.mod.Module(_dense("a", 2), label_names=[]))
    chain.add(mx.mod.Module(_dense("a", 2), label_names=[]), auto_wiring=True)
    chain.bind([("data", (4, 5))])
    with pytest.raises(AssertionError, match=r'name "a_weight" in layer 1 .* used in layer 0'):
        chain.init_params()
    unwired = mx.mod.SequentialModule()
    unwired.add(mx.mod.Module(_dense("a", 2), label_names=[]))
    unwired.add(mx.mod.Module(_dense("b", 2), label_names=[]))
    with pytest.raises(ValueError, match="Data provided by data_shapes don't match"):
        unwired.bind([("data", (4, 5))])


def test_python_losses_have_their_gradients() -> None:
    loss = mx.mod.PythonLossModule()
    assert loss.data_names == ["data"] and loss.output_names == ["pyloss_output"]
    assert loss.output_shapes is None
    loss.bind([mx.io.DataDesc("data", (4, 3))], [mx.io.DataDesc("softmax_label", (4,))])
    assert loss.output_shapes == [("pyloss_output", (4, 3))]
    assert loss.get_params() == ({}, {}) and loss.update() is None
    batch = mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros(4)])
    loss.forward(batch)
    assert loss.get_outputs()[0] is batch.data[0]
    with pytest.raises(NotImplementedError):
        loss.backward()
    with pytest.raises(AssertionError, match="For a loss module, out_grads should be None"):
        loss.backward([1])
    with pytest.raises(NotImplementedError):
        loss.install_monitor(None)
    with pytest.raises(AssertionError, match="Python module only support write gradient"):
        mx.mod.PythonLossModule().bind([mx.io.DataDesc("data", (4, 3))], grad_req="add")
    for wrong in ({"grad_func": 3}, {"data_names": ["a", "b"]}):
        with pytest.raises(AssertionError):
            mx.mod.PythonLossModule(**wrong)


def test_a_custom_python_module_runs_in_a_chain() -> None:
    class Double(mx.mod.PythonModule):
        def _compute_output_shapes(self) -> Any:
            return [("double", self.data_shapes[0][1])]

        def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
            self.doubled = data_batch.data[0] * 2

        def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
            return [self.doubled]

    module = Double(["data"], [], ["double"])
    module.bind([mx.io.DataDesc("data", (4, 3))])
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]))
    assert module.get_outputs()[0].asnumpy().sum() == 24
    module.update_metric(mx.metric.create("acc"), [])  # takes no labels: nothing to add
    with pytest.raises(NotImplementedError):
        module.backward()


def test_a_loss_after_another_module_knows_its_data_as_pairs() -> None:
    """MXNet 1.9.1 prints the same."""
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores)
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(scores, label_names=[])).add(loss, take_labels=True, auto_wiring=True)
    chain.bind([("data", (10, 6))], [("softmax_label", (10,))])
    assert str(loss.data_shapes) == "[('data', (10, 2))]"
