"""Files of optimizer states: MXNet's pickles, byte for byte, read without executing their code.

MXNet pickles arrays, optimizers and schedulers by the paths of its own classes. They are written
under the same paths. Reading knows these names and no others: arrays are made here from their dtype,
shape and bytes, optimizers and schedulers get their attributes once the whole file has been looked at.
"""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import lr_scheduler
from mixnet.base import AttributeTypeError, FileFormatError
from mixnet.dtype import BY_NAME, bfloat16
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray
from mixnet.numpy.ndarray import ndarray
from mixnet.optimizer.base import Optimizer
from mixnet.optimizer.pickle_reader import MOST_LEVELS, Budget, Machine, Name, as_key

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike

_ARRAYS: dict[type, tuple[str, str]] = {
    NDArray: ("mxnet.ndarray.ndarray", "NDArray"),
    ndarray: ("mxnet.numpy", "ndarray"),
    RowSparseNDArray: ("mxnet.ndarray.sparse", "RowSparseNDArray"),
    CSRNDArray: ("mxnet.ndarray.sparse", "CSRNDArray"),
}
# Beside the classes: how MXNet's module is called where it is not ours.
_MODULES = {"mixnet.optimizer.contrib": "mxnet.optimizer.contrib"}
_END = object()
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


# ---- writing ------------------------------------------------------------------------------------

# Python's pickler: of the one in C one cannot tell how a name is written.
_PythonPickler: Any = vars(pickle)["_Pickler"]


class _Pickler(_PythonPickler):
    def reducer_override(self, item: object) -> Any:
        if isinstance(item, NDArray):
            return type(item), _NO_HANDLE, {"handle": bytearray(item._to_bytes())}
        return NotImplemented

    def _batch_setitems(self, items: Any, *rest: Any) -> None:
        # Of a copy, made at once: another thread may train, and add a state.
        mapping = getattr(items, "mapping", None)
        super()._batch_setitems(items if mapping is None else mapping.copy().items(), *rest)

    def save_global(self, item: object, name: str | None = None) -> None:
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


# ---- reading: values ----------------------------------------------------------------------------

_DTYPES = {dtype.str[1:]: dtype for dtype in BY_NAME.values() if dtype != bfloat16}
_DTYPES |= {code: np.dtype(code) for code in ("c8", "c16")}
# How NumPy pickles a dtype beside its name and byte order: no fields, and sizes and flags that
# follow from the name; of its own ones, and of bfloat16.
_DTYPE_ENDS = ((None, None, None, -1, -1, 0), (None, None, None, 2, 2, 64))
_ARRAY_BYTES = 4096  # what an array takes beside its content
_MOST_AXES = 32
# An array that comes with bytes of its own may take this much: networks of many small parameters are
# larger in memory than in a file. So many of them may.
_OWN_BYTES = 6144
_MOST_SMALL = 50_000


def _broken(problem: str) -> FileFormatError:
    return FileFormatError(f"The optimizer states are corrupted: {problem}.")


def _shown(value: object) -> str:
    """A value in an error: a short text or name, of anything else its type."""
    if isinstance(value, (str, Name)):
        return repr(str(value)[:80])
    return f"a {type(value).__name__}"


def _raw(content: object) -> bytes:
    """Bytes, which Python 2 writes as text."""
    if isinstance(content, str):
        return content.encode("latin1")
    if not isinstance(content, (bytes, bytearray)):
        raise _broken(f"a {type(content).__name__} is in place of bytes")
    return bytes(content)


def _dtype(code: Any, *_: object) -> np.dtype:
    if code == Name("ml_dtypes", "bfloat16"):
        return bfloat16
    if not isinstance(code, str) or code not in _DTYPES:
        raise _broken(f"{_shown(code)} is not a dtype of numbers")
    return _DTYPES[code]


