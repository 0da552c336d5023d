"""How operators become fused layers and layers on integers, as MXNet's oneDNN subgraphs have them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal


def always() -> bool:
    """Whatever the attributes are."""
    return True


def all_inputs(count: int) -> Collection[int]:
    """Every input becomes integers."""
    return range(count)


def first_input(count: int) -> Collection[int]:
    """The data alone becomes integers."""
    return (0,)


def last_input(count: int) -> Collection[int]:
    """The weight alone becomes integers."""
    return (count - 1,)


def plain_images(*, kernel: tuple[int, ...], layout: str | None) -> bool:
    """A window over images with channels first."""
    return len(kernel) == 2 and layout in (None, "NCHW")


@dataclass(frozen=True, eq=False)
class Fusion:
    """The part that an operator has in a fused layer; see :mod:`mixnet.ops.quantized.fused`.

    Args:
        part: which one it is.
        fits: a function of the attributes: whether a call can be fused.
    """

    part: Literal["convolution", "affine", "norm", "sum", "activation"]
    fits: Callable[..., bool] = always


@dataclass(frozen=True, eq=False)
class Quantization:
    """How an operator is quantized; see ``passes/quantize_layers``.

    Args:
        name: of the operator on integers.
        is_layer: whether it pays by itself; others are quantized between such ones in the mode "smart".
        reads: which inputs become integers: a function of their number and of the attributes it names.
        sums: whether its result is sums in int32, which are rounded again.
        calibrated: whether it needs a measured range of its result; one with ``sums`` is
            measured in any case.
        fits: a function of the attributes: whether a call can be quantized.
    """

    name: str
    is_layer: bool = False
    reads: Callable[..., Collection[int]] = all_inputs
    sums: bool = False
    calibrated: bool = False
    fits: Callable[..., bool] = always


Activation = str | Callable[..., str | None] | None
"""The activation function that an operator applies to every element, or a function of its
attributes that says which.
"""


def pools(*, pool_type: str, layout: str | None) -> bool:
    """A pooling that exists on integers."""
    return pool_type in ("max", "avg") and layout in (None, "NCHW")


def is_relu(*, act_type: str) -> bool:
    """An activation that leaves integers integers."""
    return act_type == "relu"


def data_and_sum(count: int, *, with_sum: bool) -> Collection[int]:
    """The data of a fused convolution, and the array that is added."""
    return (0, count - 1) if with_sum else (0,)


def by_channel(*, axis: int, output_mean_var: Any) -> bool:
    """A normalization of the second axis whose statistics are not used."""
    return axis == 1 and not output_mean_var
