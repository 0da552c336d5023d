"""Conditions on values: checked on the host, raised when the result is read."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mixnet.ops.control.custom import keep_errors


def checked(holds: Any, error: Exception) -> Any:
    """``holds``, a single boolean; the program fails with ``error`` where it is false.

    The operator that calls this is declared with ``calls_python=True``.
    """

    def check(value: jax.Array) -> np.ndarray:
        with keep_errors():
            if not value:
                raise error
        return np.asarray(value, bool)

    return jax.pure_callback(check, jax.ShapeDtypeStruct((), np.dtype(bool)), holds)
