"""Arrays of a module's parameters on the CPU: created, initialized, and copied into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError
from mixnet.context import cpu
from mixnet.module.descriptions import PARAMETER_ENDINGS
from mixnet.ndarray.create import zeros
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from mixnet.initializer import InitDesc
    from mixnet.initializer.initializer import Initializer


def initialize(
    initializer: Initializer | None, desc: InitDesc, array: NDArray, inputs: str
) -> None:
    """Initialize a parameter.

    Args:
        initializer: fills the array.
        desc: name and attributes of the parameter.
        array: of the parameter.
        inputs: for messages, the names that are no parameters.

    Raises:
        ValueError: the initializer has no rule for that name.
    """
    if not callable(initializer) or isinstance(initializer, type):
        raise AttributeTypeError(
            f"init_params: initializer must be an Initializer, such as mx.init.Xavier(), "
            f"not {initializer!r}."
        )
    try:
        initializer(desc, array)
    except AttributeValueError as error:
        if str(desc).endswith(PARAMETER_ENDINGS):
            raise
        # Most often it is no parameter at all, but a label that was not named.
        raise AttributeValueError(
            f"{str(desc)!r} is neither in {inputs}, so it is a parameter here. If it is data or a "
            f"label, name it there; if it is a parameter: {error}"
        ) from None


def copy_checked(name: str, source: NDArray, array: NDArray) -> None:
    """Copy a given parameter into the module's array.

    Raises:
        ShapeError: it has another shape.
    """
    if isinstance(source, NDArray) and source.shape != array.shape:
        raise ShapeError(
            f"{name}: the given parameter has shape {source.shape}, but the module's has {array.shape}."
        )
    source.copyto(array)


def parameters_like(
    names: Sequence[str], arrays: Sequence[Sequence[NDArray]]
) -> dict[str, NDArray]:
    """Arrays on the CPU for parameters of which each device has an array."""
    return {
        name: zeros(parts[0].shape, cpu(), parts[0].dtype)
        if parts[0].stype == "default"
        else parts[0].copyto(cpu())
        for name, parts in zip(names, arrays, strict=True)
    }