def _array_content(dtype: DTypeLike, shape: Sequence[int], content: object) -> bytes:
    """The bytes of an array of numbers, if it is one of this dtype and shape."""
    if not isinstance(dtype, np.dtype):
        raise _broken("an array has no dtype")
    if (
        type(shape) is not tuple
        or len(shape) > _MOST_AXES
        or not all(type(each) is int and 0 <= each < 1 << 48 for each in shape)
    ):
        raise _broken("the shape of an array is not a tuple of extents")
    raw = _raw(content)
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise _broken(f"an array of {dtype.name} and shape {shape} comes with {len(raw)} bytes")
    return raw


def _scalar(dtype: Any, content: Any) -> Any:
    return np.frombuffer(_array_content(dtype, (), content), dtype)[0]


def _reconstruct(kind: Any, shape: Sequence[int], code: Any) -> np.ndarray:
    """An array whose state follows."""
    if kind != Name("numpy", "ndarray"):
        raise _broken(f"{_shown(kind)} is not an array of NumPy")
    return np.empty(0, np.uint8)


def _from_buffer(content: object, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    if order not in ("C", "F"):
        raise _broken("an array is neither in C's order nor in Fortran's")
    raw = _array_content(dtype, shape, content)
    return np.frombuffer(raw, dtype).reshape(shape, order=order).copy("K")


def _encode(text: str, encoding: object) -> bytes:
    """Bytes as old protocols write them."""
    if encoding not in ("latin1", "latin-1"):
        raise _broken(f"bytes are in encoding {_shown(encoding)}, not in latin1")
    return text.encode("latin1")


def _bytes(content: object = b"", encoding: Any = "latin1") -> bytes:
    return _encode(content, encoding) if isinstance(content, str) else _raw(content)


def _bytearray(content: object = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(_bytes(content, encoding))


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


def _integers(kind: type) -> Callable[..., Any]:
    def make(*numbers: Any) -> Any:
        if not all(each is None or type(each) is int for each in numbers):
            raise _broken(f"a {kind.__name__} is not made of integers")
        return kind(*numbers)

    return make


def _items(kind: Callable[[Iterable[Any]], Any]) -> Callable[..., Any]:
    def make(items: Any = ()) -> Any:
        return kind(as_key(each) for each in _listed(items))

    return make


def _ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    return OrderedDict((as_key(key), value) for key, value in _listed(pairs))


def _listed(items: Any) -> Any:
    """A list or tuple, whose size is known; a range has no end."""
    if type(items) not in (list, tuple):
        raise _broken(f"a {type(items).__name__} is in place of a list")
    return items


def _functions() -> dict[tuple[str, str], Callable[..., Any]]:
    """The functions that a file may call to make values."""
    makers: dict[tuple[str, str], Callable[..., Any]] = {
        ("numpy", "dtype"): _dtype,
        ("collections", "OrderedDict"): _ordered,
        ("_codecs", "encode"): _encode,
    }
    for core in ("numpy.core", "numpy._core"):
        makers[f"{core}.multiarray", "scalar"] = _scalar
        makers[f"{core}.multiarray", "_reconstruct"] = _reconstruct
        makers[f"{core}.numeric", "_frombuffer"] = _from_buffer
    for module in ("builtins", "__builtin__"):
        makers[module, "bytes"], makers[module, "bytearray"] = _bytes, _bytearray
        makers[module, "complex"] = _complex
        makers[module, "set"], makers[module, "frozenset"] = _items(set), _items(frozenset)
        makers[module, "range"], makers[module, "slice"] = _integers(range), _integers(slice)
    return makers


_FUNCTIONS = _functions()
_COLLECTIONS = {path for path in _FUNCTIONS if path[1] in ("OrderedDict", "set", "frozenset")}
_ARRAY_CLASSES = {path: klass for klass, path in _ARRAYS.items()} | {
    ("mxnet.numpy.multiarray", "ndarray"): ndarray,
    ("mxnet.ndarray", "NDArray"): NDArray,  # before MXNet 1.0
}
_NEW = {("copyreg", "__newobj__"), ("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor")}
_OBJECT = Name("builtins", "object")
_OBJECTS = [_OBJECT, Name("__builtin__", "object")]
# Names that occur only as arguments.
_ARGUMENTS = {("numpy", "ndarray"), ("ml_dtypes", "bfloat16"), *_OBJECTS}


def _trees() -> dict[tuple[str, str], type]:
    """Optimizers and schedulers that there are in this process, by module and name."""
    known: dict[tuple[str, str], type] = {}
    left: list[type] = [Optimizer, lr_scheduler.LRScheduler]
    while left:
        klass = left.pop()
        left += klass.__subclasses__()
        known[klass.__module__, klass.__qualname__] = klass
        known[_path(klass) or (klass.__module__, klass.__qualname__)] = klass
        if klass.__module__.startswith("mixnet.optimizer."):
            known["mxnet.optimizer", klass.__name__] = klass  # before MXNet 1.4
    return known


# ---- reading: the file --------------------------------------------------------------------------


class _Reading:
    """A file that is being read, with unfinished objects and the work left for its end."""

    def __init__(self, content: bytes):
        self._classes = _trees()
        self._machine = Machine(content, self._call, self._give_state)
        self._bare: dict[int, Any] = {}  # arrays whose state has not been read yet
        self._contents: dict[int, Any] = {}  # bytes of arrays
        self._objects: dict[int, Any] = {}  # optimizers and schedulers
        self._states: dict[int, dict[str, Any]] = {}  # and the attributes that they will have

    def run(self) -> Any:
        result = self._machine.run()
        if self._bare:
            raise _broken("an array has no content")
        complete = self._objects_in(result)
        # Only now: a class of the program may do what it likes with them, in the order of the file.
        for key, state in self._states.items():
            if key in complete:
                _set_state(self._objects[key], state)
        return result

    def _call(self, name: Name, arguments: tuple[Any, ...], budget: Budget) -> Any:
        if name in _ARRAY_CLASSES:
            budget.spend(_ARRAY_BYTES)
            return self._mark_bare(_new_array(_ARRAY_CLASSES[name]))
        if name in _NEW:
            return self._new(*arguments)
        self._check_name(name)
        for each in arguments:
            if isinstance(each, Name):
                self._check_name(each)
        if name not in _FUNCTIONS:
            raise FileFormatError(
                f"The optimizer states call {name}; such files hold attributes, not calls."
            )
        sized = (bytes, bytearray, str, list, tuple)
        sizes = [len(each) for each in arguments if isinstance(each, sized)]
        # Of the largest kind, an OrderedDict of pairs.
        budget.spend(256 + (2 if name not in _COLLECTIONS else 256) * sum(sizes))
        result = _FUNCTIONS[name](*arguments)
        return self._mark_bare(result) if _FUNCTIONS[name] is _reconstruct else result

    def _mark_bare(self, array: Any) -> Any:
        self._bare[id(array)] = array
        return array

    def _check_name(self, name: Name) -> None:
        known = (_FUNCTIONS, _ARGUMENTS, _ARRAY_CLASSES, self._classes, _NEW)
        if not any(name in each for each in known):
            raise FileFormatError(
                f"The optimizer states refer to {name!s:.200}, which such files do not hold: "
                f"reading stopped before any of it ran. If it is an optimizer or a scheduler of "
                f"your "
                f"own, define its class first, under this name."
            )

    def _new(self, name: Any, base: Any = _OBJECT, content: object = None) -> Any:
        """An optimizer or a scheduler without attributes."""
        if not isinstance(name, Name) or base not in _OBJECTS or content is not None:
            raise _broken("an object is not made of a class alone")
        self._check_name(name)
        klass = self._classes.get(name)
        if klass is None:
            raise _broken(f"{name} is neither an optimizer nor a scheduler")
        instance: object = object.__new__(klass)
        self._objects[id(instance)] = instance
        return instance

    def _give_state(self, item: Any, state: object, budget: Budget) -> None:
        if id(item) in self._objects:
            if id(item) in self._states or type(state) is not dict:
                raise _broken(f"a {type(item).__name__} has other things than attributes")
            self._states[id(item)] = state
        elif isinstance(item, np.dtype):
            if not _is_plain_dtype(state):
                raise _broken("a dtype is not one of little-endian numbers")
        elif isinstance(item, Name):
            raise FileFormatError(
                "The optimizer states change a class; reading stopped before that."
            )
        elif self._bare.pop(id(item), None) is None:
            raise _broken(
                f"the file changes a {type(item).__name__}, which is not an object of its own"
            )
        elif isinstance(item, np.ndarray):
            _, shape, dtype, in_fortran, content = _fields(state)
            budget.spend(256 + 2 * len(content))
            content = _array_content(dtype, shape, content)
            item.__setstate__((1, shape, dtype, in_fortran is True, content))  # type: ignore[arg-type]
        else:
            if type(state) is not dict or set(state) != {"handle"}:
                raise _broken("an array has no content")
            handle = state["handle"]
            content = _raw(handle)
            if id(handle) not in self._contents and len(self._contents) < _MOST_SMALL:
                self._contents[id(handle)] = handle
                budget.left += _OWN_BYTES
            budget.spend(2 * len(content))
            item.__setstate__({"handle": content})

    def _objects_in(self, root: Any) -> set[int]:
        """The optimizers and schedulers in a value, which is a finite tree of plain values.

        Raises:
            FileFormatError: it is not.
        """
        # Values that contain each other make no finite tree, and those that are shared on many
        # levels a tree without end.
        steps = 4 * self._machine.instructions + 1000
        visited: set[int] = set()
        levels: list[Iterator[Any]] = [iter([root])]
        while levels:
            value = next(levels[-1], _END)
            if value is _END:
                levels.pop()
                continue
            steps -= 1
            if steps < 0 or len(levels) > MOST_LEVELS:
                raise _broken(f"values are nested more than {MOST_LEVELS} deep, or in themselves")
            if id(value) in self._objects:
                if id(value) not in visited:
                    visited.add(id(value))
                    levels.append(iter(self._attributes(value)))
            elif isinstance(value, dict):
                levels.append(iter(value.values()))
            elif type(value) is list or type(value) is tuple:
                levels.append(iter(value))
            elif isinstance(value, Name):
                raise _broken(f"{_shown(value)} is in place of a value")
        return visited

    def _attributes(self, item: object) -> Collection[Any]:
        """The values of the attributes that an object will have."""
        klass, state = type(item), self._states.get(id(item), {})
        for name in state:
            if not isinstance(name, str) or callable(getattr(klass, name, None)):
                raise _broken(f"{_shown(name)} is not an attribute of {klass.__name__}")
        return state.values()


def _new_array(klass: Any) -> Any:
    return klass.__new__(klass)


def _is_plain_dtype(state: object) -> bool:
    return (
        type(state) is tuple
        and len(state) == 8
        and all(each is None or type(each) in (int, str) for each in state)
        and state[0] in (3, 4)
        and state[1] in ("<", "|", "=")
        and state[2:] in _DTYPE_ENDS
    )


def _fields(state: object) -> tuple[Any, ...]:
    """Version, shape, dtype, order and bytes of an array of NumPy."""
    if type(state) is not tuple or len(state) != 5 or not isinstance(state[-1], (bytes, str)):
        raise _broken("an array of NumPy has no content")
    return state


def _set_state(item: object, state: dict[str, Any]) -> None:
    """Set the state of an object as ``pickle`` does."""
    if hasattr(item, "__setstate__"):
        item.__setstate__(state)
    else:
        vars(item).update(state)


def loads(content: bytes) -> Any:
    """What ``dumps`` wrote, here or MXNet's own pickle.

    Raises:
        AttributeTypeError: the content is not bytes.
        FileFormatError: the bytes are not optimizer states, are truncated, or ask for anything else
            than arrays, numbers, optimizers and schedulers.
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise AttributeTypeError(
            f"Optimizer states must be bytes, not a {type(content).__name__}; get_states gives them."
        )
    content = bytes(content)
    try:
        return _Reading(content).run()
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(
            f"These {len(content)} bytes are not optimizer states, or are truncated; use a file "
            f"written by save_states, save_optimizer_states or Updater.get_states."
        ) from error
