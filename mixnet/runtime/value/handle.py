"""The protocol of arrays for lower layers: an object that points to a value, which can be replaced."""

from __future__ import annotations

from typing import Any, Self

from mixnet.runtime.value.value import Value


class Handle:
    """An array as the user holds it: an ``NDArray``, an ``mx.np.ndarray``, or a sparse array."""

    __slots__ = ("__weakref__", "_link", "_value")
    _is_sparse = False

    _value: Value
    _link: Any  # the base of a view, or the mark of a variable; None for most arrays

    @classmethod
    def _wrap(cls, value: Value) -> Self:
        """Another array of this class."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """Data type, as NumPy's scalar type or dtype."""
        raise NotImplementedError

    @property
    def stype(self) -> str:
        """Storage type: ``default``, ``row_sparse`` or ``csr``."""
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def _read(self) -> Value:
        """The value now."""
        raise NotImplementedError

    def _write(self, value: Value) -> None:
        """Replace the content by a value of the same shape, dtype and context."""
        raise NotImplementedError

    def _written_to(self, whole: Value, value: Value) -> Value:
        """The content of a view's base, ``whole``, with ``value`` where the view is."""
        raise NotImplementedError

    def _check_write(self) -> None:
        """Raise an error if writing would change values that a tape has recorded."""
        raise NotImplementedError

    def _zeros_like(self) -> Self:
        """Zeros of the same shape, dtype, context and storage."""
        raise NotImplementedError

    # ---- for autograd -----------------------------------------------------------------------------

    def _head_value(self) -> Value:
        """The value; a variable of the tape if the array is one."""
        raise NotImplementedError

    def _set_mark(self, mark: Any) -> None:
        """Make the array a variable."""
        raise NotImplementedError

    def _drop_mark(self) -> None:
        """Make the array an ordinary one again, not a variable."""
        raise NotImplementedError

    def _write_rows(self, parts: Any, add: bool) -> None:
        """Set the array to, or with ``add`` add to it, the sum of pairs of row numbers and rows."""
        raise NotImplementedError
