"""The operator registry: an operator is a pure JAX function with a schema, declared once."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from mixnet.base import MXNetError
from mixnet.ops.op import Op

OPERATORS: dict[str, Op] = {}
"""Every operator by each of its names: MXNet's registered name and its aliases."""


def op(name: str, **declared: Any) -> Callable[[Callable[..., Any]], Op]:
    """Decorator that declares an operator; see :class:`mixnet.ops.op.Op` for what can be declared.

    Raises:
        MXNetError: one of its names belongs to another operator.
    """

    def declare(function: Callable[..., Any]) -> Op:
        operator = Op(name, function, **declared)
        for each in (name, *operator.aliases):
            if each in OPERATORS:
                raise MXNetError(f"Two operators are named {each!r}; choose another name.")
            OPERATORS[each] = operator
        operator.is_known_by_name = is_of_library(operator)
        return operator

    return declare


def register(name: str, **declared: Any) -> Callable[[Callable[..., Any]], Op]:
    """Add an operator of your own; it then works in ``mx.nd``, ``mx.sym``, autograd and Gluon.

    Registering the same name again replaces your operator, so that a notebook cell can run twice;
    an operator of the library is never replaced.

    Example::

        @mx.ops.register("swish")
        def swish(data, *, beta: float = 1.0):
            return data * jax.nn.sigmoid(beta * data)

        mx.nd.swish(mx.nd.ones((2, 2)), beta=2.0)

    Args:
        name: its name; a Python identifier.
        declared: see :class:`mixnet.ops.op.Op`.

    Raises:
        MXNetError: the name is not an identifier, or is an operator of the library.
    """
    if not name.isidentifier():
        raise MXNetError(f"Operator name {name!r} is not a Python identifier, as in 'my_op'.")
    known = OPERATORS.get(name)
    if known is not None and not is_of_library(known):
        for each in (known.name, *known.aliases):
            del OPERATORS[each]
    return op(name, **declared)


def is_of_library(operator: Op) -> bool:
    """Whether an operator is the library's own, which is never replaced."""
    return operator.function.__module__.startswith("mixnet.")


def find(name: str) -> Op:
    """The operator of that name.

    Raises:
        MXNetError: there is none; the message has the nearest names.
    """
    try:
        return OPERATORS[name]
    except KeyError:
        near = ", ".join(difflib.get_close_matches(name, OPERATORS, 3))
        raise MXNetError(
            f"There is no operator {name!r}." + (f" Similar names: {near}." if near else "")
        ) from None
