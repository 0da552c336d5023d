"""Errors that every layer raises, and constants and helpers that user programs import from here."""

from __future__ import annotations

import difflib
import errno
import importlib
import inspect
import logging
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from mixnet import libinfo as libinfo
from mixnet.libinfo import __version__ as __version__

# Programs set the root logger to DEBUG to see their own lines; JAX would add hundreds of its own.
_jax_logger = logging.getLogger("jax")
_jax_logger.setLevel(_jax_logger.level or logging.WARNING)


class MXNetError(RuntimeError):
    """Base of all errors of the library; the name is MXNet's.

    Programs print ``type(error).__name__``. MXNet has few classes of errors, so the ``__name__``
    of a class is that of the class which MXNet raises there, if ``mxnet_name`` states it.
    Tracebacks show ``__qualname__``, the class itself.
    """

    names_lines: ClassVar[bool] = False
    """Whether the text names the lines of the program that it is about."""
    exit_code: ClassVar[int | None] = None
    """Status with which a process of a job ends because of it; None for that of any other error."""

    def __init_subclass__(cls, mxnet_name: str = "", **kwargs: object):
        super().__init_subclass__(**kwargs)
        if mxnet_name:
            cls.__name__ = mxnet_name


class ShapeError(MXNetError, ValueError, mxnet_name="MXNetError"):
    """Shapes do not fit together."""


class RankError(ShapeError, mxnet_name="MXNetError"):
    """An array has the wrong number of axes, whatever their extents."""


class SizeError(ShapeError, mxnet_name="ValueError"):
    """An array has the wrong shape for a function that MXNet writes in Python."""


class StateCountError(ShapeError, IndexError, mxnet_name="IndexError"):
    """A recurrent cell gets another number of states than it has."""


class MatrixError(SizeError, np.linalg.LinAlgError, mxnet_name="LinAlgError"):
    """An array is no matrix, or a matrix that is not square, where NumPy refuses it."""


class BindingError(ShapeError, mxnet_name="RuntimeError"):
    """The shapes given to ``simple_bind`` are incomplete, or contradict each other."""


class CheckError(MXNetError, AssertionError, mxnet_name="AssertionError"):
    """An argument fails a check that MXNet makes with ``assert``."""


class AttributeValueError(MXNetError, ValueError, mxnet_name="ValueError"):
    """An argument, or attribute of an operator, has an invalid value."""


class AxisError(RankError, AttributeValueError, IndexError, mxnet_name="MXNetError"):
    """An axis does not exist in the array; NumPy's is a ValueError and an IndexError too."""


class AttributeTypeError(MXNetError, TypeError, mxnet_name="TypeError"):
    """An argument, or attribute of an operator, is missing, unknown or of the wrong type."""


class OperatorTypeError(AttributeTypeError, mxnet_name="MXNetError"):
    """An argument of an operator is missing, unknown or of the wrong type."""


class OperatorValueError(AttributeValueError, mxnet_name="MXNetError"):
    """An argument of an operator has an invalid value."""


class AttributeKindError(
    AttributeTypeError, AttributeValueError, CheckError, mxnet_name="MXNetError"
):
    """An argument, or attribute of an operator, is of the wrong kind: text where a number is
    expected.
    """


class OtherInputsError(AttributeKindError, mxnet_name="ValueError"):
    """A hybridized block is called with other inputs than those of its first call."""


class ZeroError(AttributeValueError, ZeroDivisionError, mxnet_name="ZeroDivisionError"):
    """A divisor is 0."""


class NotAnArrayError(AttributeTypeError, CheckError, mxnet_name="AssertionError"):
    """An operator was given something other than an array or a symbol."""


class OtherArrayError(NotAnArrayError, mxnet_name="TypeError"):
    """An operand is neither a number nor an array of the same kind: one of mx.np with one of mx.nd."""


class IndexingError(MXNetError, IndexError, ValueError, mxnet_name="IndexError"):
    """An index is out of bounds, or invalid."""


class IndexKindError(IndexingError, mxnet_name="ValueError"):
    """Something cannot be an index: text, a fraction, a slice with step 0."""


class IndexTypeError(IndexKindError, TypeError, mxnet_name="TypeError"):
    """A part of an index is not a number: text in a slice, None in a list."""


