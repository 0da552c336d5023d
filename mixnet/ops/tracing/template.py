"""Templates: jaxprs with formulas in place of numbers, which are evaluated for the shapes of a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
"""The open extents of a call's inputs, in order of their first occurrence."""

Formula = tuple[tuple[int, ...], ...]
"""A sum of products of extents, each given by its index; -1 stands for the factor -1."""


class Call(NamedTuple):
    """The attributes and inputs of a call."""

    statics: Statics
    inputs: Sequence[tuple[tuple[int, ...], np.dtype]]


class Extent:
    """Replaces an integer attribute that equals an extent, such as ``num_filter``."""

    def __init__(self, index: int):
        self.index = index


def kind_of(call: Call) -> Any:
    """The key that calls share if they differ only in extents above 1, and in such integer attributes.

    None if an input has no elements, which is a special case, if its extents are symbols, or if there is no
    such extent.
    """
    kinds = []
    for shape, dtype in call.inputs:
        if any(not isinstance(extent, int) or extent < 1 for extent in shape):
            return None
        kinds.append((dtype, tuple([extent > 1 for extent in shape])))
    statics = _without_numbers(call.statics)
    if statics == call.statics and not any(any(is_open) for _, is_open in kinds):
        return None
    return statics, tuple(kinds)


def _without_numbers(attribute: object) -> Any:
    if type(attribute) is int and attribute > 1:
        return int
    if type(attribute) is tuple:
        return tuple([_without_numbers(each) for each in attribute])
    return attribute


class Pattern(NamedTuple):
    """The extents that are equal in two calls of one kind; others may be equal by chance.

    Args:
        statics: the attributes, with an :class:`Extent` for each number that equals one in both calls.
        inputs: for each input the dtype and, for each axis, the index of its extent, or minus the extent if
            that belongs to the pattern: 1, and extents of a stream of random numbers.
    """

    statics: Any
    inputs: tuple[tuple[np.dtype, tuple[int, ...]], ...]

    def extents(self, call: Call) -> Extents | None:
        """The extents of a third call of this kind; None if it does not have the pattern."""
        extents: dict[int, int] = {}
        for (shape, _), (_, axes) in zip(call.inputs, self.inputs, strict=True):
            for extent, index in zip(shape, axes, strict=True):
                expected = extents.setdefault(index, extent) if index >= 0 else -index
                if extent != expected:
                    return None
        constants: set[int] = set()
        if not _fits(self.statics, call.statics, extents, constants):
            return None
        # A group for each channel is another case than a few groups of channels.
        if not constants.isdisjoint(extents.values()):
            return None
        return tuple([extents[index] for index in range(len(extents))])

    def call(self, like: Call, extents: Extents) -> Call:
        """The call with these extents and all other properties of another call of the pattern."""
        inputs = [
            (tuple([extents[index] if index >= 0 else -index for index in axes]), dtype)
            for dtype, axes in self.inputs
        ]
        return Call(_with_extents(self.statics, like.statics, extents), tuple(inputs))


def _with_extents(pattern: Any, attribute: Any, extents: Extents) -> Any:
    """An attribute with these extents at the positions given by its pattern."""
    if type(pattern) is Extent:
        return extents[pattern.index]
    if type(pattern) is tuple:
        return tuple(
            [
                _with_extents(each, own, extents)
                for each, own in zip(pattern, attribute, strict=True)
            ]
        )
    return attribute


def _fits(pattern: Any, attribute: Any, extents: dict[int, int], constants: set[int]) -> bool:
    """Whether an attribute fits its pattern.

    Args:
        pattern: the pattern of the attribute.
        attribute: the attribute of a call.
        extents: the extents of its inputs; if there are none, those of attributes are added.
        constants: receives the numbers that are not extents.
    """
    if type(pattern) is Extent:
        return bool(extents.setdefault(pattern.index, attribute) == attribute)
    if type(pattern) is tuple:
        return all(
            _fits(each, other, extents, constants)
            for each, other in zip(pattern, attribute, strict=True)
        )
    if type(pattern) is int and pattern > 1:
        constants.add(pattern)
    return bool(pattern == attribute)


