"""Errors that every layer raises, and small facts other people's programs import from here."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np

# Programs set the root logger to DEBUG to see their own lines; JAX would add hundreds of its own.
_jax_logger = logging.getLogger("jax")
_jax_logger.setLevel(_jax_logger.level or logging.WARNING)


class MXNetError(RuntimeError):
    """Base of all errors of the library; the name is MXNet's."""


class ShapeError(MXNetError, ValueError):
    """Shapes do not fit together."""


class AttributeValueError(MXNetError, ValueError):
    """An operator attribute has a value that the operator does not take."""


class AttributeTypeError(MXNetError, TypeError):
    """An operator attribute is missing, unknown or of the wrong type."""


class DTypeError(MXNetError, TypeError):
    """A dtype is unknown, or the operator does not take it."""


class ContextError(MXNetError, ValueError):
    """A device does not exist, or arrays live on different devices."""


class FileFormatError(MXNetError, ValueError):
    """A file is truncated, corrupted or of another kind."""


class TraceError(MXNetError):
    """A value was asked for while a graph is being traced."""


class CompileWarning(UserWarning):
    """A line of code keeps compiling new programs."""


class OutOfMemoryError(MXNetError, MemoryError):
    """A device has no memory left; names what holds it."""


class NotSupportedForSparseNDArray(MXNetError):
    """A method of dense arrays that sparse ones do not have."""


class GradientError(MXNetError):
    """Autograd was used in a way that has no gradient."""


class NotImplementedForSymbol(MXNetError):
    """A method of arrays that symbols cannot have: they hold no values.

    Args:
        function: the method or its name.
        alias: another spelling, such as an operator.
        args: what it was called with.
    """

    def __init__(self, function: Any, alias: str | None = None, *args: Any):
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(str(type(each)) for each in args)

    def __str__(self) -> str:
        alias = f" (namely operator {self.alias!r})" if self.alias else ""
        given = f" with arguments ({', '.join(self.args)})" if self.args else ""
        return (
            f"Function {self.function}{alias}{given} is not implemented for Symbol and only "
            f"available in NDArray: bind the symbol to arrays first."
        )


# ---- small things that programs written for MXNet import from here ---------------------------

integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
string_types = (str,)
mx_real_t = np.float32


def py_str(x: bytes | str) -> str:
    """Text from bytes."""
    return x.decode() if isinstance(x, bytes) else x


def data_dir_default() -> str:
    """``~/.mxnet``, where MXNet keeps downloads."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Folder of downloads: the setting ``MXNET_HOME``, or ``~/.mxnet``."""
    return os.getenv("MXNET_HOME", data_dir_default())


def _as_list(obj: Any) -> Any:
    """Lists and tuples as they are, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def with_metaclass(meta: Any, *bases: Any) -> Any:
    """A base class with a metaclass."""
    return meta("base", bases or (object,), {})


class classproperty:
    """Decorator: a property of the class."""

    def __init__(self, func: Any):
        self.function = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.function(owner)


_C_LIBRARY = ("_LIB", "check_call", "c_str", "c_array", "c_array_buf", "c_handle_array",
              "c_str_array", "ctypes2buffer", "ctypes2numpy_shared")  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _C_LIBRARY or name.endswith("Handle"):
        raise AttributeError(
            f"mx.base.{name} is not part of mixnet: there is no C library below it, see "
            f"docs/from-mxnet.md."
        )
    raise AttributeError(f"module 'mixnet.base' has no attribute {name!r}")
