"""NumPy semantics on and off, as scopes and decorators; environment settings."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, TypeVar

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.context import gpu_memory_info, num_gpus
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import read, write

_Named = TypeVar("_Named")


class _Everywhere:
    """The setting of threads that have not set their own."""

    shape = False


_everywhere = _Everywhere()


class _Flags(threading.local):
    array = False

    def __init__(self) -> None:
        self.shape = _everywhere.shape


_flags = _Flags()


def is_np_shape() -> bool:
    """Whether shapes without axes or elements are values rather than "unknown"."""
    flag = _flags.shape
    return flag if flag.__class__ is bool else read(_flags, "shape")


def is_np_array() -> bool:
    """Whether Gluon makes ``mx.np`` arrays."""
    flag = _flags.array
    return flag if flag.__class__ is bool else read(_flags, "array")


def set_np_shape(active: Any) -> bool:
    """Switch NumPy shapes on or off for this thread; 2 and 0 for all threads. Returns the previous one.

    Args:
        active: True or False for this thread; 2 or 0 for all threads.
    """
    before = is_np_shape()
    number = operator.index(active)
    if number != 1:
        _everywhere.shape = number == 2
    write(_flags, "shape", bool(active))
    return before


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy semantics on: shapes, and ``mx.np`` arrays in Gluon.

    Args:
        shape: allow shapes ``()`` and extents of 0, as in NumPy.
        array: let Gluon make and return ``mx.np`` arrays.

    Raises:
        ValueError: arrays without shapes.
    """
    if not shape and array:
        raise AttributeValueError(
            "set_np: array=True needs shape=True, because NumPy arrays have NumPy's shapes."
        )
    write(_flags, "shape", bool(shape))
    write(_flags, "array", bool(array))


def reset_np() -> None:
    """Switch NumPy semantics off."""
    set_np(shape=False, array=False)


class _Scope:
    """A scope that sets one flag and restores it; usable as a decorator."""

    flag: ClassVar[str]

    def __init__(self, active: bool = True):
        self._active = bool(active)
        self._entered = Entries()

    def __enter__(self) -> _Scope:
        self._entered.add().set(_flags, self.flag, self._active)
        return self

    __exit__ = Exit()


class _NumpyShapeScope(_Scope):
    flag = "shape"


class _NumpyArrayScope(_Scope):
    flag = "array"


def np_shape(active: bool = True) -> _Scope:
    """``with mx.util.np_shape():`` NumPy shapes inside.

    Args:
        active: False switches it off inside.
    """
    return _NumpyShapeScope(active)


def np_array(active: bool = True) -> _Scope:
    """``with mx.util.np_array():`` Gluon makes ``mx.np`` arrays inside.

    Args:
        active: False switches it off inside.
    """
    return _NumpyArrayScope(active)


def _decorated(func: Callable[..., Any], scope: type[_Scope]) -> Any:
    """A function, or every public method of a class, inherited ones too, run inside a scope."""
    if inspect.isclass(func):
        own = vars(func)
        for name, member in inspect.getmembers_static(func):
            if name not in own and name.startswith("_") and name not in ("__init__", "__call__"):
                continue  # public methods call it, inside the scope
            if inspect.isfunction(member) and (name == "__init__" or name == "__call__"
                                               or not name.startswith("__")):  # fmt: skip
                setattr(func, name, _decorated(member, scope))
            elif isinstance(member, property):
                setattr(
                    func,
                    name,
                    property(*[
                        None if each is None else _decorated(each, scope)
                        for each in (member.fget, member.fset, member.fdel)
                    ]),
                )  # fmt: skip
        return func
    if not callable(func):
        raise AttributeTypeError(
            f"This decorator takes a function or a class, not {type(func).__name__}."
        )

    @functools.wraps(func)
    def inside(*args: object, **kwargs: object) -> Any:
        with scope(True):
            return func(*args, **kwargs)

    return inside


def use_np_shape(func: Callable[..., Any]) -> Any:
    """Decorator of functions and classes: NumPy shapes inside.

    Args:
        func: a function or a class, whose methods are decorated.
    """
    return _decorated(func, _NumpyShapeScope)


