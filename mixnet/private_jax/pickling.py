"""Jaxprs as bytes, and back: for traces that another process has made with the same JAX."""

from __future__ import annotations

import io
import pickle
import pkgutil
import sys
from functools import lru_cache
from types import MethodType
from typing import Any

import jax
import numpy as np

from mixnet.private_jax.jaxprs import ClosedJaxpr, Jaxpr, Literal, Primitive, Var

try:
    from jax._src.core import JaxprEqn, new_jaxpr_eqn
except ImportError:  # another JAX
    JaxprEqn = new_jaxpr_eqn = None  # type: ignore[assignment, misc]


try:
    from jax._src.core import DebugInfo

    _info: Any = DebugInfo("mixnet", "operator", None, None)
except (ImportError, TypeError):
    _info = None


class UnwritableError(Exception):
    """An object holds what cannot be written, or would not be the same when it is read."""


def can_write() -> bool:
    """Whether this JAX has the parts that are used here."""
    return new_jaxpr_eqn is not None


def dumps(content: object, optimize: bool = True) -> bytes:
    """An object of Python in which there may be jaxprs, as bytes.

    Args:
        content: the object.
        optimize: write what reads a fifth faster, which takes ten times as long.

    Raises:
        UnwritableError: something in it cannot be written.
    """
    file = io.BytesIO()
    try:
        _Writer(file, protocol=5).dump(content)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        raise UnwritableError(str(error)) from error
    if not optimize:
        return file.getvalue()
    import pickletools  # loads much that reading does without

    return pickletools.optimize(file.getvalue())


loads = pickle.loads


class _Writer(pickle.Pickler):
    """Writes what pickle does not know: variables, equations, primitives."""

    def reducer_override(self, each: Any) -> Any:
        kind = type(each)
        if kind is Var:
            return _variable, (_described(each.aval),)
        if kind is Literal:
            return _literal, (each.val, _described(each.aval))
        if kind is JaxprEqn:
            if each.effects:
                raise UnwritableError(f"{each.primitive.name} has effects")
            operands = list(each.invars), list(each.outvars)
            return _equation, (*operands, each.primitive, each.params)
        if kind is ClosedJaxpr and kind is not Jaxpr:
            return _closed, (each.jaxpr, list(each.consts))
        if kind is Jaxpr:
            if each.effects:
                raise UnwritableError("the jaxpr has effects")
            return _jaxpr, (
                list(each.constvars),
                list(each.invars),
                list(each.outvars),
                list(each.eqns),
            )
        if isinstance(each, Primitive):
            return _primitive, _place_of(each)
        if isinstance(each, jax.core.ShapedArray):
            return _array, _described(each)
        # A number in a type of JAX whose own pickling fails.
        if kind.__name__ == "TypedNdArray":
            return _typed, (kind, np.asarray(each), _described(each.aval))
        if isinstance(each, jax.Array):
            raise UnwritableError("an array of JAX among the constants")
        return NotImplemented


def _typed(kind: type[np.ndarray], value: np.ndarray, described: tuple[Any, ...]) -> Any:
    return kind(value, _array(*described))


def _described(aval: Any) -> tuple[tuple[int, ...], np.dtype, bool]:
    if type(aval) is not jax.core.ShapedArray or not all(type(n) is int for n in aval.shape):
        raise UnwritableError(f"{aval} is not an array of known shape")
    return aval.shape, aval.dtype, aval.weak_type


@lru_cache(maxsize=4096)
def _array(shape: tuple[int, ...], dtype: np.dtype, weak: bool) -> Any:
    return jax.core.ShapedArray(shape, dtype, weak_type=weak)


def _variable(described: tuple[Any, ...]) -> Any:
    return Var(_array(*described))


def _literal(value: object, described: tuple[Any, ...]) -> Any:
    return Literal(value, _array(*described))


def _equation(
    operands: list[Any], results: list[Any], primitive: Primitive, params: dict[str, object]
) -> Any:
    return new_jaxpr_eqn(operands, results, primitive, params, set())


def _jaxpr(constants: list[Any], inputs: list[Any], outputs: list[Any], steps: list[Any]) -> Any:
    return Jaxpr(constants, inputs, outputs, steps, debug_info=_info)


def _closed(jaxpr: Jaxpr, constants: list[Any]) -> Any:
    return ClosedJaxpr(jaxpr, constants)


def _primitive(module: str, name: str) -> Any:
    named = pkgutil.resolve_name(f"{module}:{name}")  # a primitive, or one of its methods
    return named if isinstance(named, Primitive) else named.__self__


_places: dict[Any, tuple[str, str]] = {}


def _place_of(primitive: Primitive) -> tuple[str, str]:
    """The module and the name in it by which a primitive, or its method, is found."""
    place = _places.get(primitive)
    if place is None:
        usual = f"{primitive.name}_p"
        for name, module in sys.modules.copy().items():
            if name.startswith("jax.") and vars(module).get(usual) is primitive:
                place = _places[primitive] = name, usual
                return place
        for name, module in sys.modules.copy().items():
            if name.startswith(("jax.", "mixnet.ops.")):
                for attribute, each in vars(module).items():
                    owner = each.__self__ if type(each) is MethodType else each
                    if isinstance(owner, Primitive):
                        _places.setdefault(owner, (name, attribute))
        place = _places.get(primitive)
    if place is None:
        raise UnwritableError(f"{primitive} has no name in a module")
    return place