def pattern_of(first: Call, second: Call) -> tuple[Pattern, Extents, Extents] | None:
    """The pattern of two calls of one kind, and the extents of each; None if their attributes differ."""
    indices: dict[tuple[int, int], int] = {}
    places: list[tuple[np.dtype, tuple[int, ...]]] = []
    for (one, dtype), (other, _) in zip(first.inputs, second.inputs, strict=True):
        is_stream = (one, dtype) == STREAM_SPEC and one == other
        axes = [
            -a if a == 1 or is_stream else indices.setdefault((a, b), len(indices))
            for a, b in zip(one, other, strict=True)
        ]
        places.append((dtype, tuple(axes)))
    if not indices:
        # An operator that creates an array gets its extents as attributes.
        _collect(first.statics, second.statics, indices)
    try:
        statics = _named(first.statics, second.statics, indices)
    except _DiffersError:
        return None
    pairs = list(indices)
    return (
        Pattern(statics, tuple(places)),
        tuple([a for a, _ in pairs]),
        tuple([b for _, b in pairs]),
    )


class _DiffersError(Exception):
    """An attribute differs in something that is not an extent."""


def _collect(one: Any, other: Any, indices: dict[tuple[int, int], int]) -> None:
    if type(one) is tuple:
        for a, b in zip(one, other, strict=True):
            _collect(a, b, indices)
    elif type(one) is int and one > 1:
        indices.setdefault((one, other), len(indices))


def _named(one: Any, other: Any, indices: dict[tuple[int, int], int]) -> Any:
    """An attribute with extents in place of the numbers that equal them.

    Raises:
        _DiffersError: the numbers differ, and are not extents.
    """
    if type(one) is tuple:
        return tuple([_named(a, b, indices) for a, b in zip(one, other, strict=True)])
    if type(one) is int and (one, other) in indices:
        return Extent(indices[one, other])
    if one != other:
        raise _DiffersError
    return one


class OpenJaxpr:
    """A jaxpr with formulas in place of numbers.

    Args:
        jaxpr: the first trace.
        steps: for each equation, the attributes that hold formulas.
        literals: formulas of literals, by equation and operand.
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
            place: the number of the equation.
            equation: the equation for the extents of the first trace.
            written: the variables so far, to which it adds.
            extents: the requested extents.
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
    """A program with formulas in place of numbers, for inputs of one pattern.

    Args:
        program: the program of two traces.
        fixed: formulas with equal values in both traces, and these values. A number may or may not follow
            from them, so they must have the same values in other calls.
        ranges: the extents, by index, that must lie between two numbers: those of the traces.
        order: pairs of extents, by index, and whether the first of them must be the larger one;
            if not, the second must be.
        pattern: the pattern of the inputs.
        like: for each result, the input whose shape it had in both traces; -1 for none.
        numbers: the number of scalar inputs, which follow the arrays.
        is_sure: whether two traces are enough; otherwise, a third one must confirm it.
    """

    def __init__(
        self,
        program: OpenJaxpr,
        fixed: dict[Formula, int],
        ranges: dict[int, tuple[int, int]],
        order: list[tuple[int, int, bool]],
        pattern: Pattern,
        like: list[int],
        numbers: int,
        is_sure: bool,
    ):
        self.is_sure = is_sure
        self.is_proved = (
            False  # whether another call has shown that its numbers do not agree by chance
        )
        self._program, self._fixed, self._ranges, self._order = program, fixed, ranges, order
        self._pattern, self._like, self._numbers = pattern, like, numbers

    def changed(self, call: Call, change: Callable[[int, int], int]) -> Call | None:
        """A call with other extents, where the two traces had different ones; None for another kind.

        Args:
            call: the call.
            change: returns another extent, for an extent and its number.
        """
        extents = self._pattern.extents(call)
        if extents is None:
            return None
        others = [
            extent if ((index,),) in self._fixed else change(extent, index)
            for index, extent in enumerate(extents)
        ]
        return self._pattern.call(call, tuple(others))

    def at(self, call: Call) -> ClosedJaxpr | None:
        """The jaxpr for a call of this kind; None if it is another one, or a shape in it does not fit."""
        extents = self._pattern.extents(call)
        if extents is None:
            return None
        if any(not low <= extents[i] <= high for i, (low, high) in self._ranges.items()):
            return None
        for i, j, is_larger in self._order:
            if extents[i] == extents[j] or (extents[i] > extents[j]) != is_larger:
                return None
        if any(value_of(formula, extents) != value for formula, value in self._fixed.items()):
            return None
        shapes = [shape for shape, _ in call.inputs]
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


def value_of(formula: Formula, extents: Extents) -> int:
    """The value of a formula for these extents."""
    return sum([math.prod([extents[i] if i >= 0 else -1 for i in product]) for product in formula])


class Open(NamedTuple):
    """A number among the attributes of an equation that follows from the extents."""

    formula: Formula


def _filled(template: object, extents: Extents) -> Any:
    if type(template) is Open:
        return value_of(template.formula, extents)
    if type(template) is tuple:
        return tuple([_filled(each, extents) for each in template])
    return template
