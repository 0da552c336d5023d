"""Update rules: errors, written arrays, and schedules that do not recompile."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import AttributeValueError, DTypeError, ShapeError
from mixnet.ops import OPERATORS


def ones(*shape: int, dtype: str = "float32") -> nd.NDArray:
    return nd.ones(shape, dtype=dtype)


def test_counts_of_arrays_and_numbers_are_checked() -> None:
    with pytest.raises(ShapeError, match="2 arrays for 2 weight"):
        nd.multi_sgd_update(ones(3), ones(3), lrs=(0.1, 0.1), wds=(0, 0), num_weights=2)
    with pytest.raises(AttributeValueError, match="1 value"):
        nd.multi_sgd_update(*[ones(3)] * 4, lrs=(0.1,), wds=(0, 0), num_weights=2)
    with pytest.raises(AttributeValueError, match="1 value"):
        nd.preloaded_multi_sgd_update(*[ones(3)] * 4, ones(1), ones(2), num_weights=2)
    with pytest.raises(ShapeError):
        nd.preloaded_multi_sgd_update(ones(3), num_weights=1)
    with pytest.raises(ShapeError, match="num_arrays=3"):
        nd.reset_arrays(ones(3), num_arrays=3)


def test_shapes_and_values_are_checked() -> None:
    with pytest.raises(ShapeError, match="r1"):
        nd.lamb_update_phase2(ones(3), ones(3), ones(2), ones(1), lr=0.1)
    with pytest.raises(ShapeError, match="history"):
        nd._contrib_group_adagrad_update(ones(3, 2), ones(3, 2), ones(3), lr=0.1)
    with pytest.raises(AttributeValueError, match="wd"):
        nd._sparse_adagrad_update(ones(3), ones(3), ones(3), lr=0.1, wd=0.1)


def test_copies_and_states_of_half_precision_are_refused() -> None:
    half = ones(3, dtype="float16")
    with pytest.raises(DTypeError, match="weight32 is float16; it must be float32"):
        nd.mp_sgd_update(half, half, half, lr=0.1)
    with pytest.raises(DTypeError, match="mom is float16"):
        nd.mp_sgd_mom_update(half, half, half, ones(3), lr=0.1)
    with pytest.raises(DTypeError, match="weight and grad are float16 and float32"):
        nd.mp_sgd_update(half, ones(3), ones(3), lr=0.1)
    with pytest.raises(DTypeError, match="input 5 is float16; it must be float32"):
        nd.multi_mp_sgd_update(
            *[half, half, ones(3)], *[half] * 3, lrs=(0.1, 0.1), wds=(0, 0), num_weights=2
        )
    with pytest.raises(DTypeError, match="input 3 is float16"):
        nd.preloaded_multi_sgd_update(half, half, ones(1), ones(1, dtype="float16"), num_weights=1)


def test_weights_without_copies_have_one_dtype() -> None:
    half = ones(3, dtype="float16")
    with pytest.raises(DTypeError, match="float32 and float16; all must have the same dtype"):
        nd.multi_sgd_update(ones(3), half, lrs=(0.1,), wds=(0,), num_weights=1)
    with pytest.raises(DTypeError, match="all must have the same dtype"):
        nd.preloaded_multi_sgd_update(ones(3), half, ones(1), ones(1), num_weights=1)
    with pytest.raises(DTypeError, match="all must have the same dtype"):
        nd.multi_sum_sq(ones(3), half, num_arrays=2)


def test_adagrad_writes_the_sums_of_squares() -> None:
    history = nd.array([1.0, 2.0])
    nd._sparse_adagrad_update(ones(2), nd.array([2.0, -3.0]), history, lr=0.1, rescale_grad=0.5)
    np.testing.assert_allclose(history.asnumpy(), [2, 4.25])
    history = nd.array([[1.0], [2.0]])
    nd._contrib_group_adagrad_update(ones(2, 2), nd.array([[1, 2], [3, 4]]), history, lr=0.1,
                                     clip_gradient=3)  # fmt: skip
    np.testing.assert_allclose(history.asnumpy(), [[3.5], [11]])


def test_weights_in_half_precision_follow_their_copies() -> None:
    weight, copy = ones(3, dtype="float16"), ones(3)
    for _ in range(10):  # each step is below half a unit of the weight, together they count
        nd.mp_sgd_update(weight, ones(3, dtype="float16"), copy, lr=1e-4, out=weight)
    np.testing.assert_allclose(copy.asnumpy(), 0.999, rtol=1e-6)
    np.testing.assert_array_equal(weight.asnumpy(), np.float16(0.999))
    moved = ones(3, dtype="float16")
    actual = nd.mp_lamb_update_phase2(moved, ones(3), ones(1), ones(1), copy, lr=0.5)
    assert actual.dtype == np.float16
    np.testing.assert_allclose(copy.asnumpy(), 0.499, rtol=1e-6)


def test_decays_are_rounded_to_the_precision_of_the_states() -> None:
    mean, var = nd.zeros(3, dtype="float16"), nd.zeros(3, dtype="float16")
    gradient = nd.array([0.1, 0.5, 1], dtype="float16")
    for _ in range(3):
        nd.adam_update(ones(3, dtype="float16"), gradient, mean, var, lr=0.001)
    # MXNet 1.9.1, whose 1 - 0.999 is 0.000977 in float16.
    np.testing.assert_allclose(
        mean.asnumpy(), [0.0271148681640625, 0.1356201171875, 0.271240234375], rtol=1e-3
    )
    np.testing.assert_allclose(
        var.asnumpy(),
        [2.9325485229492188e-05, 0.0007314682006835938, 0.002925872802734375],
        rtol=2e-3,
    )


def test_ftrl_sets_weights_to_zero_with_the_sign_of_mxnet() -> None:
    z, n = nd.zeros(3), nd.zeros(3)
    actual = nd.ftrl_update(ones(3), nd.array([0, 1e-3, 2]), z, n, lr=0.1).asnumpy()
    np.testing.assert_allclose(actual, [0, 0, 0.59966666], rtol=1e-6)
    assert np.signbit(actual).tolist() == [False, True, False]


@pytest.mark.parametrize("half", [False, True])
def test_several_weights_are_written_with_their_states(half: bool) -> None:
    dtype = "float16" if half else "float32"
    name = "multi_mp_sgd_mom_update" if half else "multi_sgd_mom_update"
    arrays = []
    for size in (2, 3):
        arrays += [ones(size, dtype=dtype), ones(size, dtype=dtype), nd.zeros(size)]
        arrays += [ones(size)] if half else []
    each = len(arrays) // 2
    getattr(nd, name)(*arrays, lrs=(0.5, 0.25), wds=(0, 0), momentum=0.9, num_weights=2,
                      out=[arrays[0], arrays[each]])  # fmt: skip
    for first, rate in ((0, 0.5), (each, 0.25)):
        np.testing.assert_array_equal(arrays[first].asnumpy(), 1 - rate)
        np.testing.assert_array_equal(arrays[first + 2].asnumpy(), -rate)
        if half:
            np.testing.assert_array_equal(arrays[first + 3].asnumpy(), 1 - rate)


def test_a_loss_scale_that_overflowed_leaves_everything() -> None:
    state = [ones(2) * 3, ones(2) * 2, ones(2)]
    for scale in (0.0, np.inf, np.nan):
        nd._adamw_update(state[0], ones(2), state[1], state[2], nd.array([scale]), lr=0.1, eta=1,
                         out=state[0])  # fmt: skip
        assert [each.asnumpy()[0] for each in state] == [3, 2, 1]


@pytest.mark.parametrize(
    ("name", "count", "first", "second"),
    [
        ("ftml_update", 5, {"lr": 0.1, "t": 1}, {"lr": 0.2, "t": 2, "wd": 0.1}),
        ("lamb_update_phase1", 4, {"t": 1, "wd": 0.1}, {"t": 2, "wd": 0.2, "rescale_grad": 0.5}),
        ("multi_sgd_update", 2, {"lrs": (0.1,), "wds": (0,)}, {"lrs": (0.2,), "wds": (0.1,)}),
        ("_multi_lamb_update", 4, {"learning_rates": (0.1,), "wds": (0,), "step_count": (1,)},
         {"learning_rates": (0.2,), "wds": (0.1,), "step_count": (2,)}),
    ],
)  # fmt: skip
def test_a_schedule_compiles_nothing(name: str, count: int, first: dict, second: dict) -> None:
    results = []
    for attrs in (first, second):
        results.append(getattr(nd, name)(*[ones(2)] * count, **attrs).asnumpy())
        calls = len(OPERATORS[name].calls)
    assert calls == len(OPERATORS[name].calls)
    statics = {OPERATORS[name].bind(attrs)[0] for attrs in (first, second)}
    assert len(statics) == 1
    assert not np.array_equal(*results)


def test_symbols_know_which_variables_are_states() -> None:
    names = ["w", "g", "m", "copy"]
    symbol = mx.sym.multi_mp_sgd_mom_update(*map(mx.sym.Variable, names), lrs=(0.5,), wds=(0,))
    assert symbol.list_arguments() == ["w", "g"]
    assert symbol.list_auxiliary_states() == ["m", "copy"]
    symbol = mx.sym.load_json(symbol.tojson())
    states = {"m": nd.zeros(2), "copy": ones(2)}
    arguments = {"w": ones(2, dtype="float16"), "g": ones(2, dtype="float16")}
    executor = symbol.bind(mx.cpu(), arguments, grad_req="null", aux_states=states)
    np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), 0.5)
    np.testing.assert_array_equal(states["copy"].asnumpy(), 0.5)


def test_a_loss_scale_may_be_a_number() -> None:
    for scale in (2.0, nd.array([2.0])):
        weight, states = ones(3), [nd.zeros(3), nd.zeros(3)]
        nd.contrib.adamw_update(weight, ones(3), *states, scale, 0.1, 1.0, wd=0.5, out=weight)
        # The first step is 0.1 (1 - beta1) g / sqrt((1 - beta2) g²), and the decay of 0.5.
        step = 0.1 * 0.1 / np.sqrt(1 - np.float32(0.999)) + 0.5
        np.testing.assert_allclose(weight.asnumpy(), np.full(3, 1 - step), rtol=1e-5)
        np.testing.assert_allclose(states[0].asnumpy(), np.full(3, 0.2), rtol=1e-6)
    half, copy = ones(3, dtype="float16"), ones(3)
    zeros = [nd.zeros(3), nd.zeros(3)]
    nd.contrib.mp_adamw_update(half, half, *zeros, copy, 2.0, 0.1, 1.0, wd=0.5, out=half)
    np.testing.assert_allclose(copy.asnumpy(), weight.asnumpy(), rtol=1e-5)
    assert half.dtype == np.float16


def test_a_call_of_adamw_without_its_arguments_says_how_it_is_called() -> None:
    arrays = [ones(3) for _ in range(4)]
    usage = r"Call it as adamw_update\(weight, grad, mean, var, rescale_grad, lr, eta, beta1=0\.9, "
    with pytest.raises(
        TypeError, match=rf"adamw_update: missing a required argument: 'eta'\. {usage}"
    ):
        nd.contrib.adamw_update(*arrays, 1.0, 0.1)
    with pytest.raises(
        TypeError, match=rf"adamw_update: multiple values for argument 'lr'\. {usage}"
    ):
        nd.contrib.adamw_update(*arrays, 1.0, 0.1, 1.0, lr=0.2)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rule", ["adamw", "lamb"])
def test_lists_of_weights_are_updated_as_each_alone(rule: str, half: bool) -> None:
    def groups() -> list[list[nd.NDArray]]:
        rng = np.random.default_rng(1)
        fresh = [[nd.array(rng.uniform(0.1, 1, n)) for n in (3, 2)] for _ in range(4)]
        if half:
            copies = fresh[0]
            lower = [[each.astype("float16") for each in many] for many in fresh[:2]]
            fresh = [*lower, *fresh[2:], copies]
        return fresh

    name = f"multi_{'mp_' if half else ''}{rule}_update"
    function = getattr(nd.contrib, name)
    if rule == "adamw":

        def numbers(of: slice) -> list:
            return [2.0, [0.1, 0.2][of], [0.0, 0.1][of], [1.0, 0.5][of]]

    else:

        def numbers(of: slice) -> list:
            return [[1, 2][of], [0.1, 0.2][of], [0.0, 0.1][of]]

    together, alone = groups(), groups()
    function(*together, *numbers(slice(2)), out=together[0])
    for i in range(2):
        only = [[each[i]] for each in alone]
        function(*only, *numbers(slice(i, i + 1)), out=only[0])
    for ours, theirs in zip(together, alone, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    with pytest.raises(ShapeError, match="one in each"):
        function(together[0], *[each[:1] for each in together[1:]], *numbers(slice(2)))


@pytest.mark.parametrize("scale", [2.0, mx.sym.Variable("scale")])
def test_update_operators_are_symbols_as_well(scale) -> None:
    names = ["weight", "grad", "mean", "var"]
    symbols = [mx.sym.Variable(each) for each in names]
    step = mx.sym.contrib.adamw_update(*symbols, scale, lr=0.1, eta=1.0, name="step")
    assert step.list_auxiliary_states() == ["mean", "var"]
    arrays = {"weight": ones(3), "grad": ones(3)}
    if not isinstance(scale, float):
        arrays["scale"] = nd.array([2.0])
    states = {"mean": nd.zeros(3), "var": nd.zeros(3)}
    (actual,) = step.bind(mx.cpu(), arrays, grad_req="null", aux_states=states).forward()
    expected = nd.contrib.adamw_update(ones(3), ones(3), nd.zeros(3), nd.zeros(3), 2.0, 0.1, 1.0)
    np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=1e-6)
    copied = mx.sym.contrib.mp_adamw_update(*symbols, mx.sym.var("copy"), scale, 0.1, 1.0)
    assert copied.list_auxiliary_states() == ["mean", "var", "copy"]


@pytest.mark.parametrize("kind", ["multi_mp_sgd", "preloaded_multi_mp_sgd"])
def test_weights_of_float32_need_no_copy_in_updates_of_several(kind: str) -> None:
    """The numbers are MXNet 1.9.1's: such a weight is updated itself, and its copy is not written."""
    weight, gradient = nd.array([1, 2]), nd.array([0.5, 0.25])
    copy = weight + 0.5
    if kind.startswith("preloaded"):
        numbers, rates = [nd.array([0.1]), nd.array([0.01])], {}
    else:
        numbers, rates = [], {"lrs": [0.1], "wds": [0.01]}
    update = getattr(nd, f"{kind}_update")
    update(weight, gradient, copy, *numbers, **rates, num_weights=1, out=[weight])
    np.testing.assert_allclose(weight.asnumpy(), [0.949, 1.973], rtol=1e-6)
    np.testing.assert_array_equal(copy.asnumpy(), [1.5, 2.5])


def test_weights_of_half_precision_follow_their_copy_in_updates_of_several() -> None:
    weight, gradient = nd.array([1, 2], dtype="float16"), nd.array([0.5, 0.25], dtype="float16")
    copy = weight.astype("float32") + 0.5
    nd.multi_mp_sgd_update(
        weight, gradient, copy, lrs=[0.1], wds=[0.01], num_weights=1, out=[weight]
    )
    np.testing.assert_allclose(copy.asnumpy(), [1.4485, 2.4725], rtol=1e-6)
    np.testing.assert_allclose(weight.asnumpy(), copy.asnumpy(), rtol=1e-3)
