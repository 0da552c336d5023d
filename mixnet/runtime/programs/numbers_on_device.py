"""The numbers of a program's operations as an array on its device, kept for the next run.

Most numbers are the same in every step of a loop: constants, a learning rate. A compiled program then takes
the array that is there; a NumPy array is made and transferred at every call, and read in a scope for 64-bit
types, which together takes as long as recording ten operations.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import jax
import numpy as np

from mixnet.context import Context


class NumbersOnDevice:
    """The numbers of the last run of a program, transferred once they are used again."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        # The numbers as bytes, and their array: one tuple, which another thread replaces as a whole.
        self._last: tuple[bytes, jax.Array | None] = b"none yet", None

    def array_of(self, numbers: Sequence[float], context: Context) -> jax.Array | None:
        """A float64 array of the numbers; None if they are not those of the last run.

        Args:
            numbers: compared bit by bit, since programs distinguish 0 and -0.
            context: the device.
        """
        bits = array("d", numbers).tobytes()
        last, known = self._last
        if last != bits:
            self._last = bits, None
            return None
        if known is None:
            with jax.enable_x64(True):
                known = jax.device_put(np.array(numbers, np.float64), context.device)
            self._last = bits, known
        return known