class UnknownNameError(MXNetError, KeyError, mxnet_name="KeyError"):
    """Nothing has that name, or key."""

    def __str__(self) -> str:
        return MXNetError.__str__(self)  # KeyError puts quotes around the text


class UnknownValueError(UnknownNameError, AttributeValueError, mxnet_name="KeyError"):
    """An argument is not one of the values that MXNet looks up in a table."""


class SampleKindError(AttributeTypeError, UnknownNameError, mxnet_name="KeyError"):
    """Samples are neither numbers nor arrays, so that there is no batch of them."""


class DTypeError(MXNetError, TypeError, mxnet_name="MXNetError"):
    """A dtype is unknown, or the operator does not take it."""


class UnknownDTypeError(DTypeError, UnknownNameError, mxnet_name="TypeError"):
    """Something is not the name of a dtype; MXNet looks types up in a table."""


class StateError(MXNetError, mxnet_name="RuntimeError"):
    """An object is not ready for a call, or was not made for it: a network that has not been
    traced is exported, the gradient of a parameter is read that has none.
    """


class NotNumbersError(DTypeError, mxnet_name="TypeError"):
    """An array is made of something that holds no numbers, or of lists of different lengths."""


class UninitializedError(StateError, mxnet_name="RuntimeError"):
    """A parameter is used before it has values, or on a device that it is not on."""


class ContextError(MXNetError, ValueError, mxnet_name="MXNetError"):
    """A device does not exist, or arrays live on different devices."""


class ContextKindError(ContextError, TypeError, mxnet_name="TypeError"):
    """Something else than a device was given as one."""


class OptionError(MXNetError, NotImplementedError, mxnet_name="NotImplementedError"):
    """A value of an option of NumPy that is not supported."""


class NotDefinedError(MXNetError, NotImplementedError, mxnet_name="NotImplementedError"):
    """A class does not define what was called, or mixnet does not."""


class UnknownAttributeError(MXNetError, AttributeError, mxnet_name="AttributeError"):
    """A module or an object does not have the requested attribute."""


class ObjectKindError(AttributeTypeError, UnknownAttributeError, mxnet_name="AttributeError"):
    """An object is of the wrong kind: MXNet fails on an attribute that it lacks."""


class FileFormatError(MXNetError, ValueError, mxnet_name="MXNetError"):
    """A file is truncated, corrupted or of another kind."""


class MissingFileError(MXNetError, FileNotFoundError, ValueError, mxnet_name="MXNetError"):
    """A file, or the folder that it should be written to, does not exist.

    It is a ``ValueError`` as well, which MXNet's ``load_parameters`` raises.

    Args:
        path: the path that was requested.
        reason: what is missing.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str = "there is no such file"):
        # As OSError has them; its text would be the arguments.
        OSError.__init__(self, path, reason)
        self.errno, self.filename, self.strerror = errno.ENOENT, os.fspath(path), reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.filename, self.strerror)

    def __str__(self) -> str:
        return f"{self.filename!r}: {self.strerror}."


class PathNotFoundError(MissingFileError, mxnet_name="FileNotFoundError"):
    """A file or folder does not exist that MXNet opens in Python: states, indexes, lists."""


class FileError(MXNetError, OSError, mxnet_name="MXNetError"):
    """A file cannot be read or written: the disk is full, the folder is read-only, ...

    Args:
        path: of the file.
        reason: what does not work, and why.
        number: the system's number of the error.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, number: int | None = None):
        OSError.__init__(self, path, reason, number)
        self.errno, self.filename, self.strerror = number, os.fspath(path), reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.filename, self.strerror, self.errno)

    def __str__(self) -> str:
        return f"{self.filename!r}: {self.strerror}."


class FilePermissionError(FileError, PermissionError, mxnet_name="MXNetError"):
    """A file may not be read or written by this user."""


def open_file(path: str | os.PathLike[str], mode: str = "r", **more: Any) -> Any:
    """``open`` for a file that must be there.

    Args:
        path: its path.
        mode: as of ``open``.
        more: as of ``open``.

    Raises:
        PathNotFoundError: it is not.
    """
    try:
        return open(path, mode, **more)
    except FileNotFoundError:
        raise PathNotFoundError(path) from None


