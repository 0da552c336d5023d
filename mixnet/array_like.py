"""Arrays of any library: what they have in common, and functions that recognize them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class HasDType(Protocol):
    """A value with a dtype."""

    @property
    def dtype(self) -> Any: ...


class HasShape(Protocol):
    """A value with a shape; symbols have none before shapes are inferred."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class ArrayLike(HasDType, HasShape, Protocol):
    """An array of any library."""


def has_shape(value: object) -> TypeIs[HasShape]:
    """Whether a value has a shape."""
    return hasattr(value, "shape")


def has_dtype(value: object) -> TypeIs[HasDType]:
    """Whether a value has a dtype."""
    return hasattr(value, "dtype")


def is_array_like(value: object) -> TypeIs[ArrayLike]:
    """Whether a value has a shape and a dtype."""
    return has_shape(value) and has_dtype(value)


def shape_of(value: object) -> tuple[int, ...] | None:
    """The shape of a value; None if it has none."""
    return value.shape if has_shape(value) else None
