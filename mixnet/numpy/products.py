"""Products of ``mx.np`` arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.array_like import has_shape, shape_of
from mixnet.base import AttributeTypeError, AttributeValueError, NotAnArrayError
from mixnet.numpy.call import NUMBERS, as_axes, as_operator, call, counted_from_first, is_array

if TYPE_CHECKING:
    from mixnet.numpy.call import Array, Operable, Operand


@as_operator("_np_dot")
def dot(a: Operand, b: Operand, out: Operable | None = None) -> Any:
    """Product over the last axis of ``a`` and the second to last, or only, one of ``b``.

    Args:
        a: any shape.
        b: any shape.
        out: an array for the result.

    Raises:
        TypeError: a number; use ``multiply``.
    """
    if isinstance(a, NUMBERS) or isinstance(b, NUMBERS):
        raise NotAnArrayError("dot takes no numbers; use multiply or *.")
    return call("_np_dot", a, b, out=out)


def matmul(a: Operand, b: Operand, out: Operable | None = None, **kwargs: object) -> Any:
    """Matrix product of the last two axes, the others broadcast.

    Args:
        a: at least one axis.
        b: at least one axis; its second to last, or only, has the extent of the last of ``a``.
        out: an array for the result.
        kwargs: options of NumPy's ufuncs, which are ignored.

    Raises:
        TypeError: a number; use ``multiply``.
    """
    if isinstance(a, NUMBERS) or isinstance(b, NUMBERS):
        raise NotAnArrayError("matmul takes no numbers; use multiply or *.")
    return call("_npi_matmul", a, b, out=out)


def inner(a: Operand, b: Operand) -> Any:
    """Product over the last axes of both, or of all elements with an array without axes.

    Args:
        a: any shape.
        b: the same extent in its last axis.
    """
    if is_array(a) and is_array(b) and () in (shape_of(a), shape_of(b)):
        return call("_npi_multiply", a, b)
    return tensordot(a, b, [-1, -1])


def outer(a: Array, b: Array) -> Any:
    """Every element of ``a`` times every one of ``b``, both flattened."""
    return tensordot(a.reshape(-1), b.reshape(-1), 0)


def vdot(a: Array, b: Array) -> Any:
    """Sum of the products of the elements of both, flattened.

    Args:
        a: any shape; flattened.
        b: as many elements.
    """
    return tensordot(a.reshape(-1), b.reshape(-1), 1)


def tensordot(a: Operand, b: Operand, axes: int | Sequence[int] = 2) -> Any:
    """Product over several axes.

    Args:
        a: any shape.
        b: any shape.
        axes: how many last axes of ``a`` meet first ones of ``b``, or a pair of axes or of lists.

    Raises:
        AxisError: an array does not have these axes.
    """
    if isinstance(axes, (int, onp.integer)):
        return call("_npi_tensordot_int_axes", a, b, axes=int(axes))
    if len(axes) != 2:
        raise AttributeValueError(f"tensordot: axes={axes!r} must be a number or a pair.")
    left, right = (tuple(as_axes(each)) for each in axes)
    if len(left) != len(right):
        raise AttributeValueError(f"tensordot: {left} and {right} must be the same number of axes.")
    return call(
        "_npi_tensordot",
        a,
        b,
        a_axes_summed=_counted_from_first(a, left),
        b_axes_summed=_counted_from_first(b, right),
    )


def _counted_from_first(array: Operand, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Axes without negative numbers; of a symbol as they are, for nobody knows how many it has."""
    return counted_from_first("tensordot", axes, array.ndim) if has_shape(array) else axes


def einsum(*operands: object, **kwargs: object) -> Any:
    """Sums of products by Einstein's convention: ``einsum('ij,jk->ik', a, b)``.

    Args:
        operands: the subscripts, then the arrays.
        kwargs: ``out``; ``optimize`` is taken, XLA finds the order.
    """
    out = kwargs.pop("out", None)
    optimize = kwargs.pop("optimize", False)
    if not operands or not isinstance(operands[0], str):
        raise AttributeValueError(
            "einsum: the subscripts come first, as in einsum('ij,jk->ik', a, b)."
        )
    return call(
        "_npi_einsum", *operands[1:], out=out, subscripts=operands[0], optimize=int(bool(optimize))
    )


def polyval(
    p: Array | onp.ndarray | Sequence[Any], x: Array | onp.ndarray | Sequence[Any] | float
) -> Any:
    """The polynomial with coefficients ``p``, highest power first, at ``x``."""
    if is_array(p) and is_array(x):
        return call("_npi_polyval", p, x)
    if not is_array(p) and not is_array(x):
        return onp.polyval(p, x)
    raise AttributeTypeError("polyval takes two mx.np arrays.")