class CompileWarning(UserWarning):
    """A line of code keeps compiling new programs."""


class OutOfMemoryError(MXNetError, MemoryError, mxnet_name="MXNetError"):
    """A device has no memory left; names what holds it."""


class GradientError(MXNetError, mxnet_name="MXNetError"):
    """Autograd was used in a way that has no gradient."""


def unknown_argument(instance: object, name: str) -> AttributeTypeError:
    """The error for a keyword argument that no constructor of an object's class takes.

    Args:
        instance: the object.
        name: the argument.
    """
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {
        each.name
        for cls in type(instance).__mro__
        if "__init__" in vars(cls)
        for each in list(inspect.signature(vars(cls)["__init__"]).parameters.values())[1:]
        if each.kind in kinds
    }
    return AttributeTypeError(
        f"{type(instance).__name__} has no argument {name!r}."
        + did_you_mean(name, names, "It has {}.")
    )


def checked_count(name: str, value: object) -> int:
    """A whole number of at least 1.

    Args:
        name: what it counts, for the error.
        value: what was given.

    Raises:
        AttributeTypeError: it is not a whole number.
        AttributeValueError: it is below 1.
    """
    if not isinstance(value, (int, np.integer)):
        raise AttributeTypeError(f"{name} must be a whole number, not {value!r:.60}.")
    if value < 1:
        raise AttributeValueError(f"{name} is {value}; it must be at least 1.")
    return int(value)


def checked_number(name: str, value: Any) -> Any:
    """``value``, if it counts as a number.

    Raises:
        AttributeTypeError: it does not.
    """
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        float(value)
    except (TypeError, ValueError):
        raise AttributeTypeError(f"{name} must be a number, not {value!r:.60}.") from None
    return value


