"""NDArray: a mutable handle to a value that may still be pending."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, overload
from weakref import WeakValueDictionary

import jax
import numpy as np

from mixnet.autograd.tape import Mark, keep_mark, on_tape
from mixnet.autograd.tape import backward as run_backward
from mixnet.base import (
    AttributeTypeError,
    FileFormatError,
    GradientError,
    IndexingError,
    MXNetError,
    ShapeError,
    SizeError,
    _Null,
)
from mixnet.context import Context
from mixnet.dtype import CODES, as_dtype, as_numbers, bfloat16
from mixnet.ndarray.link import Link
from mixnet.ndarray.no_content import NO_CONTENT
from mixnet.ops.registry import find
from mixnet.process.lazy import names_of_one_file
from mixnet.process.source import warn_user
from mixnet.runtime.record import copy as copies
from mixnet.runtime.record.copy import copy_across, to_host
from mixnet.runtime.record.record import record as record_operation
from mixnet.runtime.value.change import array_lock, assign, change
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value, array_of, from_device, from_host

# Tables that programs written for MXNet import from here.
py_slice = slice
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {code: name for name, code in _STORAGE_TYPE_STR_TO_ID.items()}
_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT = -1, 0
_STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = 1, 2
_DTYPE_NP_TO_MX: dict[Any, int] = {
    None: -1,
    **{dtype.type: code for dtype, code in CODES.items() if code < 8},
    bfloat16: CODES[bfloat16],
}
_DTYPE_MX_TO_NP = {code: dtype for dtype, code in _DTYPE_NP_TO_MX.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike
    from mixnet.ndarray.installed import Installed
else:
    Installed = object  # operators.py, methods.py, indexing.py and display.py install what it lists


_new = object.__new__

# Arrays whose handle has been read.
_by_handle: WeakValueDictionary[int, NDArray] = WeakValueDictionary()


class NDArray(Handle, Installed):
    """An n-dimensional array on a device, computed when its value is needed.

    Make one with ``mx.nd.array``, ``mx.nd.zeros`` and the like.
    """

    __slots__ = ()
    __array_priority__ = 1000.0  # NumPy arrays leave mixed operators to us
    __hash__ = object.__hash__  # handles are compared by value, but hashed by identity
    _is_numpys = False
    _holds_empty = False  # whether shapes may have no elements

    _link: Link | None
    _value: Value

    def __init__(self, handle: object = _Null, writable: bool = True):
        """Another object for the memory of the array that has this ``handle``.

        Args:
            handle: of a dense array that exists, or the array itself. None makes an array that
                ``__setstate__`` fills: pickles of MXNet's arrays begin with it.
            writable: ignored, as in MXNet.

        Raises:
            MXNetError: there is no such array.
        """
        if isinstance(handle, Value):
            self._value, self._link = handle, None
            return
        if handle is None:
            self._value, self._link = NO_CONTENT, None
            return
        if isinstance(handle, ctypes.c_void_p):
            handle = _by_handle.get(handle.value or 0, handle)
        if not isinstance(handle, NDArray) or handle._is_sparse:
            description = "nothing" if handle is _Null else f"{handle!r:.60}"
            raise MXNetError(
                f"NDArray(...) takes only the handle of a dense array, not {description}; use "
                f"mx.nd.array(source), mx.nd.zeros(shape), ..."
            )
        view = handle._view(0, handle.shape)
        self._value, self._link = view._value, view._link

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that identifies this object while it exists; a view has a number of its own.

        In MXNet it points to an array of the C library, which mixnet does not have.
        """
        _by_handle[id(self)] = self
        return ctypes.c_void_p(id(self))

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """The pointer of this array, for ``ctypes.cast``."""
        return self.handle

    # ---- value, views, writing ----------------------------------------------------------------

    @classmethod
    def _wrap(cls, value: Value) -> Self:
        """A handle of this class for a value."""
        self = _new(cls)
        self._value = value
        self._link = None
        return self

    def _to_shared_mem(self) -> tuple[int, int, tuple[int, ...], str]:
        """Copy the array to memory that other processes open; see ``_new_from_shared_mem``."""
        shared: tuple[int, int, tuple[int, ...], str] = _shared_memory().to_shared_memory(self)
        return shared

    def _sync_copyfrom(self, source_array: ArrayLike) -> None:
        """Write a NumPy array of the same shape.

        Raises:
            ValueError: it has another shape.
        """
        source = np.asarray(source_array)
        if source.shape != self.shape:
            raise SizeError(
                f"Shape inconsistent: expected {source.shape} vs got {self.shape}. Reshape the source."
            )
        self[:] = source

    def _read(self) -> Value:
        """The value now: a view reads its base again if that was written to."""
        link = self._link
        if link is None:
            return self._value
        base = link.base
        if base is not None:
            # Read before the content, so that a write in between is noticed the next time.
            version = base._link.version
            base_value = base._read()
            if link.read_version != version:
                origin = link.origin
                value = base_value if origin is None else origin._read()
                self._value = link.content(value)
                link.read_version = version
        if link.mark is not None and state.recording:
            link.mark.on(self._value)
        return self._value

    def _view(
        self, offset: int, shape: tuple[int, ...], detached: bool = False, at_once: bool = False
    ) -> Self:
        """A handle that shares storage: ``shape`` from element ``offset`` of this one on.

        Args:
            offset: the first element, in row-major order.
            shape: of the view.
            detached: whether it stands on no tape.
            at_once: read the content without an operation, if that is possible.
        """
        own_link = self._link
        base = self
        origin, start = None, offset
        if own_link is not None and own_link.base is not None:
            if not detached:
                if own_link.mark is not None:
                    origin = self
                elif own_link.origin is not None:
                    origin, start = own_link.origin, own_link.start + offset
            # A variable starts a tape even if it was detached: its views belong to that tape.
            detached = detached or (own_link.detached and origin is None)
            base, offset = own_link.base, own_link.offset + offset
            if origin is None:
                start = offset
        version = base._linked().version  # before what it holds, as in _read
        view = type(self).__new__(type(self))
        view._link = link = Link()
        link.base, link.offset, link.shape, link.detached = base, offset, shape, detached
        link.origin, link.start = origin, start
        # Read now, so that the recorded operation belongs to the present tape.
        view._value = link.content((base if origin is None else origin)._read(), at_once)
        link.read_version = version
        return view

    def _write(self, value: Value) -> None:
        """Replace the content by a value of the same shape, dtype and context."""
        link = self._link
        if (link is None or link.base is None) and state.undo is None:
            if state.recording:
                self._check_write()
            assign(self, value)
        else:
            change(lambda attempt: attempt.write(self, value))

    def _linked(self) -> Link:
        """The link of this handle, made if there is none: one, also where several threads ask for it."""
        link = self._link
        if link is None:
            with array_lock:
                link = self._link
                if link is None:
                    link = self._link = Link()
        return link

    def _written_to(self, whole: Value, value: Value) -> Value:
        """The content of a view's base, ``whole``, with ``value`` where the view is."""
        assert self._link is not None
        return self._link.written_to(whole, value)

    def _check_write(self) -> None:
        link = self._link
        marked = link is not None and link.mark is not None
        if state.trace is None and (marked or on_tape(self._value)):
            raise _in_a_graph()

    def _check_part(self, value: Value) -> None:
        """Raise where a value with a gradient is to become a part of this array while recording."""
        if state.recording and state.trace is None and on_tape(value):
            raise _in_a_graph()

    @property
    def _fresh_grad(self) -> int:
        """1 where backward has written the gradient since this was last set to False, else 0."""
        mark = None if self._link is None else self._link.mark
        return int(mark is not None and mark.fresh)

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if self._link is not None and self._link.mark is not None:
            self._link.mark.fresh = bool(fresh)

    def _head_value(self) -> Value:
        """The value, as a variable of the tape where the array is one."""
        value = self._read()
        if value.node is None and self._link is not None and self._link.mark is not None:
            self._link.mark.on(value)
        return value

    def _store(self, value: Value) -> None:
        """Write any value of the same number of elements per axis, cast to this dtype.

        Arrays of the user never hold one value: where one of them is a variable, the other would be one too.
        """
        value = self._fitted(value)
        if state.trace is None and (value.node is None or not state.recording):
            value = value.alias()
        self._write(value)

    def _share(self, value: Value) -> None:
        """``_store``; the first variable that gets a value holds the value itself, which its
        store then recognizes.

        Another array would be that variable too: it gets an alias.
        """
        value = self._shared(value)
        if value is not self._value:
            self._write(value)

    def _shared(self, value: Value) -> Value:
        """What ``_share`` writes; what the array holds if nothing has to be written."""
        value = self._fitted(value)
        if value is self._value:
            return value
        mark = None if self._link is None else self._link.mark
        if mark is None or not mark.owns(value):
            value = value.alias()
        return value

    def _fitted(self, value: Value) -> Value:
        """A value of the same number of elements per axis, on this array's context, in its shape
        and dtype.
        """
        spec = self._value.spec
        if value.spec is not spec:
            if value.spec.context is not spec.context:
                value = copy_across(value, spec.context)
            if value.spec is not spec:
                op = find("_broadcast_cast")
                statics, _ = op.bind({"shape": spec.shape, "dtype": spec.dtype.name})
                (value,) = record_operation(op, statics, (), (value,))
        return value

    @property
    def _spec(self) -> Spec:
        # A view's shape never changes, so its last value has it.
        return self._value.spec

    # ---- facts --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self._value.spec.shape

    @property
    def dtype(self) -> Any:
        """Data type, as NumPy's scalar type (``numpy.float32``)."""
        return self._value.spec.dtype.type

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._value.spec.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def context(self) -> Context:
        """Device of the array."""
        return self._value.spec.context

    ctx = device = context

    @property
    def writable(self) -> bool:
        """Whether elements can be assigned: always."""
        return True

    @property
    def stype(self) -> str:
        """Storage type: ``'default'``, dense."""
        return "default"

    if TYPE_CHECKING:  # Python goes through the rows by their numbers

        def __iter__(self) -> Iterator[Self]: ...

    def __len__(self) -> int:
        if not self.shape:
            raise IndexingError("len() of an array without axes; use size.")
        return self.shape[0]

    # ---- autograd -----------------------------------------------------------------------------

    def _set_mark(self, mark: Mark) -> None:
        link = self._linked()
        link.mark = mark
        keep_mark(self, mark)
        if self._value.node is not None and link.base is None:
            self._value = self._value.alias()  # a variable starts a new tape

    def _drop_mark(self) -> None:
        if self._link is not None:
            self._link.mark = None

    @property
    def grad(self) -> Any:
        """The array that backward writes the gradient to; None without ``attach_grad``."""
        mark = None if self._link is None else self._link.mark
        return None if mark is None else mark.gradient

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make this a variable: backward writes its gradient to ``grad``.

        Args:
            grad_req: ``'write'`` replaces the gradient, ``'add'`` adds to it, ``'null'`` asks for
                none: ``grad`` is zeros until backward has passed an operation that read the array, then None.
            stype: storage type of the gradient: ``'default'``, or ``'row_sparse'`` for one that
                holds only the rows which an Embedding or a product with a csr matrix has read.
        """
        other = stype is not None and stype != self.stype
        gradient = self._zeros_as(stype or "default") if other else self._zeros_like()
        self._set_mark(Mark(gradient, grad_req))

    def backward(
        self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Gradients of this array for the variables it was computed from.

        Args:
            out_grad: gradient of this array, of its shape; ones by default.
            retain_graph: keep the tape for another backward.
            train_mode: accepted for compatibility.

        Raises:
            GradientError: it was not recorded, or the tape has been freed.
        """
        run_backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    def detach(self) -> Self:
        """The same storage, outside the tape: a constant for autograd."""
        return self._view(0, self.shape, detached=True)

    def _zeros_as(self, stype: str) -> NDArray:
        """Zeros of this shape in another storage type; ``mixnet.ndarray.sparse`` installs it."""
        raise NotImplementedError

    def tostype(self, stype: str) -> NDArray:
        """The array converted to a storage type; ``mixnet.ndarray.sparse`` installs this method."""
        raise NotImplementedError

    def _zeros_like(self) -> Self:
        spec = self._spec
        op = find("_zeros")
        statics, _ = op.bind({"shape": spec.shape, "dtype": spec.dtype.name})
        return self._wrap(record_operation(op, statics, (), (), spec.context)[0])

    # ---- waiting and leaving ------------------------------------------------------------------

    def _array(self, reason: str = "value read") -> jax.Array:
        return array_of(self._read(), reason)

    def wait_to_read(self) -> None:
        """Wait until the value is computed; raises the error if the computation failed."""
        copies.wait_for(self._read(), "wait_to_read")

    wait_to_write = wait_to_read

    def asnumpy(self) -> np.ndarray:
        """A NumPy array with a copy of the content."""
        return to_host(self._read(), "asnumpy")

    def asscalar(self) -> Any:
        """The only element of an array of one axis, as a NumPy scalar.

        With more axes it is a NumPy array of the same shape, as in MXNet; ``item()`` is
        always the scalar.

        Raises:
            SizeError: the array has another number of elements.
        """
        element = self.item()
        return element if len(self.shape) < 2 else element.reshape(self.shape)

    def item(self) -> Any:
        """The only element, as a NumPy scalar.

        Raises:
            SizeError: the array has another number of elements.
        """
        if self.size != 1:
            raise SizeError(
                f"item() and asscalar() need an array with one element; this one has shape {self.shape}."
            )
        return self.asnumpy().reshape(())[()]

    def __bool__(self) -> bool:
        if self.size == 0:  # as an empty list
            return False
        if self.size != 1:
            raise SizeError(
                f"The truth value of an array of shape {self.shape} is ambiguous; use an array of "
                f"one element, or asnumpy().any() or .all()."
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self._only_element())

    def __int__(self) -> int:
        return int(self._only_element())

    def __index__(self) -> int:
        if self._spec.dtype.kind not in "iu":
            raise AttributeTypeError(
                f"An array of {self._spec.dtype.name} is not an index; use an integer one."
            )
        return int(self._only_element())

    def _only_element(self) -> Any:
        if self.size != 1:
            raise AttributeTypeError(
                f"Only an array with one element is a number; this one has shape {self.shape}."
            )
        return self.asnumpy().reshape(())[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __jax_array__(self) -> jax.Array:
        value = self._read()
        value.shared = True  # JAX may keep the buffer: never donate it
        array = array_of(value)
        with jax.enable_x64(True):  # a value computed on the host is a NumPy array
            return array if isinstance(array, jax.Array) else jax.numpy.asarray(array)

    def __dlpack__(self, **kwargs: object) -> Any:
        return self.__jax_array__().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array().__dlpack_device__()  # type: ignore[attr-defined]  # JAX types one array

    def __getstate__(self) -> dict[str, Any]:
        """``{"handle": bytes}``, one array as a parameter file has it: MXNet's pickled state."""
        return {"handle": self._to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        array = self._from_bytes(state["handle"])
        if array._is_sparse:
            raise FileFormatError(
                f"The pickled array is a {type(array).__name__}, not a {type(self).__name__}."
            )
        self._value, self._link = array._read(), None

    def _to_bytes(self) -> bytes:
        """Installed by ``mixnet.ndarray.params_file``."""
        raise NotImplementedError

    def _from_bytes(self, content: bytes) -> NDArray:
        """Installed by ``mixnet.ndarray.params_file``."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.asnumpy(), self.context)

    # ---- copies -------------------------------------------------------------------------------

    @overload
    def copyto(self, other: Context) -> Self: ...
    @overload
    def copyto(self, other: NDArray) -> NDArray | bool: ...
    def copyto(self, other: Context | NDArray) -> NDArray | bool:
        """Copy the content into an array, or to a device as a new array.

        Args:
            other: an array of the same shape, or a Context.

        Returns:
            ``other``, or the new array; ``False``, with a warning, if ``other`` is this array itself.
        """
        if isinstance(other, Context):
            return self._wrap(copy_across(self._read(), other))
        if other is self:
            warn_user("copyto: source and target are the same array.", RuntimeWarning)
            return False
        if isinstance(other, NDArray):
            if other.shape != self.shape:
                raise ShapeError(
                    f"copyto: an array of shape {self.shape} does not fit into {other.shape}."
                )
            other._store(self._read())
            return other
        raise AttributeTypeError(f"copyto takes an array or a Context, not {type(other).__name__}.")

    def copy(self) -> Self:
        """A new array with the same content."""
        return self._wrap(record_operation(find("_copy"), (), (), (self._read(),))[0])

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def as_in_context(self, context: Context) -> Self:
        """This array if it is on ``context``, else a copy there."""
        return self if context is self.context else self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Self:
        """The array in another dtype; the array itself if ``copy`` is false and it already has that dtype."""
        target_dtype = as_dtype(dtype)
        if not copy and target_dtype == self._spec.dtype:
            return self
        op = find("Cast")
        statics, _ = op.bind({"dtype": target_dtype.name})
        return self._wrap(record_operation(op, statics, (), (self._read(),))[0])

    def as_nd_ndarray(self) -> NDArray:
        """This array."""
        return self

    def as_np_ndarray(self) -> Any:
        """An ``mx.np`` array on the same storage; :mod:`mixnet.numpy` installs this method."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain data: shape, dtype, context, whether it is pending."""
        spec = self._spec
        return {
            "shape": list(spec.shape),
            "dtype": spec.dtype.name,
            "context": str(spec.context),
            "state": "pending" if self._value.array is None else "ready",
        }


def _in_a_graph() -> GradientError:
    return GradientError(
        "Assigning to an array that is already in a computational graph, or to a part of an array from one "
        "that is (+=, -=, x[i]=, out=, ...), while recording would make its gradient wrong. Call "
        "backward() first, write outside autograd.record(), or make a new array: y = y + 1."
    )


def on_host(array: NDArray) -> np.ndarray | None:
    """The content if it is computed and in the memory of the host, else None: never waits."""
    value = array._read()
    if (
        value.array is None
        or state.trace is not None
        or value.spec.context.device.platform != "cpu"
    ):
        return None
    return np.asarray(value.array)


def as_value(source: int | Sequence[int], like: Spec) -> Value:
    """The value of something to be stored: an array, a NumPy array, a list, a number."""
    if isinstance(source, NDArray):
        return source._read()
    if isinstance(source, jax.Array):
        return from_device(source, like.context)
    try:
        data = as_numbers(source, like.dtype)
    except (TypeError, ValueError):
        raise AttributeTypeError(
            f"{type(source).__name__} {source!r:.60} cannot be stored in an array."
        ) from None
    return from_host(data, like.context)


def _unpickle(cls: type[NDArray], data: np.ndarray, context: Context) -> NDArray:
    return cls._wrap(from_host(data, context))


# Everything in MXNet's file ``mx.nd.ndarray`` except the class is in other files here.
_in_other_files = names_of_one_file(
    __name__,
    ("create", "operators", "indexing", "image_file", "methods"),
    "NDArray _DTYPE_MX_TO_NP _DTYPE_NP_TO_MX _GRAD_REQ_MAP add arange concatenate divide equal eye "
    "from_dlpack from_numpy full get_indexing_dispatch_code get_oshape_of_gather_nd_op greater "
    "greater_equal histogram imdecode indexing_key_expand_implicit_axes lesser lesser_equal linspace "
    "logical_and logical_or logical_xor maximum minimum modulo moveaxis multiply not_equal onehot_encode "
    "ones power split_v2 subtract to_dlpack_for_read to_dlpack_for_write true_divide waitall zeros",
)


def _shared_memory() -> Any:
    return importlib.import_module("mixnet.ndarray.shared_memory")


def __getattr__(name: str) -> Any:
    if name == "_new_from_shared_mem":
        return _shared_memory().from_shared_memory
    return _in_other_files(name)
