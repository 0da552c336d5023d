"""Operators whose attributes follow from the shapes of arrays, for networks that take any batch or length."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.op import Op
from mixnet.ops.registry import find, op
from mixnet.ops.schema.attributes import Count, DType, Shape
from mixnet.ops.schema.expressions import computed

_SOME = (
    5040  # an extent by which attributes are checked where it is a symbol; many numbers divide it
)


@op("_extents", differentiable=False, flops=0, in_amp_lists=False)
def extents(*data, values: str, dtype: DType = "int64"):
    """Numbers computed from the shapes of arrays.

    Args:
        data: arrays whose shapes are read.
        values: an expression such as ``(shape0[0], 2 * shape1[1])``: ``shape0[1]`` is the extent of axis 1
            of the first array; numbers, ``+ - * // %``, and ``max`` and ``min`` of two.

    Raises:
        OperatorValueError: ``values`` is no such expression.
        ShapeError: an array or axis in it does not exist.
    """
    numbers = computed("_extents", values, [each.shape for each in data])
    numbers = numbers if isinstance(numbers, tuple) else (numbers,)
    if all(isinstance(each, (int, np.integer)) for each in numbers):
        return jnp.asarray(np.asarray(numbers, np.int64).astype(dtype))
    return jnp.stack([jnp.asarray(each) for each in numbers]).astype(dtype)


@op("_with_extents", in_amp_lists=False)
def with_extents(*data, operator: str, attributes: str, num_shapes: Count = 1):
    """Another operator, with attributes computed from the shapes of arrays.

    ``_with_extents(x, y, operator="_npi_broadcast_to", attributes="{'shape': (shape0[0], 4)}")`` repeats
    ``x`` as often as the first axis of ``y`` is long.

    Args:
        data: the arrays of the operator, then those whose shapes are read.
        operator: its name. It has one output, draws no random numbers and writes no states.
        attributes: its attributes, as a dict; see ``values`` of ``_extents``.
        num_shapes: how many arrays are read for their shapes alone.

    Raises:
        OperatorValueError: there is no such operator, or ``attributes`` is no such expression.
        ShapeError: an array or axis in it does not exist.
    """
    if num_shapes > len(data):
        raise ShapeError(
            f"_with_extents: num_shapes={num_shapes} of {len(data)} arrays; give as many arrays at least."
        )
    arrays, measured = data[: len(data) - num_shapes], data[len(data) - num_shapes :]
    called = find(operator)
    if not isinstance(called, Op) or called.takes_key or called.states or called is with_extents:
        raise OperatorValueError(
            f"_with_extents: operator={operator!r} draws random numbers or writes states; only others "
            f"can be called."
        )
    shapes = [tuple(each.shape) for each in measured]
    statics, scalars = _bound(called, attributes, shapes)
    (result, *more) = called.apply(statics, list(arrays), [np.float64(each) for each in scalars])
    if more:
        raise OperatorValueError(f"_with_extents: operator={operator!r} has several outputs.")
    return result


def _bound(called: Op, text: str, shapes: list[Any]) -> Any:
    """The attributes of a call, checked; symbols among the extents are put in after the check."""
    keywords = computed("_with_extents", text, shapes)
    if not isinstance(keywords, dict):
        raise OperatorValueError(f"_with_extents: attributes={text!r:.80} is not a dict.")
    if all(isinstance(each, int) for shape in shapes for each in shape):
        return called.bind(keywords)
    some = [tuple(e if isinstance(e, int) else _SOME for e in shape) for shape in shapes]
    statics, scalars = called.bind(computed("_with_extents", text, some))
    open_ones = {name: value for name, value in keywords.items() if _is_open(value)}
    known = called.keywords(statics, scalars)
    numbers = [known[name] for name in called.dynamic if name not in open_ones]
    numbers = [n for each in numbers for n in (each if isinstance(each, tuple) else (each,))]
    open_ones |= {n: jnp.asarray(v) for n, v in open_ones.items() if n in called.dynamic}
    return called.rebind(statics, **open_ones), [each for each in numbers if each is not None]


def _is_open(value: Any) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return any(not isinstance(each, (int, float, str, bool, type(None))) for each in items)


@op("_of_shape", flops=0, in_amp_lists=False, passes_gradient=True)
def of_shape(data, *, shape: Shape, why: str = ""):
    """The array itself, which must have a certain shape.

    Args:
        shape: the extents; 0 for any.
        why: what the message says of it.

    Raises:
        ShapeError: it has another shape.
    """
    if len(shape) != data.ndim or any(
        e not in (0, d) for e, d in zip(shape, data.shape, strict=True)
    ):
        expected = ", ".join(str(each or "any") for each in shape)
        raise ShapeError(f"An array of shape {data.shape} was given for one of ({expected}). {why}")
    return jax.lax.stop_gradient(data) if data.dtype.kind in "iub" else data
