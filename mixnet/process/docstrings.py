"""Docstrings of methods that override others: ``help`` shows the arguments that the base class describes."""

from __future__ import annotations

import inspect
import re
from types import FunctionType

_PACKAGE = __name__.partition(".")[0]
_SECTION = re.compile(r"^(\w+):$", re.MULTILINE)
_ITEM = re.compile(r"^    (\w+)(?=[,:])", re.MULTILINE)


def inherit_arguments(cls: type) -> None:
    """Complete the docstrings of a class of this package, for ``__init_subclass__`` of its base.

    A method whose docstring has no ``Args`` gets those of the method that it overrides, and a class those of
    its base for its constructor.

    Args:
        cls: the new class; those of programs stay as they are.
    """
    if cls.__module__.partition(".")[0] != _PACKAGE:
        return
    for name, method in vars(cls).items():
        if isinstance(method, FunctionType):
            for base in cls.__mro__[1:]:
                if complete_arguments(method, getattr(vars(base).get(name), "__doc__", None)):
                    break
    constructor = cls.__init__  # type: ignore[misc]  # of the class itself, whichever defines it
    if isinstance(constructor, FunctionType) and cls.__doc__:
        for base in cls.__mro__[1:]:
            if text := _completed(cls.__doc__, base.__doc__, constructor):
                cls.__doc__ = text
                break


def complete_arguments(function: FunctionType, text: str | None) -> bool:
    """Add the section ``Args`` of another docstring to one that has none; returns whether it did.

    Args:
        function: has a docstring; only its own parameters are described.
        text: the other docstring.
    """
    result = _completed(function.__doc__, text, function)
    if result:
        function.__doc__ = result
    return bool(result)


def _completed(own: str | None, text: str | None, function: FunctionType) -> str:
    """A docstring with the section ``Args`` of another one; empty if there is nothing to add."""
    if not text or "Args:" not in text or not own or "Args:" in own:
        return ""
    items = _arguments(text, function)
    if not items:
        return ""
    own = inspect.cleandoc(own)
    following = _SECTION.search(own)
    end = following.start() if following else len(own)
    return f"{own[:end].rstrip()}\n\nArgs:\n{items}\n\n{own[end:]}".rstrip()


def _arguments(text: str, function: FunctionType) -> str:
    """The items of the section ``Args`` of a docstring that describe parameters of a function."""
    section = inspect.cleandoc(text).partition("\nArgs:\n")[2]
    following = _SECTION.search(section)
    section = section[: following.start()] if following else section
    names = _parameters(function)
    starts = [match.start() for match in _ITEM.finditer(section)]
    items = [section[i:j].rstrip() for i, j in zip(starts, [*starts[1:], None], strict=True)]
    return "\n".join(
        each for each in items if re.split("[,:]", each.strip(), maxsplit=1)[0] in names
    )


def _parameters(function: FunctionType) -> tuple[str, ...]:
    """Names of the parameters; ``inspect.signature`` takes half of the time of a class's docstrings."""
    code = inspect.unwrap(function).__code__
    more = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names: tuple[str, ...] = code.co_varnames
    return names[: code.co_argcount + code.co_kwonlyargcount + more]
