"""Conversion between the layout of an operator's call and the layout of its lowering.

Lowerings compute with channels last and weights ``(filters, channels / groups, *kernel)``. An operator
has channels on axis 1 of data and weight, or last in both.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def data_to_last(data: jax.Array, channels_last: bool) -> Any:
    """The data of a call with channels last; ``channels_last`` says whether they are already."""
    return data if channels_last else jnp.moveaxis(data, 1, -1)


def data_as_called(data: jax.Array, channels_last: bool) -> Any:
    """Data with channels last in the layout of the call."""
    return data if channels_last else jnp.moveaxis(data, -1, 1)


def weight_to_first(weight: jax.Array, channels_last: bool) -> Any:
    """The weight of a call with channels on axis 1."""
    return jnp.moveaxis(weight, -1, 1) if channels_last else weight


def weight_as_called(weight: jax.Array, channels_last: bool) -> Any:
    """A weight with channels on axis 1 in the layout of the call."""
    return jnp.moveaxis(weight, 1, -1) if channels_last else weight
