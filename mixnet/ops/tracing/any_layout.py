"""Whether an operator computes the same with permuted axes, derived from its primitives.

Such an operator takes images with channels last as well as with channels first. Nothing is declared: the axes
of the inputs are traced through each primitive to the outputs, once for either order. The operator takes any
layout if both programs have the same steps on the same axes, whatever their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.tracing.dataflow import Known, Program, Step, program
from mixnet.ops.tracing.primitives import ELEMENTWISE
from mixnet.ops.tracing.traced import MOST_TRACES

Axes = tuple[int | None, ...]
"""For each axis of a value, the axis of the inputs that it corresponds to; None for extent 1, which fits
any.
"""

_REDUCTIONS = frozenset({"reduce_max", "reduce_min", "reduce_prod", "reduce_sum"})

_known: dict[Any, bool] = {}


class _Unlike(Exception):
    """A step does not preserve axes."""


def takes_any_layout(
    op: Operator, statics: Statics, inputs: Sequence[Known], scalars: int, order: Sequence[int]
) -> bool:
    """Whether transposing all arrays with ``len(order)`` axes only transposes the outputs.

    Arrays with other numbers of axes are not transposed, and must not be read.

    Args:
        op: the operator.
        statics: its bound attributes.
        inputs: shapes and dtypes of its arrays.
        scalars: the number of scalar inputs.
        order: the permuted axes.
    """
    key = (op, statics, tuple(inputs), scalars, tuple(order))
    known = _known.get(key)
    if known is None:
        if len(_known) >= MOST_TRACES:
            _known.clear()
        known = _known[key] = _takes_any_layout(op, statics, inputs, scalars, tuple(order))
    return known


def _takes_any_layout(
    op: Operator, statics: Statics, inputs: Sequence[Known], scalars: int, order: tuple[int, ...]
) -> bool:
    if op.calls_python or op.states or op.graph is not None or op.over_devices is not None:
        return False
    count = len(order)
    moved = [
        (tuple(shape[axis] for axis in order) if len(shape) == count else shape, dtype)
        for shape, dtype in inputs
    ]
    try:
        traced = [program(op, statics, each, scalars) for each in (inputs, moved)]
        first = _Followed(traced[0], tuple(range(count)), len(inputs))
        second = _Followed(traced[1], order, len(inputs))
    except (_Unlike, MXNetError, TypeError, ValueError):  # or the operator refuses such arrays
        return False
    shapes = [[each.specs[value][0] for value in each.outputs] for each in traced]
    if [tuple(shape[axis] for axis in order) for shape in shapes[0]] != shapes[1]:
        return False
    return first.signature == second.signature


class _Followed:
    """A program with the axes of all its values.

    Args:
        traced: the program.
        axes: the axes of the input images.
        arrays: the number of inputs that are arrays; the others are numbers.

    Raises:
        _Unlike: a step does not preserve axes, or an output is not an image.
    """

    def __init__(self, traced: Program, axes: tuple[int, ...], arrays: int):
        self.specs = traced.specs
        steps, read = traced.needed(traced.outputs)
        self.axes: dict[int, Axes] = {}
        for place, value in enumerate(traced.inputs):
            shape = self.specs[value][0]
            if place < arrays and len(shape) == len(axes):
                self.axes[value] = tuple(axes)
            elif shape and value in read:
                raise _Unlike
        self.signature: list[Any] = [self._constants(traced.constants, steps)]
        for step in steps:
            self._follow(step)
        for value in traced.outputs:
            self._must_be(value, tuple(axes))

    def _constants(self, constants: Mapping[int, Any], steps: Sequence[Step]) -> list[bytes]:
        """The numbers in the program, which must have no axes: one may be an extent."""
        read = [value for step in steps for value in step.inputs if value in constants]
        if any(np.size(constants[value]) != 1 for value in read):
            raise _Unlike
        return [np.asarray(constants[value]).tobytes() for value in read]

    def _follow(self, step: Step) -> None:
        name = step.primitive.name
        reduced: frozenset[int | None] = frozenset()
        if name == "broadcast_in_dim":
            axes = self._broadcast(step)
        elif name in ("reshape", "squeeze", "expand_dims"):
            axes = self._reshaped(step.inputs[0], self.specs[step.outputs[0]][0])
        elif name in _REDUCTIONS:
            before = self._axes(step.inputs[0])
            summed = step.params["axes"]
            reduced = frozenset(before[axis] for axis in summed)
            if None in reduced:  # the number of equal elements depends on the axis
                raise _Unlike
            axes = tuple(axis for place, axis in enumerate(before) if place not in summed)
        elif name in ELEMENTWISE:
            axes = self._common(step.inputs)
        else:
            raise _Unlike
        self.signature.append((name, reduced))
        for value in step.outputs:
            self.axes[value] = axes

    def _axes(self, value: int) -> Axes:
        """The axes of a value; None for numbers, and for values computed only from numbers."""
        if value in self.axes:
            return self.axes[value]
        if math.prod(self.specs[value][0]) != 1:
            raise _Unlike
        return (None,) * len(self.specs[value][0])

    def _common(self, values: Sequence[int]) -> Axes:
        """The axes of values that are combined elementwise."""
        layouts = [self._axes(value) for value in values if self.specs[value][0]]
        if not layouts:
            return ()
        common: list[int | None] = list(layouts[0])
        for other in layouts[1:]:
            for place, axis in enumerate(other):
                if axis is not None and common[place] not in (None, axis):
                    raise _Unlike
                common[place] = common[place] if axis is None else axis
        return tuple(common)

    def _broadcast(self, step: Step) -> Axes:
        """A broadcast value takes the axes of the values with which it is combined."""
        (value, *_) = step.inputs
        before, places = self._axes(value), step.params["broadcast_dimensions"]
        axes: list[int | None] = [None] * len(step.params["shape"])
        for axis, place, extent in zip(before, places, self.specs[value][0], strict=True):
            axes[place] = axis if extent > 1 else None
        return tuple(axes)

    def _reshaped(self, value: int, shape: Sequence[int]) -> Axes:
        """The axes after axes of extent 1 were added or removed."""
        extents = self.specs[value][0]
        long = [(axis, n) for axis, n in zip(self._axes(value), extents, strict=True) if n != 1]
        if [n for _, n in long] != [n for n in shape if n != 1]:
            raise _Unlike
        rest = iter(long)
        return tuple(None if n == 1 else next(rest)[0] for n in shape)

    def _must_be(self, value: int, axes: tuple[int, ...]) -> None:
        """Check that an output has all axes in order, except those of extent 1; a constant has any axes."""
        actual = self._axes(value)
        if len(actual) != len(axes):
            raise _Unlike
        if any(axis not in (None, expected) for axis, expected in zip(actual, axes, strict=True)):
            raise _Unlike
