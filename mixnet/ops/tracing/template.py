"""Jaxprs with open extents: formulas in the place of numbers, filled in for the shapes of a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from mixnet.ops.tracing.result_shape import result_shapes
from mixnet.private_jax.equation import Atom, Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, Var

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics

Extents = tuple[int, ...]
"""The different extents of the inputs of a call, in order of their first place."""

Formula = tuple[tuple[int, ...], ...]
"""A sum of products of extents, each given by its index."""


class Pattern(NamedTuple):
    """What shapes have in common that differ in their extents alone: which extents are equal, which are 1.

    Whole numbers among the attributes that equal an extent, as ``num_filter`` does, count as extents.

    Args:
        statics: the attributes, an extent given by its index.
        inputs: for each input the dtype and, for each axis, an index of extents; -1 for 1.
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
    places = []
    for shape, dtype in inputs:
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


class Template:
    """A program with formulas in the place of numbers.

    Args:
        jaxpr: the first trace.
        steps: for each equation, the attributes that hold formulas.
        literals: formulas of numbers, by equation and operand.
        fixed: values of the formulas that gave the same in both traces. Nothing shows whether a number
            follows from them, so they must give the same in others.
        pattern: of the inputs.
        like: for each result, the input whose shape it had in both traces; -1 for none.
    """

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        steps: list[dict[str, Any]],
        literals: dict[tuple[int, int], Formula],
        fixed: dict[Formula, int],
        pattern: Pattern,
        like: list[int],
    ):
        self._jaxpr, self._steps, self._literals = jaxpr, steps, literals
        self._fixed, self._pattern, self._like = fixed, pattern, like

    def at(self, extents: Extents) -> ClosedJaxpr | None:
        """The jaxpr for these extents; None if a shape in it does not fit."""
        if any(value_of(formula, extents) != value for formula, value in self._fixed.items()):
            return None
        shapes = [
            tuple([1 if index < 0 else extents[index] for index in axes])
            for _, axes in self._pattern.inputs
        ]
        inside = self._jaxpr.jaxpr
        # Behind the arrays come numbers, which have no axes.
        shapes += [()] * (len(inside.invars) - len(shapes))
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
        for each, source in zip(outvars, self._like, strict=True):
            if source >= 0 and each.aval.shape != shapes[source]:
                return None
        body = Jaxpr(inside.constvars, invars, outvars, equations, debug_info=inside.debug_info)
        return ClosedJaxpr(body, self._jaxpr.consts)

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
        params = equation.params
        if self._steps[place]:
            params = params | {
                name: _filled(each, extents) for name, each in self._steps[place].items()
            }
        shapes = result_shapes(
            equation.primitive.name, params, [each.aval.shape for each in operands]
        )
        if shapes is None:
            return None
        results = [_like(old, shape) for old, shape in zip(equation.outvars, shapes, strict=True)]
        written.update(zip(equation.outvars, results, strict=True))
        return equation.replace(invars=operands, outvars=results, params=params)


def _like(variable: Atom, shape: tuple[int, ...]) -> Any:
    aval = variable.aval
    return Var(jax.core.ShapedArray(shape, aval.dtype, weak_type=aval.weak_type))


def _in_type_of(example: float | np.ndarray, value: int) -> Any:
    if isinstance(example, np.ndarray):
        return np.asarray(value, example.dtype)
    return type(example)(value)


def value_of(formula: Formula, extents: Extents) -> int:
    """What a formula gives for these extents."""
    return sum([math.prod([extents[index] for index in product]) for product in formula])


class Open(NamedTuple):
    """A number in the attributes of an equation that follows from the extents."""

    formula: Formula


def _filled(template: object, extents: Extents) -> Any:
    if type(template) is Open:
        return value_of(template.formula, extents)
    if type(template) is tuple:
        return tuple([_filled(each, extents) for each in template])
    return template
