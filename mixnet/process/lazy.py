"""Modules: those imported on first access, so that ``import mixnet`` is fast; the names of ``import *``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

from mixnet.base import UnknownAttributeError, did_you_mean

after_import: list[Callable[[], None]] = []
"""Called after a submodule has been imported on first access."""


def submodules(
    package: str, names: Mapping[str, str], here: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its ``__name__``.
        names: attribute: module, absolute or as ``.name`` below the package.
        here: its ``globals()``.
    """

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what `import *` brings
            return [each for each in __dir__() if not each.startswith("_")]
        if name not in names:
            public = [each for each in __dir__() if not each.startswith("_")]
            # Tools ask for names such as __test__ thousands of times, and read no message.
            hint = "" if name.startswith("__") else did_you_mean(name, public)
            raise UnknownAttributeError(f"module {package!r} has no attribute {name!r}.{hint}")
        module = importlib.import_module(names[name], package)
        here[name] = module
        for call in after_import:
            call()
        return module

    def __dir__() -> list[str]:
        return sorted({*here, *names})

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
                beside = importlib.import_module(f"{package}.{file}")
                if getattr(getattr(beside, name, None), "__module__", None) == beside.__name__:
                    return getattr(beside, name)
        raise UnknownAttributeError(f"module {module!r} has no attribute {name!r}.")

    return __getattr__


def star_names(here: Mapping[str, Any], modules: Collection[str] = ()) -> list[str]:
    """What ``from package import *`` brings: all public names but those of the package's own modules.

    Their names are not MXNet's, and would replace a program's own ``loss`` or ``shuffle``.

    Args:
        here: the package's ``globals()``.
        modules: those of its own modules that it brings nevertheless.
    """
    own = here["__name__"] + "."

    def is_hidden(name: str, value: object) -> bool:
        return (
            isinstance(value, ModuleType) and value.__name__.startswith(own) and name not in modules
        )

    return sorted(n for n, v in here.items() if not n.startswith("_") and not is_hidden(n, v))


class CustomModule(ModuleType):
    """Modules with a type of their own are of a subclass. A pickle of one is its name, so functions that
    use it can be sent to other processes: cloudpickle knows only plain modules.
    """

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return importlib.import_module, (self.__name__,)
