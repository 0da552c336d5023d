"""Matching states are loaded, and a file with other states changes nothing."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet.base import FileFormatError, MissingFileError
from mixnet.optimizer.state_file import dumps, loads
from tests.each_record import each_record

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("sgd", "adam", "nadam", "adagrad", "adadelta", "adamax")},
    **{name: (name, {}) for name in ("rmsprop", "ftrl", "ftml", "signum", "sgld", "dcasgd")},
    **{name: (name, {}) for name in ("lamb", "groupadagrad", "test")},
    "momentum": ("sgd", {"momentum": 0.9}),
    "nag": ("nag", {"momentum": 0.9}),
    "centered": ("rmsprop", {"centered": True}),
    "lars": ("lars", {"momentum": 0.9}),
    "lbsgd": ("lbsgd", {"momentum": 0.9}),
}
# By which optimizers MXNet 1.9.1 makes a step with states of others. Left out: LBSGD takes a pair of
# arrays for its one, and makes a step that means nothing.
NONE = {"sgd", "sgld"}
ONE = {"momentum", "nag", "adagrad", "signum", "lars", "lbsgd", "test"} | NONE
TWO = {"adam", "nadam", "adadelta", "adamax", "ftrl", "lamb"} | NONE
THREE = {"centered", "ftml"} | NONE
ACCEPTED: dict[str, set[str]] = {
    **dict.fromkeys(NONE, NONE),
    **dict.fromkeys(ONE - NONE, ONE | {"groupadagrad"}),
    **dict.fromkeys(TWO - NONE, TWO),
    **dict.fromkeys(THREE - NONE, THREE),
    "rmsprop": {"rmsprop"} | NONE,
    "dcasgd": {"dcasgd"} | NONE,
    "groupadagrad": {"groupadagrad"} | NONE,
}


def _updater(kind: str) -> mx.optimizer.Updater:
    name, kwargs = KINDS[kind]
    return mx.optimizer.get_updater(mx.optimizer.create(name, **kwargs))


def _stepped(updater: mx.optimizer.Updater) -> onp.ndarray:
    weight = mx.nd.ones((2, 3))
    updater(0, weight * 0.5, weight)
    return weight.asnumpy()


@each_record("kind", list(KINDS))
def test_states_are_loaded_by_the_optimizers_that_load_them_in_mxnet(kind: str) -> None:
    source = _updater(kind)
    _stepped(source)
    content = source.get_states()
    accepting = set()
    for other in KINDS:
        updater = _updater(other)
        try:
            updater.set_states(content, {0: mx.nd.ones((2, 3))})
        except FileFormatError:
            assert updater.states == {}
            _stepped(updater)
        else:
            accepting.add(other)
            _stepped(updater)
    # MXNet's GroupAdaGrad takes a whole array for its column of rows, and broadcasts.
    assert accepting == ACCEPTED[kind] - ({"groupadagrad"} if kind != "groupadagrad" else set())


@each_record("kind", [kind for kind in KINDS if kind != "sgld"])  # draws numbers
def test_an_optimizer_is_loaded_with_its_states(kind: str) -> None:
    source = _updater(kind)
    _stepped(source)
    updater = _updater("adam")
    updater.set_states(source.get_states(True), {0: mx.nd.ones((2, 3))})
    onp.testing.assert_array_equal(_stepped(updater), _stepped(source))


BOGUS = 25


def bogus() -> list[Any]:
    return [
        [1, 2], b"x", 5, None, "x", (1, 2), ({}, 5), ({}, {}), {0: 3}, {0: "x"}, {0: b"x"},
        {None: mx.nd.ones(2)}, {(1, 2): None}, {True: None}, {1.5: None}, {0: {1, 2}},
        {0: mx.nd.ones((3, 2))},
        {0: mx.nd.ones((6,))}, {0: mx.nd.ones((1,))}, {0: None}, {0: [mx.nd.ones((2, 3))]},
        {0: (mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))}, {0: mx.nd.ones((2, 3), dtype="float16")},
        {0: mx.nd.ones((2, 3), dtype="float64")}, {0: onp.ones((2, 3), "float32")},
    ]  # fmt: skip


@each_record("number", range(BOGUS))
def test_bogus_states_change_nothing(number: int) -> None:
    states = bogus()
    assert len(states) == BOGUS
    updater, same = _updater("momentum"), _updater("momentum")
    _stepped(updater)
    _stepped(same)
    before = dict(vars(updater))
    with pytest.raises(FileFormatError):
        updater.set_states(dumps(states[number]), {0: mx.nd.ones((2, 3))})
    assert vars(updater) == before
    onp.testing.assert_array_equal(_stepped(updater), _stepped(same))


def _changed(change: Callable[[Any], None], **kwargs: Any) -> bytes:
    optimizer = mx.optimizer.SGD(momentum=0.9, **kwargs)
    change(optimizer)
    return dumps(({}, optimizer))


def _delete(name: str) -> Callable[[Any], None]:
    return lambda optimizer: delattr(optimizer, name)


def _put(name: str, value: Any) -> Callable[[Any], None]:
    return lambda optimizer: setattr(optimizer, name, value)


@pytest.mark.parametrize("name", ["lr", "rescale_grad", "momentum", "num_update", "lr_mult"])
def test_an_optimizer_without_an_attribute_is_refused(name: str) -> None:
    with pytest.raises(FileFormatError, match=f"SGD in the states has no {name}"):
        _updater("adam").set_states(_changed(_delete(name)))


@each_record(
    ("name", "value"),
    [
        *[("lr", None), ("lr", "0.1"), ("momentum", []), ("rescale_grad", {}), ("wd", b"0")],
        *[("num_update", 1.5), ("aggregate_num", None), ("lr_mult", []), ("lr_mult", {0: "x"})],
        *[("idx2name", {0: 1}), ("_index_update_count", {0: "x"}), ("clip_gradient", "x")],
        *[("_all_index_update_counts", {0: []}), ("_all_index_update_counts", {0: {0: "x"}})],
        *[("lr_scheduler", 3), ("lr_scheduler", [])],
    ],
)
def test_an_optimizer_with_a_wrong_attribute_is_refused(name: str, value: Any) -> None:
    with pytest.raises(FileFormatError, match=f"for {name}"):
        _updater("adam").set_states(_changed(_put(name, value)))


def test_a_scheduler_that_would_never_return_is_refused() -> None:
    scheduler = mx.lr_scheduler.FactorScheduler(1)
    scheduler.step = 0
    with pytest.raises(FileFormatError, match=r"FactorScheduler.* 0 for step"):
        _updater("adam").set_states(_changed(lambda _: None, lr_scheduler=scheduler))
    several = mx.lr_scheduler.MultiFactorScheduler([2, 4])
    several.step = "24"  # type: ignore[assignment]
    with pytest.raises(FileFormatError, match="step"):
        _updater("adam").set_states(_changed(lambda _: None, lr_scheduler=several))


def test_states_of_older_versions_are_loaded() -> None:
    optimizer = mx.optimizer.SGD(momentum=0.9)
    del optimizer.allow_np_array, optimizer.aggregate_num
    updater = _updater("adam")
    content = dumps(({0: mx.nd.zeros((2, 3))}, optimizer))
    updater.set_states(content)
    onp.testing.assert_allclose(_stepped(updater), 1 - 0.01 * 0.5, rtol=1e-6)


def test_an_optimizer_of_single_updates_replaces_an_aggregating_one() -> None:
    one, many = _updater("adam"), _updater("momentum")
    assert many.aggregate_updates and not one.aggregate_updates
    many.set_states(one.get_states(True))
    weights = [mx.nd.ones((2,)), mx.nd.ones((2,))]
    many([0, 1], [each * 1 for each in weights], weights)
    assert not many.aggregate_updates


def test_half_precision_and_sparse_states_must_match() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9, multi_precision=True))
    weight = mx.nd.ones((2, 3), dtype="float16")
    updater(0, weight * 1, weight)
    other = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    other.set_states(updater.get_states(True), {0: weight})
    other(0, weight * 1, weight)
    with pytest.raises(FileFormatError, match="in the file it is a tuple of 2"):
        _updater("momentum").set_states(updater.get_states(), {0: weight})
    # MXNet takes a dense state for a sparse one and the other way around.
    plain = _updater("momentum")
    plain.set_states(dumps({0: mx.nd.ones((2, 3)).tostype("row_sparse")}), {0: mx.nd.ones((2, 3))})
    assert plain.states[0].stype == "default"
    _stepped(plain)


def test_custom_optimizers_may_have_any_state() -> None:
    class Own(mx.optimizer.SGD):
        def create_state(self, index: Any, weight: Any) -> Any:
            return {"any": ["thing"]}

    updater = mx.optimizer.get_updater(Own())
    updater.set_states(dumps({0: "x", 1: {"any": 1}}), {0: mx.nd.ones((2,))})
    assert updater.states == {0: "x", 1: {"any": 1}}
    with pytest.raises(FileFormatError):
        updater.set_states(dumps([1, 2]))


def test_unused_states_cause_a_warning() -> None:
    updater = _updater("momentum")
    content = dumps({"fc_weight": mx.nd.ones((2, 3))})
    with pytest.warns(UserWarning, match="'fc_weight', but the parameters here are 0"):
        updater.set_states(content, {0: mx.nd.ones((2, 3))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        updater.set_states(content, {"fc_weight": None})
        updater.set_states(content)


# ---- files --------------------------------------------------------------------------------------


def _trainer(contexts: int, **kwargs: Any) -> tuple[Any, mx.gluon.Trainer]:
    devices = [mx.cpu(i) for i in range(contexts)]
    net = mx.gluon.nn.Dense(2, in_units=3, prefix="net_")
    net.initialize(mx.init.One(), ctx=devices)
    params = {"momentum": 0.9, "learning_rate": 0.1}
    return net, mx.gluon.Trainer(net.collect_params(), "sgd", params, **kwargs)


def _train(net: Any, trainer: mx.gluon.Trainer) -> list[float]:
    losses = []
    for device in net.weight.list_ctx():
        with mx.autograd.record():
            losses.append((net(mx.nd.ones((4, 3), ctx=device)) ** 2).sum())
    mx.autograd.backward(losses)
    trainer.step(4)
    return net.weight.data(net.weight.list_ctx()[0]).asnumpy().tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("contexts", "kwargs"),
    [(1, {}), (2, {}), (2, {"update_on_kvstore": False}), (1, {"kvstore": None})],
)
@pytest.mark.parametrize(
    "bad",
    [
        lambda: b"x",
        lambda: b"",
        lambda: pickle.dumps([1, 2]),
        lambda: dumps({0: mx.nd.ones((5, 5))}),
        lambda: dumps(({}, "SGD")),
    ],
)
def test_a_trainer_trains_on_as_before(
    tmp_path: Path, contexts: int, kwargs: dict[str, Any], bad: Callable[[], bytes]
) -> None:
    (net, trainer), same = _trainer(contexts, **kwargs), _trainer(contexts, **kwargs)
    path = tmp_path / "t.states"
    path.write_bytes(bad())
    _train(net, trainer)
    _train(*same)
    optimizer = trainer.optimizer
    with pytest.raises(FileFormatError, match=r"t\.states"):
        trainer.load_states(str(path))
    with pytest.raises(MissingFileError, match="nothing"):
        trainer.load_states(str(tmp_path / "nothing"))
    assert trainer.optimizer is optimizer
    assert _train(net, trainer) == _train(*same)
    trainer.save_states(str(path))
    trainer.load_states(str(path))
    assert _train(net, trainer) == _train(*same)


def test_states_are_loaded_before_parameters_have_shapes(tmp_path: Path) -> None:
    net, trainer = _trainer(1)
    _train(net, trainer)
    path = str(tmp_path / "t.states")
    trainer.save_states(path)
    later = mx.gluon.nn.Dense(2, prefix="net_")
    later.initialize(mx.init.One())
    other = mx.gluon.Trainer(later.collect_params(), "adam")
    other.load_states(path)
    assert type(other.optimizer) is mx.optimizer.SGD
    _train(later, other)


@pytest.mark.parametrize("contexts", [1, 2])
def test_a_module_trains_on_as_before(tmp_path: Path, contexts: int) -> None:
    def module() -> Any:
        symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        symbol = mx.sym.LinearRegressionOutput(symbol, mx.sym.Variable("label"), name="out")
        trained = mx.mod.Module(
            symbol, label_names=["label"], context=[mx.cpu(i) for i in range(contexts)]
        )
        trained.bind([("data", (4, 3))], [("label", (4, 2))])
        trained.init_params(mx.init.One())
        trained.init_optimizer(optimizer_params={"momentum": 0.9, "learning_rate": 0.1})
        return trained

    def train(trained: Any) -> Any:
        trained.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros((4, 2))]))
        trained.update()
        return trained.get_params()[0]["fc_weight"].asnumpy().tolist()

    first, second = module(), module()
    train(first)
    train(second)
    path = tmp_path / "m.states"
    bad = {key: mx.nd.ones((5, 5)) for key in (0, "fc_weight")}
    for content in (b"x", dumps([1]), dumps(bad)):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"m\.states"):
            first.load_optimizer_states(str(path))
    with pytest.raises(MissingFileError):
        first.load_optimizer_states(str(tmp_path / "nothing"))
    assert train(first) == train(second)
    first.save_optimizer_states(str(path))
    first.load_optimizer_states(str(path))
    assert train(first) == train(second)


def test_a_store_resumes_from_its_states(tmp_path: Path) -> None:
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(momentum=0.9))
    store.init("w", mx.nd.ones((2, 3)))
    store.push("w", mx.nd.ones((2, 3)))
    path = str(tmp_path / "kv.states")
    store.save_optimizer_states(path)
    before = loads(Path(path).read_bytes())["w"].asnumpy()
    bad = str(tmp_path / "bad.states")
    Path(bad).write_bytes(dumps({"w": mx.nd.ones((3, 3))}))
    with pytest.raises(FileFormatError, match=r"bad\.states.*\(2, 3\).*\(3, 3\)"):
        store.load_optimizer_states(bad)
    onp.testing.assert_array_equal(store._updater.states["w"].asnumpy(), before)
    store.load_optimizer_states(path)
    store.push("w", mx.nd.ones((2, 3)))


def test_a_custom_updater_loads_states_in_its_own_way(tmp_path: Path) -> None:
    class Own(mx.optimizer.Updater):
        def set_states(self, states: bytes) -> None:  # type: ignore[override]
            self.loaded = states

    store = mx.kv.create("local")
    store._set_updater(Own(mx.optimizer.SGD()))
    (tmp_path / "own").write_bytes(b"own")
    store.load_optimizer_states(str(tmp_path / "own"))
    assert store._updater.loaded == b"own"
