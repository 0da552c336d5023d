"""Submodules that are imported on first access, so that ``import mixnet`` is fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from mixnet.base import UnknownAttributeError, did_you_mean


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
        return module

    def __dir__() -> list[str]:
        return sorted({*here, *names})

    return __getattr__, __dir__
