"""Text of ``mx.np`` arrays: reading tables and printing."""

from __future__ import annotations

from typing import Any

import numpy as onp

from mixnet.numpy.creation import array
from mixnet.numpy.ndarray import ndarray


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """An array read from a text file.

    Args:
        args: the arguments of ``numpy.genfromtxt``.
        kwargs: its named arguments, and ``ctx``, the device.
    """
    context = kwargs.pop("ctx", None)
    return array(onp.genfromtxt(*args, **kwargs), ctx=context)


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, **kwarg: Any
) -> None:
    """How arrays are printed; see ``numpy.set_printoptions``.

    Args:
        precision: digits after the point.
        threshold: elements above which an array is shortened.
        kwarg: further options of NumPy.
    """
    onp.set_printoptions(precision=precision, threshold=threshold, **kwarg)
