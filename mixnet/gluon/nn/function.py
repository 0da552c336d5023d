"""Functions as blocks: Lambda, HybridLambda."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.base import AttributeTypeError, AttributeValueError, CheckError
from mixnet.gluon.block import Block, HybridBlock
from mixnet.process.source import function_name

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


def _name(function: object, namespaces: Any) -> str:
    """The name of a function.

    Raises:
        CheckError: the name is not in all namespaces.
        ValueError: it is neither a function nor a name.
    """
    if isinstance(function, str):
        for namespace in namespaces:
            if not hasattr(namespace, function):
                raise CheckError(
                    f"{function!r} is not an operator of {namespace.__name__}; see its dir()."
                )
        return function
    if not callable(function):
        raise AttributeValueError(
            f"A Lambda takes a function or the name of an operator, not {function} of type "
            f"{type(function)}."
        )
    return function_name(function)


class Lambda(Block):
    """A function as a block.

    Args:
        function: a function of arrays, or the name of an operator of ``mx.nd``.
        prefix: prefix of its parameters' names.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        self._func_name = _name(function, (nd,))
        self._func_impl: Any = getattr(nd, function) if isinstance(function, str) else function

    def forward(self, *args: Any) -> Any:
        """The result of the function for these inputs."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function of ``F`` and inputs as a hybrid block.

    Args:
        function: a function ``f(F, x, ...)``, or the name of an operator.
        prefix: prefix of its parameters' names.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        self._func_name = _name(function, (nd, sym))
        if isinstance(function, str):
            self._func: Callable[..., Any] = lambda F, *args: getattr(F, function)(*args)
        else:
            self._func = function

    def hybrid_forward(self, F: ModuleType, x: Tensor, *args: Any) -> Any:
        """The result of the function for these inputs."""
        try:
            return self._func(F, x, *args)
        except TypeError:
            signature = inspect.signature(self._func)
            try:
                signature.bind(F, x, *args)
            except TypeError:
                raise AttributeTypeError(
                    f"The function of a HybridLambda is called with F, which is mx.nd or mx.sym, and "
                    f"{1 + len(args)} input(s), but it takes {signature}."
                ) from None
            raise

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
