"""Checks of operators: they accept right operators and name errors of wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import test_utils as utils
from tests.each_record import each_record

a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
PRODUCT = mx.sym.elemwise_mul(a, b, name="product")
X = np.array([[1.0, 2], [3, 4]], "float32")
Y = np.array([[2.0, 3], [1, 5]], "float32")
HEAD = np.ones((2, 2))


@pytest.mark.parametrize("location", [[X, Y], {"a": X, "b": Y}])
@pytest.mark.parametrize("expected", [[X * Y], {"product_output": X * Y}])
def test_check_symbolic_forward_compares_outputs(location, expected) -> None:
    (actual,) = utils.check_symbolic_forward(PRODUCT, location, expected)
    np.testing.assert_array_equal(actual.asnumpy(), X * Y)
    with pytest.raises(AssertionError, match="EXPECTED_product_output=3"):
        utils.check_symbolic_forward(PRODUCT, location, [X * Y + 1])


def test_forward_names_what_is_missing() -> None:
    for location in ({"a": X}, {"a": X, "b": Y, "c": Y}, [X]):
        with pytest.raises(ValueError):
            utils.check_symbolic_forward(PRODUCT, location, [X * Y])
    with pytest.raises(AssertionError, match="dtype=int is not"):
        utils.check_symbolic_forward(PRODUCT, [X, Y], [X * Y], dtype="int")


@each_record("grad_req", ["write", "add", ["write", "add"], {"a": "add", "b": "write"}])
@each_record("heads", [[HEAD], {"product_output": HEAD}, None])
def test_check_symbolic_backward_compares_gradients(grad_req, heads) -> None:
    if heads is None:
        heads = [mx.nd.ones((2, 2))]
    utils.check_symbolic_backward(PRODUCT, [X, Y], heads, [Y, X], grad_req=grad_req)
    with pytest.raises(AssertionError, match="BACKWARD_a"):
        utils.check_symbolic_backward(PRODUCT, [X, Y], heads, {"a": Y + 1}, grad_req=grad_req)


def test_backward_of_a_loss_and_of_nothing() -> None:
    actual = utils.check_symbolic_backward(mx.sym.MakeLoss(PRODUCT), [X, Y], None, [Y, X])
    assert set(actual) == {"a", "b"}
    actual = utils.check_symbolic_backward(
        PRODUCT, [X, Y], [HEAD], {"a": Y}, grad_req={"a": "write", "b": "null"}
    )
    assert set(actual) == {"a"}


def test_check_numeric_gradient_detects_wrong_gradients() -> None:
    utils.check_numeric_gradient(PRODUCT, [X, Y])
    utils.check_numeric_gradient(PRODUCT, {"a": X, "b": Y}, grad_nodes=["a"])
    utils.check_numeric_gradient(
        PRODUCT, {"a": X, "b": Y}, grad_nodes={"a": "add", "b": "null"}, rtol=1e-2
    )
    utils.check_numeric_gradient(mx.sym.sin(a), [X], dtype=np.float64)
    utils.check_numeric_gradient(mx.sym.Group([mx.sym.tanh(a), b]), [X, Y], rtol=1e-2)
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        utils.check_numeric_gradient(mx.sym.BlockGrad(a) * b, [X, Y])
    with pytest.raises(KeyError):
        utils.check_numeric_gradient(PRODUCT, [X, Y], grad_nodes={"a": "other"})
    with pytest.raises(ValueError, match="grad_nodes"):
        utils.check_numeric_gradient(PRODUCT, [X, Y], grad_nodes=3)


@pytest.mark.parametrize("interface", ["nd", "np"])
def test_numeric_gradient_takes_mxnets_automatic_names(interface: str) -> None:
    with mx.name.NameManager():
        if interface == "np":
            utils.check_numeric_gradient(mx.sym.np.tanh(a.as_np_ndarray()), [X], rtol=1e-2)
            product = (a.as_np_ndarray() * b.as_np_ndarray()).name
        else:
            utils.check_numeric_gradient(mx.sym.tanh(a), [X], rtol=1e-2)
            product = (a * b).name
        names = [product, mx.sym.make_loss(a).name, mx.sym.sum(a).name]
    expected = {"nd": "_mul1", "np": "multiply1"}[interface]
    assert names == [expected, "make_loss1", "sum0"]


def test_numeric_gradient_with_states() -> None:
    net = mx.sym.BatchNorm(a, fix_gamma=False, name="bn")
    states = {"bn_moving_mean": np.zeros(2), "bn_moving_var": np.ones(2)}
    location = [np.random.RandomState(0).rand(3, 2), np.ones(2), np.zeros(2)]
    utils.check_numeric_gradient(net, location, states, numeric_eps=1e-2, rtol=0.2, atol=0.01)
    for wrong in ({"other": np.zeros(2)}, [np.zeros(2)]):
        with pytest.raises(ValueError):
            utils.check_numeric_gradient(net, location, wrong)


def test_numeric_grad_of_an_executor() -> None:
    executor = PRODUCT.bind(mx.cpu(), {"a": mx.nd.array(X), "b": mx.nd.array(Y)})
    actual = utils.numeric_grad(executor, {"a": X, "b": Y}, eps=1e-2)
    np.testing.assert_allclose(actual["a"], Y, rtol=1e-3)
    np.testing.assert_allclose(actual["b"], X, rtol=1e-3)


def test_consistency_over_dtypes() -> None:
    net = mx.sym.FullyConnected(a, num_hidden=2, name="fc")
    runs = [
        {"ctx": mx.cpu(), "a": (2, 3), "type_dict": {"a": each}} for each in ("float64", "float32")
    ]
    truth = utils.check_consistency(net, runs)
    assert set(truth) == {"fc_output", "a", "fc_weight", "fc_bias"}
    np.testing.assert_allclose(
        truth["fc_bias"].asnumpy(), truth["fc_output"].asnumpy().sum(0), rtol=1e-9
    )
    wrong = {**truth, "fc_output": truth["fc_output"] + 1}
    with pytest.raises(AssertionError, match="truth_fc_output"):
        utils.check_consistency(net, runs, ground_truth=wrong)
    utils.check_consistency(net, runs, ground_truth=wrong, raise_on_err=False)
    with pytest.raises(AssertionError, match="at least two"):
        utils.check_consistency(net, runs[:1])


def test_speed_and_simple_forward() -> None:
    for typ in ("whole", "forward"):
        assert utils.check_speed(PRODUCT, {"a": X, "b": Y}, N=1, typ=typ) >= 0
    assert utils.check_speed(PRODUCT, N=1, a=(2, 2), b=(2, 2)) >= 0
    with pytest.raises(ValueError, match="'other'"):
        utils.check_speed(PRODUCT, {"a": X, "b": Y}, typ="other")
    np.testing.assert_array_equal(utils.simple_forward(PRODUCT, a=X, b=Y), X * Y)
    two = utils.simple_forward(mx.sym.Group([a, b]), a=X, b=Y)
    np.testing.assert_array_equal(two[1], Y)


def test_a_block_hybridized_and_not() -> None:
    class Exp(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.exp(x)

    data = [mx.np.array([1.0, 2.0])]
    with mx.util.np_shape(), mx.util.np_array():
        utils.check_gluon_hybridize_consistency(Exp, data, np.exp)
        with pytest.raises(AssertionError):
            utils.check_gluon_hybridize_consistency(Exp, data, np.sin)


def test_a_block_with_parameters_hybridized_and_not() -> None:
    def build(prefix: str) -> mx.gluon.Block:
        assert prefix == "net_"
        assert mx.util.is_np_array()
        return mx.gluon.nn.Dense(2, in_units=3, prefix=prefix)

    utils.check_gluon_hybridize_consistency(build, [mx.np.ones((1, 3))])
    assert not mx.util.is_np_array()


def test_messages_show_expected_arrays_as_passed() -> None:
    with pytest.raises(AssertionError, match=r"ACTUAL: array\(\[1., 2.\]\)"):
        utils.check_symbolic_forward(a, [np.zeros(2)], [np.array([1.0, 2.0])])


def test_structures_of_symbols() -> None:
    assert utils.same_symbol_structure(a + b, b + a)
    assert not utils.same_symbol_structure(a + b, a * b)
    assert not utils.same_symbol_structure(a + b, a)


def test_compare_optimizer_detects_differences() -> None:
    def sgd(rate: float = 0.1) -> mx.optimizer.Optimizer:
        return mx.optimizer.SGD(learning_rate=rate, momentum=0.9)

    utils.compare_optimizer(sgd(), sgd(), (2, 2), "float32")
    with pytest.raises(AssertionError):
        utils.compare_optimizer(sgd(), sgd(0.5), (2, 2), "float32")


def test_the_first_optimizer_compared_gets_dense_copies_one_by_one() -> None:
    updates: list[Any] = []

    class Watched(mx.optimizer.SGD):
        def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            updates.append((index, weight.stype, grad.stype))
            super().update_multi_precision(index, weight, grad, state)

    other = mx.optimizer.SGD(learning_rate=0.1, lazy_update=False)
    for shapes, count in (((3, 2), 1), ([(3, 2)], 1), ([(3, 2), (2, 2)], 2)):
        for stype in ("default", "row_sparse"):
            utils.compare_optimizer(
                Watched(learning_rate=0.1),
                other,
                shapes,
                "float32",
                g_stype=stype,
                compare_states=False,
                ntensors=count,
            )
            assert updates == [(i, "default", "default") for i in range(count)]
            updates.clear()


def test_the_next_random_number_is_that_of_mxnet() -> None:
    """A check draws as many numbers as MXNet 1.9.1 does, which gave the expected one."""
    np.random.seed(1)
    utils.check_numeric_gradient(mx.sym.sin(mx.sym.var("data")), [np.random.rand(2, 2)], rtol=0.05)
    assert round(np.random.rand(), 5) == 0.14039
