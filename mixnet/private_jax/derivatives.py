"""Functions of arrays with a derivative of their own, traced without looking at containers and signatures.

``jax.custom_jvp`` and ``jax.custom_vjp`` take any container and every way to pass an argument, and look at
both each time: two thirds of the time that tracing such a function takes. The functions here take arrays by
position, static values by keyword, and return one array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

try:
    from jax._src.core import DebugInfo, initial_result_paths
    from jax._src.custom_derivatives import SymbolicZero, custom_jvp_call_p, custom_vjp_call_p
    from jax._src.linear_util import wrap_init

    _records_directly = True
except ImportError:  # another JAX: its public decorators do the same
    _records_directly = False


class _Derived:
    """A function of arrays, by position, and static values, by keyword.

    Args:
        function: the function; it returns one array.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.__doc__, self.__name__ = function.__doc__, getattr(function, "__name__", "function")


class CustomJVP(_Derived):
    """A decorator that gives a function its own forward derivative; see :meth:`defjvp`."""

    rule: Callable[..., tuple[Any, Any]]

    def defjvp(self, rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Say how the derivative is computed.

        Args:
            rule: the result and its tangent, from a tuple of arrays, a tuple of their tangents, and the
                static values.
        """
        self.rule = rule
        return rule

    def __call__(self, *arrays: Any, **statics: Any) -> Any:
        """The result."""
        function, rule = self.function, self.rule
        if statics:
            function = functools.partial(function, **statics)
            rule = functools.partial(rule, **statics)
        if not _records_directly:
            general = jax.custom_jvp(function)
            general.defjvp(rule)
            return general(*arrays)
        return _bind_jvp(function, rule, arrays)


class CustomVJP(_Derived):
    """A decorator that gives a function its own gradient; see :meth:`defvjp`."""

    keep: Callable[..., tuple[Any, tuple[Any, ...]]]
    pull: Callable[..., Sequence[Any]]

    def defvjp(
        self,
        keep: Callable[..., tuple[Any, tuple[Any, ...]]],
        pull: Callable[..., Sequence[Any]],
    ) -> None:
        """Say how the gradient is computed.

        Args:
            keep: the result and a tuple of what its gradient needs, from the arrays and the static values.
            pull: the gradient of each array, from that tuple, the gradient of the result, and the static
                values.
        """
        self.keep, self.pull = keep, pull

    def __call__(self, *arrays: Any, **statics: Any) -> Any:
        """The result."""
        parts: tuple[Callable[..., Any], ...] = self.function, self.keep, self.pull
        if statics:
            parts = tuple(functools.partial(each, **statics) for each in parts)
        function, keep, pull = parts
        if not _records_directly:
            general = jax.custom_vjp(function)
            general.defvjp(keep, lambda residuals, head: tuple(pull(residuals, head)))
            return general(*arrays)
        return _bind_vjp(function, keep, pull, arrays)


def _wrapped(function: Callable[..., Any]) -> Any:
    info = DebugInfo("mixnet", "operator", None, initial_result_paths)
    return wrap_init(function, debug_info=info)


def _bind_jvp(function: Callable[..., Any], rule: Callable[..., Any], arrays: Any) -> Any:
    def forward(*primals: Any) -> list[Any]:
        return [function(*primals)]

    def with_tangent(*both: Any) -> list[Any]:
        half = len(both) // 2
        return list(rule(both[:half], both[half:]))

    (result,) = custom_jvp_call_p.bind(
        *arrays, subfuns=(_wrapped(forward), _wrapped(with_tangent)), symbolic_zeros=False
    )
    return result


_ONE = jax.tree.structure(0)
_HAS_LOGS = hasattr(jax.custom_vjp, "defvjp_with_logs")  # since JAX 0.12


def _bind_vjp(
    function: Callable[..., Any], keep: Callable[..., Any], pull: Callable[..., Any], arrays: Any
) -> Any:
    trees: list[Any] = []  # structures of result and residuals, and which residuals are arguments

    def forward(*primals: Any) -> list[Any]:
        return [function(*primals)]

    def forward_keeping(*interleaved: Any) -> list[Any]:
        primals = interleaved[::2]  # between them: whether each has a gradient
        result, residuals = keep(*primals)
        place = {id(each): i for i, each in enumerate(primals)}
        arguments = [place.get(id(each)) for each in residuals]
        trees[:] = [_ONE, jax.tree.structure((0,) * len(residuals)), arguments]
        others = [each for each, i in zip(residuals, arguments, strict=True) if i is None]
        return [*others, result]

    def backward(*residuals_and_head: Any) -> Any:
        *residuals, head = residuals_and_head
        if isinstance(head, SymbolicZero):
            head = jax.numpy.zeros(head.shape, head.dtype)
        gradients = list(pull(tuple(residuals), head))
        return (gradients, None) if _HAS_LOGS else gradients

    (result,) = custom_vjp_call_p.bind(
        *arrays,
        subfuns=(_wrapped(forward), _wrapped(forward_keeping), _wrapped(backward)),
        out_trees=lambda: tuple(trees),
        symbolic_zeros=False,
    )
    return result
