"""Deterministic initializers: constants, interpolation, the forget-gate bias."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np

from mixnet.base import IndexingError
from mixnet.initializer.initializer import Initializer, alias, register
from mixnet.ndarray.ndarray import NDArray


class _Number(Initializer):
    """The number that the class names."""

    draws = False
    _number: ClassVar[float]

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr._write_all(self._number)


@register
@alias("zeros")
class Zero(_Number):
    """Zeros."""

    _number = 0.0


@register
@alias("ones")
class One(_Number):
    """Ones."""

    _number = 1.0


@register
class Constant(Initializer):
    """One number, or the content of an array.

    Args:
        value: a number, or an array of the parameter's shape.
    """

    draws = False

    def __init__(self, value: object):
        super().__init__(value=value)
        self.value = value

    def dumps(self) -> str:
        """Text from which ``create`` makes the same initializer."""
        value = self.value.asnumpy() if isinstance(self.value, NDArray) else self.value
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        return json.dumps(["constant", {"value": value}])

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr._write_all(self.value)  # an array may be of the other face


@register
class Bilinear(Initializer):
    """The weights of a transposed convolution that enlarges images by linear interpolation.

    Source: Long, Shelhamer and Darrell, 2015, section 3.3.
    """

    draws = False

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        if len(arr.shape) != 4:
            raise IndexingError(
                f"Bilinear takes the weight of a 2D convolution, (in, out, height, width); {str(desc)!r} "
                f"has shape {arr.shape}."
            )
        half = np.ceil(arr.shape[3] / 2.0)
        center = (2 * half - 1 - half % 2) / (2.0 * half)

        def triangle(extent: int) -> np.ndarray:
            distances: np.ndarray = np.abs(np.arange(extent) / half - center)
            return 1 - distances

        window = triangle(arr.shape[2])[:, None] * triangle(arr.shape[3])
        arr[:] = np.broadcast_to(window, arr.shape).astype(arr.dtype)


@register
class LSTMBias(Initializer):
    """Zeros, but ``forget_bias`` for the forget gate of an LSTM. Source: Gers et al., 2000.

    Args:
        forget_bias: of the second quarter: the gates are input, forget, cell, output.
    """

    draws = False

    def __init__(self, forget_bias: float = 1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, desc: str, arr: NDArray) -> None:
        arr._write_all(0.0)
        units = arr.shape[0] // 4
        arr[units : 2 * units] = self.forget_bias