def checked_shape(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of integers.

    Args:
        name: what has the shape, for the error.
        shape: integers, one an axis.

    Raises:
        AttributeTypeError: it is not a shape.
    """
    try:
        if (
            isinstance(shape, str) or getattr(shape, "shape", None) == ()
        ):  # it has no rows to iterate
            raise TypeError
        return tuple([operator.index(extent) for extent in shape])
    except (TypeError, ValueError):
        raise AttributeTypeError(
            f"{name}: a shape is a tuple of whole numbers, such as (2, 3), not {shape!r:.80}."
        ) from None


class _MethodError(MXNetError):
    """A method that a class has by its name alone.

    Args:
        function: the method or its name.
        alias: another spelling, such as an operator.
        args: what it was called with.
    """

    _reason: str
    _way_out: str

    def __init__(self, function: Any, alias: str | None = None, *args: Any):
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(str(type(each)) for each in args)

    def __str__(self) -> str:
        alias = f' (namely operator "{self.alias}")' if self.alias else ""
        arguments = f" with arguments ({', '.join(self.args)})" if self.args else ""
        return (
            f"Function {self.function}{alias}{arguments} is not {self._reason} and only available in "
            f"NDArray: {self._way_out}."
        )


def did_you_mean(name: Any, names: Iterable[str], listed: str = "") -> str:
    """A sentence with the nearest of some names, for the end of an error's text.

    Args:
        name: what was given.
        names: what there is.
        listed: says which names there are where none is near; ``{}`` stands for them.
    """
    names = sorted(set(names))
    initials = ["".join(part[:1] for part in each.split("_")) for each in names]
    lower = [each.lower() for each in names]
    for spelled, among in ((str(name), names), (str(name).lower(), lower), (name, initials)):
        cutoff = 1.0 if among is initials else 0.6
        near = difflib.get_close_matches(spelled, among, 1, cutoff)
        if near:
            return f" Did you mean {names[among.index(near[0])]!r}?"
    return f" {listed.format(', '.join(names))}" if listed and names else ""


class NotImplementedForSymbol(_MethodError):
    """A method of arrays that symbols cannot have: they hold no values."""

    _reason, _way_out = "implemented for Symbol", "bind the symbol to arrays first"


class TraceError(NotImplementedForSymbol, mxnet_name="NotImplementedForSymbol"):
    """A value was requested while a graph is being traced, where MXNet has a symbol."""

    def __init__(self, message: str):
        MXNetError.__init__(self, message)

    __str__ = MXNetError.__str__


class NotSupportedForSparseNDArray(_MethodError):
    """A method of dense arrays that sparse ones do not have."""

    _reason, _way_out = "supported for SparseNDArray", "use tostype('default') first"


# ---- small things that programs written for MXNet import from here ---------------------------

integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
string_types = (str,)
mx_real_t = np.float32
long = int
basestring = str


class _NullType:
    """The class of ``_Null``, which an operator takes for "not given"."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()


def py_str(x: bytes | str) -> str:
    """Text from bytes."""
    return x.decode() if isinstance(x, bytes) else x


def data_dir_default() -> str:
    """``~/.mxnet``, where MXNet stores downloads."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Folder of downloads: the setting ``MXNET_HOME``, or ``~/.mxnet``."""
    return os.getenv("MXNET_HOME", data_dir_default())


def _as_list(obj: object) -> Any:
    """Lists and tuples as they are, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def with_metaclass(meta: Any, *bases: Any) -> Any:
    """A base class with a metaclass, for ``class Name(with_metaclass(Meta, Base)):``."""

    # The class that is made of it has the given bases alone.
    class Temporary(type):
        def __new__(cls, name: str, _: object, namespace: Any) -> Any:
            return meta(name, bases, namespace)

    return type.__new__(Temporary, "temporary_class", (), {})


class _MXClassPropertyDescriptor:
    """A property of the class; ``setter`` as of ``property``."""

    def __init__(self, func: Callable[..., Any], change: Any = None):
        self.function, self.change = func, change

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self.function(type(instance) if owner is None else owner)

    def __set__(self, instance: object, value: object) -> None:
        if self.change is None:
            raise AttributeError("This property of the class cannot be set.")
        self.change(type(instance), value)

    def setter(self, func: Callable[..., Any]) -> _MXClassPropertyDescriptor:
        """Decorator: the function that sets it."""
        return _MXClassPropertyDescriptor(self.function, func)


class _MXClassPropertyMetaClass(type):
    """Of classes whose properties of the class can be set, ``Class.name = value``."""

    def __setattr__(cls, key: str, value: object) -> None:
        member = cls.__dict__.get(key)
        if isinstance(member, _MXClassPropertyDescriptor) and member.change is not None:
            member.change(cls, value)
        else:
            super().__setattr__(key, value)


def classproperty(func: Callable[..., Any]) -> Any:
    """Decorator: a property of the class."""
    return _MXClassPropertyDescriptor(func)


# ---- names that are loaded when they are asked for -------------------------------------------------


def names_later(
    here: dict[str, Any], module: str, names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module some of whose names are in another one.

    Args:
        here: its ``globals()``.
        module: the other one.
        names: which.
    """

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what ``import *`` brings
            return [each for each in __dir__() if not each.startswith("_")]
        if name not in names:
            raise UnknownAttributeError(f"module {here['__name__']!r} has no attribute {name!r}.")
        value = here[name] = getattr(importlib.import_module(module), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*here, *names})

    return __getattr__, __dir__


__getattr__, __dir__ = names_later(
    globals(),
    "mixnet.legacy.base_names",
    (
        "CachedOpHandle",
        "CudaKernelHandle",
        "CudaModuleHandle",
        "DLPackHandle",
        "DataIterCreatorHandle",
        "DataIterHandle",
        "ExecutorHandle",
        "FunctionHandle",
        "KVStoreHandle",
        "MXCallbackList",
        "NDArrayHandle",
        "OpHandle",
        "ProfileHandle",
        "RecordIOHandle",
        "RtcHandle",
        "SymbolHandle",
        "_LIB",
        "add_fileline_to_docstring",
        "build_param_doc",
        "c2pyerror",
        "c_array",
        "c_array_buf",
        "c_handle_array",
        "c_str",
        "c_str_array",
        "check_call",
        "ctypes",
        "ctypes2buffer",
        "ctypes2numpy_shared",
        "error_types",
        "get_last_ffi_error",
        "mx_float",
        "mx_float_p",
        "mx_int",
        "mx_int64",
        "mx_uint",
        "register_error",
    ),
)
