"""Dtypes of 8-bit integer operators: the ranges are float32, whatever the data type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mixnet.ops.schema.dtypes import Dtypes

_ARRAYS = ("data", "weight", "bias")
_RANGES = (
    *(f"{end}_{name}" for name in (*_ARRAYS, "range") for end in ("min", "max")),
    *(f"{name}_{end}" for name in ("lhs", "rhs") for end in ("min", "max")),
    "data_scale",
    "data_shift",
)


def with_ranges(
    result: str | Callable[[Mapping[str, Any]], str | None] | None = None,
    own: Mapping[str, str | None] | Callable[[int], Mapping[int, str | None]] | None = None,
    usual: str = "int8",
) -> Dtypes:
    """The dtypes of an operator that takes, or gives, arrays of integers with their ranges.

    Args:
        result: of the first output, as :class:`Dtypes` has it; the outputs behind it are ranges.
        own: of arrays that are neither ranges nor of the data's dtype; a function also gives the ranges.
        usual: the dtype that shape inference assumes where none is known.
    """
    if not callable(own):
        own = {**dict.fromkeys(_RANGES, "float32"), **(own or {})}
    return Dtypes(own=own, result=result, others="float32", usual=usual)


def out_type(attributes: Mapping[str, Any]) -> str | None:
    """The attribute ``out_type`` where it names a dtype."""
    dtype = attributes["out_type"]
    return None if dtype == "auto" else dtype
