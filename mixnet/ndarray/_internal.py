"""``mx.nd._internal``: operators on arrays, by their registered names."""

from __future__ import annotations

import importlib
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.ndarray.create import onehot_encode
from mixnet.ndarray.image_file import imdecode, imread
from mixnet.ndarray.namespace import below
from mixnet.ndarray.ndarray import NDArray


def _set_value(src: float, out: NDArray | None = None) -> NDArray:
    """Set every element of ``out`` to a number.

    Raises:
        ValueError: there is no array to set.
    """
    if out is None:
        raise AttributeValueError("_set_value: give the array to set, out=.")
    out[:] = float(src)
    return out


def _onehot_encode(lhs: NDArray, rhs: NDArray, out: NDArray | None = None) -> NDArray:
    """One-hot rows for the indices ``lhs``, of the shape of ``rhs``; ``mx.nd.one_hot`` replaced it."""
    return onehot_encode(lhs, rhs.copy() if out is None else out)


def _imdecode(
    mean: NDArray | None,
    index: int,
    x0: int,
    y0: int,
    x1: int,
    y1: int,
    c: int,
    size: int,
    str_img: bytes,
    out: NDArray | None = None,
) -> NDArray:
    """An encoded image of ``size`` bytes, cut out, less a mean, written to place ``index`` of a batch."""
    rectangle = (x0, y0, x1, y1)
    mean = mean if mean is not None and mean.size else None
    return imdecode(str_img[:size], rectangle, out, index, c, mean)


def _cvimread(
    filename: str, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """The pixels of an image file, ``(height, width, channels)`` of uint8."""
    return imread(filename, flag, to_rgb, out)


_operator, __dir__ = below("_internal").hooks(globals())


def __getattr__(name: str) -> Any:
    if name.startswith("_cv"):
        importlib.import_module("mixnet.image")  # lies above, and puts OpenCV's functions here
        if name in globals():
            return globals()[name]
    return _operator(name)
