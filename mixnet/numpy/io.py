"""Text of ``mx.np`` arrays: reading tables and printing."""

from __future__ import annotations

from typing import Any

import numpy as onp

from mixnet.numpy.creation import array
from mixnet.numpy.ndarray import ndarray


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """An array read from a text file; takes what ``numpy.genfromtxt`` takes, and ``ctx``."""
    context = kwargs.pop("ctx", None)
    return array(onp.genfromtxt(*args, **kwargs), ctx=context)


def set_printoptions(precision: Any = None, threshold: Any = None, **kwarg: Any) -> None:
    """How arrays are printed; see ``numpy.set_printoptions``."""
    onp.set_printoptions(precision=precision, threshold=threshold, **kwarg)
