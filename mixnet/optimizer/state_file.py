"""Files of optimizer states: MXNet's pickles, byte for byte, read without running what they say.

MXNet pickles arrays, optimizers and schedulers by the paths of its own classes. They are written
under the same paths, and read by an unpickler that knows these names and no others.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from mixnet import lr_scheduler
from mixnet.base import FileFormatError
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import CSRNDArray, RowSparseNDArray
from mixnet.numpy.ndarray import ndarray
from mixnet.optimizer.base import Optimizer

_ARRAYS: dict[type, tuple[str, str]] = {
    NDArray: ("mxnet.ndarray.ndarray", "NDArray"),
    ndarray: ("mxnet.numpy", "ndarray"),
    RowSparseNDArray: ("mxnet.ndarray.sparse", "RowSparseNDArray"),
    CSRNDArray: ("mxnet.ndarray.sparse", "CSRNDArray"),
}
# Beside the classes: how MXNet's module is called where it is not ours.
_MODULES = {"mixnet.optimizer.contrib": "mxnet.optimizer.contrib"}
_PROTOCOL = 4  # what Python 3.8 to 3.13 write by default, and MXNet 1.9.1 with them
_NO_HANDLE = (None,)


def _path(klass: type) -> tuple[str, str] | None:
    """Module and name of one of our classes as MXNet has them; None for other people's."""
    if klass in _ARRAYS:
        return _ARRAYS[klass]
    module = klass.__module__
    if module == "mixnet.lr_scheduler":
        return "mxnet.lr_scheduler", klass.__name__
    if module.startswith("mixnet.") and issubclass(klass, Optimizer):
        return _MODULES.get(module, "mxnet.optimizer.optimizer"), klass.__name__
    return None


# Python's pickler and unpickler: of those in C one cannot tell how a name is written, or what an
# instruction works on.
_PythonPickler: Any = vars(pickle)["_Pickler"]
_PythonUnpickler: Any = vars(pickle)["_Unpickler"]


class _Pickler(_PythonPickler):
    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, NDArray):
            return type(item), _NO_HANDLE, {"handle": bytearray(item._to_bytes())}
        return NotImplemented

    def save_global(self, item: Any, name: str | None = None) -> None:
        path = _path(item) if isinstance(item, type) else None
        if path is None:
            super().save_global(item, name)
            return
        for part in path:
            self.save(part)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(item)


def dumps(states: Any) -> bytes:
    """States, or the pair of states and optimizer, as bytes that MXNet reads.

    Raises:
        pickle.PicklingError: something in them, such as a scheduler that is a lambda, has no name.
    """
    file = io.BytesIO()
    _Pickler(file, _PROTOCOL).dump(states)
    return file.getvalue()


def _maker(klass: type[NDArray]) -> type:
    """What stands for MXNet's class of arrays in a file: called with no handle, then given a state."""

    def __new__(cls: type, handle: Any = None) -> Any:
        return klass.__new__(klass)

    return type(klass.__name__, (), {"__new__": __new__})


def _known() -> dict[tuple[str, str], Any]:
    """What a file of states may ask for."""
    found: dict[tuple[str, str], Any] = {path: _maker(k) for k, path in _ARRAYS.items()}
    found["mxnet.numpy.multiarray", "ndarray"] = found["mxnet.numpy", "ndarray"]
    scalar = np.float64(0).__reduce__()[0]
    rebuild = np.zeros(0).__reduce__()[0]
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found[module, "scalar"], found[module, "_reconstruct"] = scalar, rebuild
    found["numpy", "dtype"], found["numpy", "ndarray"] = np.dtype, np.ndarray
    found["collections", "OrderedDict"] = OrderedDict
    found["_codecs", "encode"] = _encode
    for module in ("builtins", "__builtin__"):
        for each in (bytearray, bytes, complex, set, frozenset, slice, range):
            found[module, each.__name__] = each
        found[module, "object"] = object
    found["copyreg", "_reconstructor"] = found["copy_reg", "_reconstructor"] = _reconstructed
    return found


def _encode(text: str, encoding: str) -> bytes:
    """Bytes as old protocols write them."""
    if encoding not in ("latin1", "latin-1"):
        raise FileFormatError(f"The states hold bytes in encoding {encoding!r}, not in latin1.")
    return text.encode("latin1")


def _reconstructed(klass: Any, base: type, state: Any) -> Any:
    """An object as old protocols write it."""
    return klass.__new__(klass)


_KNOWN = _known()


def _trees() -> dict[tuple[str, str], type]:
    """Optimizers and schedulers that there are in this process, by module and name."""
    found: dict[tuple[str, str], type] = {}
    left: list[type] = [Optimizer, lr_scheduler.LRScheduler]
    while left:
        klass = left.pop()
        left += klass.__subclasses__()
        found[klass.__module__, klass.__qualname__] = klass
        found[_path(klass) or (klass.__module__, klass.__qualname__)] = klass
    return found


class _Unpickler(_PythonUnpickler):
    dispatch = dict(_PythonUnpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        found = _KNOWN.get((module, name))
        if found is None:
            found = _trees().get((module, name))
        if found is None:
            raise FileFormatError(
                f"The optimizer states ask for {module}.{name}, which such files do not hold: "
                f"reading stopped before anything of it ran. If it is an optimizer or a scheduler of "
                f"your own, define its class first, under this name."
            )
        return found

    def load_build(self) -> None:
        if isinstance(self.stack[-2], type):
            raise FileFormatError("The optimizer states change a class; reading stopped before.")
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build

    def persistent_load(self, pid: Any) -> Any:
        raise FileFormatError(f"The optimizer states refer to {pid!r} outside of the file.")


def loads(content: bytes) -> Any:
    """What ``dumps`` wrote, here or MXNet's own pickle.

    Raises:
        FileFormatError: the bytes are no optimizer states, are truncated, or ask for anything else
            than arrays, numbers, optimizers and schedulers.
    """
    try:
        return _Unpickler(io.BytesIO(content)).load()
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(
            f"These {len(content)} bytes are no optimizer states ({error}); take a file written by "
            f"save_states, save_optimizer_states or Updater.get_states."
        ) from error
