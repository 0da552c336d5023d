"""The list of a parameter's arrays, in which they can be replaced."""

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
