"""Relations between the shapes of a call's arrays and results, by which inference also goes from
results to arrays.

A shape may be partly known: extents below ``least`` are open. ``passes/infer_shape`` asks an
operator's constraint whenever more is known; without a constraint, it tries which shape of a
single array gives the known results.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

Shape = tuple[int, ...]
Known = Shape | None
"""A shape that may be partly known, or None where nothing is."""


def merged(first: Known, second: Known, least: int = 1) -> Known:
    """What two partly known shapes say together; None if they contradict each other.

    Args:
        first: a shape, or None.
        second: another.
        least: the least extent that is known: 1, or 0 where -1 alone stands for an unknown one.
    """
    if first is None or second is None:
        return first if second is None else second
    if len(first) != len(second):
        return None
    if any(a >= least and b >= least and a != b for a, b in zip(first, second, strict=True)):
        return None
    return tuple(a if a >= least else b for a, b in zip(first, second, strict=True))


class CallShapes(ABC):
    """The shapes around one call, as far as they are known; a constraint reads them and sets what follows.

    Args:
        count: number of inputs.
        least: the least extent that is known: 1, or 0 where -1 alone stands for an unknown one.
    """

    def __init__(self, count: int, least: int):
        self.count, self.least = count, least
        self.unknown = least - 1
        """What stands for an unknown extent."""

    def is_known(self, shape: Known) -> bool:
        """Whether a shape is complete."""
        return shape is not None and all(extent >= self.least for extent in shape)

    @abstractmethod
    def input(self, place: int) -> Known:
        """The shape of an input."""

    @abstractmethod
    def output(self, place: int = 0) -> Known:
        """The shape of an output."""

    @abstractmethod
    def source(self, place: int) -> Known:
        """The shape of what the operation that makes an input reads; of the input where a variable does."""

    @abstractmethod
    def set_input(self, place: int, shape: Sequence[int]) -> None:
        """An input has this shape, as far as it says one.

        Raises:
            ShapeError: it is known to have another.
        """

    @abstractmethod
    def set_output(self, place: int, shape: Sequence[int]) -> None:
        """An output has this shape, as far as it says one.

        Raises:
            ShapeError: it is known to have another.
        """

    @abstractmethod
    def set_source(self, place: int, shape: Sequence[int]) -> None:
        """See ``source``."""

    @abstractmethod
    def same(self, inputs: Iterable[int], outputs: Iterable[int] = ()) -> None:
        """These inputs and outputs have one shape."""

    @abstractmethod
    def try_input(self) -> None:
        """Try which shape of the only input gives the results that are known."""


Constraint = Callable[..., None]
"""``rule(shapes, *, attributes...)``: reads and sets a :class:`CallShapes`; names the attributes
that it needs.
"""


def all_same(shapes: CallShapes) -> None:
    """All arrays and the first result have one shape."""
    shapes.same(range(shapes.count), [0])


def same_but_last(shapes: CallShapes) -> None:
    """All arrays but the last and the first result have one shape."""
    shapes.same(range(shapes.count - 1), [0])


def same_as_first(shapes: CallShapes) -> None:
    """The first array and the first result have one shape."""
    shapes.same([0], [0])


def same_inputs(shapes: CallShapes) -> None:
    """All arrays have one shape."""
    shapes.same(range(shapes.count))


def same_pairs(shapes: CallShapes) -> None:
    """Every result has the shape of the array at its place."""
    for place in range(shapes.count):
        shapes.same([place], [place])


def same_choices(shapes: CallShapes) -> None:
    """The result and what is chosen from have one shape; the condition may be one number for each row."""
    shapes.same(range(1, shapes.count), [0])


def same_batch(shapes: CallShapes) -> None:
    """The first axis of the data is that of the result."""
    data, out = shapes.input(0), shapes.output()
    if data and out and data[0] < shapes.least <= out[0]:
        shapes.set_input(0, (out[0], *data[1:]))


def window(
    shapes: CallShapes,
    *,
    kernel: Shape,
    stride: Shape,
    dilate: Shape,
    pad: Shape,
    layout: str | None,
) -> None:
    """A convolution keeps the batch, and by single steps the extents of its result give those of the data."""
    same_batch(shapes)
    data, out = shapes.input(0), shapes.output()
    if not data or not out or len(data) != len(out) or str(layout or "NC").upper()[:2] != "NC":
        return
    axes = len(data) - 2
    steps, gaps, pads = (
        tuple(value or (usual,) * axes) for value, usual in ((stride, 1), (dilate, 1), (pad, 0))
    )
    extents = [
        (size - 1) * gap + 1 - 2 * padded + extent - 1
        if step == 1 and before < shapes.least <= extent
        else before
        for before, extent, size, step, gap, padded in zip(
            data[2:], out[2:], kernel, steps, gaps, pads, strict=True
        )
    ]
    shapes.set_input(0, (*data[:2], *extents))


def begins_with_parameters(shapes: CallShapes, *, shape: Shape) -> None:
    """Parameters of a distribution have one shape, which that of the draws begins with."""
    shapes.same(range(shapes.count))
    out = shapes.output()
    if out is not None and len(out) > len(shape):
        for place in range(shapes.count):
            shapes.set_input(place, out[: len(out) - len(shape)])


def same_number(shapes: CallShapes) -> None:
    """The result has as many elements as the array, so that one unknown extent of it follows."""
    shapes.try_input()
    data, out = shapes.input(0), shapes.output()
    if data is None or out is None or not shapes.is_known(out):
        return
    unknown = [axis for axis, extent in enumerate(data) if extent < shapes.least]
    if len(unknown) != 1:
        return
    (axis,) = unknown
    rest = math.prod(data[:axis]) * math.prod(data[axis + 1 :])
    if rest and math.prod(out) % rest == 0:
        shapes.set_input(0, (*data[:axis], math.prod(out) // rest, *data[axis + 1 :]))


def joined(shapes: CallShapes, *, dim: int) -> None:
    """Arrays that are joined are alike but for one axis, whose extents add up."""
    _joined(shapes, shapes.count, dim)


def joined_along(shapes: CallShapes, *, axis: int | None, dim: int | None) -> None:
    """As ``joined``, by another name of the axis; without one, arrays of any shapes are joined."""
    axis = axis if dim is None else dim
    if axis is not None:
        _joined(shapes, shapes.count, axis)


def joined_with_ranges(shapes: CallShapes, *, dim: int) -> None:
    """Joined arrays, with two numbers for the range of each behind them, and of the result."""
    count = shapes.count // 3
    if shapes.count != 3 * count:
        return  # the operator says what is wrong
    _joined(shapes, count, dim)
    _ends(shapes, range(count, shapes.count))
    for place in (1, 2):
        shapes.set_output(place, (1,))


def with_range(shapes: CallShapes) -> None:
    """Data and result have one shape; the ends of their ranges, where they have some, are one number each."""
    shapes.same([0], [0])
    _ends(shapes, range(1, shapes.count))


def _ends(shapes: CallShapes, places: Iterable[int]) -> None:
    """Inputs that are ends of ranges have one element; where its shape is known, the operator checks it."""
    for place in places:
        if not shapes.is_known(shapes.input(place)):
            shapes.set_input(place, (1,))


def with_new_range(shapes: CallShapes) -> None:
    """As ``with_range``, and the result has a range, too."""
    with_range(shapes)
    for place in (1, 2):
        shapes.set_output(place, (1,))


def one_number(shapes: CallShapes) -> None:
    """The result is one number."""
    shapes.set_output(0, (1,))


def two_numbers(shapes: CallShapes) -> None:
    """Each of two results is one number."""
    shapes.set_output(0, (1,))
    shapes.set_output(1, (1,))


def counted(shapes: CallShapes, *, bin_cnt: int | None) -> None:
    """The results are a number for each bin, and the edges of the bins, one more."""
    if bin_cnt is not None:
        shapes.set_output(0, (bin_cnt,))
        shapes.set_output(1, (bin_cnt + 1,))


def number_each(shapes: CallShapes) -> None:
    """The result is one number for each array."""
    shapes.set_output(0, (shapes.count,))


def triangular(shapes: CallShapes, *, rightside: bool) -> None:
    """A square matrix multiplies or divides an array, whose shape the result has."""
    shapes.same([1], [0])
    out = shapes.output()
    if out is not None and len(out) >= 2:
        extent = out[-1] if rightside else out[-2]
        shapes.set_input(0, (*out[:-2], extent, extent))


def _joined(shapes: CallShapes, count: int, dim: int) -> None:
    inputs, out = [shapes.input(place) for place in range(count)], shapes.output()
    rank = next((len(each) for each in (*inputs, out) if each), None)
    if rank is None or any(each and len(each) != rank for each in (*inputs, out)):
        return
    axis = dim % rank
    alike: Known = None
    for each in (*inputs, out):
        if each:
            rest = (*each[:axis], shapes.unknown, *each[axis + 1 :])
            alike = merged(alike, rest, shapes.least)
            if alike is None:
                return  # the operator says what is wrong
    assert alike is not None
    for place, each in enumerate(inputs):
        if not shapes.is_known(each):
            shapes.set_input(place, alike)
    extents = [(shapes.input(place) or alike)[axis] for place in range(count)]
    total = sum(extents) if min(extents) >= shapes.least else shapes.unknown
    shapes.set_output(0, (*alike[:axis], total, *alike[axis + 1 :]))
    total = (shapes.output() or alike)[axis]
    unknown = [place for place, extent in enumerate(extents) if extent < shapes.least]
    if total >= shapes.least and len(unknown) == 1:
        left = total - sum(extent for extent in extents if extent >= shapes.least)
        shapes.set_input(unknown[0], (*alike[:axis], left, *alike[axis + 1 :]))


def recurrent_weights(shapes: CallShapes) -> None:
    """Units of the data of a recurrent layer, from the total size of its parameters.

    They are the one open extent of the weights of the first layer, in each direction.
    """
    total = shapes.output()
    if total is None or not shapes.is_known(total):
        return
    parts = [shapes.source(place) for place in range(shapes.count)]
    waiting = [each for each in parts if each is not None and not shapes.is_known(each)]
    if any(len(each) != 2 for each in waiting):
        return  # parameters of one axis, as they are joined
    if None in parts or not waiting or any(rows < shapes.least for rows, _ in waiting):
        return
    known = sum(math.prod(each) for each in parts if each is not None and shapes.is_known(each))
    units = (total[0] - known) // sum(rows for rows, _ in waiting)
    for place, shape in enumerate(parts):
        if shape is not None and not shapes.is_known(shape):
            shapes.set_source(place, (shape[0], units))
