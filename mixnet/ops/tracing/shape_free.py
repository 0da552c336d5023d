"""Jaxprs that are valid for every shape: elementwise operations and full reductions.

An operator that was traced on ``(3, 4)`` need not be traced again on ``(5, 6)`` if it is elementwise. So
loops over growing shapes, and networks whose parameters have many shapes, trace little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mixnet.ops.operator import Operator, Statics
from mixnet.ops.tracing import stored
from mixnet.ops.tracing.primitives import ELEMENTWISE
from mixnet.ops.tracing.traced import MOST_TRACES, Known, traced
from mixnet.private_jax.calls import called
from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, Var

_TO_ONE = frozenset({"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})


class ShapeFree(NamedTuple):
    """The program of an operator for arrays of any one shape.

    Args:
        jaxpr: the jaxpr without broadcasts of numbers, which NumPy broadcasts itself. Its shapes are those
            of one trace.
        full: for each output, whether it has the shape; otherwise it has no axes.
    """

    jaxpr: ClosedJaxpr
    full: tuple[bool, ...]

    def outputs(self, shape: tuple[int, ...]) -> list[Known]:
        """Shapes and dtypes of the outputs for inputs of this shape."""
        avals = self.jaxpr.out_avals
        return [(shape if f else (), a.dtype) for f, a in zip(self.full, avals, strict=True)]

    @property
    def is_elementwise(self) -> bool:
        """Whether an element of a result depends only on the same element of the inputs."""
        names = {equation.primitive.name for equation in self.jaxpr.jaxpr.eqns}
        return all(self.full) and names.isdisjoint(_TO_ONE)


def common_shape(inputs: Sequence[Known]) -> tuple[int, ...] | None:
    """The shape of all inputs that have axes; None if they differ.

    None, too, if an axis has no elements, which is a special case of many operators. So is extent 1, but
    all shapes of a family have the same axes of extent 1.
    """
    common: tuple[int, ...] | None = None
    for shape, _ in inputs:
        if shape:
            if common is None:
                common = shape
            elif shape != common:
                return None
    return common if common is not None and min(common) > 0 else None


def _kind(shape: tuple[int, ...]) -> tuple[bool, ...]:
    """The property that all shapes of a family share: for each axis, whether it is longer than 1."""
    return tuple([extent > 1 for extent in shape])


class _Family:
    """Knowledge of an operator on arrays of one rank with the same axes of extent 1.

    Args:
        shape: the first shape.
        form: the form for that shape, if it can hold for every shape.
    """

    def __init__(self, shape: tuple[int, ...], form: ShapeFree | None):
        self.shape, self.form, self.is_sure = shape, form, form is None


_families: dict[Any, _Family] = {}

KIND = "form"
"""The kind of a stored entry: a tuple with a form, or with None if the result depends on the shape."""


def known_calls() -> list[tuple[Any, tuple[int, ...]]]:
    """The key of each family so far, and its first shape."""
    return [(key, family.shape) for key, family in list(_families.items())]


def confirmed_form(key: Any, shape: tuple[int, ...]) -> ShapeFree | None:
    """The form of a family, if it holds for another shape, too.

    Args:
        key: the key of the family, see :func:`known_calls`.
        shape: a shape that the operator takes.

    Raises:
        Exception: the operator's error for this shape.
    """
    op, statics, kinds, scalars = key
    inputs = tuple([(shape if kind else (), dtype) for kind, dtype in kinds])
    form = shape_free(traced(op, statics, inputs, scalars), shape)
    return None if form is None else _confirmed(_Family(shape, form), op, statics, inputs, scalars)


def form_of(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int
) -> ShapeFree | None:
    """The form of an operator; None if its program depends on the shape.

    A number in the program may depend on an extent. So when a second shape occurs, a third one that differs
    in all extents is traced, and must give the same jaxpr.

    Args:
        op: the operator.
        statics: its bound attributes.
        inputs: shape and dtype of each array.
        scalars: the number of scalar inputs.

        Raises:
            Exception: the operator's error for such inputs.
    """
    shape = common_shape(inputs)
    if shape is None:
        return None
    key = (op, statics, tuple([(_kind(each), dtype) for each, dtype in inputs]), scalars)
    family = _families.get(key)
    if family is None:
        known = stored.find(KIND, *key)
        if known is None:
            form = shape_free(traced(op, statics, inputs, scalars), shape)
        else:
            (form,) = known
        if len(_families) >= MOST_TRACES:
            _families.clear()
        family = _families[key] = _Family(shape, form)
        family.is_sure = family.is_sure or known is not None
    if shape == family.shape:
        return family.form
    if not family.is_sure:
        family.form = _confirmed(family, op, statics, inputs, scalars)
        family.is_sure = True
    return family.form


def _confirmed(
    family: _Family, op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int
) -> ShapeFree | None:
    """The form of a family, if another shape gives the same."""
    form = family.form
    assert form is not None
    other = tuple(
        2 * extent + 3 + 2 * axis if extent > 1 else 1 for axis, extent in enumerate(family.shape)
    )
    known = tuple([(other if shape else shape, dtype) for shape, dtype in inputs])
    try:
        second = shape_free(traced(op, statics, known, scalars), other)
    except Exception:  # for example, an operator of images that takes only 3 channels
        return None
    return form if second is not None and _normal_form(form) == _normal_form(second) else None


def _normal_form(form: ShapeFree) -> Any:
    """A form without variables, shapes, and steps that nothing uses, which JAX may leave out."""
    number: dict[Any, int] = {}
    jaxpr = form.jaxpr.jaxpr
    used = {each for each in jaxpr.outvars if type(each) is not Literal}
    needed = []
    for equation in reversed(jaxpr.eqns):
        if not used.isdisjoint(equation.outvars):
            needed.append(equation)
            used.update(each for each in equation.invars if type(each) is not Literal)
    for each in (*jaxpr.constvars, *jaxpr.invars):
        number[each] = len(number)
    rows = []
    for equation in reversed(needed):
        inputs: list[Any] = []
        for each in equation.invars:
            aval = each.aval
            is_number = type(each) is Literal
            inputs.append((repr(each.val), str(aval.dtype)) if is_number else number[each])
        for each in equation.outvars:
            number[each] = len(number)
        dtypes = [str(each.aval.dtype) for each in equation.outvars]
        rows.append(
            (equation.primitive.name, repr(sorted(equation.params.items())), inputs, dtypes)
        )
    heads = [repr(each.val) if type(each) is Literal else number[each] for each in jaxpr.outvars]
    return rows, heads, [repr(each) for each in form.jaxpr.consts], form.full


def shape_free(closed: ClosedJaxpr, shape: tuple[int, ...]) -> ShapeFree | None:
    """The jaxpr for all extents; None if it depends on them.

    Args:
        closed: the jaxpr, traced on inputs that have ``shape`` or no axes.
        shape: the result of :func:`common_shape`.
    """
    if closed.effects or any(np.shape(each) for each in closed.consts):
        return None
    writer = _Writer(closed, shape)
    try:
        outputs = writer.write(closed.jaxpr)
        for before, after in zip(closed.jaxpr.outvars, outputs, strict=True):
            if before.aval.shape and (type(after) is Literal or after not in writer.full):
                return None  # a number that is broadcast
    except _DependsError:
        return None
    jaxpr = closed.jaxpr
    body = Jaxpr(
        jaxpr.constvars, jaxpr.invars, outputs, writer.equations, debug_info=jaxpr.debug_info
    )
    full = tuple(bool(each.aval.shape) for each in jaxpr.outvars)
    return ShapeFree(ClosedJaxpr(body, closed.consts), full)


class _DependsError(Exception):
    """The program depends on extents."""


def _variable(aval: Any) -> Var:
    """A new variable of the shape and dtype of ``aval``."""
    return Var(aval)


class _Writer:
    """Copies the equations of a jaxpr, without broadcasts of numbers."""

    def __init__(self, closed: ClosedJaxpr, shape: tuple[int, ...]):
        self.shape = shape
        self.equations: list[Any] = []
        self.full = {each for each in closed.jaxpr.invars if each.aval.shape}
        self._known: dict[Any, Any] = {}  # variable -> its replacement

    def write(self, jaxpr: Any) -> list[Any]:
        """Copy all equations; returns the outputs."""
        for equation in jaxpr.eqns:
            self._write(equation)
        return [self._read(each) for each in jaxpr.outvars]

    def _read(self, each: object) -> Any:
        return each if type(each) is Literal else self._known.get(each, each)

    def _is_full(self, each: object) -> bool:
        return type(each) is not Literal and each in self.full

    def _write(self, equation: Equation) -> None:
        name = equation.primitive.name
        inputs = [self._read(each) for each in equation.invars]
        inner = called(equation)
        if inner is not None:
            if inner.consts:
                raise _DependsError
            self._known.update(zip(inner.jaxpr.invars, inputs, strict=True))
            results = self.write(inner.jaxpr)
            self._known.update(zip(equation.outvars, results, strict=True))
            return
        if len(equation.outvars) != 1 or equation.outvars[0].aval.shape not in (self.shape, ()):
            raise _DependsError
        (output,) = equation.outvars
        has_axes = any(map(self._is_full, inputs))
        if name == "broadcast_in_dim" and not has_axes:
            self._known[output] = inputs[0]
        elif (
            name == "select_n"
            and not self._is_full(inputs[0])
            and not all(map(self._is_full, inputs[1:]))
        ):
            raise _DependsError  # a single condition, whose choices may have no axes
        elif name in ELEMENTWISE:
            # A program may be called twice, so its variables are renamed each time.
            variable = _variable(output.aval if has_axes else output.aval.update(shape=()))
            if has_axes:
                self.full.add(variable)
            self._known[output] = variable
            self.equations.append(equation.replace(invars=inputs, outvars=[variable]))
        elif name in _TO_ONE and has_axes and output.aval.shape == ():
            variable = _variable(output.aval)
            self._known[output] = variable
            self.equations.append(equation.replace(invars=inputs, outvars=[variable]))
        else:
            raise _DependsError
