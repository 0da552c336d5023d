"""None as an attribute is a value, not an attribute that is left out, as in MXNet 1.9.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import nd, np, sym

REFUSED: dict[str, Callable[[], Any]] = {
    "softmax": lambda: nd.softmax(nd.ones((2, 3)), axis=None),
    "concat": lambda: nd.concat(nd.ones((2, 3)), nd.ones((2, 3)), dim=None),
    "stack": lambda: nd.stack(nd.ones((2, 3)), nd.ones((2, 3)), axis=None),
    "sum": lambda: nd.sum(nd.ones((2, 3)), keepdims=None),
    "a symbol": lambda: sym.softmax(sym.Variable("x"), axis=None),
    "np.stack": lambda: np.stack((np.ones(3), np.ones(3)), axis=None),
    "np.tril": lambda: np.tril(np.ones((2, 3)), k=None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_none_is_refused_where_a_value_is_required(name: str) -> None:
    with pytest.raises(mx.MXNetError, match=r"attribute \w+=None is not a"):
        REFUSED[name]()


def test_none_means_the_default_where_mxnet_accepts_it() -> None:
    data = nd.arange(12).reshape((3, 4))
    part = nd.slice(data, begin=(0, 1), end=(2, 3), step=None)
    assert part.asnumpy().tolist() == [[1, 2], [5, 6]]
    assert nd.slice_like(data, nd.ones((2, 2)), axes=None).shape == (2, 2)
    assert nd.Reshape(data, shape=(4, 3), target_shape=None).shape == (4, 3)
    assert nd.contrib.AdaptiveAvgPooling2D(nd.ones((1, 1, 4, 4)), output_size=None).shape[2:] == (
        1,
        1,
    )
    assert nd.Dropout(data, axes=None).asnumpy().tolist() == data.asnumpy().tolist()


@pytest.mark.parametrize(
    "function", [np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack]
)
def test_none_among_arrays_is_not_left_out(function: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError, match=r"takes mx\.np arrays, not NoneType"):
        function((np.ones((2, 3)), None))


def test_an_axis_that_is_named_twice_is_reversed_twice() -> None:
    data = onp.arange(6.0).reshape(2, 3)
    assert nd.reverse(nd.array(data), axis=(0, 0)).asnumpy().tolist() == data.tolist()
    flipped = np.flip(np.array(data), (0, 1, 0))
    assert flipped.asnumpy().tolist() == data[:, ::-1].tolist()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "transpose": (lambda: np.transpose(np.ones((2, 3)), ()), "names no axes, but the array has 2"),
    "split": (
        lambda: np.split(np.ones((2, 3)), None),
        "neither the number of parts nor a sequence",
    ),
    "rollaxis": (lambda: np.rollaxis(np.ones((2, 3)), 2), "axis=2, start=0 is out of range"),
    "pad": (lambda: np.pad(np.ones(3), ((1, 1), (0, 2))), "does not fit an array of 1 axes"),
    "flip": (lambda: np.flip(2, 0), "a number has no axes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_with_axes_are_errors(name: str) -> None:
    call, message = MISTAKES[name]
    with pytest.raises(mx.MXNetError, match=message) as info:
        call()
    assert isinstance(info.value, ValueError)


def test_numbers_in_place_of_arrays() -> None:
    """As in MXNet, which leaves them to NumPy."""
    assert np.ravel(2).tolist() == [2] and np.flip(2.5) == 2.5
    assert np.broadcast_to(True, (2, 3)).dtype == onp.bool_
    assert mx.npx.nonzero(np.array(1.5)).asnumpy().tolist() == [[0]]


def test_states_that_are_arguments_of_a_hybridized_block() -> None:
    """Moving statistics that are passed to the block are written by backward, not the parameters."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.gamma = self.params.get("gamma", shape=(3,), init="ones")
                self.beta = self.params.get("beta", shape=(3,), init="zeros")

        def hybrid_forward(self, F, data, mean, var, gamma, beta):
            return F.BatchNorm(data, gamma, beta, mean, var, fix_gamma=False)

    net = Net()
    net.initialize()
    net.hybridize()
    data = nd.array([[1, 2, 3], [4, 5, 7], [0, 1, 1], [2, 2, 9]])
    mean, var = nd.zeros(3), nd.ones(3)
    for _ in range(2):
        with mx.autograd.record():
            out = net(data, mean, var)
        out.backward()
    onp.testing.assert_allclose(mean.asnumpy(), [0.3325, 0.475, 0.95], rtol=1e-5)
    onp.testing.assert_allclose(var.asnumpy(), [1.225625, 1.2375, 2.71], rtol=1e-5)
    assert net.gamma.data().asnumpy().tolist() == [1, 1, 1]


def test_shapes_follow_whatever_the_dtypes_are() -> None:
    a, b, c = (sym.Variable(name) for name in "abc")
    larger = sym.np.greater(a.as_np_ndarray(), b.as_np_ndarray())
    arguments, outputs, _ = sym.elemwise_add(larger, c).infer_shape(a=(2, 3), b=(2, 3))
    assert arguments == [(2, 3)] * 3 and outputs == [(2, 3)]


@pytest.mark.parametrize(
    "name", ["sgd_update", "sgd_mom_update", "adam_update", "ftrl_update", "mp_sgd_update"]
)
def test_arrays_of_an_update_have_one_shape(name: str) -> None:
    symbol = getattr(sym, name)(lr=0.1, name="update")
    known = symbol.list_arguments()[1]
    arguments, outputs, states = symbol.infer_shape(**{known: (2, 3)})
    assert {*arguments, *outputs, *states} == {(2, 3)}
