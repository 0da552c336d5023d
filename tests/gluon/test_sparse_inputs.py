"""Hybridized blocks of sparse arrays: storage types of their results, as MXNet 1.9.1 gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.each_record import each_record

DATA = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], "float32")


class Calls(gluon.HybridBlock):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.function(F, x)


# what a block computes, and the storage types of its results for csr and for row_sparse
BLOCKS = [
    (lambda F, x: F.identity(x), ["csr"], ["row_sparse"]),
    (lambda F, x: F.abs(x * 2) * 3, ["csr"], ["row_sparse"]),
    (lambda F, x: x + 1, ["default"], ["default"]),
    (lambda F, x: x * x, ["csr"], ["row_sparse"]),
    (lambda F, x: F.exp(x), ["default"], ["default"]),
    (lambda F, x: F.sum(x, axis=0), ["default"], ["default"]),
    (lambda F, x: F.dot(x, F.ones((3, 2))), ["default"], ["default"]),
    (lambda F, x: F.dot(x, F.ones((3, 2)), transpose_a=True), ["row_sparse"], ["default"]),
    (lambda F, x: F.cast_storage(x, stype="default"), ["default"], ["default"]),
    (lambda F, x: [x * 2, F.exp(x)], ["csr", "default"], ["row_sparse", "default"]),
    (lambda F, x: F.slice(x, begin=(0,), end=(2,)), ["csr"], ["default"]),
    (lambda F, x: F.clip(x, 0, 1), ["csr"], ["row_sparse"]),
    (lambda F, x: F.broadcast_mul(x, F.ones((3, 1))), ["csr"], ["default"]),
]


@pytest.mark.filterwarnings("ignore")
@each_record("recording", [False, True])
@each_record(("function", "of_csr", "of_rows"), BLOCKS)
def test_results_have_the_storage_types_of_mxnet(
    function: Any, of_csr: list[str], of_rows: list[str], recording: bool
) -> None:
    for stype, reference in (("csr", of_csr), ("row_sparse", of_rows)):
        net, plain = Calls(function), Calls(function)
        net.hybridize()
        x = nd.array(DATA).tostype(stype)
        x.attach_grad()
        with autograd.record() if recording else autograd.pause():
            actual, expected = net(x), plain(x)
        actual = actual if isinstance(actual, list) else [actual]
        expected = expected if isinstance(expected, list) else [expected]
        assert [each.stype for each in actual] == reference
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_a_layer_learns_from_csr() -> None:
    class Linear(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(3, 2))

        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return F.dot(x, weight)

    net = Linear()
    net.initialize(mx.init.One())
    net.hybridize()
    with autograd.record():
        actual = net(nd.array(DATA).tostype("csr"))
    actual.backward()
    assert actual.asnumpy().tolist() == [[3, 3], [0, 0], [3, 3]]
    assert net.weight.grad().asnumpy().tolist() == [[1, 1], [3, 3], [2, 2]]


def test_operators_for_row_sparse_alone() -> None:
    csr = nd.array(DATA).tostype("csr")
    for call in (
        lambda: nd.sparse.retain(csr, nd.array([0])),
        lambda: nd._internal._square_sum(csr, axis=1),
    ):
        with pytest.raises(mx.MXNetError, match="row_sparse"):
            call()
