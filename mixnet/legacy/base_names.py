"""Names of MXNet's ``base`` for programs that talk to a C library, and errors by their names."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError, NotImplementedForSymbol


def build_param_doc(
    arg_names: Sequence[str],
    arg_types: Sequence[str],
    arg_descs: Sequence[str],
    remove_dup: bool = True,
) -> str:
    """The section ``Parameters`` of a docstring in NumPy's style.

    Args:
        arg_names: names.
        arg_types: their types.
        arg_descs: what they are.
        remove_dup: whether a name that comes again is left out.
    """
    lines, documented = [], set()
    for name, kind, sentence in zip(arg_names, arg_types, arg_descs, strict=True):
        if remove_dup and name in documented:
            continue
        documented.add(name)
        lines += [f"{name} : {kind}", *([f"    {sentence}"] if sentence else [])]
    return "\n".join(["Parameters", "----------", *lines, ""])


# ---- errors by name -----------------------------------------------------------------------------

error_types: dict[str, type[Exception]] = {
    "NotImplementedForSymbol": NotImplementedForSymbol,
    **{e.__name__: e for e in (ValueError, TypeError, AttributeError, IndexError,
                               NotImplementedError)},
}  # fmt: skip


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Make an error class known by its name; a decorator, with or without a name.

    Args:
        func_name: the name; or the class, whose own name is taken.
        cls: the class, if a name was given.
    """
    if isinstance(func_name, type):
        func_name, cls = func_name.__name__, func_name

    def register(each: type[Exception]) -> type[Exception]:
        error_types[func_name or each.__name__] = each
        return each

    return register if cls is None else register(cls)


def c2pyerror(err_msg: str) -> tuple[str, str | None]:
    """A message of MXNet's C library as Python words it: its stack first, and the error's name.

    Args:
        err_msg: ``Name: text``, then ``Stack trace:`` and its lines.
    """
    lines = err_msg.split("\n")
    name, colon, _ = lines[0].partition(":")
    kind = name.strip() if colon and name.strip() in error_types else None
    if "Stack trace:" not in lines:
        return err_msg, kind
    start = lines.index("Stack trace:")
    trace = lines[start + 1 :]
    return "\n".join(["Traceback (most recent call last):", *trace, *lines[:start]]), kind


# ---- ctypes, for programs that talk to a C library of their own in MXNet's words ------------------

mx_int, mx_uint, mx_int64 = ctypes.c_int, ctypes.c_uint, ctypes.c_int64
mx_float, mx_float_p = ctypes.c_float, ctypes.POINTER(ctypes.c_float)
NDArrayHandle = FunctionHandle = OpHandle = CachedOpHandle = SymbolHandle = ctypes.c_void_p
ExecutorHandle = DataIterCreatorHandle = DataIterHandle = KVStoreHandle = ctypes.c_void_p
RecordIOHandle = RtcHandle = CudaModuleHandle = CudaKernelHandle = ctypes.c_void_p
ProfileHandle = DLPackHandle = ctypes.c_void_p


class MXCallbackList(ctypes.Structure):
    """A C structure: functions and what they are called with."""

    _fields_ = [
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    ]


def c_str(string: str) -> ctypes.c_char_p:
    """A C string."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """A C array of a type."""
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """A C array that shares the memory of an ``array.array``."""
    return (ctype * len(buf)).from_buffer(buf)


def c_str_array(strings: Sequence[str]) -> Any:
    """A C array of C strings."""
    return c_array(ctypes.c_char_p, [each.encode("utf-8") for each in strings])


def c_handle_array(objs: Sequence[Any]) -> Any:
    """A C array of the handles of objects."""
    return c_array(ctypes.c_void_p, [each.handle for each in objs])


def ctypes2buffer(cptr: object, length: int) -> bytearray:
    """The bytes that a pointer to C characters points to.

    Raises:
        TypeError: it is no such pointer.
    """
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise TypeError(f"expected a pointer to char, not {type(cptr).__name__}.")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: object, shape: Sequence[int]) -> np.ndarray:
    """A float32 array of ``shape`` over the memory that a pointer points to.

    Raises:
        RuntimeError: it is no pointer to floats.
    """
    if not isinstance(cptr, mx_float_p):
        raise RuntimeError(f"expected a pointer to float, not {type(cptr).__name__}.")
    return np.ctypeslib.as_array(cptr, tuple(shape))


def check_call(ret: int) -> None:
    """Raise if a C function returned an error.

    Raises:
        MXNetError: ``ret`` is not 0.
    """
    if ret != 0:
        raise get_last_ffi_error()


def get_last_ffi_error() -> MXNetError:
    """The error of the last C function that failed: there is no text of one below mixnet."""
    return MXNetError(
        "A C function returned an error. mixnet calls no C functions, so it comes from other code."
    )


def add_fileline_to_docstring(module: object, incursive: bool = True) -> None:
    """For compatibility with MXNet; ``inspect.getsourcefile`` says where a function is defined."""


class _NoLibrary:
    """Stands where MXNet has its C library, so that imports of it work."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"mx.base._LIB.{name} is not part of mixnet: it has no C library, see "
            f"docs/from-mxnet.md."
        )


_LIB = _NoLibrary()
