"""Reverse mode with one trace: the same numbers and equations as ``jax.vjp``."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mixnet.private_jax import reverse
from mixnet.private_jax.tracing import flat_tracer

X = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
Y = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)


@jax.custom_vjp
def _doubled_backwards(x):
    return x * 3


_doubled_backwards.defvjp(lambda x: (x * 3, x), lambda x, slope: (slope * x * 2,))


def _loop(x, y):
    def step(carry, row):
        return carry * row + x[0], carry.sum()

    last, sums = lax.scan(step, y[0], x)
    return last, sums


PLAIN = {
    "elementwise": lambda x, y: jnp.tanh(x * y) / (1 + jnp.exp(x)) - jnp.maximum(x, y),
    "reduced": lambda x, y: (x - x.mean(1, keepdims=True)) * lax.rsqrt(jnp.var(y, 0) + 1e-3),
    "product": lambda x, y: (x @ y.T).sum(0),
    "indexed": lambda x, y: x[jnp.array([0, 2]), 1:] * y[:2, 1:],
    "chosen": lambda x, y: jnp.where(x > 0, x * y, -y),
    "softmax": lambda x, y: jax.nn.log_softmax(x) * y,
    "own rule": lambda x, y: _doubled_backwards(x * y),
    "one input unused": lambda x, y: x * 2,
    "a constant": lambda x, y: jnp.ones(3, np.float32),
}


def _traced_and_run(function):
    """The jaxpr of a function, traced as operators are, and its results."""
    trace = flat_tracer()
    with jax.disable_jit():
        jaxpr, constants = trace(function, [jax.core.ShapedArray(X.shape, X.dtype)] * 2)
    return jaxpr, jax.core.eval_jaxpr(jaxpr, constants, X, Y)


def _with(vjp, function):
    """Outputs, gradients and other results, traced as operators are."""

    def run(x, y):
        outputs, pull, others = vjp(lambda *each: (function(*each), each[0] + 1), x, y)
        heads = jax.tree.map(lambda each: jnp.cos(jnp.arange(each.size)).reshape(each.shape)
                             .astype(each.dtype), outputs)  # fmt: skip
        return jax.tree.leaves((outputs, pull(heads), others))

    return _traced_and_run(run)


def _usual(function, *primals):
    return jax.vjp(function, *primals, has_aux=True)


@pytest.fixture
def divided(monkeypatch):
    """How often one trace was enough."""
    successes = []
    whole = reverse._vjp

    def watched(*args):
        results = whole(*args)
        successes.append(True)
        return results

    monkeypatch.setattr(reverse, "_vjp", watched)
    return successes


@pytest.mark.parametrize("name", PLAIN)
def test_is_what_jax_derives(name, divided):
    jaxpr, results = _with(reverse.vjp, PLAIN[name])
    expected_jaxpr, expected = _with(_usual, PLAIN[name])
    for each, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(each, other)
    names = sorted(each.primitive.name for each in jaxpr.eqns)
    if name != "a constant":  # whose tangents of zero are written out
        assert names == sorted(each.primitive.name for each in expected_jaxpr.eqns)
    assert divided


def test_a_loop_with_values_and_tangents_is_left_to_jax(divided):
    def loop(x, y):
        with jax.disable_jit(False):
            return _loop(x, y)

    _, results = _with(reverse.vjp, loop)
    _, expected = _with(_usual, loop)
    for each, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-6)
    assert not divided


def test_integer_outputs_have_no_gradient():
    def function(x, y):
        return x * y, x.astype(np.int32)

    def run(x, y):
        outputs, pull, _ = reverse.vjp(lambda *each: (function(*each), ()), x, y)
        return list(pull((outputs[0], np.zeros(outputs[1].shape, jax.dtypes.float0))))

    with jax.disable_jit():
        gradients = run(X, Y)
    np.testing.assert_allclose(gradients[0], X * Y * Y, rtol=1e-6)


def test_trees_of_arrays():
    with jax.disable_jit():
        outputs, pull, others = reverse.vjp(
            lambda pair, z: ({"a": pair[0] * z, "b": pair[1]}, [z]), (X, Y), X + 1
        )
        pair, last = pull({"a": Y, "b": X})
    np.testing.assert_allclose(outputs["a"], X * (X + 1), rtol=1e-6)
    np.testing.assert_allclose(pair[0], Y * (X + 1), rtol=1e-6)
    np.testing.assert_array_equal(pair[1], X)
    np.testing.assert_allclose(last, Y * X, rtol=1e-6)
    np.testing.assert_array_equal(others[0], X + 1)


def test_an_error_of_the_function_is_raised():
    def wrong(x, y):
        raise ValueError("shapes do not fit")

    with jax.disable_jit(), pytest.raises(ValueError, match="do not fit"):
        reverse.vjp(wrong, X, Y)


def test_without_jax_s_private_parts(monkeypatch):
    monkeypatch.setattr(reverse, "backward_pass", None)
    _, results = _with(reverse.vjp, PLAIN["softmax"])
    _, expected = _with(_usual, PLAIN["softmax"])
    for each, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(each, other)


def _pull_alone(reads_results):
    """Gradients of a product, for which its shape is enough."""

    def run(x, y):
        outputs, pull, _ = reverse.vjp(
            lambda *each: (jnp.tanh(each[0] * 2) @ each[1].T, jnp.cos(each[0])),
            x,
            y,
            reads_results=reads_results,
        )
        return list(pull(jax.lax.full_like(outputs, 1)))

    return _traced_and_run(run)


def test_results_that_are_not_read_are_not_traced():
    whole, expected = _pull_alone(True)
    jaxpr, actual = _pull_alone(False)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    before = [each.primitive.name for each in whole.eqns]
    after = [each.primitive.name for each in jaxpr.eqns]
    assert before.count("dot_general") == after.count("dot_general") + 1
    assert "cos" in before and "cos" not in after and "tanh" in after
