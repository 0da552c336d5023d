"""Families of calls: an operator that was traced for two shapes need not be traced for a third.

A network calls ``BatchNorm`` with as many shapes as it has stages, and tracing its gradient takes
milliseconds each time. Two traces for shapes of one pattern show which numbers of the program follow from
the extents; for other shapes of the pattern they are filled in.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

from mixnet.ops.tracing.template import Extents, Formula, Open, Pattern, Template, value_of
from mixnet.private_jax.equation import Atom, Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal

Number = float | np.number[Any]

_MOST_FACTORS = 4
"""Of a product of extents of several inputs."""

_MOST_TRIES = 6
"""Traces that are compared with the first one before a family stays without a template."""


class Family:
    """The calls of one operator whose shapes have one pattern."""

    def __init__(self, pattern: Pattern):
        self._pattern = pattern
        self._first: tuple[Extents, ClosedJaxpr] | None = None
        self._second: tuple[Extents, ClosedJaxpr] | None = None  # not compared with the first yet
        self._templates: list[Template] = []
        self._tries = 0

    def at(self, extents: Extents) -> ClosedJaxpr | None:
        """The jaxpr for these extents, without tracing; None if it is not known."""
        if self._second is not None and self._first is not None:
            # Only now, since most operators never meet a third shape.
            template = _compared(self._pattern, self._first, self._second)
            if template is not None:
                self._templates.append(template)
            self._second = None
        for template in reversed(self._templates):
            jaxpr = template.at(extents)
            if jaxpr is not None:
                return jaxpr
        return None

    def know(self, templates: list[Template]) -> None:
        """Take over templates from elsewhere."""
        self._templates += templates

    def templates(self) -> list[Template]:
        """What is known of all the family's shapes."""
        if self._first is not None:
            self.at(self._first[0])  # compares the second trace, if there is one
        return self._templates

    def learn(self, extents: Extents, jaxpr: ClosedJaxpr) -> None:
        """Take note of a trace."""
        if self._first is None:
            self._first = (extents, jaxpr)
        elif self._tries < _MOST_TRIES:
            self._tries += 1
            self._second = (extents, jaxpr)


class _DiffersError(Exception):
    """The two traces differ in something that does not follow from the extents."""


def _compared(
    pattern: Pattern, first: tuple[Extents, ClosedJaxpr], second: tuple[Extents, ClosedJaxpr]
) -> Template | None:
    """What two traces have in common; None if they differ in more than extents."""
    try:
        return _Comparison(pattern, first, second).template()
    except _DiffersError:
        return None


def _products(counts: Counter[int], most: int) -> set[tuple[int, ...]]:
    """Products of one to ``most`` of these indices, as sorted tuples."""
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
        first: tuple[Extents, ClosedJaxpr],
        second: tuple[Extents, ClosedJaxpr],
    ):
        self.pattern = pattern
        self.extents = list(zip(first[0], second[0], strict=True))
        self.one, self.other = first[1], second[1]
        self.formulas = self._all_formulas()

    def _all_formulas(self) -> dict[tuple[int, int], set[Formula]]:
        """For the values that a number may have in the two traces, the formulas that give them.

        They are products of extents, and sums along an axis of the first inputs.
        """
        products: set[tuple[int, ...]] = {(index,) for index in range(len(self.extents))}
        most: Counter[int] = Counter()
        for _, axes in self.pattern.inputs:
            counts = Counter(index for index in axes if index >= 0)
            most |= counts
            products.update(_products(counts, len(axes)))
        # A result may have axes of several inputs.
        products.update(_products(most, _MOST_FACTORS))
        formulas: set[Formula] = {(product,) for product in products}
        for rows in itertools.zip_longest(*[axes for _, axes in self.pattern.inputs]):
            terms: list[tuple[int, ...]] = []
            for index in itertools.takewhile(lambda index: index is not None, rows):
                terms.append(() if index < 0 else (index,))
                if len(terms) > 1:
                    formulas.add(tuple(sorted(terms)))
        table: dict[tuple[int, int], set[Formula]] = {}
        for formula in formulas:
            if any(self._varies(index) for product in formula for index in product):
                values = [
                    value_of(formula, tuple(each)) for each in zip(*self.extents, strict=True)
                ]
                table.setdefault((values[0], values[1]), set()).add(formula)
        return table

    def _varies(self, index: int) -> bool:
        one, other = self.extents[index]
        return one != other

    def template(self) -> Template:
        """What the traces have in common.

        Raises:
            _DiffersError: they differ in more than extents.
        """
        one, other = self.one.jaxpr, self.other.jaxpr
        if self.one.effects or self.other.effects or self.one.consts or self.other.consts:
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
            steps.append(self._open_params(left.params, right.params))
            if left.primitive.name == "slice":
                self._check_slice(left, right)
            for a, b in zip(left.outvars, right.outvars, strict=True):
                same[a] = b
                self._dtypes(a, b)
        for a, b in zip(one.outvars, other.outvars, strict=True):
            if self._operand(a, b, same) is not None:
                raise _DiffersError
        return Template(self.one, steps, literals, self._fixed(), self.pattern, self._results())

    def _fixed(self) -> dict[Formula, int]:
        """The formulas that give the same in both traces, with what they give."""
        fixed: dict[Formula, int] = {
            ((index,),): values[0]
            for index, values in enumerate(self.extents)
            if not self._varies(index)
        }
        for (a, b), formulas in self.formulas.items():
            if a == b:
                fixed.update(dict.fromkeys(formulas, a))
        return fixed

    def _check_slice(self, left: Equation, right: Equation) -> None:
        """Refuse a part whose ends stay while the extent changes.

        They may be rounded parts of it: of 5 and of 6 elements, the first third has 2.
        """
        (before,), (after,) = left.invars, right.invars
        for axis, (a, b) in enumerate(zip(before.aval.shape, after.aval.shape, strict=True)):
            start, limit = (
                (left.params[name][axis], right.params[name][axis])
                for name in ("start_indices", "limit_indices")
            )
            if a != b and (start[0] == start[1] != 0 or limit[0] == limit[1]):
                raise _DiffersError

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

    def _open_params(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        if one.keys() != other.keys():
            raise _DiffersError
        templates = {name: self._open(each, other[name]) for name, each in one.items()}
        return {name: each for name, each in templates.items() if each is not one[name]}

    def _open(self, a: object, b: object) -> Any:
        """An attribute with numbers that follow from the extents left open; itself if there are none."""
        if type(a) is tuple and type(b) is tuple and len(a) == len(b):
            parts = tuple([self._open(x, y) for x, y in zip(a, b, strict=True)])
            return a if all(x is y for x, y in zip(parts, a, strict=True)) else parts
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
