"""Common features of optimizers: names, learning rates of parameters, counts, precision, programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import nd, optimizer
from tests.each_record import each_record


def test_optimizers_are_created_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer.Optimizer, "opt_registry", {**optimizer.Optimizer.opt_registry})
    assert type(optimizer.create("SgD")) is optimizer.SGD
    assert type(optimizer.create("groupadagrad")) is optimizer.contrib.GroupAdaGrad
    with pytest.raises(ValueError, match="Cannot find optimizer nope"):
        optimizer.create("nope")
    with pytest.raises(TypeError, match="SGD has no argument 'foo'"):
        optimizer.create("sgd", foo=1)

    class SGD(optimizer.Optimizer):
        pass

    with pytest.warns(UserWarning, match="New optimizer .*SGD is overriding existing optimizer"):
        optimizer.register(SGD)
    assert type(optimizer.create("sgd")) is SGD


def test_the_learning_rate_is_set_or_scheduled(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimizer.SGD().learning_rate == 0.01
    scheduled = optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.3))
    assert (scheduled.lr, scheduled.learning_rate) == (None, 0.3)
    assert not capsys.readouterr().out
    other = optimizer.Adam(lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.5))
    assert other.learning_rate == 0.001
    assert capsys.readouterr().out == (
        "learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in "
        "optimizer.\n"
    )
    with pytest.raises(UserWarning, match="LRScheduler of the optimizer has already been defined"):
        scheduled.set_learning_rate(1)
    with pytest.raises(DeprecationWarning, match="set_lr_mult"):
        scheduled.set_lr_scale({})
    with pytest.raises(AttributeError):
        scheduled.learning_rate = 1
    plain = optimizer.SGD()
    plain.set_learning_rate(0.5)
    assert plain.learning_rate == 0.5


def test_parameters_have_factors_of_rate_and_decay() -> None:
    names = {0: "a_weight", 1: "a_bias", 2: "a_gamma", 3: "b_beta"}
    actual = optimizer.SGD(param_idx2name=names, wd=1.0, learning_rate=1.0)
    assert actual.wd_mult == {"a_bias": 0.0, "b_beta": 0.0}
    assert actual._get_wds([0, 1, 2, 3, 9]) == [1, 0, 1, 0, 1]
    assert optimizer.LARS(param_idx2name=names).wd_mult.keys() == {"a_bias", "a_gamma", "b_beta"}
    actual.set_lr_mult({"a_weight": 3, 1: 2})
    assert actual._get_lrs([0, 1, 2]) == [3, 2, 1]
    with pytest.raises(AssertionError, match="param_idx2name should be a dict"):
        optimizer.SGD(param_idx2name=[1])  # type: ignore[arg-type]

    x = mx.sym.Variable("x", lr_mult=3, wd_mult=0.5)
    w = mx.sym.Variable("w", lr_mult=2)
    net = mx.sym.FullyConnected(x, weight=w, num_hidden=3, name="fc", attr={"__lr_mult__": "7"})
    names = {0: "x", 1: "w", 2: "fc_bias"}
    actual = optimizer.SGD(sym=net, param_idx2name=names, learning_rate=1.0, wd=1.0)
    assert actual.lr_mult == {"x": 3.0, "w": 2.0, "fc_bias": 7.0}
    assert actual.wd_mult == {"x": 0.5, "w": 0.0, "fc_bias": 0.0}
    assert actual._get_lrs([0, 1, 2, "x", 9]) == [3, 2, 7, 3, 1]
    actual.set_lr_mult({"x": 5})
    assert actual.lr_mult == {"x": 5, "w": 2.0, "fc_bias": 7.0}

    class Parameter:
        lr_mult, wd_mult = 2.0, 3.0

    actual = optimizer.SGD(param_dict={0: Parameter()}, param_idx2name={0: "a_bias"}, wd=1.0)
    actual.set_lr_mult({0: 9, "a_bias": 7})
    assert (actual._get_lr(0), actual._get_wd(0)) == (0.02, 3.0)


def test_updates_are_counted_on_each_device() -> None:
    actual = optimizer.SGD(begin_num_update=5)
    actual._update_count([0, 1])
    actual._set_current_context(1)
    actual._update_count(0)
    assert actual._all_index_update_counts == {0: {0: 6, 1: 6}, 1: {0: 6}}
    assert actual.num_update == 6
    actual._update_count(0)
    assert actual.num_update == 7


def test_the_base_has_no_rule() -> None:
    base = optimizer.Optimizer()
    assert base.create_state(0, nd.ones(1)) is None
    with pytest.raises(NotImplementedError):
        base.update(0, None, None, None)


@each_record("dtype", ["float16", "bfloat16"])
@each_record("name", ["sgd", "nag", "adam", "lamb", "lars", "adagrad", "signum"])
def test_half_precision_weights_have_a_float32_copy(name: str, dtype: str) -> None:
    kwargs = {"momentum": 0.9} if name in ("sgd", "nag", "lars", "signum") else {}
    exact = optimizer.get_updater(optimizer.create(name, learning_rate=0.1, **kwargs))
    mixed = optimizer.get_updater(
        optimizer.create(name, learning_rate=0.1, multi_precision=True, **kwargs)
    )
    start = onp.linspace(0.5, 1.5, 6).reshape(2, 3)
    weight32, weight16 = nd.array(start), nd.array(start, dtype=dtype)
    weight32[:] = weight16.astype("float32")
    for step in range(4):
        grad = nd.array(onp.cos(start * (step + 1)), dtype=dtype)
        exact(0, grad.astype("float32"), weight32)
        mixed(0, grad, weight16)
    assert weight16.dtype == nd.ones(1, dtype=dtype).dtype
    expected = weight32.astype(dtype).astype("float32").asnumpy()
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3}[dtype]
    onp.testing.assert_allclose(weight16.astype("float32").asnumpy(), expected, rtol=tolerance)


def test_half_precision_without_a_copy_causes_a_warning() -> None:
    weight = nd.ones((2,), dtype="float16")
    with pytest.warns(UserWarning, match="multi_precision=True option of the optimizer"):
        optimizer.Adam().create_state_multi_precision(0, weight)
    with pytest.warns(UserWarning, match="Accumulating with float16 .* of the SGD optimizer"):
        optimizer.SGD().create_state_multi_precision(0, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert optimizer.Adam().create_state_multi_precision(0, nd.ones(2))[0].dtype == onp.float32


SETTINGS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9}, "nag": {"momentum": 0.9}, "lars": {"momentum": 0.9}, "adam": {},
    "nadam": {}, "adamax": {}, "ftml": {}, "lamb": {}, "adagrad": {}, "sgld": {},
}  # fmt: skip


@each_record("name", sorted(SETTINGS))
def test_a_schedule_compiles_nothing(name: str) -> None:
    scheduler = mx.lr_scheduler.PolyScheduler(100, warmup_steps=3)
    sgd = optimizer.create(name, lr_scheduler=scheduler, wd=0.01, **SETTINGS[name])
    updater = optimizer.get_updater(sgd)
    weights = [nd.ones((3, 2 + i)) for i in range(5)]
    grads = [w * 0.1 for w in weights]
    nd.waitall()

    def step() -> None:
        sgd.rescale_grad *= 0.9
        if name in ("sgd", "nag", "lars"):
            sgd.momentum *= 0.99  # type: ignore[attr-defined]
        updater(list(range(5)), grads, weights)
        nd.waitall()

    for _ in range(4):
        step()
    mx.runtime.reset_counters()
    for _ in range(4):
        step()
    actual = mx.runtime.counters()
    assert actual["programs_compiled"] == 0
    assert actual["run_by_operator"] == 0
    assert (
        sum(actual["flushes"].values()) == 4
    )  # all parameters are one program, which is never read


def test_an_update_of_one_parameter_or_of_several() -> None:
    one, many = (optimizer.get_updater(optimizer.SGD(momentum=0.9)) for _ in range(2))
    assert many.aggregate_updates
    assert many.optimizer.aggregate_num == 4
    first = [nd.full((2,), i + 1.0) for i in range(6)]
    second = [nd.full((2,), i + 1.0) for i in range(6)]
    for _ in range(2):
        for i, weight in enumerate(first):
            one(i, weight * 0.1, weight)
        many(list(range(6)), [w * 0.1 for w in second], second)
    for a, b in zip(first, second, strict=True):
        onp.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert one.optimizer._index_update_count == many.optimizer._index_update_count


def test_an_update_is_not_recorded_on_a_tape() -> None:
    weight = nd.ones((2,))
    weight.attach_grad()
    updater = optimizer.get_updater(optimizer.SGD(learning_rate=1.0))
    with mx.autograd.record():
        loss = (weight * weight).sum()
    loss.backward()
    with mx.autograd.record():
        updater(0, weight.grad, weight)
    assert weight.asnumpy().tolist() == [-1, -1]


def test_numpy_arrays_are_updated_in_place() -> None:
    weight = mx.np.ones((2,))
    updater = optimizer.get_updater(optimizer.Adam(learning_rate=1.0))
    updater(0, mx.np.full((2,), 0.5), weight)
    assert type(weight) is mx.np.ndarray
    onp.testing.assert_allclose(weight.asnumpy(), [0, 0], atol=1e-5)


def test_noise_of_sgld_has_the_variance_of_the_rate() -> None:
    weight = nd.zeros((20000,))
    updater = optimizer.get_updater(optimizer.SGLD(learning_rate=0.25))
    updater(0, nd.zeros((20000,)), weight)
    assert weight.asnumpy().std() == pytest.approx(0.5, rel=0.03)
    first = weight.asnumpy()
    updater(0, nd.zeros((20000,)), weight)
    assert abs(onp.corrcoef(first, weight.asnumpy() - first)[0, 1]) < 0.05


def test_groups_of_group_adagrad_are_rows() -> None:
    with pytest.raises(AssertionError, match="updates matrices"):
        optimizer.contrib.GroupAdaGrad().create_state(0, nd.ones(3))
    updater = optimizer.get_updater(optimizer.contrib.GroupAdaGrad(wd=0.1))
    with pytest.raises(AssertionError, match="Weight decay"):
        updater(0, nd.ones((2, 2)), nd.ones((2, 2)))


def test_lbsgd_gathers_gradients() -> None:
    actual = optimizer.LBSGD(learning_rate=1.0, batch_scale=2, warmup_epochs=0)
    updater = optimizer.get_updater(actual)
    weight, grad = nd.zeros((1,)), nd.ones((1,))
    updater(0, grad, weight)
    grad[:] = 3  # what was gathered stays
    assert weight.asscalar() == 0
    updater(0, grad, weight)
    assert weight.asscalar() == -4  # the mean of 1 and 3, at twice the learning rate
    warm = [
        optimizer.LBSGD(batch_scale=5, warmup_strategy=s, updates_per_epoch=2)._warmed(5)
        for s in ("linear", "power2", "sqrt", "other")
    ]
    onp.testing.assert_allclose(warm, [3, 2, 1 + 4 * 0.5**0.5, 1])


@pytest.mark.parametrize(
    ("name", "moved", "still"),
    [
        ("sgd", 0.8, 1.0), ("adam", 0.8, 1.0), ("adagrad", 0.82929, 1.0), ("ftrl", 0.40808, 0.0),
        ("groupadagrad", 0.82929, 1.0),
    ],
)  # fmt: skip
def test_rows_of_a_sparse_gradient_move_a_dense_weight(
    name: str, moved: float, still: float
) -> None:
    rows = onp.ones((2, 3), "float32")
    grad = nd.sparse.row_sparse_array((rows, [0, 3]), shape=(5, 3))
    weight = nd.ones((5, 3))
    updater = optimizer.get_updater(optimizer.create(name, learning_rate=0.1))
    for _ in range(2):
        updater(0, grad, weight)
    expected = onp.full((5, 3), still)
    expected[[0, 3]] = moved
    onp.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)


@pytest.mark.usefixtures("compiling_at_once")
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_the_first_step_is_the_same_program_as_the_second(name: str) -> None:
    net = mx.gluon.nn.Dense(128, in_units=64)  # a weight that is large enough to be reused
    net.initialize()
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), name, {**SETTINGS[name], "wd": 0.01})
    data = nd.ones((2, 64))
    compiled = []
    for _ in range(3):
        nd.waitall()
        mx.runtime.reset_counters()
        with mx.autograd.record():
            loss = net(data).sum()
        loss.backward()
        trainer.step(2)
        nd.waitall()
        compiled.append(mx.runtime.counters()["programs_compiled"])
    assert compiled[0] > 0
    assert compiled[1:] == [0, 0]


@pytest.mark.parametrize("stype", ["row_sparse", "default"])
def test_states_of_lamb_have_the_storage_of_the_weight(stype: str) -> None:
    lamb = optimizer.create("lamb", learning_rate=0.1, wd=0.01)
    weight = nd.array(onp.arange(12.0).reshape(4, 3) + 1).tostype(stype)
    grad = nd.array([[1, 2, 3], [0, 0, 0], [3, 1, 2], [0, 0, 0]]).tostype("row_sparse")
    states = lamb.create_state_multi_precision(0, weight)
    for _ in range(2):
        lamb.update_multi_precision(0, weight, grad, states)
    assert [each.stype for each in states] == [stype, stype]
    # MXNet 1.9.1's numbers
    expected = [[-0.9432, 0.0376, 1.0183], [3.923, 4.9038, 5.8846]]
    onp.testing.assert_allclose(weight.asnumpy()[:2], expected, atol=2e-4)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"momentum": 0.9}, [[0.76685429, 1.5337086], [3, 4], [4.2581730, 5.0250268]]),
        ({}, [[0.84027797, 1.6805559], [3, 4], [4.4917936, 5.3320713]]),
        (
            {"momentum": 0.9, "clip_gradient": 1.0},
            [[0.76517236, 1.7438245], [3, 4], [4.6797805, 5.6584325]],
        ),
        (
            {"momentum": 0.9, "lazy_update": False},
            [[0.76700222, 1.5340044], [2.9364550, 3.9152734], [4.2586436, 5.0256453]],
        ),
    ],
)
def test_lars_moves_the_rows_of_sparse_gradients(
    stype: str, settings: dict[str, Any], expected: list[list[float]], caplog: Any
) -> None:
    """The numbers are MXNet 1.9.1's."""
    names = {0: "embedding_weight"}
    lars = mx.optimizer.LARS(learning_rate=0.1, wd=0.1, eta=0.5, param_idx2name=names, **settings)
    update = mx.optimizer.get_updater(lars)
    weight = mx.nd.array([[1, 2], [3, 4], [5, 6]]).tostype(stype)
    for _ in range(2):
        rows = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([0, 2])
        update(0, mx.nd.sparse.row_sparse_array(rows, shape=(3, 2)), weight)
    assert weight.stype == stype
    onp.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)
    assert "fallback" not in caplog.text


def test_optimizers_derive_from_the_base_itself():
    """A program that extends every optimizer finds them by their ``__base__``, as in MXNet."""
    names = {
        name for name in dir(mx.optimizer)
        if getattr(getattr(mx.optimizer, name), "__base__", None) is mx.optimizer.Optimizer
    }  # fmt: skip
    assert names == {
        "AdaDelta", "AdaGrad", "Adam", "Adamax", "DCASGD", "FTML", "Ftrl", "LAMB", "LARS", "LBSGD",
        "NAG", "Nadam", "RMSProp", "SGD", "SGLD", "Signum", "Test",
    }  # fmt: skip
    assert mx.optimizer.ccSGD.__bases__ == (mx.optimizer.SGD,)
