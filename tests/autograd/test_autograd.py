"""Autograd: backward, higher orders, requests, functions, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.autograd.scope import _Left, unrecorded
from tests.each_record import each_record


def variable(*values: float):
    x = nd.array(list(values))
    x.attach_grad()
    return x


def test_backward_writes_the_gradient() -> None:
    x = variable(1, 2, 3)
    with autograd.record():
        y = (x * x * 2).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [4, 8, 12])


def test_head_gradients_weigh_the_heads() -> None:
    x = variable(1, 2, 3)
    with autograd.record():
        y = x * x
    y.backward(nd.array([1, 10, 100]))
    np.testing.assert_allclose(x.grad.asnumpy(), [2, 40, 600])


@pytest.mark.parametrize(("request_", "expected"), [("write", 2.0), ("add", 6.0)])
def test_gradient_requests_write_add_or_skip(request_: str, expected: float) -> None:
    x = nd.ones((2,))
    x.attach_grad(request_)
    for _ in range(3):
        with autograd.record():
            y = (2 * x).sum()
        y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected)


def test_null_leaves_the_gradient_as_it_is() -> None:
    """As in MXNet 1.9.1, an array is a variable until backward frees a tape that read it."""
    x, w = variable(1.0), nd.array([3.0])
    w.attach_grad("null")
    assert w.grad.asnumpy().tolist() == [0]
    gradient = nd.array([7.0])
    autograd.mark_variables([w], [gradient], "null")
    with autograd.record():
        y, other = x * w, x * 2
    other.backward()
    assert w.grad is gradient
    y.backward(retain_graph=True)
    assert w.grad is gradient
    y.backward()
    assert x.grad.asscalar() == 3 and w.grad is None and gradient.asscalar() == 7
    with autograd.record():
        w[:] = 4
        y = x * w
    y.backward()
    assert x.grad.asscalar() == 4 and w.grad is None
    w.attach_grad()
    with autograd.record():
        y = x * w
    y.backward()
    assert w.grad.asscalar() == 1


def test_an_array_with_request_null_has_no_gradient_after_grad() -> None:
    x, w = variable(1.0), nd.array([3.0])
    w.attach_grad("null")
    with autograd.record():
        y = x * w
    autograd.grad(y, [x])
    assert w.grad is None


def test_second_derivatives_are_correct() -> None:
    x = variable(1, 2, 3)
    with autograd.record():
        y = x * x * x
        (first,) = autograd.grad(y, x, create_graph=True)
        z = (first * first).sum()
    z.backward()
    np.testing.assert_allclose(first.asnumpy(), [3, 12, 27])
    np.testing.assert_allclose(x.grad.asnumpy(), [36, 288, 972])  # d (3x²)² / dx = 36 x³


def test_third_derivatives_are_correct() -> None:
    x = variable(0.5)
    with autograd.record():
        y = nd.sin(x)
        for _ in range(2):
            (y,) = autograd.grad(y, x, create_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), -np.cos(0.5), rtol=1e-6)


@pytest.mark.parametrize("hybridize", [False, True])
def test_gradient_penalty_of_a_network_is_the_difference_quotient(hybridize: bool) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh", in_units=3), mx.gluon.nn.Dense(1, in_units=4))
    net.initialize(mx.init.Uniform(1.0))
    net.cast("float64")
    if hybridize:
        net.hybridize()
    x = nd.array(np.random.rand(2, 3), dtype="float64")
    x.attach_grad()
    weight = net[0].weight.data()

    def penalty():
        with autograd.record():
            (slope,) = autograd.grad(net(x).sum(), x, create_graph=True)
            return (slope * slope).sum()

    penalty().backward()
    actual = net[0].weight.grad().asnumpy()
    start = weight.asnumpy()
    for place in [(0, 0), (2, 1), (3, 2)]:
        values = []
        for step in (1e-5, -1e-5):
            moved = start.copy()
            moved[place] += step
            net[0].weight.set_data(nd.array(moved, dtype="float64"))
            values.append(penalty().asscalar())
        net[0].weight.set_data(nd.array(start, dtype="float64"))
        assert actual[place] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5)


def test_reading_a_value_between_forward_and_backward_changes_nothing() -> None:
    x = variable(1, 2)
    with autograd.record():
        y = nd.exp(x)
        assert y.asnumpy()[0] == pytest.approx(np.e)
        z = (y * y).sum()
    z.wait_to_read()
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp([2, 4]), rtol=1e-6)


def test_gradients_pass_views_and_indexing() -> None:
    x = nd.array(np.arange(6.0).reshape(2, 3))
    x.attach_grad()
    with autograd.record():
        y = x[1].sum() * 2 + x.reshape((-1,))[1] + x[:, 2].sum() + x[[0, 0], [0, 0]].sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [[2, 1, 1], [2, 2, 3]])


def test_detach_and_pause_stop_gradients() -> None:
    x = variable(2.0)
    with autograd.record():
        y = x * x
        with autograd.pause():
            z = x * 5
        loss = y.detach() * x + z
    loss.backward()
    assert x.grad.asscalar() == 4


def test_recording_and_training_modes_are_independent() -> None:
    assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        with autograd.predict_mode():
            assert autograd.is_recording() and not autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record(train_mode=False):
        assert not autograd.is_training()
    with autograd.train_mode():
        assert autograd.is_training() and not autograd.is_recording()


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


def test_function_uses_its_own_gradient() -> None:
    x = variable(0.0, 1.0)
    with autograd.record():
        y = (Sigmoid()(x * 2) * 3).sum()
    y.backward()
    s = 1 / (1 + np.exp(-np.array([0.0, 2.0])))
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * s * (1 - s), rtol=1e-5)


def _gradient_of(returned):
    """The gradient of an input of two elements if ``backward`` returns ``returned(head)``."""

    class Double(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return returned(dy)

    x = variable(1.0, 2.0)
    with autograd.record():
        y = Double()(x)
    y.backward()
    return x.grad


def test_gradients_of_functions_are_assigned_to_their_inputs() -> None:
    for returned in (
        lambda dy: dy.reshape((1, 2)),
        lambda dy: dy[:1],
        lambda dy: dy.astype("float64"),
        lambda dy: [dy],
    ):
        gradient = _gradient_of(returned)
        assert (gradient.shape, gradient.dtype) == ((2,), np.float32)
        assert gradient.asnumpy().tolist() == [1, 1]
    with pytest.raises(mx.MXNetError, match=r"Double.*\(5,\).*\(2,\)"):
        _gradient_of(lambda dy: nd.ones((5,))).asnumpy()
    for wrong in (None, 3.0):
        with pytest.raises(mx.MXNetError, match="is not an array"):
            _gradient_of(lambda dy, wrong=wrong: wrong).asnumpy()
    with pytest.raises(NotImplementedError, match="does not define forward"):
        autograd.Function()(variable(1.0))


def test_errors_of_mxnet_are_raised() -> None:
    x = variable(1.0)
    with pytest.raises(mx.MXNetError, match=r"was not.*record"):
        (x * 2).backward()
    with autograd.record():
        y = x * x
        for write in (lambda: x.__iadd__(1), lambda: y.__setitem__(slice(None), 3)):
            with pytest.raises(mx.MXNetError, match="already in a computational graph"):
                write()
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph=True"):
        y.backward()
    with autograd.record():
        z = x * x
    z.backward(retain_graph=True)
    z.backward()
    with pytest.raises(mx.MXNetError, match="grad_req='wrong'"):
        x.attach_grad("wrong")
    with autograd.record():
        z = x * x
    with pytest.raises(mx.MXNetError, match="Variable 0 of grad"):
        autograd.grad(z, variable(1.0))


def test_a_chain_of_10000_operations() -> None:
    x = variable(1.0)
    with autograd.record():
        y = x
        for _ in range(10_000):
            y = y * 1.0001
    y.backward()
    assert x.grad.asscalar() == pytest.approx(1.0001**10_000, rel=1e-3)


def test_results_of_a_freed_tape_are_constants() -> None:
    # As MXNet: a program that goes on from the states of the batch before needs no detach().
    x, w = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    x.attach_grad(), w.attach_grad()
    with mx.autograd.record():
        y = x * 2
        z = (y * w).sum()
    z.backward()
    x.grad[:] = -1
    with mx.autograd.record():
        v = (y * w * 5).sum()
    v.backward()
    assert w.grad.asnumpy().tolist() == [10, 20]
    assert x.grad.asnumpy().tolist() == [-1, -1]
    with pytest.raises(mx.MXNetError, match="freed by an earlier backward"):
        z.backward()
    with mx.autograd.record():
        alone = (y * 5).sum()
    with pytest.raises(mx.MXNetError, match="freed by an earlier backward"):
        alone.backward()


def test_grad_always_returns_a_list() -> None:
    x = variable(1.0, 2.0)
    with autograd.record():
        y = mx.nd.sin(x)
    actual = autograd.grad(y, x, retain_graph=True)
    assert type(actual) is list and len(actual) == 1
    np.testing.assert_allclose(actual[0].asnumpy(), np.cos([1, 2]), rtol=1e-6)
    assert type(autograd.grad(y, [x])) is list


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_gradients_of_integers_are_integers(dtype: str) -> None:
    x = nd.array([5, 2], dtype=dtype)
    x.attach_grad()
    results = []
    for function in (
        lambda x: x * 2,
        lambda x: (x * x + x).sum(),
        lambda x: 3 * x**2 + x,
        lambda x: nd.concat(x, x, dim=0).reshape((2, 2))[0],
        nd.exp,
        lambda x: nd.where(x > 3, x, 2 * x),
        lambda x: x > 3,
        lambda x: nd.one_hot(x, 6),
        lambda x: x.astype("float32") ** 2,
    ):
        with autograd.record():
            y = function(x)
        y.backward()
        assert x.grad.dtype == x.dtype
        results.append(x.grad.asnumpy().tolist())
    exponential = np.exp([5, 2]).astype("int64").astype(dtype).tolist()
    expected = [[2, 2], [11, 5], [31, 13], [1, 1], exponential, [1, 2], [0, 0], [0, 0]]
    assert results == [*expected, [10, 4]]


def test_integers_without_a_derivative_have_zero_gradients() -> None:
    a = mx.np.array([1, 2, 3], dtype="int32")
    a.attach_grad()
    with autograd.record():
        b = mx.np.bitwise_xor(a, 5) * a
    b.backward()
    assert a.grad.asnumpy().tolist() == [4, 7, 6]  # of the factor alone


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("int32", [22.0, 45.0]), ("bool", [2.0, 2.0]), ("float16", [24.6, 50.0])],
)
def test_casts_propagate_gradients(dtype: str, expected: list[float], hybridize: bool) -> None:
    factor = 1 if dtype == "bool" else 10
    net = mx.gluon.nn.HybridLambda(
        lambda F, x: F.cast(F.cast(x * factor, dtype=dtype), dtype="float32") * x
    )
    net.hybridize(hybridize)
    x = variable(1.23, 2.5)
    with autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-3)


def test_a_cast_casts_the_head_gradient() -> None:
    x = variable(1.3, 2.7)
    with autograd.record():
        y = nd.cast(x * 100, "int8").astype("float32") * 300.5
    y.backward()
    # 300.5 is 44 as an int8
    assert x.grad.asnumpy().tolist() == [4400, 4400]


@pytest.mark.parametrize("module", ["nd", "np"])
@pytest.mark.parametrize("hold", ["reshape", "slice", "detach"])
def test_views_of_a_variable_that_is_a_view(module: str, hold: str) -> None:
    whole = getattr(mx, module).arange(16, dtype="float32")
    results = []
    for function in (
        lambda x: x[1],
        lambda x: x[1, 2] * 10,
        lambda x: x[1:][0] ** 2,
        lambda x: x.reshape((-1,))[::2],
        lambda x: x.T[1],
        lambda x: sum(row.sum() ** 2 for row in x),
    ):
        x = whole.reshape((4, 4))[:3] if hold == "slice" else whole[:12].reshape((3, 4))
        x = x.detach() if hold == "detach" else x
        x.attach_grad()
        with autograd.record():
            y = function(x)
        y.backward()
        results.append(x.grad.asnumpy().tolist())
    row, none = [1, 1, 1, 1], [0, 0, 0, 0]
    assert results == [
        [none, row, none],
        [none, [0, 0, 10, 0], none],
        [none, [8, 10, 12, 14], none],
        [[1, 0, 1, 0]] * 3,
        [[0, 1, 0, 0]] * 3,
        [[12] * 4, [44] * 4, [76] * 4],
    ]


def test_a_variable_that_is_a_view_keeps_its_storage() -> None:
    whole = nd.arange(6)
    x = whole.reshape((2, 3))
    x.attach_grad()
    first = x[0]
    whole[:] = 7
    assert first.asnumpy().tolist() == [7, 7, 7]
    x[1][:] = 3
    assert whole.asnumpy().tolist() == [7, 7, 7, 3, 3, 3]
    with autograd.record():
        y = (x[1] ** 2).sum() + x[0].detach().sum() * x[0, 0]
    y.backward()
    assert x.grad.asnumpy().tolist() == [[21, 0, 0], [6, 6, 6]]
    x -= x.grad
    assert whole.asnumpy().tolist() == [-14, 7, 7, -3, -3, -3]


def _assigned(w: nd.NDArray) -> nd.NDArray:
    b = nd.zeros((2,))
    b[:] = w
    return b


def _pulled(w: nd.NDArray) -> nd.NDArray:
    store, b = mx.kv.create("local"), nd.zeros((2,))
    store.init(1, w)
    store.pull(1, out=b)
    return b


@pytest.mark.parametrize("marked_first", [False, True])
@pytest.mark.parametrize(
    "copied",
    [_assigned, _pulled, lambda w: w.copyto(nd.zeros((2,)))],
    ids=["[:]", "pull", "copyto"],
)
def test_copies_of_a_variable_are_constants(copied, marked_first: bool) -> None:
    w = nd.array([1.0, 2.0])
    if marked_first:
        w.attach_grad()
        with autograd.record():
            before = w * 1
        before.backward()
    b = copied(w)
    w.attach_grad()
    with autograd.record():
        y = w * 2 + b * 3
    y.backward()
    assert w.grad.asnumpy().tolist() == [2.0, 2.0]  # MXNet 1.9.1


def test_a_frozen_parameter_with_equal_values_passes_no_gradient() -> None:
    learns, frozen = (mx.gluon.nn.Dense(1, in_units=2, use_bias=False) for _ in range(2))
    start = nd.array([[1.0, 2.0]])
    for each in (learns, frozen):
        each.initialize()
        each.weight.set_data(start)
    frozen.weight.grad_req = "null"
    x = nd.array([[3.0, 4.0]])
    with autograd.record():
        y = learns(x) * 2 + frozen(x) * 3
    y.backward()
    assert learns.weight.grad().asnumpy().tolist() == [[6.0, 8.0]]  # MXNet 1.9.1


def test_an_assignment_while_recording_passes_its_gradient() -> None:
    w, b = nd.array([1.0, 2.0]), nd.zeros((2,))
    w.attach_grad()
    with autograd.record():
        b[:] = w * 5
        y = w * 2 + b * 3
    y.backward()
    assert w.grad.asnumpy().tolist() == [17.0, 17.0]  # MXNet 1.9.1


class _Counted(mx.autograd.Function):
    """Doubles its input and returns a given number of gradients."""

    def __init__(self, gradients: int, output: object = None):
        super().__init__()
        self.gradients, self.output = gradients, output

    def forward(self, data):
        return data * 2 if self.output is None else self.output

    def backward(self, head):
        return (head * 2,) * self.gradients


def test_a_function_returns_as_many_gradients_as_it_has_inputs() -> None:
    data = mx.nd.array([1.0, 2.0])
    data.attach_grad()
    with mx.autograd.record():
        one, two = _Counted(1)(data), _Counted(2)(data)
    one.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), [2, 2])
    with pytest.raises(mx.MXNetError, match=r"returned 2 gradient\(s\), but forward took 1"):
        two.backward()


def test_a_function_is_called_once_and_returns_arrays() -> None:
    data = mx.nd.array([1.0])
    function = _Counted(1)
    function(data)
    with pytest.raises(AssertionError, match="can be called once"):
        function(data)
    assert _Counted(1, output=3)(data) == 3
    with (
        mx.autograd.record(),
        pytest.raises(TypeError, match="forward returned 3, which is not an array"),
    ):
        _Counted(1, output=3)(data)


class _Pair(mx.autograd.Function):
    def forward(self, data):
        return data * 2, data + 1

    def backward(self, *heads):
        return heads[1][{}["missing"]]


def test_a_function_returns_a_tuple_and_its_errors_are_of_mxnet() -> None:
    data = mx.nd.array([1.0])
    data.attach_grad()
    assert type(_Pair()(data)) is tuple
    with mx.autograd.record() as scope:
        outputs = _Pair()(data)
    assert scope is None
    assert type(outputs) is tuple
    with pytest.raises(
        mx.MXNetError, match=r"_Pair\.backward raised KeyError: 'missing'"
    ) as raised:
        mx.autograd.backward(list(outputs))
    assert isinstance(raised.value.__cause__, KeyError)
    assert "test_autograd.py" in str(raised.value)


def test_a_scope_that_an_interrupt_left_half_made_restores_nothing(monkeypatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)
    _Left.__new__(_Left)  # forgotten at once
    assert reported == []


@each_record(
    "function",
    [
        nd.floor, nd.ceil, nd.round, nd.sign, nd.zeros_like, nd.ones_like, nd.argsort, nd.BlockGrad,
        nd.logical_not, lambda x: x > 1,
    ],
)  # fmt: skip
def test_a_gradient_that_is_0_everywhere_can_be_differentiated(function: Any) -> None:
    x = nd.array([0.5, 1.5, -2.5])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(function(x), [x], create_graph=True, retain_graph=True)
    x.grad[:] = 7
    slope.backward()
    assert slope.asnumpy().tolist() == [0, 0, 0]
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_numbers_of_arrays_that_do_not_fit_are_refused() -> None:
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = x * 2
    with pytest.raises(AssertionError, match="no variable was given"):
        autograd.grad(y, [])
    with pytest.raises(mx.MXNetError, match="no head was given"):
        autograd.backward([])
    with pytest.raises(AssertionError, match=r"1 variable.*0 gradient"):
        autograd.mark_variables([nd.ones(2)], [])
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2])


def test_unrecorded_work_restores_the_modes() -> None:
    def work() -> bool:
        return autograd.is_recording()

    def failing() -> None:
        autograd.set_recording(False)
        raise ValueError

    assert not unrecorded(work)
    with autograd.record():
        assert not unrecorded(work) and autograd.is_recording()
        with pytest.raises(ValueError):
            unrecorded(failing)
        assert autograd.is_recording()


class Two(autograd.Function):
    def forward(self, x):
        return x * 1

    def backward(self, gradient):
        assert not gradient.asnumpy().any()
        return gradient + 2


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("above", ["BlockGrad", "argmax"])
def test_losses_start_gradients_below_operations_without_gradient(
    above: str, hybridize: bool
) -> None:
    class Loss(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, label):
            chances = F.SoftmaxOutput(x, label)
            return (
                F.BlockGrad(chances) if above == "BlockGrad" else F.argmax(chances, axis=1)
            ), x * 0

    x, label = variable(0, 0), nd.array([1.0])
    loss = Loss()
    loss.hybridize(hybridize)
    for output in (0, 1):  # that of the loss, and another one
        with autograd.record():
            outputs = loss(x.reshape((1, 2)), label)
        outputs[output].backward()
        np.testing.assert_allclose(x.grad.asnumpy(), [0.5, -0.5] if hybridize or output == 0 else 0)
    with autograd.record():
        y = nd.SoftmaxOutput(x.reshape((1, 2)), label).detach() + x * 0
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)


def test_a_function_passes_gradients_below_an_operation_that_has_none() -> None:
    x = variable(1, 1)
    with autograd.record():
        y = nd.BlockGrad(Two()(x * 3))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 6])


def test_a_head_is_an_array() -> None:
    for head in (None, 3.0):
        with pytest.raises(mx.base.NotAnArrayError, match="head 1 must be an NDArray"):
            autograd.backward([mx.nd.ones((1,)), head])  # type: ignore[list-item]


def test_a_head_gradient_that_is_not_an_array_is_named_by_its_place() -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        heads = [x * 2, x * 3]
    with pytest.raises(
        mx.base.NotAnArrayError, match="head gradient 1 must be an NDArray, not str"
    ):
        autograd.backward(heads, [None, "a"])
