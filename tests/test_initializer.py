"""Initializers: their values, selection, names and text form."""

from __future__ import annotations

import logging
import math
import warnings

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon, nd
from mixnet.initializer import InitDesc
from tests.each_record import each_record


def filled(initializer, shape, name: str = "a_weight") -> np.ndarray:
    array = nd.zeros(shape) + 9
    initializer(InitDesc(name), array)
    return array.asnumpy()


def test_random_numbers() -> None:
    uniform = filled(mx.init.Uniform(0.5), (100, 100))
    assert abs(uniform).max() <= 0.5 and abs(uniform.var() - 0.25 / 3) < 2e-3
    normal = filled(mx.init.Normal(2.0), (100, 100))
    assert abs(normal.std() - 2) < 0.05 and abs(normal.mean()) < 0.1


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (mx.init.Xavier(), 3 / 3 / ((40 + 60) * 9 / 2)),
        (mx.init.Xavier(factor_type="in", magnitude=6), 6 / 3 / (40 * 9)),
        (mx.init.Xavier("gaussian", "out", 2), 2 / (60 * 9)),
        (mx.init.MSRAPrelu(slope=0), 2 / ((40 + 60) * 9 / 2)),
        (mx.init.MSRAPrelu("in"), 2 / (1 + 0.25**2) / (40 * 9)),
    ],
)
def test_scaled_random_numbers(initializer, variance: float) -> None:
    actual = filled(initializer, (60, 40, 3, 3))
    assert actual.var() == pytest.approx(variance, rel=0.05)


def test_orthogonal_rows_or_columns() -> None:
    for shape in ((3, 2, 4), (6, 2)):
        for kind in ("uniform", "normal"):
            matrix = filled(mx.init.Orthogonal(2.0, kind), shape).reshape(shape[0], -1)
            small = matrix @ matrix.T if shape[0] == 3 else matrix.T @ matrix
            np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-4)


