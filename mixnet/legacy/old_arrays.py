"""What NumPy did with arrays at MXNet's time, and no longer does."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_array = np.array


def _of_any_sequence(convert: Callable[..., Any]) -> Callable[..., Any]:
    """``np.array``; sequences of different lengths become an array of objects, as until NumPy 1.24.

    Programs make such arrays of sentences, and of pairs of a picture and its class. ``copy=False`` copies
    where it must, as until NumPy 2.0.
    """

    @functools.wraps(convert)
    def converted(*args: Any, **kwargs: Any) -> Any:
        # ``asarray`` has had ``copy`` only since NumPy 2.0.
        if convert is _array and kwargs.get("copy") is False:
            kwargs["copy"] = None
        try:
            return convert(*args, **kwargs)
        except ValueError as error:
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
            if dtype is not None or "inhomogeneous" not in str(error):
                raise
        warnings.warn(
            f"numpy.{convert.__name__}: the sequences have different lengths or shapes, so this is an array "
            f"of objects, as until NumPy 1.24. Give dtype=object to say so.",
            np.exceptions.VisibleDeprecationWarning,
            stacklevel=2,
        )
        if len(args) > 1:
            return convert(args[0], object, *args[2:], **kwargs)
        return convert(*args, **{**kwargs, "dtype": object})

    return converted


def restore() -> None:
    """Make and print arrays as until NumPy 1.24 in this process: ragged ones, and numbers as ``0.5``.

    Without this a number in a list is printed as ``np.float64(0.5)``.
    """
    for name in ("array", "asarray", "asanyarray"):
        if not hasattr(getattr(np, name), "__wrapped__"):
            setattr(np, name, _of_any_sequence(getattr(np, name)))
    if not np.get_printoptions()["legacy"]:
        np.set_printoptions(legacy="1.25")
