"""Operators with generated functions: their signatures and docstrings."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any

from mixnet.ops.op import Op


def _take_parameters(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Make parameters those that the registry and editors see of a function."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {
        each.name: each.annotation for each in parameters if each.annotation is not each.empty
    }


def present(
    function: Callable[..., Any], name: str, text: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """Give a made function what the registry and its readers look at; returns it.

    Args:
        function: takes whatever ``parameters`` say.
        name: the operator's name, which the docstring gives as its source.
        text: what it does.
        parameters: arrays positional, attributes keyword-only with resolved annotations.
    """
    function.__name__ = function.__qualname__ = name
    _take_parameters(function, parameters)
    function.__doc__ = f"{text}\n\nSource: MXNet operator ``{name}``."
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


def with_attributes_of(
    operator: Op, before: str = "", **kinds: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: ``**attributes`` of a function that is to be an operator are those of another one.

    Args:
        operator: the other one.
        before: which of its attributes the function's own ones precede; by default they are the first.
        kinds: annotations of attributes that are not as there.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = typing.get_type_hints(function, include_extras=True)
        declared_parameters = inspect.signature(function).parameters.values()
        arrays = [each for each in declared_parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        own = [
            each.replace(annotation=hints.get(each.name, each.annotation))
            for each in declared_parameters
            if each.kind is each.KEYWORD_ONLY
        ]
        shared = [
            each.replace(annotation=kinds.get(each.name, each.annotation))
            for each in parameters_of(operator)
        ]
        place = next((i for i, each in enumerate(shared) if each.name == before), 0)
        parameters = [*arrays, *shared[:place], *own, *shared[place:]]
        _take_parameters(function, parameters)
        return function

    return declare
