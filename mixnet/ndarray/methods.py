"""Array methods that are operators: taken from the registry, with MXNet's calling conventions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    ShapeError,
    SizeError,
    checked_shape,
)
from mixnet.ndarray.invoke import Results, check_face, invoke, invoke_any, make_function
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
from mixnet.ops.registry import OPERATORS, find
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.runtime.value.call import make_call
from mixnet.runtime.value.value import Spec


def output_spec(op: Op, statics: Statics, spec: Spec) -> Spec:
    """Shape and dtype of the output of a unary operator, without recording it."""
    call = op.calls.get((statics, (spec,), None)) or make_call(op, statics, (spec,), 0, None)
    return call.outputs[0]


def reshape(self: NDArray, *shape: object, **kwargs: object) -> NDArray:
    """The same storage in another shape; -1 takes what remains, 0 keeps the axis.

    MXNet's codes -2, -3 and -4 and ``reverse`` are those of the operator ``Reshape``.

    Args:
        kwargs: ``shape``, instead of arguments by position; ``reverse``, to read the codes from the
            last axis on.

    Raises:
        SizeError: the new shape has fewer elements.
        ShapeError: it has more.
        CheckError: there is no shape.
    """
    for name in kwargs:
        if name not in ("shape", "reverse"):
            raise AttributeTypeError(f"reshape has no argument {name!r}; it has shape and reverse.")
    if not shape and not kwargs.get("shape"):
        raise CheckError(f"reshape: give the new shape of {self.shape}, as in reshape((-1,)).")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])  # () asks for an array without axes
    elif not shape:
        shape = kwargs["shape"]  # type: ignore[assignment]
    target = checked_shape("reshape", shape)
    if target.count(-1) > 1 and min(target) == -1:
        raise ShapeError(f"reshape: {target} leaves more than one axis open; only one may be -1.")
    op = find("Reshape")
    if all(each > 0 for each in target):
        size = int(np.prod(target, dtype=np.int64))
        if size != self.size:
            error = ShapeError if size > self.size else SizeError  # MXNet checks these elsewhere
            raise error(
                f"reshape: {self.size} elements of shape {self.shape} do not fit into {target}."
            )
        return self._view(0, target)
    # The operator knows MXNet's codes: its output shape is that of the view.
    attributes = {"shape": target, "reverse": bool(kwargs.get("reverse", False))}
    statics, _ = op.bind(attributes)
    try:
        return self._view(0, output_spec(op, statics, self._spec).shape)
    except ShapeError as error:
        if min(target) == -1:
            raise SizeError(str(error)) from None
        raise


def transposed(self: NDArray, *axes: Any, **kwargs: Any) -> NDArray:
    """The array with axes in another order, reversed by default.

    Args:
        kwargs: ``axes``, instead of arguments by position.
    """
    order = axes[0] if len(axes) == 1 else axes
    return invoke(find("transpose"), (self,), {"axes": order, **kwargs})


def broadcast_to(self: NDArray, shape: int | Sequence[int]) -> NDArray:
    """The array repeated along axes of extent one to ``shape``; 0 keeps an axis as it is.

    As NumPy does, it puts axes of extent one in front where ``shape`` has more.

    Raises:
        SizeError: the array cannot have that shape.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    before = (*[1] * (len(shape) - self.ndim), *self.shape)
    if len(before) != len(shape) or any(
        n not in (1, m) and m for n, m in zip(before, shape, strict=True)
    ):
        raise SizeError(
            f"broadcast_to: an array of shape {self.shape} cannot become {shape}; only axes of extent 1 "
            f"are repeated."
        )
    if before != self.shape:
        self = self.reshape(before)
    return invoke(find("broadcast_to"), (self,), {"shape": shape})


def broadcast_like(self: NDArray, other: NDArray) -> NDArray:
    """The array repeated along axes of extent one to the shape of ``other``."""
    return broadcast_to(self, other.shape)


def operate(
    cls: type[NDArray],
    op: Op,
    arrays: Any,
    attributes: dict[str, Any],
    out: NDArray | Sequence[NDArray] | None = None,
    called: str = "",
) -> Results:
    """Invoke an operator for a function of ``mx.np``, which refuses arrays of ``mx.nd``."""
    check_face(op, arrays, numpys=True)
    return invoke_any(op, arrays, attributes, out, cls)


def flatten(self: NDArray, inplace: bool = False) -> NDArray:
    """All axes but the first joined; with ``inplace`` on the same storage."""
    flat = invoke(find("Flatten"), (self,), {})
    return self._view(0, flat.shape) if inplace else flat


def squeeze(
    self: NDArray, axis: int | Sequence[int] | None = None, inplace: bool = False
) -> NDArray:
    """The array without axes of extent one: all, or ``axis``; with ``inplace`` on the same storage."""
    squeezed = invoke(find("squeeze"), (self,), {"axis": axis})
    return self._view(0, squeezed.shape) if inplace else squeezed


def expand_dims(self: NDArray, axis: int, inplace: bool = False) -> NDArray:
    """The array with a new axis of extent one; with ``inplace`` on the same storage."""
    expanded = invoke(find("expand_dims"), (self,), {"axis": axis})
    return self._view(0, expanded.shape) if inplace else expanded


