"""The settings of JAX under which mixnet's programs are traced and compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from mixnet.ops.tracing.tensor_cores import products_for


@contextmanager
def compiling_for(device: jax.Device) -> Iterator[None]:
    """Scope in which programs are traced and compiled for a device, with dtypes of 64 bits."""
    with (
        jax.enable_x64(True),
        jax.default_device(device),
        products_for(device.platform),
    ):
        yield
