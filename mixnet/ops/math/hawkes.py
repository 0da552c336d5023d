"""Hawkes processes: point processes whose events excite further events."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op


@op("_contrib_hawkesll", outputs=2, output_names=("output", "out_state"), precision="full")
def hawkesll(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """Log likelihood of events of several kinds under a Hawkes process with exponential decay.

    The intensity of kind k is ``lda[k] + alpha[k] * beta[k] * s[k]``, where ``s[k]`` starts as
    ``state[k]``, decays at the rate ``beta[k]`` and grows by 1 at every event of kind k.

    Args:
        lda: intensities without excitation, ``(batch, kinds)``.
        alpha: how much events excite, ``(kinds,)``.
        beta: rates of decay, ``(kinds,)``.
        state: ``(batch, kinds)``.
        lags: times since the event before, ``(batch, events)``.
        marks: kinds of the events, whole numbers, ``(batch, events)``.
        valid_length: how many of the events count, ``(batch,)``.
        max_time: end of the observation, ``(batch,)``.

    Returns:
        The log likelihood ``(batch,)``, with a gradient for ``lda``, ``alpha`` and ``beta``; and
        the state at ``max_time``, ``(batch, kinds)``, without one.

    Raises:
        ShapeError: shapes do not fit each other.

    Source: MXNet operator ``_contrib_hawkesll``.
    """
    _check(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    state, lags, max_time = (jax.lax.stop_gradient(each) for each in (state, lags, max_time))
    marks = marks.astype(jnp.int32)
    rows = jnp.arange(marks.shape[0])

    def waited(state: jax.Array, time: jax.Array) -> tuple[Any, Any]:
        """State after ``time`` without events, and how much intensity it added meanwhile."""
        decay = -beta * time[:, None]
        return state * jnp.exp(decay), -(alpha * state * jnp.expm1(decay)).sum(-1)

    def one(carry: jax.Array, event: jax.Array) -> tuple[Any, None]:
        likelihood, state, time = carry
        number, lag, mark = event
        after, passed = waited(state, lag)
        rate = lda[rows, mark] + alpha[mark] * beta[mark] * after[rows, mark]
        updated = (
            likelihood + jnp.log(rate) - passed,
            after + jax.nn.one_hot(mark, state.shape[1], dtype=state.dtype),
            time + lag,
        )
        inside = number < valid_length
        chosen = [
            jnp.where(inside.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
            for new, old in zip(updated, carry, strict=True)
        ]
        return tuple(chosen), None

    zero = jnp.zeros(max_time.shape, lda.dtype)
    numbers = jnp.arange(lags.shape[1])
    events = (numbers, lags.T, marks.T)
    (likelihood, state, time), _ = loops.scan(one, (zero, state, zero), events)
    state, passed = waited(state, max_time - time)
    likelihood = likelihood - passed - (lda * max_time[:, None]).sum(-1)
    return likelihood, jax.lax.stop_gradient(state)


def _check(
    lda: Any,
    alpha: jax.Array,
    beta: jax.Array,
    state: jax.Array,
    lags: jax.Array,
    marks: jax.Array,
    valid: jax.Array,
    end: jax.Array,
) -> None:
    batch, kinds = lda.shape if lda.ndim == 2 else (None, None)
    events = lags.shape[1] if lags.ndim == 2 else None
    expected = {
        "lda": (lda, (batch, kinds)),
        "alpha": (alpha, (kinds,)),
        "beta": (beta, (kinds,)),
        "state": (state, (batch, kinds)),
        "lags": (lags, (batch, events)),
        "marks": (marks, (batch, events)),
        "valid_length": (valid, (batch,)),
        "max_time": (end, (batch,)),
    }
    for name, (array, shape) in expected.items():
        if array.shape != shape:
            raise ShapeError(
                f"contrib.hawkesll: {name} is {array.shape}; with lda {lda.shape} (batch, kinds) "
                f"and lags {lags.shape} (batch, events) it must be {shape}."
            )
