"""An argument that is given by position and by name is refused, as by any function of Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mixnet import nd, sym

X = sym.var("x")


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global A
    A = nd.ones((2, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.sum(A, 1, axis=0),
        lambda: nd.Activation(A, "relu", act_type="tanh"),
        lambda: nd.elemwise_add(A, lhs=A),
        lambda: A.sum(1, axis=0),
        lambda: sym.sum(X, 1, axis=0),
        lambda: sym.FullyConnected(X, data=X, num_hidden=3),
        lambda: X.sum(1, axis=0),
    ],
)
def test_an_argument_passed_twice_is_an_error(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="given twice"):
        call()
