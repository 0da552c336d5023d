"""Range checks for arguments of functions and layers, as for operator attributes."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

from mixnet.ops.schema.attributes import REQUIRED, Attribute, attribute


def checked(owner: str, name: str, value: object, hint: Any) -> Any:
    """The value of an argument, as an attribute that is annotated with ``hint`` takes it.

    Raises:
        AttributeValueError: it cannot have that value; names owner and argument.
    """
    return attribute(name, hint, REQUIRED).parse(value, owner)


def check_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Decorator of an ``__init__``: arguments whose annotation has a range must lie in it.

    An error names the class of the object that is made, and the argument.
    """
    signature = inspect.signature(init)

    @functools.cache  # names in annotations are known once the module is there
    def attributes() -> dict[str, Attribute]:
        hints = typing.get_type_hints(init, include_extras=True)
        values = {}
        for name, each in signature.parameters.items():
            default = REQUIRED if each.default is each.empty else each.default
            if name in hints and typing.get_origin(_core(hints[name])) is typing.Annotated:
                values[name] = attribute(name, hints[name], default)
        return values

    @functools.wraps(init)
    def checking(self: Any, *args: Any, **kwargs: object) -> None:
        try:
            arguments = signature.bind(self, *args, **kwargs).arguments
        except TypeError:
            arguments = {}  # Python's own words say what is missing
        for name, each in attributes().items():
            if name in arguments:
                each.parse(arguments[name], type(self).__name__)
        init(self, *args, **kwargs)

    return checking


def _core(hint: Any) -> Any:
    """The annotation without ``| None``."""
    members = [each for each in typing.get_args(hint) if each is not type(None)]
    return members[0] if type(None) in typing.get_args(hint) else hint
