"""DLPack capsules, as returned by MXNet's ``to_dlpack_for_read`` and accepted by its ``from_dlpack``."""

from __future__ import annotations

import ctypes
from typing import Any

from mixnet.base import AttributeValueError

_UNUSED = b"dltensor"  # a consumer that takes ownership renames the capsule
# In DLManagedTensor, after the address of the data.
_PLACE_OF_DEVICE = ctypes.sizeof(ctypes.c_void_p)


class Capsule:
    """An object with ``__dlpack__`` around a capsule, as other libraries require.

    Raises:
        ValueError: the capsule was used up, or holds something else.
    """

    def __init__(self, capsule: object):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        try:
            address = pointer(capsule, _UNUSED)
        except ValueError:
            raise AttributeValueError(
                f"from_dlpack takes a capsule once, and this one is {capsule!r}; make another with "
                f"to_dlpack_for_read()."
            ) from None
        self._capsule = capsule
        self._device = tuple((ctypes.c_int32 * 2).from_address(address + _PLACE_OF_DEVICE))

    @staticmethod
    def wraps(dlpack: object) -> bool:
        """Whether something is a capsule."""
        return type(dlpack).__name__ == "PyCapsule"

    def __dlpack__(self, **_: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> Any:
        return self._device
