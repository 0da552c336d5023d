"""Operators whose shapes depend on values: read on arrays, refused in graphs."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import gluon, nd, np


def test_boolean_mask_and_its_gradient() -> None:
    data = nd.array([[1, 2], [3, 4], [5, 6]])
    data.attach_grad()
    with mx.autograd.record():
        found = nd.contrib.boolean_mask(data, nd.array([0, 1, 1]))
        loss = (found * found).sum()
    loss.backward()
    onp.testing.assert_array_equal(found.asnumpy(), [[3, 4], [5, 6]])
    onp.testing.assert_array_equal(data.grad.asnumpy(), [[0, 0], [6, 8], [10, 12]])
    with pytest.raises(mx.MXNetError, match="one element for each of the 3 slices"):
        nd.contrib.boolean_mask(data, nd.array([0, 1]))


def test_masks_as_indices() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with mx.autograd.record():
        y = x[x > 1.5] * 2
    y.backward()
    assert y.tolist() == [4, 6, 8]
    assert x.grad.tolist() == [[0, 2], [2, 2]]
    z = np.array([1.0, 2.0, 3.0])
    z[z > 1.5] = 0
    assert z.tolist() == [1, 0, 0]
    z[np.array([True, False, True], dtype=bool)] = np.array([7.0, 8.0])
    assert z.tolist() == [7, 0, 8]


def test_nonzero_unique_bincount() -> None:
    x = np.array([[0, 2], [2, 1]], dtype="int32")
    for found, wanted in zip(np.nonzero(x), onp.nonzero(x.asnumpy()), strict=True):
        onp.testing.assert_array_equal(found.asnumpy(), wanted)
        assert found.dtype == onp.int64
    assert mx.npx.nonzero(x).tolist() == [[0, 1], [1, 0], [1, 1]]
    found = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    wanted = onp.unique(x.asnumpy(), return_index=True, return_inverse=True, return_counts=True)
    for ours, theirs in zip(found, wanted, strict=True):
        onp.testing.assert_array_equal(ours.asnumpy(), theirs.reshape(-1))
    assert np.unique(np.array([[1, 0], [1, 0]]), axis=0).shape == (1, 2)
    assert np.bincount(x.reshape(-1), minlength=5).tolist() == [1, 1, 2, 0, 0]
    weights = np.array([0.5, 1.0, 1.5, 2.0])
    assert np.bincount(x.reshape(-1), weights).tolist() == [0.5, 2.0, 2.5]
    with pytest.raises(mx.MXNetError, match="below 0"):
        np.bincount(np.array([-1], dtype="int32"))
    with pytest.raises(mx.MXNetError, match="whole numbers"):
        np.bincount(np.array([1.5]))
    assert np.argwhere(x).shape == (3, 2) and np.flatnonzero(x).tolist() == [1, 2, 3]


def test_inside_a_traced_graph_it_is_an_error() -> None:
    class Masked(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.contrib.boolean_mask(x, x > 0)

    net = Masked()
    assert net(nd.array([1, -1])).shape == (1,)
    net.hybridize()
    with pytest.raises(mx.MXNetError, match="depends on values"):
        net(nd.array([1, -1]))
    a, b = mx.sym.var("a"), mx.sym.var("b")
    symbol = mx.sym.contrib.boolean_mask(a, b)
    assert symbol.list_arguments() == ["a", "b"]
    with pytest.raises(mx.MXNetError, match="depends on values"):
        symbol.infer_shape(a=(3,), b=(3,))
