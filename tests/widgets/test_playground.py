"""The playground trains as a program does, shows NumPy's numbers, and its changes can be undone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError, MXNetError
from mixnet.gluon import nn
from mixnet.widgets import Playground, View


class Net(mx.gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(5, in_units=3, activation="relu")
        self.body = nn.HybridSequential()
        self.body.add(nn.Dense(5, in_units=5), nn.Activation("tanh"))
        self.out = nn.Dense(2, in_units=5)

    def hybrid_forward(self, F, x):
        return self.out(self.body(self.hidden(x)))


def data() -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
    return mx.nd.array(x), mx.nd.array([0, 1, 1, 0])


def network(hybrid: bool = False) -> Net:
    mx.random.seed(7)
    net = Net()
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    return net


def weights(net: Net) -> list[np.ndarray]:
    return [each.data().asnumpy() for each in net.collect_params().values()]


def values(view: Playground, label: str) -> list:
    names = view.payload["graph"]["names"]
    (row,) = [i for i, name in enumerate(names) if view.payload["labels"].get(name) == label]
    return view.payload["numbers"][row]


@pytest.mark.parametrize("hybrid", [False, True])
def test_steps_are_those_of_a_training_loop(hybrid: bool) -> None:
    x, y = data()
    net, other = network(hybrid), network()
    view = Playground(net, x, y, learning_rate=0.3)
    loss = view.step(3)
    trainer = mx.gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 0.3})
    criterion = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(3):
        with mx.autograd.record():
            losses = criterion(other(x), y)
        losses.backward()
        trainer.step(4)
    assert loss == pytest.approx(losses.mean().asscalar(), rel=1e-5)
    for mine, its in zip(weights(net), weights(other), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-6)
    play = view.payload["play"]
    assert play["steps"] == 3 and len(play["losses"]) == 3 and play["first"] is None


def test_numbers_are_of_activations_gradients_and_weights_now() -> None:
    x, y = data()
    net = network()
    view = Playground(net, x, y)
    view.step(2)
    hidden = net.hidden(x).asnumpy()
    actual = values(view, "hidden.act")[0]
    np.testing.assert_allclose(
        actual[:4],
        [hidden.min(), hidden.max(), hidden.mean(), hidden.std()],
        rtol=5.1e-3,
        atol=1e-4,
    )
    weight = net.out.weight.data().asnumpy()
    np.testing.assert_allclose(
        values(view, "out.weight")[0][2:4], [weight.mean(), weight.std()], rtol=5.1e-3
    )
    with mx.autograd.record():
        losses = mx.gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
    losses.backward()
    # Numbers of a gradient: of the input, the weight and the bias.
    stds = [each[3] for each in values(view, "∇ out")]
    truth = net.out.weight.grad().asnumpy().std()
    assert min(abs(std - truth) for std in stds) < 2e-3 * truth
    text = view.payload["graph"]["facts"]["values"][view.payload["graph"]["names"].index("data0")]
    assert text == "0 ± 0.63"


class TestChanges:
    def test_a_disabled_layer_passes_its_input_on(self) -> None:
        x, y = data()
        net = network()
        view = Playground(net, x, y)
        before, out = weights(net), net(x).asnumpy()
        assert view.layers == [
            "hidden",
            "hidden.act",
            "body",
            "body.Dense 0",
            "body.Activation 1",
            "out",
        ]
        view.off("body.0")
        assert "body.Dense 0" not in view.payload["labels"].values()
        expected = net.out(net.hidden(x).tanh()).asnumpy()
        np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)
        view.off("hidden.act")
        view.activate("body.1", "sigmoid")
        expected = net.out(
            mx.nd.FullyConnected(
                x, net.hidden.weight.data(), net.hidden.bias.data(), num_hidden=5
            ).sigmoid()
        )
        np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy(), rtol=1e-5)
        assert view.payload["play"]["changes"] == {
            "body.Dense 0": "off",
            "hidden.act": "off",
            "body.Activation 1": "sigmoid",
        }
        view.on("hidden.act")
        view.restore()
        assert view.payload["play"]["changes"] == {}
        np.testing.assert_array_equal(net(x).asnumpy(), out)
        for was, now in zip(before, weights(net), strict=True):
            np.testing.assert_array_equal(was, now)

    def test_training_continues_without_a_disabled_layer(self) -> None:
        x, y = data()
        net = network(hybrid=True)
        view = Playground(net, x, y)
        view.step(1)
        view.off("body.0")
        weight = net.body[0]
        assert type(weight).__name__ == "Identity"
        before = net.hidden.weight.data().asnumpy()
        view.step(2)
        assert not np.array_equal(before, net.hidden.weight.data().asnumpy())

    def test_a_layer_that_the_network_needs_is_not_removed(self) -> None:
        class Strict(Net):
            def hybrid_forward(self, F, x):
                if not isinstance(self.body, nn.HybridSequential):
                    raise ValueError("a body is needed")
                return super().hybrid_forward(F, x)

        net = Strict()
        net.initialize()
        view = Playground(net, *data())
        with pytest.raises(AttributeValueError, match="run: ValueError: a body is needed"):
            view.off("body")
        assert view.payload["play"]["changes"] == {}
        assert isinstance(net.body, nn.HybridSequential)
        view.step()

    def test_a_layer_whose_shapes_do_not_match_is_not_replaced(self) -> None:
        x, y = data()
        net = network()
        view = Playground(net, x, y)
        out = net(x).asnumpy()
        with pytest.raises(
            AttributeValueError, match="hidden was not changed, because the network would not run"
        ):
            view.off("hidden")
        np.testing.assert_array_equal(net(x).asnumpy(), out)
        assert view.payload["play"]["changes"] == {}

    def test_the_learning_rate_can_be_changed(self) -> None:
        x, y = data()
        net = network()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        view = Playground(net, x, y, trainer=trainer)
        view.learning_rate = 0
        before = weights(net)
        view.step(1)
        assert trainer.learning_rate == 0 == view.learning_rate
        for was, now in zip(before, weights(net), strict=True):
            np.testing.assert_array_equal(was, now)


def test_poison_is_traced_and_does_not_change_weights() -> None:
    x, y = data()
    net = network()
    view = Playground(net, x, y)
    before, content = weights(net), x.asnumpy()
    assert view.poison() == "hidden"
    assert values(view, "hidden")[0][5] == 5, "one row of the batch"
    assert values(view, "out")[0][5] == 2
    assert (
        view.payload["play"]["first"] == "hidden" and "first not finite: hidden" in view.summary()
    )
    assert view.poison(float("inf")) == "hidden"
    np.testing.assert_array_equal(x.asnumpy(), content)
    for was, now in zip(before, weights(net), strict=True):
        np.testing.assert_array_equal(was, now)
    view.step(1)
    assert view.payload["play"]["first"] is None


def test_a_loss_that_is_not_finite_can_be_stored() -> None:
    x, y = data()
    view = Playground(network(), x * float("nan"), y)
    view.step(1)
    assert view.payload["play"]["losses"] == [None]
    assert json.loads(view.to_json())["play"]["first"] == "hidden"
    assert "loss not finite" in view.summary()


def test_buttons_of_the_page_act_on_the_training() -> None:
    x, y = data()
    view = Playground(network(), x, y)
    for content in (
        {"do": "step", "n": 2}, {"do": "rate", "rate": 0.5}, {"do": "off", "layer": "body.0"},
        {"do": "activate", "layer": "body.1", "name": "relu"}, {"do": "nothing known"},
    ):  # fmt: skip
        view.message(content)
    play = view.payload["play"]
    assert (play["steps"], play["rate"]) == (2, 0.5)
    assert play["changes"] == {"body.Dense 0": "off", "body.Activation 1": "relu"}
    view.message({"do": "off", "layer": "hidden"})
    assert "hidden was not changed" in view.payload["play"]["said"], "an error is shown, not raised"
    view.message({"do": "poison"})
    assert view.payload["play"]["first"] == "hidden"
    view.message({"do": "restore"})
    assert view.payload["play"]["changes"] == {}


def test_another_batch_can_be_chosen() -> None:
    x, y = data()
    view = Playground(network(), x, y)
    view.step(1, x + 1, y)
    assert values(view, "hidden")[0][2] != values(Playground(network(), x, y), "hidden")[0][2]
    with pytest.raises(
        AttributeValueError, match=r"expected a batch of shapes \[\(4, 3\), \(4,\)\], got"
    ):
        view.step(1, x[:2], y)


def test_a_stored_playground_shows_the_last_state() -> None:
    x, y = data()
    view = Playground(network(), x, y)
    view.step(2)
    again = View.of(json.loads(view.to_json()), view.state)
    assert again.svg() == view.svg() and again.summary() == view.summary()
    assert mx.why(again, "hidden")
    for act in (
        lambda: again.step(),
        lambda: again.off("hidden"),
        lambda: again.poison(),
        again.restore,
    ):
        with pytest.raises(MXNetError, match="This playground was loaded from a file"):
            act()


def test_wrong_networks_are_refused() -> None:
    x, y = data()
    with pytest.raises(AttributeTypeError, match="got Net, NDArray"):
        Playground(network(), x)
    with pytest.raises(AttributeTypeError, match="expected a HybridBlock and a batch of arrays"):
        Playground(lambda a: a, x, y)
    view = Playground(network(), x, y)
    with pytest.raises(AttributeValueError, match="at least 1 step"):
        view.step(0)
    with pytest.raises(
        AttributeValueError, match=r"no layer is named 'conv'; the layers are hidden, "
    ):
        view.off("conv")
    with pytest.raises(
        AttributeValueError,
        match=r"'out' is not an activation; the activations are hidden.act, body.Activation 1",
    ):
        view.activate("out", "relu")
    with pytest.raises(AttributeValueError, match="expected one of relu, sigmoid"):
        view.activate("body.1", "swish")
    with pytest.raises(AttributeValueError, match="a number of at least 0, got -1"):
        view.learning_rate = -1
