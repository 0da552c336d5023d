"""MXNet's oldest operators in Python, on NumPy arrays and on NDArrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx


@pytest.mark.parametrize("base", ["NumpyOp", "NDArrayOp"])
def test_an_operator_of_the_oldest_kind_runs_and_has_its_gradient(base: str) -> None:
    class Square(getattr(mx.operator, base)):  # type: ignore[misc]
        def forward(self, in_data: Any, out_data: Any) -> None:
            out_data[0][:] = in_data[0] * in_data[0]

        def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
            in_grad[0][:] = 2 * in_data[0] * out_grad[0]

    operator = Square()  # the symbol does not keep it
    executor = operator(mx.sym.var("x"), name="square").simple_bind(mx.cpu(), x=(3,))
    executor.arg_dict["x"][:] = mx.nd.array([1, -2, 3])
    (result,) = executor.forward(is_train=True)
    executor.backward([mx.nd.array([1, 1, 10])])
    np.testing.assert_array_equal(result.asnumpy(), [1, 4, 9])
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [2, -4, 60])


def test_they_are_names_of_the_module_of_operators() -> None:
    names: dict[str, Any] = {}
    exec("from mixnet.operator import *", names)
    assert {"PythonOp", "NumpyOp", "NDArrayOp", "CustomOp"} <= names.keys()
    assert "NumpyOp" in dir(mx.operator)
    with pytest.raises(AttributeError, match="Nonsense"):
        mx.operator.Nonsense  # noqa: B018
