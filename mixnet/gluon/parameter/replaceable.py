"""The lists of a parameter's arrays and gradients, in which they can be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from mixnet.context import Context


class ReplaceableArrays(list[NDArray]):
    """The arrays of a parameter, as ``_data`` returns them; assigning an item replaces the array."""

    def __init__(self, arrays: dict[Context, NDArray]) -> None:
        super().__init__(arrays.values())
        self._arrays = arrays

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._arrays.update(zip(list(self._arrays), self, strict=True))


class ReplaceableGradients(list[NDArray]):
    """The gradients of a parameter, as ``_grad`` returns them.

    An array that replaces an item is the gradient for trainers and users of the parameter; backward writes
    to the same array as before.
    """

    def __init__(self, arrays: dict[Context, NDArray], replaced: dict[Context, NDArray]) -> None:
        super().__init__(gradient_of(each, replaced) for each in arrays.values())
        self._contexts = list(arrays)
        self._replaced = replaced

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._replaced.update(zip(self._contexts, self, strict=True))


def gradient_of(array: NDArray, replaced: dict[Context, NDArray]) -> NDArray:
    """The gradient of one of a parameter's arrays: the one that replaces it, or that of backward."""
    gradient: NDArray = replaced.get(array.context, array.grad)
    return gradient
