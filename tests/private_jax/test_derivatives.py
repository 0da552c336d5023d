"""Functions with custom derivatives agree with JAX's public decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixnet.private_jax import derivatives
from mixnet.private_jax.derivatives import CustomJVP, CustomVJP


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global X
    X = jnp.array([[0.5, -1.5, 2.0], [3.0, 0.25, -4.0]])


def _doubled_slope(times: float) -> Callable[..., Any]:
    @CustomJVP
    def product(x: Any, y: Any, *, times: float) -> Any:
        return x * y * times

    @product.defjvp
    def _(primals: Any, tangents: Any, *, times: float) -> tuple[Any, Any]:
        (x, y), (dx, dy) = primals, tangents
        return product(x, y, times=times), 2 * times * (dx * y + x * dy)

    return lambda x, y: product(x, y, times=times)


def _doubled_gradient(times: float) -> Callable[..., Any]:
    @CustomVJP
    def product(x: Any, y: Any, *, times: float) -> Any:
        return x * y * times

    product.defvjp(
        lambda x, y, *, times: (product(x, y, times=times), (x, jnp.sin(y), y)),
        lambda residuals, head, *, times: [
            2 * times * head * residuals[2],
            2 * times * head * residuals[0] + 0 * residuals[1],
        ],
    )
    return lambda x, y: product(x, y, times=times)


@pytest.mark.parametrize("make", [_doubled_slope, _doubled_gradient])
@pytest.mark.parametrize("has_private_parts", [True, False], ids=["private", "public"])
def test_the_declared_derivative_is_taken(
    make: Callable[[float], Callable[..., Any]],
    has_private_parts: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if has_private_parts:
        assert derivatives._records_directly, "JAX records such calls in another way now"
    else:
        monkeypatch.setattr(derivatives, "_records_directly", False)
    function, y = make(3.0), X + 1
    np.testing.assert_allclose(function(X, y), 3 * X * y)
    np.testing.assert_allclose(jax.jit(function)(X, y), 3 * X * y)
    of_x, of_y = jax.grad(lambda x, y: function(x, y).sum(), (0, 1))(X, y)
    np.testing.assert_allclose(of_x, 6 * y)
    np.testing.assert_allclose(of_y, 6 * X)
    of_x = jax.jit(jax.grad(lambda x: jax.vmap(function)(x, y).sum()))(X)
    np.testing.assert_allclose(of_x, 6 * y)


def test_a_call_is_one_equation_with_the_function_inside() -> None:
    closed = jax.make_jaxpr(_doubled_slope(2.0))(X, X)
    (equation,) = closed.eqns
    assert equation.primitive.name == "custom_jvp_call"
