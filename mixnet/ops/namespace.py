"""Namespaces: the operators with one prefix as functions on arrays or symbols, created on first access."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from mixnet.base import UnknownAttributeError, did_you_mean
from mixnet.ops.op import Op
from mixnet.ops.registry import OPERATORS, is_of_library
from mixnet.process.lazy import CustomModule, complete_dict

PREFIXES = {
    "contrib": "_contrib_",
    "image": "_image_",
    "linalg": "_linalg_",
    "random": "_random_",
    "sparse": "_sparse_",
}

# What MXNet has and mixnet leaves out on purpose: docs/from-mxnet.md says why.
LEFT_OUT = {
    "_contrib_dgl_adjacency": "DGL graph sampling",
    "_contrib_dgl_csr_neighbor_non_uniform_sample": "DGL graph sampling",
    "_contrib_dgl_csr_neighbor_uniform_sample": "DGL graph sampling",
    "_contrib_dgl_graph_compact": "DGL graph sampling",
    "_contrib_dgl_subgraph": "DGL graph sampling",
    "_contrib_edge_id": "DGL graph sampling",
}


class Namespace:
    """Functions by name.

    Args:
        title: as a user spells it: ``mx.nd.linalg``.
        make: from an operator and a name, the function.
        prefix: what stands before the names in the registry.
    """

    def __init__(self, title: str, make: Callable[[Op, str], Any], prefix: str = ""):
        self.title, self.make, self.prefix = title, make, prefix
        self._module: str | None = None  # where users find the functions
        self._functions: dict[str, tuple[Any, Any]] = {}  # by name: operator and function

    def function(self, name: str) -> Any:
        """The function of an operator.

        Raises:
            AttributeError: there is no such operator; the message has the nearest name.
        """
        op = OPERATORS.get(self.prefix + name)
        if op is None:
            reason = LEFT_OUT.get(self.prefix + name)
            if name.startswith("intgemm_"):
                reason = "intgemm"
            if reason is not None:
                raise UnknownAttributeError(
                    f"{self.title}.{name} is not part of mixnet: {reason} is left out, see "
                    f"docs/from-mxnet.md."
                )
            hint = did_you_mean(name, self.names()) or f" dir({self.title}) lists them."
            raise UnknownAttributeError(f"{self.title} has no operator {name!r}.{hint}")
        # Looked up with the operator, so that one registered anew is found.
        known = self._functions.get(name)
        if known is None or known[0] is not op:
            function = self.make(op, name)
            if self._module is not None:
                function.__module__ = self._module  # where pickle looks for it
            known = self._functions[name] = (op, function)
        return known[1]

    def names(self) -> list[str]:
        """Names of the operators here; without a prefix the public ones."""
        if self.prefix:
            return sorted(
                name.removeprefix(self.prefix) for name in OPERATORS if name.startswith(self.prefix)
            )
        return sorted(name for name in OPERATORS if not name.startswith("_"))

    def hooks(
        self, namespace: dict[str, Any], modules: Collection[str] | None = None
    ) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
        """``__getattr__`` and ``__dir__`` of a module whose ``globals()`` are ``namespace``.

        Args:
            namespace: the module's ``globals()``.
            modules: of a package, the modules in it that are part of its interface. The names of the
                others are free: somebody may register an operator ``update`` although there is an
                ``update.py``.
        """
        self._module = namespace["__name__"]
        if modules is not None:
            _hide_all_but(modules, namespace)

        def __getattr__(name: str) -> Any:
            if name == "__all__":  # what `import *` brings
                if self.title.endswith("._internal") and not self.prefix:
                    return _private_names(namespace)
                return [each for each in __dir__() if not each.startswith("_")]
            if name.startswith("__"):
                raise AttributeError(name)
            function = self.function(name)
            if not name.startswith("_") and is_of_library(OPERATORS[self.prefix + name]):
                namespace[name] = function  # Python finds it there itself the next time
            return function

        def __dir__() -> list[str]:
            return sorted({*namespace, *self.names()})

        complete_dict(namespace, __getattr__, self.names)
        return __getattr__, __dir__


def _private_names(namespace: dict[str, Any]) -> list[str]:
    """Names with an underscore: of operators, and of the functions that a module itself defines."""
    own = [
        name
        for name, value in namespace.items()
        if getattr(value, "__module__", None) == namespace["__name__"] and name[:2] != "__"
    ]
    return sorted({*own, *(name for name in OPERATORS if name.startswith("_"))})


def _hide_all_but(modules: Collection[str], namespace: dict[str, Any]) -> None:
    """Keep other modules of a package from becoming its attributes, now and when they are imported.

    ``from package import module`` and ``import package.module as name`` find them without.
    """
    package = namespace["__name__"]

    def is_hidden(name: str, value: object) -> bool:
        return (
            isinstance(value, ModuleType)
            and value.__name__ == f"{package}.{name}"
            and name not in modules
        )

    class Package(CustomModule):
        def __setattr__(self, name: str, value: object) -> None:
            if not is_hidden(name, value):
                super().__setattr__(name, value)

    for name in [name for name, value in namespace.items() if is_hidden(name, value)]:
        del namespace[name]
    sys.modules[package].__class__ = Package
