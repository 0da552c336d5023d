"""The functions of ``mx.np`` on symbols: the same functions, composing a graph."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

from mixnet.numpy.call import face
from mixnet.process.lazy import complete_dict
from mixnet.symbol.numpy.symbol import _Symbol


def hooks(
    module: str, namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that has the functions of ``module``."""

    def functions() -> list[str]:
        source = importlib.import_module(module)
        public = [each for each in dir(source) if not each.startswith("_")]
        return [each for each in public if isinstance(getattr(source, each), FunctionType)]

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what `import *` brings
            return functions()
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(importlib.import_module(module), name)
        if not callable(value) or isinstance(value, type):
            return value

        @functools.wraps(value)
        def composing(*args: object, **kwargs: object) -> Any:
            with face(_Symbol):
                return value(*args, **kwargs)

        namespace[name] = composing
        return composing

    def __dir__() -> list[str]:
        return sorted({*namespace, *dir(importlib.import_module(module))})

    complete_dict(namespace, __getattr__, functions)
    return __getattr__, __dir__
