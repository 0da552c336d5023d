"""Programs for all extents: what they compute."""

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.ops.tracing.shape_free import shape_free


@jax.jit
def _capped(x: jax.Array) -> jax.Array:
    return jnp.minimum(x, 4)


def test_the_results_of_a_program_that_is_called_twice_stay_apart() -> None:
    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        first, second = _capped(x), _capped(y)
        return first * 10 + second

    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    form = shape_free(jax.make_jaxpr(function)(x, y), (2,))
    assert form is not None
    jaxpr = form.jaxpr.jaxpr
    written = [each for equation in jaxpr.eqns for each in equation.outvars]
    assert len(set(written)) == len(written)