def diag(self: NDArray, k: int = 0, **kwargs: object) -> NDArray:
    """A diagonal of a matrix, or the matrix with this diagonal.

    Args:
        k: number of the diagonal: 0 is the main one, positive ones are above it.
        kwargs: ``axis1`` and ``axis2``, the axes of the matrix.
    """
    return invoke(find("diag"), (self,), {"k": k, **kwargs})


def slice_assign(
    self: NDArray,
    rhs: NDArray | float,
    begin: Sequence[int | None],
    end: Sequence[int | None],
    step: Sequence[int | None],
) -> NDArray:
    """Write ``rhs`` to the block between ``begin`` and ``end``; returns the array.

    Args:
        step: a step for each axis, None for 1.
    """
    self[
        tuple(slice(*each) for each in zip(begin, end, step or (1,) * len(begin), strict=True))
    ] = rhs
    return self


def slice_assign_scalar(
    self: NDArray,
    value: float,
    begin: Sequence[int | None],
    end: Sequence[int | None],
    step: Sequence[int | None],
) -> NDArray:
    """Write a number to the block between ``begin`` and ``end``; returns the array.

    Args:
        value: a number.
        step: a step for each axis, None for 1.
    """
    return slice_assign(self, value, begin, end, step)


def split_v2(
    ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> Results:
    """Cut along ``axis`` into equal parts, or before each of several indices.

    Args:
        ary: an array or a symbol.
        indices_or_sections: a number of equal parts, or a tuple of indices at which to cut.
        squeeze_axis: drop ``axis``, which has extent 1 in each part.

    Raises:
        ValueError: neither a number nor a tuple of indices, or the parts are not equal.
    """
    if isinstance(indices_or_sections, int):
        _check_parts(ary, indices_or_sections, axis)
        attributes: dict[str, Any] = {"indices": (), "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (tuple, list)):
        attributes = {"indices": (0, *indices_or_sections), "sections": 0}
    else:
        raise AttributeValueError(
            "split_v2: indices_or_sections must be a whole number or a tuple."
        )
    return invoke_any(
        find("_split_v2"), (ary,), {**attributes, "axis": axis, "squeeze_axis": squeeze_axis}
    )


def _check_parts(array: object, sections: int, axis: int) -> None:
    if sections > 0 and isinstance(array, NDArray) and -array.ndim <= axis < array.ndim:
        extent = array.shape[axis]
        if extent % sections:
            raise AttributeValueError(
                f"split_v2: {extent} along axis {axis} cannot be cut into {sections} equal parts; "
                f"give indices."
            )


def _split_v2(self: NDArray, *args: Any, **kwargs: Any) -> Results:
    """Cut along ``axis`` into equal parts, or before each of several indices.

    Args:
        args: ``indices_or_sections``, ``axis`` and ``squeeze_axis`` of :func:`split_v2`.
        kwargs: the same by name.
    """
    return split_v2(self, *args, **kwargs)


def _to_dlpack(self: NDArray) -> Any:
    """A DLPack capsule of the array's buffer; writes through it do not reach the array."""
    return self.__dlpack__()


_OF_EVERY_METHOD = {
    "args": "the other arrays and the attributes, in this order.",
    "kwargs": "other arguments of the function of this name.",
}
"""The arguments of each method besides the attributes of its operator."""


def _with_axes(op: Op, name: str) -> Any:
    """A method that takes MXNet's free arguments, with a signature that says which there are."""
    function = make_function(op, name, None)

    def method(self: NDArray, *args: object, **kwargs: object) -> Any:
        return function(self, *args, **kwargs)

    kind = inspect.Parameter
    options = [
        kind(each.name, kind.KEYWORD_ONLY, default=each.default) for each in op.attributes.values()
    ]
    method.__name__ = method.__qualname__ = name
    method.__doc__ = with_arguments(op.__doc__ or "", _OF_EVERY_METHOD)
    method.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        kind("self", kind.POSITIONAL_OR_KEYWORD),
        kind("args", kind.VAR_POSITIONAL),
        *options,
        kind("kwargs", kind.VAR_KEYWORD),
    ])  # fmt: skip
    return method


# Methods that are operators of another name.
_RENAMED = {"split": "SliceChannel"}


def install(cls: Any) -> None:
    """Give a class of arrays the methods that the registry declares."""
    for name, op in OPERATORS.items():
        if op.method and name.isidentifier() and not hasattr(cls, name):
            setattr(cls, name, _with_axes(op, name))
    for name, operator in _RENAMED.items():
        setattr(cls, name, _with_axes(find(operator), name))
    for each in (flatten, squeeze, expand_dims, diag, slice_assign, slice_assign_scalar):
        setattr(cls, each.__name__, each)
    cls.split_v2 = _split_v2
    cls.to_dlpack_for_read = cls.to_dlpack_for_write = _to_dlpack
    for name in ("div", "rdiv", "idiv"):
        setattr(cls, f"__{name}__", getattr(cls, f"__{name.replace('div', 'truediv')}__"))
    cls.__nonzero__ = cls.__bool__
    cls._operate = classmethod(operate)
    cls.reshape = reshape
    cls.transpose = transposed
    cls.T = property(lambda self: transposed(self) if self.ndim > 1 else self)  # as in MXNet
    cls.broadcast_to = broadcast_to
    cls.broadcast_like = broadcast_like
