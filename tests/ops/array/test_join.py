"""Stacking arrays of different shapes, as MXNet 1.9.1 stacks them."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym
from mixnet.base import MXNetError
from tests.each_record import each_record

ROW, COLUMN = [0, 1, 2, 3], [[0], [10], [20], [30]]
# arrays, axis, MXNet's result
STACKED = [
    (ROW, COLUMN, 0, [[0, 1, 2, 3], [0, 10, 20, 30]]),
    (ROW, COLUMN, 1, [[0, 0], [1, 10], [2, 20], [3, 30]]),
    (COLUMN, ROW, 0, [[[0], [10], [20], [30]], [[0], [1], [2], [3]]]),
    ([[0, 1], [2, 3]], COLUMN, 0, [[[0, 1], [2, 3]], [[0, 10], [20, 30]]]),
]


@each_record(("first", "second", "axis", "expected"), STACKED)
def test_an_array_takes_the_shape_of_the_first(first, second, axis, expected) -> None:
    arrays = [nd.array(first), nd.array(second)]
    assert nd.stack(*arrays, axis=axis).asnumpy().tolist() == expected
    symbol = sym.stack(sym.var("a"), sym.var("b"), axis=axis)
    executor = symbol.simple_bind(mx.cpu(), a=arrays[0].shape, b=arrays[1].shape)
    outputs = executor.forward(is_train=True, a=arrays[0], b=arrays[1])
    assert outputs[0].asnumpy().tolist() == expected
    executor.backward([nd.array(expected)])
    assert executor.grad_dict["b"].asnumpy().tolist() == np.asarray(second).tolist()


def test_an_array_with_more_elements_is_refused() -> None:
    with pytest.raises(MXNetError, match=r"\(4,\), \(2, 3\)\].*as many elements as the first"):
        nd.stack(nd.zeros((4,)), nd.zeros((2, 3)))
