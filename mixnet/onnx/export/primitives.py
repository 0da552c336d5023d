"""What an operator computes, as ONNX nodes: its JAX program, primitive by primitive.

This is how operators are written that have no conversion of their own: nothing is declared for them, for their
function says what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.interpreters.partial_eval import dce_jaxpr

from mixnet.base import MXNetError
from mixnet.onnx.export.builder import Builder

Rule = Callable[["Lowering", Any, "list[str]"], Any]
RULES: dict[str, Rule] = {}
"""Rules by the name of a JAX primitive."""

_CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_CALLERS = {
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr", "checkpoint", "remat2",
}  # fmt: skip


class NoRule(MXNetError):
    """A primitive, or a form of it, that ONNX has no operators for."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator that declares how primitives are written."""

    def declare(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return declare


class Lowering:
    """Writes JAX programs into a graph.

    Args:
        builder: the graph.
        sizes: values of the extents that the user of the model chooses, by their symbol.
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

        def name(atom: Any) -> str:
            if isinstance(atom, Literal):
                aval: Any = atom.aval
                return self.b.constant(np.asarray(atom.val, np.dtype(aval.dtype)))
            return known[atom]

        for equation in _needed(jaxpr):
            found = self.equation(equation, [name(each) for each in equation.invars])
            known.update(zip(equation.outvars, found, strict=True))
        return [name(each) for each in jaxpr.outvars]

    def equation(self, equation: Any, inputs: list[str]) -> list[str]:
        """Names of one primitive's results."""
        primitive = equation.primitive.name
        if primitive in _CALLERS:
            inner = next(equation.params[key] for key in _CALLS if key in equation.params)
            return self.run(
                inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ()), inputs
            )
        if primitive not in RULES:
            raise NoRule(f"it computes {primitive!r}, which is none of ONNX's operators")
        found = RULES[primitive](self, equation, inputs)
        return [found] if isinstance(found, str) else list(found)

    # ---- shapes ---------------------------------------------------------------------------------

    def size(self, extent: Any) -> Any:
        """An extent as a number, or the name of an int64 array of one element."""
        if isinstance(extent, (int, np.integer)):
            return int(extent)
        given = {name: _Size(self.b, value) for name, value in self.sizes.items()}
        found = extent._evaluate(given)
        return found.name if isinstance(found, _Size) else int(found)

    def shape(self, extents: Sequence[Any]) -> Any:
        """A shape as a list of numbers, or the name of an int64 array."""
        sizes = [self.size(each) for each in extents]
        if all(isinstance(each, int) for each in sizes):
            return sizes
        return self.b.Concat(*[each if isinstance(each, str) else [each] for each in sizes], axis=0)

    def reshape(
        self, value: str, extents: Sequence[Any], before: Sequence[Any] | None = None
    ) -> str:
        """A value in another shape; the value itself where it has that shape already."""
        if before is not None and tuple(before) == tuple(extents):
            return value
        return self.b.Reshape(value, self.shape(extents), allowzero=self.zeros(extents))

    def zeros(self, extents: Sequence[Any]) -> int | None:
        """``allowzero`` for a shape: 0 stands for itself where there are no elements."""
        return (
            1
            if any(isinstance(e, int) and e == 0 for e in extents) and self.b.opset >= 14
            else None
        )

    def count(self, extent: Any) -> str:
        """The numbers from 0 below an extent, int64."""
        size = self.size(extent)
        if isinstance(size, int):
            return self.b.constant(np.arange(size))
        return self.b.Range(
            self.b.constant(np.int64(0)), self.b.Squeeze(size, [0]), self.b.constant(np.int64(1))
        )

    def product(self, extents: Sequence[Any]) -> Any:
        """The product of extents, as :meth:`size` gives one."""
        total: Any = 1
        for each in extents:
            total = total * each
        return self.size(total)


class _Size:
    """An int64 array of one element, with the arithmetic that extents are computed by."""

    def __init__(self, builder: Builder, name: str):
        self.b, self.name = builder, name

    def _with(self, op_type: str, other: Any, swapped: bool = False) -> _Size:
        second = other.name if isinstance(other, _Size) else self.b.constant([int(other)])
        pair = (second, self.name) if swapped else (self.name, second)
        return _Size(self.b, self.b.add(op_type, pair, 1, {}))

    def __add__(self, other: Any) -> _Size:
        return self._with("Add", other)

    def __radd__(self, other: Any) -> _Size:
        return self._with("Add", other)

    def __mul__(self, other: Any) -> _Size:
        return self._with("Mul", other)

    def __rmul__(self, other: Any) -> _Size:
        return self._with("Mul", other)

    def __sub__(self, other: Any) -> _Size:
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> _Size:
        return self._with("Sub", other, True)

    def __neg__(self) -> _Size:
        return self._with("Mul", -1)

    def __floordiv__(self, other: Any) -> _Size:
        return self._with("Div", other)

    def __mod__(self, other: Any) -> _Size:
        return self._with("Mod", other)

    def __divmod__(self, other: Any) -> tuple[_Size, _Size]:
        return self // other, self % other


def _needed(jaxpr: Any) -> list[Any]:
    """The equations that results depend on."""
    wanted = {each for each in jaxpr.outvars if not isinstance(each, Literal)}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if not wanted.isdisjoint(equation.outvars):
            kept.append(equation)
            wanted.update(each for each in equation.invars if not isinstance(each, Literal))
    return kept[::-1]


def traced(
    function: Callable[..., Any], structs: Sequence[tuple[Any, Any]]
) -> tuple[ClosedJaxpr, list[Any]]:
    """The program of a function, and shapes and dtypes of its results."""
    given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in structs]
    with jax.enable_x64(True):
        closed, out = jax.make_jaxpr(function, return_shape=True)(*given)
    # What nobody reads, also inside of loops: streams of random numbers that bodies do not draw from.
    needed, _ = dce_jaxpr(closed.jaxpr, True, instantiate=True)
    return ClosedJaxpr(needed, closed.consts), jax.tree.leaves(out)
