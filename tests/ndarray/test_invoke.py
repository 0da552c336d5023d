"""A repeated call of an operator takes a shorter path, with the same results and errors."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.passes.lower_precision import Precision
from mixnet.runtime.record import precision

A = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], np.float32)


def test_a_second_call_calls_fewer_functions() -> None:
    a, calls = nd.array(A), []

    def counted() -> int:
        calls.clear()
        sys.setprofile(lambda frame, event, _: calls.append(event == "call"))
        try:
            nd.softmax(a, axis=0)
        finally:
            sys.setprofile(None)
        return sum(calls)

    counted()
    assert counted() <= 10
    assert "softmax" in vars(nd)  # found without a function of Python


def test_another_attribute_or_shape_is_another_call() -> None:
    a = nd.array(A)
    for _ in range(3):
        for axis in (0, 1, None):
            expected = A.sum() if axis is None else A.sum(axis)
            total = nd.sum(a) if axis is None else nd.sum(a, axis=axis)
            np.testing.assert_allclose(total.asnumpy(), np.reshape(expected, total.shape))
            assert nd.sum(a[0:1], axis=0).shape == (3,)
            assert nd.sum(a.astype("int32"), axis=0).dtype == np.int32
        with pytest.raises(mx.MXNetError):
            nd.sum(a, axis=2)
        with pytest.raises(TypeError, match="no argument"):
            nd.sum(a, axes=0)
        assert nd.split(a, 3, axis=1)[2].shape == (2, 1)
        assert nd.concat(a, a, dim=0).shape == (4, 3) and nd.concat(a, dim=0).shape == (2, 3)


def test_arguments_by_name_and_too_many_arrays() -> None:
    x, w, b = nd.ones((2, 3)), nd.ones((4, 3)), nd.ones((4,))
    for _ in range(2):
        assert nd.FullyConnected(x, w, num_hidden=4, no_bias=True).asnumpy()[0, 0] == 3
        assert nd.FullyConnected(x, w, b, num_hidden=4).asnumpy()[0, 0] == 4
        assert nd.FullyConnected(x, bias=b, weight=w, num_hidden=4).asnumpy()[0, 0] == 4
        with pytest.raises(TypeError, match="takes 2 array"):
            nd.FullyConnected(x, w, b, num_hidden=4, no_bias=True)
        with pytest.raises(TypeError, match="must be an NDArray"):
            nd.FullyConnected(x, [1.0], b, num_hidden=4)


def test_training_recording_tracing_and_precision_are_respected() -> None:
    a = nd.array(A)
    a.attach_grad()
    for _ in range(2):
        with autograd.record():
            loss = nd.relu(a).sum()
        loss.backward()
        np.testing.assert_array_equal(a.grad.asnumpy(), A > 0)
        assert nd.relu(a)._value.node is None
        net = mx.gluon.nn.HybridLambda("relu")
        net.hybridize()
        np.testing.assert_array_equal(net(a).asnumpy(), np.maximum(A, 0))
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    plain = nd.FullyConnected(x, w, num_hidden=4, no_bias=True)
    with precision.using(Precision("bfloat16", ["FullyConnected"], [], [])):
        low = nd.FullyConnected(x, w, num_hidden=4, no_bias=True)
    assert plain.dtype == np.float32 and low._value.spec.dtype.name == "bfloat16"
    assert nd.FullyConnected(x, w, num_hidden=4, no_bias=True).dtype == np.float32


def test_classes_of_arrays_are_respected() -> None:
    class Mine(nd.NDArray):
        pass

    a, mine, numpys = nd.array(A), Mine._wrap(nd.array(A)._read()), mx.np.array(A)
    sparse = nd.sparse.csr_matrix(A)
    for _ in range(2):
        assert type(nd.abs(a)) is nd.NDArray and type(nd.abs(mine)) is Mine
        assert nd.abs(sparse).stype == "csr"
        with pytest.raises(TypeError, match=r"mx\.nd takes arrays of mx\.nd"):
            nd.abs(numpys)
    mx.npx.set_np()
    try:
        assert type(nd.abs(numpys)) is mx.np.ndarray
    finally:
        mx.npx.reset_np()


def test_numbers_are_checked_in_every_call() -> None:
    for _ in range(2):
        assert nd.random.uniform(2, 3, shape=(2,)).shape == (2,)
        with pytest.raises(mx.MXNetError):
            nd.random.uniform(3, 2, shape=(2,)).asnumpy()


def test_distributions_refuse_wrong_arguments() -> None:
    assert nd.random.normal(0, 1, (2, 3), dtype="float64").dtype == np.float64
    assert nd.random.randint(0, high=9, shape=4).shape == (4,)
    assert list(inspect.signature(nd.random.uniform).parameters)[:3] == ["low", "high", "shape"]
    for call in (
        lambda: nd.random.uniform(0, low=1),
        lambda: nd.random.uniform(0, 1, (2,), None, None, None, 7),
        lambda: nd.random.randint(),
    ):
        with pytest.raises(TypeError):
            call()


def test_invalid_parts_and_extents_are_refused():
    with pytest.raises(ValueError, match="cannot be cut into 4 equal parts"):
        nd.split_v2(nd.arange(6), 4)
    for like in ((3, 3), (1,), (1, 2, 3)):
        with pytest.raises(mx.MXNetError, match="slice_like"):
            nd.slice_like(nd.ones((2, 3)), nd.ones(like))
    assert nd.slice_like(nd.ones((2, 3)), nd.ones((1, 5)), axes=(0,)).shape == (1, 3)
    # Negative axes are those of the first array.
    assert nd.slice_like(nd.ones((3, 4)), nd.ones((2, 2, 12)), axes=(-1,)).shape == (3, 2)
    assert nd.slice_like(nd.ones((3, 4)), nd.ones((2,)), axes=(-2,)).shape == (2, 4)
    with pytest.raises(mx.MXNetError, match=r"axis -1 of data \(3, 4\) is number 1"):
        nd.slice_like(nd.ones((3, 4)), nd.ones((2,)), axes=(-1,))


def test_comparisons_of_two_numbers_are_numbers():
    assert repr(nd.equal(3, 2)) == "0"
    assert repr(nd.logical_or(3, 2)) == "1"
    assert repr(nd.add(3, 2)) == "5"
