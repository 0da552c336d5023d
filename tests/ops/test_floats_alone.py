"""Operators that compute in floating point numbers alone refuse the others, as MXNet 1.9.1 does."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet import nd, np

WHOLE = ("uint8", "int8", "int32", "int64")
CALLS = [
    lambda x: nd.softmax(x),
    lambda x: nd.log_softmax(x),
    lambda x: nd.softmin(x),
    lambda x: nd.hard_sigmoid(x),
    lambda x: nd.Activation(x, act_type="relu"),
    lambda x: nd.pad(x.reshape((1, 1, 2, 2)), mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
    lambda x: nd.linalg.gemm2(x, x),
    lambda x: nd.linalg.syrk(x),
    lambda x: nd.linalg.trmm(x, x),
    lambda x: np.dot(x.as_np_ndarray(), x.as_np_ndarray()),
]


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("call", CALLS)
def test_whole_numbers_are_refused(call: Any, dtype: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"is {dtype}; it must be floating point"):
        call(nd.ones((2, 2), dtype=dtype))
    assert "float32" in str(call(nd.ones((2, 2))).dtype)
