"""Check the options of the quantization functions."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, DTypeError, did_you_mean
from mixnet.context import Context
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

MODES = ("none", "naive", "entropy", "custom")
_CHOICES = {
    "quantized_dtype": ("int8", "uint8", "auto"),
    "quantize_mode": ("smart", "full"),
    "quantize_granularity": ("tensor-wise", "channel-wise"),
}


def check(name: str, ctx: Context | Sequence[Context] | None, **options: str) -> None:
    """Raise unless the options are some of those there are.

    Raises:
        AttributeValueError: one is not; names them all.
        AttributeTypeError: ``ctx`` is no device.
    """
    if not isinstance(ctx, Context):
        raise AttributeTypeError(
            f"{name}: ctx must be one device, such as mx.cpu(), not {ctx!r:.60}."
        )
    for key, value in options.items():
        choices = _CHOICES[key]
        if value not in choices:
            raise AttributeValueError(
                f"{name}: unknown {key} {value} received, expected one of "
                f"{', '.join(choices)}.{did_you_mean(str(value), choices)}"
            )


def check_mode(name: str, calib_mode: str, has_data: bool, collector: object = None) -> None:
    """Raise unless ranges can be measured in this way.

    Raises:
        AttributeValueError: the mode is unknown, or lacks data or a collector.
    """
    if calib_mode not in MODES:
        raise AttributeValueError(
            f"{name}: unknown calibration mode {calib_mode} received, expected one of "
            f"{', '.join(MODES)}.{did_you_mean(str(calib_mode), MODES)}"
        )
    if calib_mode != "none" and not has_data:
        raise AttributeValueError(
            f"{name}: calib_data must be provided when calib_mode={calib_mode}: an iterator or DataLoader of "
            f"examples, a few hundred. With calib_mode='none' the ranges are computed again for "
            f"each batch."
        )
    if calib_mode == "custom" and collector is None:
        raise AttributeValueError(
            f"{name}: calib_mode='custom' needs LayerOutputCollector, an object with collect(name, arr)."
        )


def check_names(name: str, **lists: Any) -> None:
    """Raise unless each of these arguments is None or a collection of names.

    Raises:
        AttributeValueError: one is not, for example a string, whose letters would be the names.
    """
    for key, value in lists.items():
        listed = isinstance(value, Collection) and not isinstance(value, str)
        if value is not None and not (listed and all(isinstance(each, str) for each in value)):
            raise AttributeValueError(
                f"{name}: {key} must be a list of strings, such as ['fc1'], not {value!r:.60}."
            )


def check_parameters(arrays: Mapping[str, NDArray]) -> None:
    """Raise if a parameter is in another float dtype than float32.

    Raises:
        DTypeError: one is; says how to cast the network.
    """
    for name, each in arrays.items():
        dtype = str(np.dtype(each.dtype))
        if "float" in dtype and dtype != "float32":
            raise DTypeError(
                f"contrib.quantization: parameter {name!r} is {dtype}; only networks in float32 can "
                f"be quantized. Cast the network, net.cast('float32'), and the examples."
            )


def say(logger: logging.Logger | ModuleType | None, text: str) -> None:
    """Tell a logger, if there is one."""
    if logger:
        (logger if hasattr(logger, "info") else logging).info(text)
