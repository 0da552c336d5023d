"""The random number stream that operators draw from.

A stream is an array of three words: the two of a threefry key, and a place. Draw number ``n`` of it has the
key that follows from the key and the place plus ``n``. So a graph that is handed a stream at a place
draws what its operators, called one by one, would have drawn from there on.

A loop or branch takes one number, whatever it contains: the key there begins a stream of its
own, from which its turns draw. So what is drawn after it does not depend on how many turns it
makes, or on which branch runs. In a table, the number of a ``_foreach`` has a table for each turn.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.ops.generators.source import Drawn, key_of

STREAM_SPEC = ((3,), np.dtype("uint32"))
"""Shape and dtype of a stream."""

_PLACE = np.array([0, 0, 1], np.uint32)


def is_table(stream: Any) -> bool:
    """Whether it is a table of numbers that the host has drawn, see :mod:`mixnet.ops.generators.source`."""
    shape: tuple[int, ...] = stream.shape
    return shape != STREAM_SPEC[0]


def advanced(stream: Any, draws: Any) -> Any:
    """The stream, advanced by ``draws`` numbers."""
    if is_table(stream):
        first = jax.lax.add(jax.lax.slice(stream, (0,), (1,)), _in_uint32(draws).reshape(1))
        return jax.lax.dynamic_update_slice(stream, first, (0,))
    return stream + jnp.uint32(draws) * _PLACE


def key_at(stream: Any, number: object, as_mxnet: bool = False) -> Any:
    """The key of draw ``number`` of a stream.

    Args:
        stream: or a table.
        number: of the draw.
        as_mxnet: whether the operator takes numbers of MXNet's generators in place of a key.
    """
    if is_table(stream):
        drawn = Drawn(stream, _in_uint32(number))
        return drawn if as_mxnet else key_of(drawn)
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    place = jax.lax.squeeze(jax.lax.slice(stream, (2,), (3,)), (0,))
    place = jax.lax.add(place, _in_uint32(number))
    return jax.random.fold_in(jax.random.wrap_key_data(jax.lax.slice(stream, (0,), (2,))), place)


def _in_uint32(number: Any) -> Any:
    if isinstance(number, jax.Array):
        return jax.lax.convert_element_type(number, np.uint32)
    return jnp.uint32(number)


def loop_stream(key: Any) -> Any:
    """The stream of the turns of a loop, or of a branch, from the key of its one number."""
    return jnp.concatenate([jax.random.key_data(key), jnp.zeros(1, jnp.uint32)])
