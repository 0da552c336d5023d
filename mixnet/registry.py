"""``mx.registry``: classes by name, and creating instances from names and JSON."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from mixnet.base import CheckError, did_you_mean

Base = TypeVar("Base")
Class = TypeVar("Class", bound=type)


class Register(Protocol):
    """Registers a class; it returns the class."""

    def __call__(self, klass: Class, name: str | None = None) -> Class: ...


class Alias(Protocol):
    """A decorator that registers a class under several names."""

    def __call__(self, *aliases: str) -> Callable[[Class], Class]: ...


_registries: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """The classes registered for a base class by name, a copy.

    Args:
        base_class: the class of which they are subclasses.
    """
    return dict(_registries.setdefault(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Register:
    """A function that registers subclasses, for use as a decorator.

    Args:
        base_class: what they derive from.
        nickname: what messages call them.
    """
    registry = _registries.setdefault(base_class, {})

    def register(klass: Class, name: str | None = None) -> Class:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise CheckError(
                f"Only subclasses of {base_class.__name__} can be registered, not {klass!r:.60}."
            )
        key = (klass.__name__ if name is None else name).lower()
        before = registry.get(key)
        if before is not None and before is not klass:
            warnings.warn(
                f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {key} is "
                f"overriding existing {nickname} {before.__module__}.{before.__name__}",
                UserWarning,
                stacklevel=2,
            )
        registry[key] = klass
        return klass

    register.__doc__ = (
        f"Register a class of {nickname} under its name in lower case, or under another name."
    )
    return register


def get_alias_func(base_class: type, nickname: str) -> Alias:
    """A function that registers a subclass under several names, for use as a decorator.

    Args:
        base_class: what it derives from.
        nickname: what messages call it.
    """
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[Class], Class]:
        def reg(klass: Class) -> Class:
            for name in aliases:
                register(klass, name)
            return klass

        return reg

    alias.__doc__ = f"Register a class of {nickname} under several names."
    return alias


def _parsed(text: str, nickname: str) -> tuple[str, dict[str, Any]]:
    """Name and arguments of an instance, from JSON that may be from a file."""
    try:
        data = json.loads(text)
        if isinstance(data, dict):
            data = data.pop(nickname), data
        name, parameters = data
        if isinstance(name, str) and not name.startswith(("[", "{")):
            return name, dict(parameters)
    except (LookupError, TypeError, ValueError, RecursionError):
        pass
    raise CheckError(
        f"{nickname}: {text!r:.100} is not JSON of a name and a dict of arguments, such as "
        f'["name", {{"argument": 1}}].'
    )


def get_create_func(base_class: type[Base], nickname: str) -> Callable[..., Base]:
    """A function that makes an instance from a name.

    Args:
        base_class: what the class derives from.
        nickname: what messages and the keyword argument are called.
    """
    registry = _registries.setdefault(base_class, {})

    def create(*args: object, **kwargs: object) -> Base:
        name, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        if isinstance(name, base_class):
            if args or kwargs:
                raise CheckError(
                    f"{nickname} is an instance already; it takes no further arguments."
                )
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise CheckError(
                f"{nickname} must be a name, or an instance of {base_class.__name__}, not {name!r:.60}."
            )
        if name[:1] in ("[", "{"):
            if args or kwargs:
                raise CheckError(f"{nickname}: the JSON has the arguments; give no others.")
            name, parameters = _parsed(name, nickname)
            return create(name, **parameters)
        key = name.lower()
        if key not in registry:
            raise CheckError(
                f"{nickname}: {name} is not registered."
                + did_you_mean(name, registry, "There are {}.")
                + f" Register one of your own with {nickname}.register first."
            )
        instance: Base = registry[key](*args, **kwargs)
        return instance

    create.__doc__ = (
        f"A {nickname} from its name and arguments, from JSON as ``str`` gives it, or as it is."
    )
    return create
