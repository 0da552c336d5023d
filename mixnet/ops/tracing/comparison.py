"""Comparison of two traces of an operator, which gives a program with formulas in place of numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

from mixnet.ops.tracing.bodies import HAVE_BODIES
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.template import (
    Call,
    Extents,
    Formula,
    Open,
    OpenJaxpr,
    Pattern,
    Template,
    pattern_of,
    value_of,
)
from mixnet.private_jax.equation import Atom, Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, opened

Number = float | np.number[Any]

_MOST_FACTORS = 4
"""The most factors in a product of extents of several inputs."""

_AT_PLACES = frozenset(
    ["dynamic_slice", "dynamic_update_slice", "gather", "scatter", "scatter-add"]
)
"""Primitives that read or write at indices."""

_JOINING = frozenset(["broadcast_in_dim", "concatenate", "reshape", "stack"])
"""Primitives that create arrays of indices from numbers."""


class _DiffersError(Exception):
    """The traces differ in something that does not follow from the extents."""


def _is_place(atom: Any) -> bool:
    """Whether an atom is an integer other than 0 and 1, which occur in every program."""
    return (
        type(atom) is Literal
        and np.asarray(atom.val).dtype.kind in "iu"
        and not -1 <= int(atom.val) <= 1
    )


def compared(first: Call, one: ClosedJaxpr, second: Call, other: ClosedJaxpr) -> Template | None:
    """The template of the traces of two calls; None if they differ in more than extents."""
    place = pattern_of(first, second)
    if place is None:
        return None
    try:
        return _Comparison(*place, one, other).template()
    except _DiffersError:
        return None


def are_equal(call: Call, one: ClosedJaxpr, other: ClosedJaxpr) -> bool:
    """Whether two programs for a call are the same."""
    place = pattern_of(call, call)
    assert place is not None
    try:
        _Comparison(*place, one, other).template()
    except _DiffersError:
        return False
    return True


def _products(counts: Counter[int], most: int) -> set[tuple[int, ...]]:
    """The products of up to ``most`` of these indices, as sorted tuples."""
    indices = sorted(counts.elements())
    return {
        product
        for count in range(1, min(most, len(indices)) + 1)
        for product in itertools.combinations(indices, count)
    }


class _Comparison:
    """Compares two traces."""

    def __init__(
        self,
        pattern: Pattern,
        first: Extents,
        second: Extents,
        one: ClosedJaxpr,
        other: ClosedJaxpr,
    ):
        self.pattern = pattern
        self.extents = list(zip(first, second, strict=True))
        self.one, self.other = inlined(one), inlined(other)
        # Whether the template holds only between the extents of the two traces.
        self.is_between = False
        self.has_places = False
        self.is_sure = True
        self.formulas = self._all_formulas()

    def _all_formulas(self) -> dict[tuple[int, int], set[Formula]]:
        """The formulas by the pair of values that they give in the two traces.

        They are products of extents, sums along an axis of the first inputs, and an extent minus 1.
        """
        products: set[tuple[int, ...]] = {(index,) for index in range(len(self.extents))}
        most: Counter[int] = Counter()
        for _, axes in self.pattern.inputs:
            counts = Counter(index for index in axes if index >= 0)
            most |= counts
            products.update(_products(counts, len(axes)))
        # A result may have the axes of several inputs.
        products.update(_products(most, _MOST_FACTORS))
        formulas: set[Formula] = {(product,) for product in products}
        for rows in itertools.zip_longest(*[axes for _, axes in self.pattern.inputs]):
            terms: list[tuple[int, ...]] = []
            for index in itertools.takewhile(lambda index: index is not None, rows):
                terms.append(() if index < 0 else (index,))
                if len(terms) > 1:
                    formulas.add(tuple(sorted(terms)))
        # Indices after the first, and before the last element.
        formulas.update(((index,), (-1,)) for index in range(len(self.extents)))
        table: dict[tuple[int, int], set[Formula]] = {}
        for formula in formulas:
            if any(index >= 0 and self._varies(index) for product in formula for index in product):
                values = [
                    value_of(formula, tuple(each)) for each in zip(*self.extents, strict=True)
                ]
                table.setdefault((values[0], values[1]), set()).add(formula)
        return table

    def _varies(self, index: int) -> bool:
        one, other = self.extents[index]
        return one != other

    def template(self) -> Template:
        """The template of the traces.

        Raises:
            _DiffersError: they differ in more than extents.
        """
        program = self._program(self.one, self.other)
        return Template(
            program,
            self._fixed(),
            self._ranges(),
            self._order(),
            self.pattern,
            self._results(),
            len(self.one.jaxpr.invars) - len(self.pattern.inputs),
            self.is_sure,
        )

    def _program(self, first: ClosedJaxpr, second: ClosedJaxpr) -> OpenJaxpr:
        one, other = opened(first), opened(second)
        if one.effects or other.effects or first.consts or second.consts:
            raise _DiffersError
        if len(one.eqns) != len(other.eqns) or len(one.outvars) != len(other.outvars):
            raise _DiffersError
        same: dict[Any, Any] = dict(zip(one.invars, other.invars, strict=True))
        steps = []
        literals: dict[tuple[int, int], Formula] = {}
        for place, (left, right) in enumerate(zip(one.eqns, other.eqns, strict=True)):
            if left.primitive is not right.primitive:
                raise _DiffersError
            for operand, (a, b) in enumerate(zip(left.invars, right.invars, strict=True)):
                formula = self._operand(a, b, same)
                if formula is not None:
                    literals[place, operand] = formula
            steps.append(self._open_params(left, right))
            if left.primitive.name == "slice":
                self._check_slice(left, right)
            elif left.primitive.name == "split" and left.params["sizes"] != right.params["sizes"]:
                self.is_sure = False
            for a, b in zip(left.outvars, right.outvars, strict=True):
                same[a] = b
                self._dtypes(a, b)
        for a, b in zip(one.outvars, other.outvars, strict=True):
            if self._operand(a, b, same) is not None:
                raise _DiffersError
        self._check_places(one, literals)
        return OpenJaxpr(one, steps, literals)

    def _fixed(self) -> dict[Formula, int]:
        """The formulas with equal values in both traces, and these values."""
        fixed: dict[Formula, int] = {
            ((index,),): values[0]
            for index, values in enumerate(self.extents)
            if not self._varies(index)
        }
        for (a, b), formulas in self.formulas.items():
            if a == b:
                fixed.update(dict.fromkeys(formulas, a))
        return fixed

    def _ranges(self) -> dict[int, tuple[int, int]]:
        """The extents that must stay within the range of the two traces, because a number is uncertain.

        A number that does not change with an extent may be a rounded fraction of it: a third of 5 and of 6
        elements, rounded up, is 2. It grows with the extent, so it is constant between the two.

        Raises:
            _DiffersError: there are several such extents, and the number may be a ratio of them.
        """
        varied = [index for index in range(len(self.extents)) if self._varies(index)]
        if not self.is_between:
            return {}
        if len(varied) != 1:
            raise _DiffersError
        return {varied[0]: (min(self.extents[varied[0]]), max(self.extents[varied[0]]))}

    def _check_slice(self, left: Equation, right: Equation) -> None:
        """Note slices whose ends do not change with the extent, and those whose ends do.

        The ends may equal another extent by chance: half of 4 and of 28 is 2 and 14.
        """
        (before,), (after,) = left.invars, right.invars
        for axis, (a, b) in enumerate(zip(before.aval.shape, after.aval.shape, strict=True)):
            start, limit = (
                (left.params[name][axis], right.params[name][axis])
                for name in ("start_indices", "limit_indices")
            )
            if a != b and (start[0] == start[1] != 0 or limit[0] == limit[1]):
                self.is_between = True
            if start[0] != start[1] or (limit[0] != limit[1] and limit != (a, b)):
                self.is_sure = False

    def _check_places(self, jaxpr: Any, literals: dict[tuple[int, int], Formula]) -> None:
        """Note whether a program reads or writes at indices, and whether some of them are constant."""
        names = {equation.primitive.name for equation in jaxpr.eqns}
        if not names.isdisjoint(_AT_PLACES):
            self.has_places = True
            if {"iota", "scatter"} <= names:
                # Nothing would check that there are as many elements as indices to write to.
                raise _DiffersError
            self.is_between |= any(
                _is_place(atom) and (place, operand) not in literals
                for place, equation in enumerate(jaxpr.eqns)
                if equation.primitive.name in _AT_PLACES or equation.primitive.name in _JOINING
                for operand, atom in enumerate(equation.invars)
            )

    def _order(self) -> list[tuple[int, int, bool]]:
        """Pairs of extents of which one is larger in both traces, and whether that is the first.

        A program that reads or writes at indices may contain the smaller of two extents, like that for the
        diagonal of a matrix.
        """
        if not self.has_places:
            return []
        return [
            (i, j, one[0] > other[0])
            for (i, one), (j, other) in itertools.combinations(enumerate(self.extents), 2)
            if (one[0] > other[0]) == (one[1] > other[1])
            and one[0] != other[0]
            and one[1] != other[1]
            and (self._varies(i) or self._varies(j))
        ]

    def _operand(self, a: Atom, b: Atom, same: dict[Atom, Atom]) -> Formula | None:
        """The formula of a number; None for a variable, and for a number that does not change."""
        if not isinstance(a, Literal) or not isinstance(b, Literal):
            if isinstance(a, Literal) or same.get(a) is not b:
                raise _DiffersError
            return None
        self._dtypes(a, b)
        if np.shape(a.val) or np.shape(b.val):
            raise _DiffersError
        if a.val == b.val or (a.val != a.val and b.val != b.val):
            return None
        return self._formula(a.val, b.val)

    def _dtypes(self, a: Atom, b: Atom) -> None:
        if a.aval.dtype != b.aval.dtype or a.aval.weak_type != b.aval.weak_type:
            raise _DiffersError

    def _formula(self, a: Number, b: Number) -> Formula:
        """The one formula that gives these values.

        Raises:
            _DiffersError: there is none, or there are several.
        """
        if int(a) != a or int(b) != b:
            raise _DiffersError
        formulas = self.formulas.get((int(a), int(b)), set())
        if len(formulas) != 1:
            raise _DiffersError
        (formula,) = formulas
        return formula

    def _open_params(self, left: Equation, right: Equation) -> dict[str, Any]:
        """The attributes of an equation with numbers that follow from the extents, which are left open."""
        one, other = left.params, right.params
        if one.keys() != other.keys():
            raise _DiffersError
        has_bodies = left.primitive.name in HAVE_BODIES
        templates: dict[str, Any] = {}
        for name, each in one.items():
            if has_bodies or not isinstance(each, (Jaxpr, ClosedJaxpr)):
                template = self._open(each, other[name])
                if template is not each:
                    templates[name] = template
            elif str(each) != str(other[name]):  # such as the update function of a scatter
                raise _DiffersError
        return templates

    def _open(self, a: object, b: object) -> Any:
        """An attribute in which numbers that follow from the extents are left open; unchanged if there are
        none.
        """
        if type(a) is tuple and type(b) is tuple and len(a) == len(b):
            parts = tuple([self._open(x, y) for x, y in zip(a, b, strict=True)])
            return a if all(x is y for x, y in zip(parts, a, strict=True)) else parts
        if isinstance(a, ClosedJaxpr) and isinstance(b, ClosedJaxpr):
            return self._program(a, b)
        if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
            return a if a == b else Open(self._formula(a, b))
        if a is b or (type(a) is type(b) and bool(a == b)):
            return a
        raise _DiffersError

    def _results(self) -> list[int]:
        """For each result, the input that has its shape in both traces; -1 for none."""
        one, other = self.one.jaxpr, self.other.jaxpr
        shapes = [
            (a.aval.shape, b.aval.shape) for a, b in zip(one.invars, other.invars, strict=True)
        ]
        results = [
            (a.aval.shape, b.aval.shape) for a, b in zip(one.outvars, other.outvars, strict=True)
        ]
        return [shapes.index(each) if each in shapes else -1 for each in results]
