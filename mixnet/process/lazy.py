"""Modules: names and modules imported on first access, names that ``import *`` brings, custom modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from mixnet.base import UnknownAttributeError, did_you_mean

after_import: list[Callable[[], None]] = []
"""Called after a module has been imported on first access."""


def names_later(
    namespace: dict[str, Any], sources: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that imports some of its names on first access.

    Args:
        namespace: its ``globals()``.
        sources: for each of these names the module that it stands for, absolute or as ``.name`` in the
            package; or ``module:attribute``, or ``module:`` for an attribute of the same name.
    """

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what ``import *`` brings
            return [each for each in __dir__() if not each.startswith("_")]
        if name not in sources:
            public = [each for each in __dir__() if not each.startswith("_")]
            # Tools ask for names such as __test__ thousands of times, and read no message.
            hint = "" if name.startswith("__") else did_you_mean(name, public)
            raise UnknownAttributeError(
                f"module {namespace['__name__']!r} has no attribute {name!r}.{hint}"
            )
        module, separator, attribute = sources[name].partition(":")
        value = importlib.import_module(module, namespace["__package__"])
        if separator:
            value = getattr(value, attribute or name)
        namespace[name] = value
        for call in after_import:
            call()
        return value

    def __dir__() -> list[str]:
        return sorted({*namespace, *sources})

    return __getattr__, __dir__


def names_of_one_file(module: str, files: Sequence[str], star: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module that is one file in MXNet and several here.

    Args:
        module: its ``__name__``.
        files: modules beside it with the functions that it lacks.
        star: the names that ``import *`` brings, separated by spaces.
    """
    package = module.rpartition(".")[0]

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return star.split()
        if not name.startswith("_"):
            for file in files:
                sibling = importlib.import_module(f"{package}.{file}")
                if getattr(getattr(sibling, name, None), "__module__", None) == sibling.__name__:
                    return getattr(sibling, name)
        raise UnknownAttributeError(f"module {module!r} has no attribute {name!r}.")

    return __getattr__


def star_names(namespace: Mapping[str, Any], modules: Collection[str] = ()) -> list[str]:
    """The names that ``from package import *`` imports: all public ones but those of the package's modules.

    Names of modules are not MXNet's, and would replace a program's own ``loss`` or ``shuffle``.

    Args:
        namespace: the package's ``globals()``.
        modules: those of its own modules that it brings nevertheless.
    """
    prefix = namespace["__name__"] + "."

    def is_hidden(name: str, value: object) -> bool:
        return (
            isinstance(value, ModuleType)
            and value.__name__.startswith(prefix)
            and name not in modules
        )

    return sorted(n for n, v in namespace.items() if not n.startswith("_") and not is_hidden(n, v))


class CustomModule(ModuleType):
    """Base of modules with a type of their own; a pickle of one is its name.

    So functions that use it can be sent to other processes: cloudpickle knows only plain modules.
    """

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return importlib.import_module, (self.__name__,)


class ModuleOnUse(CustomModule):
    """Another library's module, imported when an attribute of it is first read or set.

    ``import *`` can bring it without the time that its import takes.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(importlib.import_module(self.__name__), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(importlib.import_module(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))

    def __repr__(self) -> str:
        return repr(importlib.import_module(self.__name__))


def names_so_far(module: ModuleType) -> dict[str, Any]:
    """The names that a module has, without those that ``complete_dict`` would make now."""
    names: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return names


def complete_dict(
    namespace: dict[str, Any], get: Callable[[str], Any], names: Callable[[], Iterable[str]]
) -> None:
    """Give a module that makes its functions on first access a ``__dict__`` with all of them.

    ``'box_decode' in mx.nd.contrib.__dict__`` is how programs ask whether an operator exists, and
    libraries wrap all that ``mx.nd.__dict__`` has.

    Args:
        namespace: the ``globals()`` of the module.
        get: its ``__getattr__``, which keeps a function in ``namespace``.
        names: returns the names of the functions.
    """
    module = sys.modules[namespace["__name__"]]
    base = type(module) if isinstance(module, CustomModule) else CustomModule

    class Module(base):  # type: ignore[misc, valid-type]
        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            for name in names():
                if name not in namespace:
                    get(name)
            return namespace

    module.__class__ = Module
