"""NumPy's functions on ``mx.np`` arrays: ``numpy.mean(x)`` calls ``mx.np.mean(x)``."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import numpy as onp

from mixnet.base import AttributeTypeError, NotDefinedError, UnknownAttributeError
from mixnet.numpy import fallback
from mixnet.numpy.ndarray import ndarray

_OF_NUMPY = ("average", "linspace", "logspace", "svd")
"""Functions that NumPy computes, as in MXNet: ``mx.np`` has others of these names.

Theirs take arrays as ends, average integers as floats, and give all of the singular vectors.
"""


class Dispatch:
    """The methods that NumPy's protocols ask for.

    Args:
        namespace: where the functions are looked up: ``mixnet.numpy``'s globals.
    """

    def __init__(self, namespace: dict[str, Any]):
        self.namespace = namespace

    def _find(self, function: Callable[..., Any]) -> Any:
        module = getattr(function, "__module__", "") or ""
        if module.startswith("numpy.linalg"):
            return getattr(self.namespace["linalg"], function.__name__, None)
        return self.namespace.get(function.__name__)

    def function(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """``__array_function__``: our function of that name, else NumPy's on the host.

        NumPy's also where ours does not define what the arguments ask for: ``numpy.histogram``
        finds the range of the values, ``mx.np.histogram`` needs it.
        """
        implementation = self._find(function)
        if callable(implementation) and function.__name__ not in _OF_NUMPY:
            with contextlib.suppress(NotDefinedError):
                return implementation(*args, **kwargs)
        return fallback.on_host(function.__name__, function)(*args, **kwargs)

    def ufunc(self, ufunc: Callable[..., Any], method: str, inputs: Any, kwargs: Any) -> Any:
        """``__array_ufunc__``: our function of that name; only plain calls, as in MXNet.

        Raises:
            TypeError: a NumPy array beside ours, in a function of ``mx.np``, which MXNet refuses; a
                method such as ``reduce``.
        """
        if method != "__call__":
            raise AttributeTypeError(
                f"numpy.{ufunc.__name__}.{method} does not take mx.np arrays: give it "
                f"array.asnumpy(), or call a function of mx.np."
            )
        # NumPy passes its scalars, as in `np.float32(2) < x`, as arrays without axes.
        inputs = [
            each.item() if isinstance(each, onp.ndarray) and each.ndim == 0 else each
            for each in inputs
        ]
        implementation = self._find(ufunc)
        mixed = any(isinstance(each, onp.ndarray) for each in inputs)
        if mixed and implementation is not None:
            raise AttributeTypeError(
                f"numpy.{ufunc.__name__}: a numpy array cannot be combined with an mx.np one. "
                f"Convert it with mx.np.array(...), or the other with asnumpy()."
            )
        out = kwargs.pop("out", None)
        if out is not None:
            kwargs["out"] = out[0] if isinstance(out, tuple) else out
            if not isinstance(kwargs["out"], ndarray):
                raise AttributeTypeError("out must be an mx.np array, as the inputs are.")
        if implementation is None:
            return fallback.on_host(ufunc.__name__, ufunc)(*inputs, **kwargs)
        return implementation(*inputs, **kwargs)


def with_array_function_protocol(func: Callable[..., Any]) -> Any:
    """Kept for tests written for MXNet: every NumPy that mixnet takes has the protocol."""
    return func


def with_array_ufunc_protocol(func: Callable[..., Any]) -> Any:
    """Kept for tests written for MXNet: every NumPy that mixnet takes has the protocol."""
    return func


_LISTS = {
    "_NUMPY_ARRAY_FUNCTION_LIST": lambda function: hasattr(function, "__wrapped__"),
    "_NUMPY_ARRAY_UFUNC_LIST": lambda function: isinstance(function, onp.ufunc),
}
"""Lists of MXNet that other libraries import, with what NumPy dispatches: functions and ufuncs."""


def __getattr__(name: str) -> list[str]:
    """The names of the functions of ``mx.np`` that NumPy's functions of one of the two protocols call."""
    if name not in _LISTS:
        raise UnknownAttributeError(f"module {__name__!r} has no attribute {name!r}.")
    np = importlib.import_module("mixnet.numpy")  # which imports this module
    dispatches = _LISTS[name]
    return [
        f"{prefix}{each}"
        for prefix, ours, theirs in (("", np, onp), ("linalg.", np.linalg, onp.linalg))
        for each in dir(ours)
        if not each.startswith("_") and dispatches(getattr(theirs, each, None))
    ]
