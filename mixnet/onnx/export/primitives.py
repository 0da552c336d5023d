"""Conversion of an operator's JAX program to ONNX nodes, primitive by primitive.

Operators without their own conversion are exported in this way: nothing has to be declared for them, since
their function defines the computation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.onnx.export.builder import Builder
from mixnet.private_jax.calls import called
from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal, literal_array

Rule = Callable[["Lowering", Any, "list[str]"], Any]
RULES: dict[str, Rule] = {}
"""Rules by the name of a JAX primitive."""


class NoRule(MXNetError):
    """A primitive, or a variant of it, that has no equivalent in ONNX."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator that registers a rule for primitives."""

    def declare(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return declare


class Lowering:
    """Writes JAX programs into a graph.

    Args:
        builder: the graph.
        sizes: values of the dynamic dimensions, by symbol.
    """

    def __init__(self, builder: Builder, sizes: Mapping[str, str] | None = None):
        self.b = builder
        self.sizes = dict(sizes or {})

    def inside(self, builder: Builder) -> Lowering:
        """The same for the body of a loop."""
        return Lowering(builder, self.sizes)

    def run(self, closed: ClosedJaxpr, inputs: Sequence[str]) -> list[str]:
        """Names of the program's results.

        Raises:
            NoRule: names the primitive that cannot be written.
        """
        jaxpr = closed.jaxpr
        known: dict[Any, str] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            known[variable] = self.b.constant(np.asarray(value))

        def name(atom: object) -> str:
            if isinstance(atom, Literal):
                return self.b.constant(literal_array(atom))
            return known[atom]

        for equation in _needed(jaxpr):
            results = self.equation(equation, [name(each) for each in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [name(each) for each in jaxpr.outvars]

    def equation(self, equation: Equation, inputs: list[str]) -> list[str]:
        """Names of one primitive's results."""
        primitive = equation.primitive.name
        inner = None if primitive in RULES else called(equation)
        if inner is not None:
            return self.run(inner, inputs)
        if primitive not in RULES:
            raise NoRule(f"it computes {primitive!r}, which is not one of ONNX's operators")
        results = RULES[primitive](self, equation, inputs)
        return [results] if isinstance(results, str) else list(results)

    # ---- shapes ---------------------------------------------------------------------------------

    def size(self, extent: Any) -> Any:
        """An extent as a number, or the name of an int64 array of one element."""
        if isinstance(extent, (int, np.integer)):
            return int(extent)
        sizes = {name: _Size(self.b, value) for name, value in self.sizes.items()}
        size = extent._evaluate(sizes)
        return size.name if isinstance(size, _Size) else int(size)

    def scalar(self, extent: object) -> str:
        """A dimension as a scalar int64 value."""
        return self.scalar_of(self.size(extent))

    def scalar_of(self, size: object) -> str:
        """The result of :meth:`size` as a scalar."""
        if isinstance(size, int):
            return self.b.constant(np.int64(size))
        return self.b.Squeeze(size, [0])

    def shape(self, extents: Sequence[Any]) -> Any:
        """A shape as a list of numbers, or the name of an int64 array."""
        sizes = [self.size(each) for each in extents]
        if all(isinstance(each, int) for each in sizes):
            return sizes
        return self.b.Concat(*[each if isinstance(each, str) else [each] for each in sizes], axis=0)

    def reshape(
        self, value: str, extents: Sequence[Any], before: Sequence[Any] | None = None
    ) -> str:
        """A value in another shape; the value itself if it already has that shape."""
        if before is not None and tuple(before) == tuple(extents):
            return value
        return self.b.Reshape(value, self.shape(extents), allowzero=self.zeros(extents))

    def zeros(self, extents: Sequence[Any]) -> int | None:
        """``allowzero`` for a shape: needed if 0 means an empty dimension."""
        return (
            1
            if any(isinstance(e, int) and e == 0 for e in extents) and self.b.opset >= 14
            else None
        )

    def count(self, extent: object) -> str:
        """``arange`` up to a dimension, int64."""
        size = self.size(extent)
        if isinstance(size, int):
            return self.b.constant(np.arange(size))
        first, step = (self.b.constant(np.int64(each)) for each in (0, 1))
        return self.b.Range(first, self.scalar(extent), step)

    def product(self, extents: Sequence[Any]) -> Any:
        """The product of dimensions, in the form of :meth:`size`."""
        total = 1
        for each in extents:
            total = total * each
        return self.size(total)


class _Size:
    """An int64 array of one element, with the arithmetic needed for dimensions."""

    def __init__(self, builder: Builder, name: str):
        self.b, self.name = builder, name

    def _with(self, op_type: str, other: Any, swapped: bool = False) -> _Size:
        second = other.name if isinstance(other, _Size) else self.b.constant([int(other)])
        pair = (second, self.name) if swapped else (self.name, second)
        return _Size(self.b, self.b.add(op_type, pair, {}))

    def __add__(self, other: object) -> _Size:
        return self._with("Add", other)

    def __radd__(self, other: object) -> _Size:
        return self._with("Add", other)

    def __mul__(self, other: object) -> _Size:
        return self._with("Mul", other)

    def __rmul__(self, other: object) -> _Size:
        return self._with("Mul", other)

    def __sub__(self, other: object) -> _Size:
        return self._with("Sub", other)

    def __rsub__(self, other: object) -> _Size:
        return self._with("Sub", other, True)

    def __neg__(self) -> _Size:
        return self._with("Mul", -1)

    def __floordiv__(self, other: object) -> _Size:
        return self._with("Div", other)

    def __mod__(self, other: object) -> _Size:
        return self._with("Mod", other)

    def __divmod__(self, other: object) -> tuple[_Size, _Size]:
        return self // other, self % other


def _needed(jaxpr: Any) -> list[Any]:
    """The equations that results depend on."""
    read = {each for each in jaxpr.outvars if not isinstance(each, Literal)}
    equations = []
    for equation in reversed(jaxpr.eqns):
        if not read.isdisjoint(equation.outvars):
            equations.append(equation)
            read.update(each for each in equation.invars if not isinstance(each, Literal))
    return equations[::-1]
