"""A velocity that a momentum of 0 does not use, and one that is missing. The numbers are MXNet 1.9.1's."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet import nd
from mixnet.optimizer import DCASGD, LARS, LBSGD, NAG, SGD, Optimizer, Signum


def _ones(dtype: str = "float32") -> nd.NDArray:
    return nd.ones((3, 2), dtype=dtype)


def _rows() -> nd.NDArray:
    return nd.sparse.row_sparse_array((nd.ones((1, 2)), [1]), shape=(3, 2))


@pytest.mark.parametrize("kind", [SGD, LARS])
def test_velocity_stays_without_momentum(kind: type[Optimizer]) -> None:
    velocity = _ones()
    kind(learning_rate=0.1).update(0, _ones(), _ones(), velocity)
    kind(learning_rate=0.1).update([0, 1], [_ones(), _ones()], [_ones(), _ones()], [velocity, None])
    assert (velocity.asnumpy() == 1).all()


def test_velocity_stays_without_momentum_in_mixed_precision() -> None:
    velocity, copy, weight = _ones(), _ones(), _ones("float16")
    optimizer: Any = SGD(learning_rate=0.1, multi_precision=True)
    optimizer.update_multi_precision(0, weight, _ones("float16"), (velocity, copy))
    assert (velocity.asnumpy() == 1).all()
    assert copy.asnumpy() == pytest.approx(0.9)


def test_rows_of_the_velocity_move_without_momentum() -> None:
    velocity = _ones()
    SGD(learning_rate=0.1).update(0, _ones(), _rows(), velocity)
    assert velocity.asnumpy()[:, 0] == pytest.approx([1, -0.1, 1])


@pytest.mark.parametrize("make", [_ones, _rows], ids=["dense", "rows"])
@pytest.mark.parametrize("kind", [SGD, LARS, NAG, Signum, LBSGD])
def test_missing_velocity_is_an_error(kind: Any, make: Any) -> None:
    weight = _ones()
    with pytest.raises(mx.MXNetError, match=r"momentum is 0.9, but the state has no velocity"):
        kind(momentum=0.9, learning_rate=0.1).update(0, weight, make(), None)
    assert (weight.asnumpy() == 1).all()


def test_missing_velocity_of_dcasgd_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"DCASGD\.update: momentum is 0\.9"):
        DCASGD(momentum=0.9).update(0, _ones(), _ones(), (None, _ones()))
