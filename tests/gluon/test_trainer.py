"""Trainer: stores, several contexts, stale gradients; numbers of MXNet 1.9.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.devices import run_again_on_four_devices

ROOT = Path(__file__).parents[2]
CONTEXTS = [mx.cpu(i) for i in range(4)]
TWO = CONTEXTS[:2]
stores = pytest.mark.parametrize("store", ["device", "local"])


def test_on_four_devices() -> None:
    """The same in a process where the four contexts are four devices."""
    run_again_on_four_devices(
        __file__, "-k", "two_contexts or row_sparse or uneven or on_four_devices"
    )


def dense(contexts: list | None = None) -> gluon.nn.Dense:
    net = gluon.nn.Dense(2, in_units=3, prefix="d_")
    net.initialize("ones", ctx=contexts)
    return net


def backward(net: gluon.Block, contexts: list) -> None:
    with autograd.record():
        losses = [net(nd.ones((1, 3), c) * (i + 1)).sum() for i, c in enumerate(contexts)]
    autograd.backward(losses)


def weights(net: gluon.nn.Dense) -> list[float]:
    return [data.asnumpy()[0, 0] for data in net.weight.list_data()]


# ---- several contexts --------------------------------------------------------------------------------


@stores
@pytest.mark.parametrize("on_store, gradients", [(None, [1, 2]), (True, [1, 2]), (False, [3, 3])])
def test_two_contexts_train_as_one(store: str, on_store: bool | None, gradients: list) -> None:
    net = dense(TWO)
    options = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", options, kvstore=store, update_on_kvstore=on_store
    )
    for _ in range(2):
        backward(net, TWO)
        trainer.step(2)
    assert weights(net) == pytest.approx([0.565, 0.565], abs=1e-6)
    assert [each.asnumpy()[0, 0] for each in net.weight.list_grad()] == gradients
    assert trainer._kvstore.type == store and trainer._update_on_kvstore is (on_store is not False)


def test_without_a_store_every_context_is_alone() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=None
    )
    for _ in range(2):
        backward(net, TWO)
        trainer.step(2)
    assert weights(net) == pytest.approx([0.855, 0.71], abs=1e-6)
    assert trainer._kvstore is None and trainer._update_on_kvstore is None


def test_one_context_needs_no_store() -> None:
    net = dense()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    backward(net, [mx.cpu(0)])
    trainer.step(1)
    assert trainer._kvstore is None and weights(net) == pytest.approx([0.9])
    net = dense()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=mx.kv.create("device")
    )
    backward(net, [mx.cpu(0)])
    trainer.step(2)
    assert trainer._kvstore.type == "device" and trainer._update_on_kvstore is True
    assert weights(net) == pytest.approx([0.95])


def test_a_store_can_leave_updates_to_the_trainer() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="teststore"
    )
    backward(net, TWO)
    trainer.step(2)
    assert trainer._update_on_kvstore is False and weights(net) == pytest.approx([0.85, 0.85])


def test_gradients_are_compressed() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1},
        compression_params={"type": "2bit", "threshold": 0.5},
    )
    for _ in range(2):
        backward(net, TWO)
        trainer.step(2)
    assert weights(net) == pytest.approx([0.9, 0.9])


def test_the_batch_size_may_change() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for size in (2, 4):
        backward(net, TWO)
        trainer.step(size)
    assert weights(net) == pytest.approx([0.775, 0.775])


def test_gradients_can_be_changed_between_sum_and_update() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False
    )
    backward(net, TWO)
    trainer.allreduce_grads()
    for each in net.weight.list_grad():
        each *= 2
    trainer.update(1)
    assert weights(net) == pytest.approx([0.4, 0.4])


def test_row_sparse_gradients_update_their_rows() -> None:
    net = gluon.nn.Embedding(4, 2, sparse_grad=True)
    net.initialize("ones", ctx=TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        losses = [net(nd.array([i, i + 1], c)).sum() for i, c in enumerate(TWO)]
    autograd.backward(losses)
    trainer.step(1)
    assert trainer._update_on_kvstore is False
    for data in net.weight.list_data():
        assert data.asnumpy()[:, 0] == pytest.approx([0.9, 0.8, 0.9, 1])


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"optimizer": "sgd"}, [0.8, 0.6, 0.8, 1]),
        ({"optimizer": "sgd", "momentum": 0.9}, [0.71, 0.42, 0.71, 1]),
        ({"optimizer": "adam"}, [0.79999876, 0.79999876, 0.79999876, 1]),
    ],
)
def test_row_sparse_parameters_are_updated_in_the_store(options: dict, expected: list) -> None:
    """The store holds the values and returns rows."""
    net = gluon.contrib.nn.SparseEmbedding(4, 2)
    net.initialize("ones", ctx=TWO)
    name, own = options["optimizer"], {k: v for k, v in options.items() if k != "optimizer"}
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1, **own})
    for _ in range(2):
        with autograd.record():
            losses = [net(nd.array([i, i + 1], c)).sum() for i, c in enumerate(TWO)]
        autograd.backward(losses)
        assert [g.indices.asnumpy().tolist() for g in net.weight.list_grad()] == [[0, 1], [1, 2]]
        trainer.step(1)
    for actual in net.weight.list_row_sparse_data(nd.arange(4)):
        assert actual.asnumpy()[:, 0] == pytest.approx(expected, abs=1e-6)
    assert trainer._update_on_kvstore is True and trainer._kvstore.type == "device"


def train(contexts: list, shares: list[int], steps: int = 4) -> tuple[list, list]:
    """Losses and final parameters of a small network trained on batches cut into ``shares``."""
    rng = np.random.RandomState(7)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(9, activation="tanh", in_units=5), gluon.nn.Dense(3, in_units=9))
    net.initialize(ctx=contexts)
    for each in net.collect_params().values():
        each.set_data(nd.array(rng.uniform(-0.5, 0.5, each.shape)))
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    totals = []
    for _ in range(steps):
        x = rng.standard_normal((20, 5))
        y = x[:, :3].argmax(1)
        cuts = np.cumsum(shares)[:-1]
        parts = zip(np.split(x, cuts), np.split(y, cuts), contexts, strict=True)
        with autograd.record():
            losses = [loss(net(nd.array(a, c)), nd.array(b, c)) for a, b, c in parts]
        autograd.backward(losses)
        trainer.step(20)
        totals.append(sum(each.sum().asscalar() for each in losses))
    return totals, [[d.asnumpy() for d in p.list_data()] for p in net.collect_params().values()]


@pytest.mark.parametrize("shares", [[5, 5, 5, 5], [11, 6, 2, 1]], ids=["even", "uneven"])
def test_four_devices_learn_what_one_learns(shares: list[int]) -> None:
    """Sums over devices have another order: in float32 the results differ by 1e-5 after four steps."""
    losses, values = train(CONTEXTS, shares)
    expected_losses, expected = train([mx.cpu(0)], [20])
    assert losses == pytest.approx(expected_losses, rel=1e-5)
    assert losses[-1] < losses[0]
    for arrays, (one,) in zip(values, expected, strict=True):
        for each in arrays:
            assert np.allclose(each, one, rtol=1e-5, atol=1e-5)
            assert np.array_equal(each, arrays[0])  # all devices hold the same


# ---- gradients that backward did not write -----------------------------------------------------------


def test_stale_gradients_are_reported() -> None:
    for contexts in (None, TWO):
        net = dense(contexts)
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        with pytest.raises(UserWarning, match="Gradient of Parameter `d_bias` on context cpu"):
            trainer.step(1)
    net = dense()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    trainer.step(1, ignore_stale_grad=True)
    assert weights(net) == [1]


def test_a_context_without_work_keeps_its_values() -> None:
    net = dense(TWO)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False
    )
    backward(net, TWO[:1])
    trainer.step(1, ignore_stale_grad=True)
    assert weights(net) == pytest.approx([0.9, 1])


# ---- states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_store", [True, False])
def test_loaded_states_continue_the_training(on_store: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "trainer.states")

    def net_and_trainer() -> tuple[Any, gluon.Trainer]:
        net = dense(TWO)
        return net, gluon.Trainer(net.collect_params(), "adam", update_on_kvstore=on_store)

    net, trainer = net_and_trainer()
    for _ in range(2):
        backward(net, TWO)
        trainer.step(2)
    trainer.save_states(path)
    other, second = net_and_trainer()
    other.weight.set_data(net.weight.data(TWO[0]))
    second.load_states(path)
    assert second.optimizer is second._optimizer and set(second.optimizer.param_dict) == {0, 1}
    for each, one in ((net, trainer), (other, second)):
        backward(each, TWO)
        one.step(2)
    assert weights(other) == weights(net)


def test_learning_rates_can_be_read_and_set() -> None:
    net = dense()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    assert trainer.learning_rate == 0.1
    trainer.set_learning_rate(0.5)
    backward(net, [mx.cpu(0)])
    trainer.step(1)
    assert weights(net) == [0.5] and trainer.optimizer.learning_rate == 0.5


# ---- errors ------------------------------------------------------------------------------------------


def test_wrong_arguments_and_steps_are_errors() -> None:
    with pytest.raises(
        ValueError, match=r"must be a list or dict of Parameters, got <class 'int'>"
    ):
        gluon.Trainer(3, "sgd")
    with pytest.raises(ValueError, match=r"got list of <class 'int'>"):
        gluon.Trainer([3], "sgd")
    params = dense().collect_params()
    with pytest.raises(AssertionError, match="optimizer_params must be None"):
        gluon.Trainer(params, mx.optimizer.SGD(), {"learning_rate": 0.1})
    with pytest.raises(RuntimeError, match="initialized"):
        gluon.Trainer(gluon.nn.Dense(2, in_units=3).collect_params(), "sgd")
    mixed = [dense(TWO).weight, dense().bias]
    with pytest.raises(AssertionError, match="on the same set of contexts"):
        gluon.Trainer(mixed, "sgd")
    params = dense(TWO).collect_params()
    for method, arguments in (("allreduce_grads", ()), ("update", (1,))):
        trainer = gluon.Trainer(params, "sgd")
        with pytest.raises(AssertionError, match=rf"{method}\(\) when parameters are updated on"):
            getattr(trainer, method)(*arguments)
    with pytest.raises(TypeError, match="kvstore must be KVStore, str or None"):
        gluon.Trainer(params, "sgd", kvstore=3).step(1)
    with pytest.raises(mx.MXNetError, match="is not part of a job"):
        gluon.Trainer(params, "sgd", kvstore="dist_sync").step(1)
    with pytest.raises(ValueError, match="needs a store"):
        gluon.Trainer(params, "sgd", kvstore=None, update_on_kvstore=True).step(1)
    sparse = gluon.contrib.nn.SparseEmbedding(4, 2)
    sparse.initialize()
    with pytest.raises(ValueError, match="when sparse weights are present"):
        gluon.Trainer(sparse.collect_params(), "sgd", update_on_kvstore=False).step(1)
    with pytest.raises(ValueError, match="does not hold an optimizer"):
        gluon.Trainer(params, "sgd", kvstore="teststore", update_on_kvstore=True).step(1)


@pytest.mark.parametrize(
    "name, options",
    [
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.001}),
        ("adam", {"learning_rate": 0.01}),
    ],
)
def test_states_that_mxnet_wrote(name: str, options: dict) -> None:
    fixtures = ROOT / "tests" / "parity" / "fixtures"
    stored = np.load(fixtures / f"trainer_{name}.npz")
    x, y = nd.array(stored["X"]), nd.array(stored["Y"])
    net = gluon.nn.Dense(2, in_units=x.shape[1])
    net.initialize()
    net.weight.set_data(nd.array(stored["W2"]))
    net.bias.set_data(nd.array(stored["B2"]))
    trainer = gluon.Trainer(net.collect_params(), name, options)
    trainer.load_states(str(fixtures / f"trainer_{name}.states"))
    for step in (3, 4):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
        trainer.step(4)
        assert np.allclose(net.weight.data().asnumpy(), stored[f"W{step}"], atol=1e-6)
        assert np.allclose(net.bias.data().asnumpy(), stored[f"B{step}"], atol=1e-6)
    assert trainer.optimizer.num_update == 4


class AsyncStore(mx.kv.KVStoreBase):
    """The minimal interface of an asynchronous store."""

    type = "dist_async"
    rank, num_workers = 0, 1
    optimizer = None

    @staticmethod
    def is_capable(capability: str) -> bool:
        return True

    def set_optimizer(self, optimizer: object) -> None:
        self.optimizer = optimizer

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        pass


@pytest.mark.parametrize("on_store", [None, True, False])
def test_servers_update_weights_themselves(
    on_store: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MXNet 1.9.1 has the same message about ``update_on_kvstore=False``."""
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")  # which servers do not ask
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize()
    store = AsyncStore()
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=store, update_on_kvstore=on_store)
    if on_store is False:
        with pytest.raises(
            ValueError, match=r"update_on_kvstore=True when training in async mode.*dist_sync"
        ):
            trainer._init_kvstore()
    else:
        trainer._init_kvstore()
        assert trainer._update_on_kvstore is True and store.optimizer is trainer.optimizer


