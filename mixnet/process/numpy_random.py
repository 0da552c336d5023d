"""NumPy's global generator is the program's: importing mixnet draws nothing from it.

A module of JAX draws numbers while it is imported. A program that calls ``numpy.random.seed`` before its
``import mxnet`` would shuffle and initialize otherwise than with MXNet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy


@contextmanager
def numpy_generator_preserved() -> Iterator[None]:
    """``with numpy_generator_preserved():`` what is drawn inside is not seen outside."""
    state = numpy.random.get_state()
    try:
        yield
    finally:
        numpy.random.set_state(state)
