"""Jaxprs with open extents: formulas in the place of numbers, filled in for the shapes of a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing.bodies import HAVE_BODIES, body_inputs, body_results
from mixnet.ops.tracing.result_shape import result_shapes
from mixnet.private_jax.equation import Atom, Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, Var

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics

Extents = tuple[int, ...]
"""The different extents of the inputs of a call, in order of their first place."""

Formula = tuple[tuple[int, ...], ...]
"""A sum of products of extents, each given by its index; -1 stands for the factor -1."""


class Pattern(NamedTuple):
    """What shapes have in common that differ in their extents alone: which extents are equal, which are 1.

    Whole numbers among the attributes that equal an extent, as ``num_filter`` does, count as extents.

    Args:
        statics: the attributes, an extent given by its index.
        inputs: for each input the dtype and, for each axis, an index of extents, or minus the extent
            where that is part of the pattern: 1, and those of a stream of random numbers.
    """

    statics: tuple[Any, ...]
    inputs: tuple[tuple[np.dtype, tuple[int, ...]], ...]


def pattern_of(
    statics: Statics, inputs: Sequence[tuple[tuple[int, ...], np.dtype]]
) -> tuple[Pattern, Extents] | None:
    """The pattern of a call and its extents.

    None if an input has no elements, which is a special case, or if its extents are symbols.
    """
    indices: dict[int, int] = {}
    places: list[tuple[np.dtype, tuple[int, ...]]] = []
    for shape, dtype in inputs:
        if (shape, dtype) == STREAM_SPEC:
            places.append((dtype, (-shape[0],)))
            continue
        axes = []
        for extent in shape:
            if not isinstance(extent, int) or extent < 1:  # a symbol of JAX, or no elements
                return None
            axes.append(-1 if extent == 1 else indices.setdefault(extent, len(indices)))
        places.append((dtype, tuple(axes)))
    if not indices:
        # An operator that makes an array takes its extents as attributes.
        _collect(statics, indices)
    if not indices:
        return None
    named = tuple([_named(each, indices) for each in statics])
    return Pattern(named, tuple(places)), tuple(indices)


def call_of(
    pattern: Pattern, extents: Extents
) -> tuple[Statics, tuple[tuple[tuple[int, ...], np.dtype], ...]]:
    """Attributes and inputs of the call that has a pattern and these extents."""
    inputs = [
        (tuple([1 if index < 0 else extents[index] for index in axes]), dtype)
        for dtype, axes in pattern.inputs
    ]
    return tuple([_unnamed(each, extents) for each in pattern.statics]), tuple(inputs)


def _unnamed(attribute: object, extents: Extents) -> Any:
    if type(attribute) is not tuple:
        return attribute
    if len(attribute) == 2 and attribute[0] == "extent":
        return extents[attribute[1]]
    return tuple([_unnamed(each, extents) for each in attribute])


def _collect(attributes: tuple[object, ...], indices: dict[int, int]) -> None:
    for each in attributes:
        if type(each) is tuple:
            _collect(each, indices)
        elif type(each) is int and each > 1:
            indices.setdefault(each, len(indices))


def _named(attribute: object, indices: dict[int, int]) -> Any:
    """An attribute with the index of an extent in the place of a number that equals one."""
    if type(attribute) is int:
        return ("extent", indices[attribute]) if attribute in indices else attribute
    if type(attribute) is tuple:
        return tuple([_named(each, indices) for each in attribute])
    return attribute


class OpenJaxpr:
    """A jaxpr with formulas in the place of numbers.

    Args:
        jaxpr: the first trace.
        steps: for each equation, the attributes that hold formulas.
        literals: formulas of numbers, by equation and operand.
    """

    def __init__(
        self,
        jaxpr: Any,
        steps: list[dict[str, Any]],
        literals: dict[tuple[int, int], Formula],
    ):
        self._jaxpr, self._steps, self._literals = jaxpr, steps, literals

    def at(self, shapes: Sequence[tuple[int, ...]], extents: Extents) -> Any:
        """The jaxpr for inputs of these shapes; None if a shape in it does not fit."""
        inside = self._jaxpr
        invars = [_like(old, shape) for old, shape in zip(inside.invars, shapes, strict=True)]
        written: dict[Any, Any] = dict(zip(inside.invars, invars, strict=True))
        equations = []
        for place, equation in enumerate(inside.eqns):
            new = self._written(place, equation, written, extents)
            if new is None:
                return None
            equations.append(new)
        outvars: list[Any] = [
            each if type(each) is Literal else written[each] for each in inside.outvars
        ]
        return Jaxpr(inside.constvars, invars, outvars, equations, debug_info=inside.debug_info)

    def _written(
        self, place: int, equation: Equation, written: dict[Any, Any], extents: Extents
    ) -> Any:
        """An equation for these extents; None if the shapes of its operands do not fit.

        Args:
            place: its number.
            equation: for the extents of the first trace.
            written: the variables so far, to which it adds.
            extents: those asked for.
        """
        operands: list[Any] = []
        for number, atom in enumerate(equation.invars):
            formula = self._literals.get((place, number))
            if not isinstance(atom, Literal):
                operands.append(written[atom])
            elif formula is None:
                operands.append(atom)
            else:
                value = _in_type_of(atom.val, value_of(formula, extents))
                operands.append(Literal(value, atom.aval))
        inputs = [each.aval.shape for each in operands]
        params = equation.params
        if self._steps[place]:
            params = params | {
                name: _filled(each, extents) for name, each in self._steps[place].items()
            }
        if equation.primitive.name in HAVE_BODIES:
            bodies = _bodies(equation, params, inputs, extents)
            if bodies is None:
                return None
            params = params | bodies
            shapes = body_results(equation, params, inputs)
        else:
            shapes = result_shapes(equation.primitive.name, params, inputs)
        if shapes is None:
            return None
        results = [_like(old, shape) for old, shape in zip(equation.outvars, shapes, strict=True)]
        written.update(zip(equation.outvars, results, strict=True))
        return equation.replace(invars=operands, outvars=results, params=params)


def _bodies(
    equation: Equation, params: dict[str, Any], inputs: list[tuple[int, ...]], extents: Extents
) -> dict[str, Any] | None:
    """The bodies of a loop or branch for these extents, by attribute; None if they do not fit."""
    read = body_inputs(equation, params, inputs)
    if read is None:
        return None
    bodies: dict[str, Any] = {}
    for name, shapes in read.items():
        several = type(params[name]) is tuple
        jaxprs = [
            each.at(shapes, extents) for each in (params[name] if several else [params[name]])
        ]
        if any(jaxpr is None for jaxpr in jaxprs):
            return None
        closed = tuple([ClosedJaxpr(jaxpr, ()) for jaxpr in jaxprs])
        bodies[name] = closed if several else closed[0]
    return bodies


class Template:
    """A program with formulas in the place of numbers, for inputs of one pattern.

    Args:
        program: what two traces have in common.
        fixed: values of the formulas that gave the same in both traces. Nothing shows whether a number
            follows from them, so they must give the same in others.
        ranges: the extents, by index, that must lie between two numbers: those of the traces.
        pattern: of the inputs.
        like: for each result, the input whose shape it had in both traces; -1 for none.
        numbers: how many inputs are numbers. They follow the arrays.
    """

    def __init__(
        self,
        program: OpenJaxpr,
        fixed: dict[Formula, int],
        ranges: dict[int, tuple[int, int]],
        pattern: Pattern,
        like: list[int],
        numbers: int,
    ):
        self._program, self._fixed, self._ranges = program, fixed, ranges
        self._pattern, self._like, self._numbers = pattern, like, numbers

    def at(self, extents: Extents) -> ClosedJaxpr | None:
        """The jaxpr for these extents; None if a shape in it does not fit."""
        if any(not low <= extents[i] <= high for i, (low, high) in self._ranges.items()):
            return None
        if any(value_of(formula, extents) != value for formula, value in self._fixed.items()):
            return None
        shapes = [shape_of(axes, extents) for _, axes in self._pattern.inputs]
        body = self._program.at([*shapes, *[()] * self._numbers], extents)
        if body is None:
            return None
        for each, source in zip(body.outvars, self._like, strict=True):
            if source >= 0 and each.aval.shape != shapes[source]:
                return None
        return ClosedJaxpr(body, ())


def _like(variable: Atom, shape: tuple[int, ...]) -> Any:
    aval = variable.aval
    return Var(jax.core.ShapedArray(shape, aval.dtype, weak_type=aval.weak_type))


def _in_type_of(example: float | np.ndarray, value: int) -> Any:
    if isinstance(example, np.ndarray):
        return np.asarray(value, example.dtype)
    return type(example)(value)


def shape_of(axes: tuple[int, ...], extents: Extents) -> tuple[int, ...]:
    """The shape of an input of a pattern."""
    return tuple([extents[each] if each >= 0 else -each for each in axes])


def value_of(formula: Formula, extents: Extents) -> int:
    """What a formula gives for these extents."""
    return sum([math.prod([extents[i] if i >= 0 else -1 for i in product]) for product in formula])


class Open(NamedTuple):
    """A number in the attributes of an equation that follows from the extents."""

    formula: Formula


def _filled(template: object, extents: Extents) -> Any:
    if type(template) is Open:
        return value_of(template.formula, extents)
    if type(template) is tuple:
        return tuple([_filled(each, extents) for each in template])
    return template