def test_numbers_without_chance() -> None:
    window = filled(mx.init.Bilinear(), (2, 1, 4, 4))[1, 0]
    np.testing.assert_allclose(window[1], np.array([0.25, 0.75, 0.75, 0.25]) * 0.75)
    assert filled(mx.init.LSTMBias(2.0), (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    assert filled(mx.init.Constant([[1, 2]]), (2, 2)).tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(("mode", "gates"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
@pytest.mark.parametrize("directions", [1, 2])
def test_packed_recurrent_parameters_are_initialized_by_part(
    mode: str, gates: int, directions: int
) -> None:
    units, inputs, layers, calls = 2, 3, 2, []

    class Watched(mx.init.Initializer):
        def __call__(self, desc, arr):
            calls.append((str(desc), arr.shape))
            arr[:] = 1

    first = gates * units * (inputs + units + 2)
    second = gates * units * (units * directions + units + 2)
    initializer = mx.init.FusedRNN(Watched(), units, layers, mode, directions == 2, 3.0)
    actual = filled(initializer, (directions * (first + second),))
    names = [name for name, _ in calls]
    assert len(set(names)) == len(names) and names[0].startswith("l0_i2h")
    assert calls[0][1] == (units, inputs)
    forget = layers * directions * 2 * units if mode == "lstm" else 0
    assert (actual == 3).sum() == forget and (actual == 1).sum() == actual.size - forget


def test_parts_of_a_fused_layer_need_an_initializer() -> None:
    # In MXNet it initializes its own parts, too, and fails at a shape with an extent of -5.
    initializer = mx.init.FusedRNN(None, 3, 1, "gru")
    with pytest.raises(ValueError, match=r"parts of 'a_weight': pass init="):
        filled(initializer, (3 * 3 * (2 + 3 + 2),))


def test_names_choose_the_initialization() -> None:
    initializer = mx.init.Uniform()
    for ending, value in (("bias", 0), ("gamma", 1), ("beta", 0), ("min", 0), ("max", 1)):
        assert (filled(initializer, (3,), f"a_{ending}") == value).all()
    with pytest.raises(ValueError, match="Unknown initialization of 'state'"):
        filled(initializer, (3,), "state")
    own = InitDesc("a_bias", {"__init__": mx.init.Constant(7).dumps()})
    array = nd.zeros((2,))
    initializer(own, array)
    assert own.global_init is initializer and array.asnumpy().tolist() == [7, 7]
    with pytest.warns(DeprecationWarning, match="InitDesc"):
        initializer("a_gamma", array)
    with pytest.raises(TypeError, match="a parameter's name"):
        initializer(3, array)
    with pytest.raises(NotImplementedError, match="_init_weight"):
        filled(mx.init.Initializer(), (2,))


def test_a_parameters_own_name_says_nothing() -> None:
    bias = gluon.Parameter("a_bias", shape=(50,))
    bias.initialize(default_init=mx.init.Uniform(5))
    assert abs(bias.data().asnumpy()).max() > 1  # as MXNet's gluon has it
    with pytest.raises(ValueError, match="at least 2 axes"):
        gluon.Parameter("w", shape=(3,)).initialize(mx.init.Xavier())
    for wrong in (mx.init.Xavier(rnd_type="even"), mx.init.Xavier(factor_type="all")):
        with pytest.raises(ValueError, match="is not '"):
            filled(wrong, (2, 2))


def test_text_and_equality() -> None:
    assert mx.init.Xavier().dumps() == (
        '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'
    )
    assert mx.init.MSRAPrelu().dumps() == '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'
    assert mx.init.Constant(nd.ones((2,))).dumps() == '["constant", {"value": [1.0, 1.0]}]'
    assert mx.init.Orthogonal().dumps() == (
        '["orthogonal", {"scale": 1.414, "rand_type": "uniform"}]'
    )
    for each in (mx.init.Xavier("gaussian"), mx.init.Normal(3), mx.init.One(), mx.init.LSTMBias()):
        assert mx.init.create(each.dumps()) == each
    assert mx.init.Normal(3) != mx.init.Normal(2) and mx.init.Zero() != mx.init.One()
    assert mx.init.create("Normal", sigma=2) == mx.init.Normal(2)
    assert mx.init.create("zeros") == mx.init.Zero()
    fused = mx.init.FusedRNN(mx.init.Xavier(), 3, 2, "lstm")
    assert mx.init.create(fused.dumps()) == fused


def test_classes_of_users() -> None:
    @mx.init.register
    class Seven(mx.init.Initializer):
        def _init_weight(self, name, array):
            array[:] = 7

    layer = gluon.nn.Dense(2, in_units=2, weight_initializer="seven", bias_initializer="ones")
    layer.initialize()
    assert layer.weight.data().asnumpy().tolist() == [[7, 7], [7, 7]]
    assert layer.bias.data().asnumpy().tolist() == [1, 1]
    with pytest.warns(UserWarning, match="seven is overriding"):
        mx.init.register(type("Seven", (mx.init.Initializer,), {}))
    mx.init.alias("siete")(Seven)
    assert isinstance(mx.init.create("siete"), Seven)
    for wrong in ("eight", 8):
        with pytest.raises(AssertionError):
            mx.init.create(wrong)
    assert mx.registry.get_registry(mx.init.Initializer)["siete"] is Seven


def test_patterns_and_files(tmp_path) -> None:
    mixed = mx.init.Mixed(["a_.*", ".*weight"], [mx.init.Constant(2), mx.init.One()])
    assert filled(mixed, (1,), "a_weight").tolist() == [2]
    assert filled(mixed, (1,), "b_weight").tolist() == [1]
    with pytest.raises(ValueError, match="no pattern matches b_bias"):
        filled(mixed, (1,), "b_bias")
    with pytest.raises(AssertionError, match="1 patterns, but 2"):
        mx.init.Mixed(["a"], [mx.init.One(), mx.init.One()])
    layer = gluon.nn.Dense(1, in_units=1, prefix="a_")
    layer.initialize(mixed)
    assert layer.weight.data().asscalar() == 2

    path = str(tmp_path / "a.params")
    nd.save(path, {"arg:x": nd.ones((2,)) * 5})
    loading = mx.init.Load(path, mx.init.One(), verbose=True)
    assert filled(loading, (2,), "x").tolist() == [5, 5]
    assert filled(loading, (2,), "y_weight").tolist() == [1, 1]
    with pytest.raises(AssertionError, match=r"x has shape \(3,\)"):
        filled(loading, (3,), "x")
    with pytest.raises(AssertionError, match="no y among"):
        filled(mx.init.Load({}), (3,), "y")


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        filled(mx.init.One().set_verbosity(True), (2, 2))
        filled(
            mx.init.One().set_verbosity(True, lambda array: f"sum {array.sum().asscalar()}"), (2,)
        )
    assert [each.getMessage() for each in caplog.records] == [
        "Initialized a_weight as weight: 1.0", "Initialized a_weight as weight: sum 2.0",
    ]  # fmt: skip


def test_custom_initializers_can_assign_numpy_arrays() -> None:
    class Sparse(mx.init.Initializer):
        def _init_weight(self, name, data):
            data[:] = mx.np.random.uniform(-10, 10, data.shape)
            data *= mx.np.abs(data) >= 5

    with mx.util.np_shape(), mx.util.np_array():
        layer = gluon.nn.Dense(8, in_units=8)
        layer.initialize(Sparse())
        actual = abs(layer.weight.data().asnumpy())
    assert ((actual >= 5) | (actual == 0)).all() and actual.any()
    assert math.isfinite(actual.max())


@each_record(
    ("ending", "plain", "described"),
    [
        ("running_mean", None, None), ("running_var", None, None), ("moving_mean", 0, None),
        ("moving_var", 1, None), ("moving_inv_var", 0, None), ("moving_avg", 0, None),
        ("min", 0, 0), ("max", 1, 1), ("bias_quantize", None, 0),
    ],
)  # fmt: skip
def test_the_name_of_a_parameter_decides_its_initialization(
    ending: str, plain: int | None, described: int | None
) -> None:
    """In a plain string and in a description, in MXNet 1.9.1: a value, or nothing."""
    for name, value in ((f"a_{ending}", plain), (InitDesc(f"a_{ending}"), described)):
        array = nd.zeros((2,)) + 9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            if value is None:
                with pytest.raises(ValueError, match="Unknown initialization of"):
                    mx.init.Uniform()(name, array)
            else:
                mx.init.Uniform()(name, array)
                assert array.asnumpy().tolist() == [value, value]


def test_a_description_of_quantized_weights_is_known() -> None:
    assert abs(filled(mx.init.One(), (2, 2), "a_weight_quantize")).max() > 1


def test_batch_norm_initializes_what_it_keeps() -> None:
    data, mean = mx.sym.Variable("data"), mx.sym.Variable("mine")
    for moving, name in (({}, "bn_moving_mean"), ({"moving_mean": mean}, "mine")):
        module = mx.mod.Module(mx.sym.BatchNorm(data, name="bn", **moving), label_names=None)
        module.bind([("data", (2, 2))])
        module.init_params(mx.init.Uniform())
        statistics = {
            key: value.asnumpy().tolist() for key, value in module.get_params()[1].items()
        }
        assert statistics == {name: [0, 0], "bn_moving_var": [1, 1]}


def test_orthogonal_needs_a_matrix() -> None:
    with pytest.raises(mx.MXNetError, match=r"'a_weight' of shape \(3,\) is not a matrix"):
        filled(mx.init.Orthogonal(), (3,))


def test_orthogonal_of_an_unknown_distribution() -> None:
    with pytest.raises(ValueError, match="rand_type='gaussian' is not one of"):
        mx.init.Orthogonal(rand_type="gaussian")


def test_single_rules_can_be_called_and_overridden() -> None:
    window = nd.zeros((2, 1, 3, 3))
    mx.init.Initializer()._init_bilinear("upsample_weight", window)
    expected = [[0.0625, 0.1875, 0.1875], [0.1875, 0.5625, 0.5625], [0.1875, 0.5625, 0.5625]]
    np.testing.assert_allclose(window.asnumpy()[1, 0], expected)

    class Ours(mx.init.Xavier):
        def _init_loc_bias(self, name: str, array: nd.NDArray) -> None:
            array[:] = 7

    bias = nd.zeros((6,))
    mx.init.Initializer()._init_loc_bias("any_bias", bias)
    assert bias.asnumpy().tolist() == [1, 0, 0, 0, 1, 0]
    with pytest.warns(DeprecationWarning, match="InitDesc"):
        Ours()("stn_loc_bias", bias)
    assert bias.asnumpy().tolist() == [7] * 6
