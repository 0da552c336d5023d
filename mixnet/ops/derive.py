"""Operators with generated functions: their signatures and docstrings."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any

from mixnet.ops.registry import Op


def present(
    function: Callable[..., Any], name: str, text: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """Give a made function what the registry and its readers look at; returns it.

    Args:
        function: takes whatever ``parameters`` say.
        name: the operator's name, told as its source.
        text: what it does.
        parameters: arrays positional, attributes keyword-only with resolved annotations.
    """
    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {
        each.name: each.annotation for each in parameters if each.annotation is not each.empty
    }
    made.__doc__ = f"{text}\n\nSource: MXNet operator ``{name}``."
    return function


def array(name: str) -> inspect.Parameter:
    """The parameter of an array."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def attribute(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """The parameter of an attribute; without a default it is required."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def parameters_of(operator: Op) -> list[inspect.Parameter]:
    """The parameters of an operator's attributes, with their annotations resolved."""
    hints = typing.get_type_hints(operator.function, include_extras=True)
    parameters = inspect.signature(operator.function).parameters
    return [parameters[name].replace(annotation=hints[name]) for name in operator.attributes]
