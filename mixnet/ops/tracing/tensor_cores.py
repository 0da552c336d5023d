"""float32 on a GPU's tensor cores, which round the factors of a product to 10 bits (TF32).

XLA uses them wherever it may. MXNet, like PyTorch, lets cuDNN use them for convolutions, and computes all
other products in float32; so does mixnet. ``MIXNET_TF32`` changes it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import jax
from jax import lax

from mixnet import config


class _Current(threading.local):
    rounds_convolutions = False


_current = _Current()


@contextmanager
def products_for(platform: str) -> Iterator[None]:
    """Scope of tracing a program: how its products of float32 are computed.

    A precision that the user has given to JAX (``jax_default_matmul_precision``) stays.

    Args:
        platform: that the program is compiled for, as JAX names it.
    """
    setting = config.get("MIXNET_TF32")
    if (
        platform == "cpu"
        or setting == "all"
        or jax.config.values["jax_default_matmul_precision"] is not None
    ):
        yield
        return
    before = _current.rounds_convolutions
    _current.rounds_convolutions = setting == "convolutions"
    try:
        with jax.default_matmul_precision("highest"):
            yield
    finally:
        _current.rounds_convolutions = before


def of_convolutions() -> lax.Precision | None:
    """The precision to give a convolution that is traced; None: that of other products."""
    return lax.Precision.DEFAULT if _current.rounds_convolutions else None