@pytest.mark.parametrize("ignore", [False, True])
def test_a_step_before_shapes_are_known(ignore: bool) -> None:
    """The error is that of the parameter, as in MXNet 1.9.1, not that its gradient is stale."""
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.Dense(2))
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net[0](nd.ones((1, 3))).sum()
    loss.backward()
    with pytest.raises(
        gluon.parameter.DeferredInitializationError, match="does not use this layer"
    ):
        trainer.step(1, ignore_stale_grad=ignore)
    assert net[0].bias.data().asnumpy().tolist() == [0, 0]


def test_parameters_of_one_step_have_their_own_numbers() -> None:
    params = {name: gluon.Parameter(name, shape=(2,), init="zeros") for name in "abcd"}
    for each in params.values():
        each.initialize()
    params["b"].lr_mult, params["c"].wd_mult = 3.0, 0.0
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5, "wd": 1.0})
    for each in params.values():
        each.set_data(mx.nd.ones(2))
    for _ in range(2):
        with mx.autograd.record():
            loss = sum((each.data() * 2).sum() for each in params.values())
        loss.backward()
        trainer.step(1)
    # w <- w - lr * (2 + wd * w), twice
    expected = {"a": -1.25, "b": 1 - 1.5 * 3 - 1.5 * (2 - 3.5), "c": -1.0, "d": -1.25}
    for name, value in expected.items():
        assert params[name].data().asnumpy().tolist() == [value, value]


def test_a_trainer_in_a_recording_scope_records_nothing() -> None:
    weight = gluon.Parameter("w", shape=(2,), init="ones")
    weight.initialize()
    trainer = gluon.Trainer({"w": weight}, "sgd", {"learning_rate": 0.5})
    with mx.autograd.record():
        loss = (weight.data() * 2).sum()
        loss.backward()
        trainer.step(1)
        assert mx.autograd.is_recording()
    assert weight.data()._read().node is None or weight.data()._read().node.op is None
    assert weight.data().asnumpy().tolist() == [0, 0]