def use_np_array(func: Callable[..., Any]) -> Any:
    """Decorator of functions and classes: ``mx.np`` arrays inside.

    Args:
        func: a function or a class, whose methods are decorated.
    """
    return _decorated(func, _NumpyArrayScope)


def use_np(func: Callable[..., Any]) -> Any:
    """Decorator of functions and classes: NumPy shapes and arrays inside.

    Args:
        func: a function or a class, whose methods are decorated.
    """
    return use_np_shape(use_np_array(func))


def set_module(module: str) -> Callable[[_Named], _Named]:
    """Decorator: name ``module`` as the one that defines the function."""

    def set_it(func: _Named) -> _Named:
        if module is not None:
            func.__module__ = module
        return func

    return set_it


def np_ufunc_legal_option(key: str, value: object) -> bool:
    """Whether a keyword of a NumPy ufunc has a value that ``mx.np`` takes.

    Args:
        key: the keyword, such as ``'where'``.
        value: its value.
    """
    if key == "where":
        return value is True
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    if key == "dtype":
        return value is None or str(value) in ("int8", "uint8", "int32", "int64", "float16",
                                               "float32", "float64")  # fmt: skip
    return key == "subok" and isinstance(value, bool)


def _checked(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapped(*args: object, **kwargs: object) -> Any:
        for key, value in kwargs.items():
            if key not in ("out", "name") and not np_ufunc_legal_option(key, value):
                raise AttributeTypeError(
                    f"{func.__name__}: {key}={value!r} is not an option of mx.np."
                )
        options = {k: v for k, v in kwargs.items() if k in ("out", "name")}
        return func(*args, **options)

    return wrapped


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the keywords of a NumPy ufunc of one array are checked, and not passed on.

    Args:
        func: the function.
    """
    return _checked(func)


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the keywords of a NumPy ufunc of two arrays are checked, and not passed on.

    Args:
        func: the function.
    """
    return _checked(func)


def getenv(name: str) -> str | None:
    """Value of an environment variable; None if it is not set.

    Args:
        name: of the variable.
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it.

    Args:
        name: of the variable.
        value: text, or None.
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """Number of GPUs."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory.

    Args:
        gpu_dev_id: number of the GPU.
    """
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int | None:
    """Compute capability of a GPU as a whole number (90 for 9.0); None if it is unknown.

    Args:
        ctx: a context, such as ``mx.gpu(0)``.

    Raises:
        ValueError: the context is not a GPU.
    """
    if ctx.device_type != "gpu":
        raise AttributeValueError(f"{ctx} is not a GPU; give mx.gpu(0), ...")
    capability = getattr(ctx.device, "compute_capability", None)
    return None if capability is None else int(str(capability).replace(".", ""))


def with_defaults(function: Callable[..., Any], **defaults: object) -> Any:
    """The same function with other defaults: for families of classes that differ in nothing else.

    Args:
        function: a function of Python; it stays as it is.
        defaults: new defaults by name of the parameter.

    Raises:
        TypeError: no such parameter, or one without a default would follow.
    """
    assert isinstance(function, FunctionType)
    signature = inspect.signature(function)
    unknown = defaults.keys() - signature.parameters.keys()
    if unknown:
        raise AttributeTypeError(f"{function.__qualname__} has no parameter {sorted(unknown)}.")
    changed = [
        each.replace(default=defaults.get(name, each.default))
        for name, each in signature.parameters.items()
    ]
    signature.replace(parameters=changed)  # refuses a default before a parameter without one
    changed_function = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        tuple(each.default for each in changed if each.default is not each.empty),
        function.__closure__,
    )
    changed_function.__dict__.update(function.__dict__)
    changed_function.__annotations__, changed_function.__doc__ = (
        function.__annotations__,
        function.__doc__,
    )
    changed_function.__qualname__, changed_function.__module__ = (
        function.__qualname__,
        function.__module__,
    )
    return changed_function
