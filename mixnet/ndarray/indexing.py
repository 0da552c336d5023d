"""Reading and writing with indices. A block that is contiguous in memory is read as a view."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    IndexingError,
    IndexKindError,
    IndexTypeError,
    MXNetError,
    ShapeError,
    SizeError,
    TraceError,
)
from mixnet.context import Context
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.link import reshaped
from mixnet.ndarray.ndarray import NDArray, as_value, on_host
from mixnet.ops.registry import find
from mixnet.runtime.devices.host_value import copy_of_part
from mixnet.runtime.record.measure import UnknownSizeError
from mixnet.runtime.record.record import record
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.value import from_host
from mixnet.util import is_np_shape


def span(key: slice, extent: int) -> tuple[int, int, int]:
    """Begin, end and step of a slice of an axis.

    Raises:
        IndexingError: the step is 0, or a part of it is not a whole number.
    """
    try:
        return key.indices(extent)
    except (TypeError, ValueError):
        raise _no_slice(key) from None


def _no_slice(key: slice) -> IndexKindError:
    kind = IndexKindError if key.step == 0 else IndexTypeError
    parts = [key.start, key.stop] + [key.step] * (key.step is not None)
    text = ":".join("" if part is None else repr(part)[:40] for part in parts)
    return kind(
        f"index {text}: a slice takes whole numbers, and a step that is not 0, as 0:4:2 or ::-1."
    )


class Block:
    """Basic indexing of a shape, worked out: where the block begins, its steps and extents.

    ``begin``, ``step`` and ``size`` have one number per axis; ``shape`` is that of the result,
    without the axes that integers took and with those that None put in.
    """

    def __init__(self, key: tuple[Any, ...], shape: tuple[int, ...]):
        self.begin: list[int] = []
        self.step: list[int] = []
        self.size: list[int] = []
        self.shape: tuple[int, ...] = ()
        self.cuts_rows = False  # whether a slice chooses no row
        result: list[int] = []
        axis = 0
        for each in key:
            if each is None:
                result.append(1)
                continue
            extent = shape[axis]
            if isinstance(each, slice):
                begin, end, step = span(each, extent)
                size = len(range(begin, end, step))
                if not axis:
                    self.cuts_rows = not size
                result.append(size)
            else:
                begin, step, size = _checked(each, axis, extent), 1, 1
            self.begin.append(begin)
            self.step.append(step)
            self.size.append(size)
            axis += 1
        self.shape = tuple(result)

    def offset(self, shape: tuple[int, ...]) -> int | None:
        """Where the block starts in the flattened array if it is contiguous there, else None."""
        if 0 in self.size or any(
            s != 1 and n > 1 for s, n in zip(self.step, self.size, strict=True)
        ):
            return None
        inner_full = True
        for size, extent in zip(reversed(self.size), reversed(shape), strict=True):
            if not inner_full and size != 1:
                return None
            inner_full = inner_full and size == extent
        offset, stride = 0, 1
        for begin, extent in zip(reversed(self.begin), reversed(shape), strict=True):
            offset += begin * stride
            stride *= extent
        return offset

    @property
    def is_dense(self) -> bool:
        """Whether all steps are one."""
        return all(s == 1 or n <= 1 for s, n in zip(self.step, self.size, strict=True))


def _checked(index: Any, axis: int, extent: int) -> int:
    number = int(index)
    if not -extent <= number < extent:
        raise IndexingError(
            f"index {number} is out of bounds for axis {axis}, which has {extent} element(s)"
        )
    return number % extent


def _is_integer(each: object) -> bool:
    return isinstance(each, (int, np.integer)) and not isinstance(each, (bool, np.bool_))


def _expand(key: object, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key as a tuple with one item for each axis: no Ellipsis, masks as index arrays."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [_host_index(each) for each in parts]
    indexed = sum(_axes_of(each) for each in parts)
    ellipses = [i for i, each in enumerate(parts) if each is Ellipsis]
    if len(ellipses) > 1:
        raise IndexingError("an index can have a single ellipsis ('...')")
    if indexed > len(shape):
        raise IndexingError(f"too many indices: {indexed} for an array of shape {shape}")
    full = [slice(None)] * (len(shape) - indexed)
    if ellipses:
        parts[ellipses[0] : ellipses[0] + 1] = full
    else:
        parts += full
    expanded: list[Any] = []
    for each in parts:
        if isinstance(each, np.ndarray) and each.dtype == bool:
            axis = sum(_axes_of(p) for p in expanded)
            if each.shape != shape[axis : axis + each.ndim]:
                raise IndexingError(
                    f"boolean index of shape {each.shape} does not fit axes {axis} to "
                    f"{axis + each.ndim - 1} of an array of shape {shape}"
                )
            expanded += np.nonzero(each)
        else:
            expanded.append(each)
    return tuple(expanded)


def _axes_of(each: object) -> int:
    if each is None or each is Ellipsis:
        return 0
    return each.ndim if isinstance(each, np.ndarray) and each.dtype == bool else 1


def _host_index(each: object) -> Any:
    """An item of a key: lists become index arrays, arrays of booleans are read."""
    if each is None or each is Ellipsis or isinstance(each, slice) or _is_integer(each):
        return _plain_slice(each) if isinstance(each, slice) else each
    if isinstance(each, NDArray):
        return _read_mask(each) if each._spec.dtype == np.bool_ else each
    values = np.asarray(each)
    if values.dtype == bool:
        return values
    if values.dtype.kind in "iu" or values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind == "f" and values.ndim > 0:  # a float by itself is no index
        with np.errstate(invalid="ignore"):  # NaN is out of range
            return values.astype(np.int64)
    kind = IndexKindError if values.ndim == 0 else IndexTypeError
    raise kind(
        f"indices are integers, slices, None, '...' and arrays of integers or booleans; got {each!r:.60}"
    )


def _read_mask(mask: NDArray) -> np.ndarray:
    try:
        return mask.asnumpy()
    except TraceError as error:  # how many elements it chooses is the shape of the result
        raise UnknownSizeError(str(error)) from None


def _plain_slice(each: slice) -> slice:
    try:
        parts = (each.start, each.stop, each.step)
        return slice(*(None if p is None else operator.index(p) for p in parts))
    except (TypeError, ValueError):
        raise _no_slice(each) from None


def _is_basic(parts: tuple[Any, ...]) -> bool:
    return all(p is None or isinstance(p, slice) or _is_integer(p) for p in parts)


def _advanced(array: NDArray, parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """Pattern and index values of NumPy's advanced indexing."""
    pattern: list[Any] = []
    values: list[Any] = []
    axis = 0
    for each in parts:
        if each is None:
            pattern.append("new")
            continue
        extent = array.shape[axis]
        axis += 1
        if isinstance(each, slice):
            pattern.append((each.start, each.stop, each.step))
            continue
        if isinstance(each, NDArray):
            _check_known(each, axis - 1, extent)
            values.append(each.as_in_context(array.context).astype("int64")._read())
        else:
            index = np.asarray(each, np.int64)
            _check_all(index, axis - 1, extent)
            values.append(from_host(index, array.context))
        pattern.append(len(values) - 1)
    shapes = [each.spec.shape for each in values]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexingError(
            f"arrays of indices must have shapes that broadcast; these are {' and '.join(map(str, shapes))}"
        ) from None
    return tuple(pattern), values


def _check_all(index: np.ndarray, axis: int, extent: int) -> None:
    if index.size and not (-extent <= index.min() and index.max() < extent):
        wrong = index.max() if index.max() >= extent else index.min()
        _checked(wrong, axis, extent)


def _check_known(index: NDArray, axis: int, extent: int) -> None:
    """Check indices that have been computed; it does not wait for pending ones."""
    known = on_host(index)
    if known is not None:
        _check_all(known, axis, extent)


MOST_BYTES_AT_ONCE = 1 << 23
"""Up to this size a batch is divided at once; tasks copy larger ones while the program continues."""


def rows_at_once(array: NDArray, begin: int, end: int, context: Context) -> NDArray | None:
    """Rows of a computed batch on a CPU context, read without operations and tasks of the engine.

    A device that reads its part of a batch by an operation would record another program than the others, and
    their step could not be one program. On the context of the batch, the rows share storage with it.

    Args:
        array: the batch.
        begin: the first row.
        end: the row after the last.
        context: of the rows.

    Returns:
        None if the batch is large, sparse, pending or on a tape, or the context is not of a CPU. On its own
        context, a batch that is pending or on a tape is read by an operation.
    """
    if array._is_sparse or array._spec.nbytes > MOST_BYTES_AT_ONCE:
        return None
    shape = (end - begin, *array.shape[1:])
    start = begin * math.prod(shape[1:])
    if context is array.context:
        return array._view(start, shape, at_once=True)
    copy = copy_of_part(array._read(), start, shape, context)
    return None if copy is None else array._wrap(copy)


def getitem(self: NDArray, key: object) -> Any:
    """Elements at ``key``, by NumPy's rules; a contiguous block shares storage with the array.

    ``x[:]`` and ``x[()]`` are the array itself, as in MXNet.

    Raises:
        IndexError: an index is out of bounds, or there are too many.
    """
    if type(key) is int and self.ndim and 0 not in self.shape:  # most keys
        extent, *rest = self.shape
        place = _checked(key, 0, extent)
        return self._view(place * math.prod(rest), self._index_shape(tuple(rest)))
    if key is not Ellipsis and _is_whole(self, key):
        return self  # so that x[:].grad is x.grad
    if not self.shape and key is Ellipsis:
        return self._view(0, ())
    number = _as_number(key) if self.ndim else None
    if number is not None:
        return getitem(self, number)
    full_key = key
    key, truths = _without_truths(full_key)
    if truths:  # together they are one new first axis, of one element or of none
        every = full_key if isinstance(full_key, tuple) else ()
        if every and len(every) == self.ndim and all(_is_integer(p) or _is_truth(p) for p in every):
            view = self  # one after the other, as MXNet has it: 0 after True reads the new axis
            for each in every:
                view = view[each]
            return view
        view = self[key] if key else self
        numbers = [part for part in _parts(key) if _is_integer(part)]
        is_element = len(numbers) == len(_parts(key)) == self.ndim
        has_new_axis = is_element and self._index_shape(()) == (1,)
        if not has_new_axis:  # a single element has one already
            view = view[None]
        return view if all(truths) else view[:0]
    parts = _expand(key, self.shape)
    if not _is_basic(parts):
        pattern, values = _advanced(self, parts)
        op = find("_index")
        statics, _ = op.bind({"pattern": pattern})
        return self._wrap(record(op, statics, (), (self._read(), *values))[0])
    block = Block(parts, self.shape)
    shape = self._index_shape(block.shape)
    allowed = block.cuts_rows and not _is_reversed(key, self.shape[0])
    if 0 in shape and not self._holds_empty and not allowed:
        raise _empty(key, self.shape)
    offset = block.offset(self.shape)
    if offset is not None:
        return self._view(offset, shape)
    if block.is_dense:
        attributes = {
            "begin": tuple(map(float, block.begin)),
            "size": tuple(block.size),
            "shape": shape,
        }
        return invoke(find("_block"), (self,), attributes)
    op = find("_index")
    statics, _ = op.bind({"pattern": _static_pattern(parts, self.shape)})
    return self._wrap(record(op, statics, (), (self._read(),))[0]).reshape(shape)


def _is_whole(array: NDArray, key: object) -> bool:
    """Whether a key is ``...``, ``()`` or ``:``, which mx.nd has for arrays without axes, too."""
    if isinstance(key, slice):
        is_full = key.start is None and key.stop is None and key.step in (None, 1)
        return is_full and bool(array.shape or not array._is_numpys)
    return key is Ellipsis or (isinstance(key, tuple) and not key)


def _as_number(key: object) -> int | None:
    """The number in an mx.np array without axes: a view is chosen by it, as in MXNet, not a copy."""
    if not isinstance(key, NDArray) or key.shape or not key._is_numpys or key.dtype == np.bool_:
        return None
    try:
        return int(key.asnumpy())
    except TraceError:  # known only when the graph runs
        return None


def _static_pattern(parts: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    pattern: list[Any] = []
    axis = 0
    for each in parts:
        if each is None:
            pattern.append("new")
            continue
        if isinstance(each, slice):
            pattern.append((each.start, each.stop, each.step))
        else:  # the axis stays with one element; its position is structure here
            i = _checked(each, axis, shape[axis])
            pattern.append((i, i + 1, None))
        axis += 1
    return tuple(pattern)


def _is_reversed(key: object, extent: int) -> bool:
    """Whether a key is a single slice that ends before it begins, which MXNet refuses for itself."""
    if not isinstance(key, slice):
        return False
    begin, end, step = span(key, extent)
    return step == 1 and end < begin


def _empty(key: object, shape: tuple[int, ...]) -> MXNetError:
    return ShapeError(
        f"index {key!r} of an array of shape {shape} selects no element; in mx.nd, only slices of "
        f"the first axis can be empty, such as x[0:0]."
    )


def setitem(self: NDArray, key: object, value: object) -> None:
    """Write ``value``, broadcast and cast, to the elements at ``key``.

    Raises:
        IndexError: an index is out of bounds, or there are too many.
        SizeError: ``value`` does not broadcast to the selected shape.
        TypeError: ``value`` is an array of the other face: of ``mx.np`` for ``mx.nd``, or the
            other way round.
    """
    if isinstance(value, NDArray):
        if value._is_numpys is not self._is_numpys:
            raise _other_face(self)
        if value._is_sparse:
            raise AttributeTypeError(
                f"Cannot assign a {value.stype} array to elements of a dense one; use "
                f"value.tostype('default'), or value.copyto(array)."
            )
    if _is_whole(self, key):
        self._write_all(value)
        return
    change(lambda attempt: _write_part(self, key, value, attempt))


def _other_face(target: NDArray) -> AttributeTypeError:
    if target._is_numpys:
        return AttributeTypeError(
            "Cannot assign an mx.nd array to an mx.np array; use value.as_np_ndarray()."
        )
    return AttributeTypeError(
        "Cannot assign an mx.np array to an mx.nd array; use value.as_nd_ndarray()."
    )


def _write_part(self: NDArray, key: Any, value: object, attempt: Change) -> None:
    if _is_mask(key) and isinstance(value, (int, float, bool, np.number)):
        # Nothing needs to be read for this one.
        op = find("_npi_boolean_mask_assign_scalar")
        statics, scalars = op.bind({"value": float(value)})
        attempt.reads(self)
        attempt.write(self, record(op, statics, scalars, (self._read(), key._read()))[0])
        return
    key, truths = _without_truths(key)
    if truths:
        if all(truths):
            self[key or Ellipsis] = value
        return
    parts = _expand(key, self.shape)
    if not _is_basic(parts):
        pattern, values = _advanced(self, parts)
        shape = np.empty(self.shape, np.bool_)[_shape_probe(parts, values)].shape
        _check_value(self, value, shape)
        _write_index(self, pattern, values, _stored(self, value, shape), attempt)
        return
    block = Block(parts, self.shape)
    offset = block.offset(self.shape)
    if offset is not None and math.prod(block.shape) == self.size:  # no part, but all of it
        self._store(reshaped(_stored(self, value, block.shape), self.shape))
        return
    _check_value(self, value, block.shape)
    if 0 in block.shape:
        return
    if offset is not None:
        self._view(offset, block.shape)._write_all(value)
        return
    stored = _stored(self, value, block.shape)
    if block.is_dense:
        op = find("_block_write")
        statics, scalars = op.bind(
            {"begin": tuple(map(float, block.begin)), "size": tuple(block.size)}
        )
        attempt.reads(self)
        attempt.write(self, record(op, statics, scalars, (self._read(), stored))[0])
        return
    pattern = _static_pattern(parts, self.shape)
    probe = np.broadcast_to(np.bool_(True), self.shape)[_slices(pattern)].shape
    _write_index(self, pattern, [], reshaped(stored, probe), attempt)


def _without_truths(key: object) -> tuple[Any, list[bool]]:
    """A key without the single booleans in it, and these."""
    parts = _parts(key)
    truths = [bool(each) for each in parts if _is_truth(each)]
    return (tuple(each for each in parts if not _is_truth(each)), truths) if truths else (key, [])


def _parts(key: object) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _is_truth(each: object) -> bool:
    if isinstance(each, (NDArray, np.ndarray)):
        return each.ndim == 0 and each.dtype == np.bool_
    return isinstance(each, (bool, np.bool_))


def _is_mask(key: object) -> bool:
    return isinstance(key, NDArray) and key._spec.dtype == np.bool_


def _slices(pattern: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if each == "new" else slice(*each) for each in pattern)


def _shape_probe(parts: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    """The key with index arrays of zeros of the same shapes: it selects the same shape."""
    shapes = iter(values)
    return tuple(
        each if each is None or isinstance(each, slice) else np.zeros(next(shapes).spec.shape, int)
        for each in parts
    )


def _write_index(
    self: NDArray, pattern: tuple[Any, ...], indices: list[Any], value: Any, attempt: Change
) -> None:
    op = find("_index_write")
    statics, _ = op.bind({"pattern": pattern})
    attempt.reads(self)
    attempt.write(self, record(op, statics, (), (self._read(), value, *indices))[0])


def _stored(self: NDArray, value: Any, shape: tuple[int, ...]) -> Any:
    """The value, on this array's context, in ``shape``."""
    if isinstance(value, NDArray) and value.context is not self.context:
        value = value.as_in_context(self.context)
    value_in_store = as_value(value, self._spec)
    if value_in_store.spec.shape == shape:
        return value_in_store
    _check_fits(self, value_in_store.spec.shape, shape)
    op = find("_broadcast_cast")
    statics, _ = op.bind({"shape": shape, "dtype": self._spec.dtype.name})
    return record(op, statics, (), (value_in_store,))[0]


def _check_value(self: NDArray, value: object, shape: tuple[int, ...]) -> None:
    """Raise where an array does not broadcast to the selected shape, or may not become a part of this one."""
    if isinstance(value, NDArray):
        if value.shape != shape:
            _check_fits(self, value.shape, shape)
        self._check_part(value._read())
    elif 0 in shape:  # nothing else will look at the value
        _check_fits(self, np.shape(cast(Any, value)), shape)


def _check_fits(self: NDArray, shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    extra = len(shape) - len(target)
    core = shape[extra:] if extra > 0 and all(n == 1 for n in shape[:extra]) else shape
    try:
        fits = np.broadcast_shapes(core, target) == target
    except ValueError:
        fits = False
    if not fits:
        # MXNet checks in Python for arrays of mx.nd, in operators for those of mx.np.
        raise (ShapeError if self._is_numpys else SizeError)(
            f"An array of shape {shape} does not broadcast to {target}, the shape it is assigned "
            f"to. Reshape it, or index another part."
        )


def _write_all(self: NDArray, value: object) -> None:
    if isinstance(value, (int, float, bool, np.number)):
        op = find("_full")
        spec = self._spec
        statics, scalars = op.bind(
            {"shape": spec.shape, "dtype": spec.dtype.name, "value": float(value)}
        )
        self._write(record(op, statics, scalars, (), spec.context)[0])
        return
    if value is self:
        return
    self._store(_stored(self, value, self.shape))


def indexing_key_expand_implicit_axes(key: object, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key as a tuple with one item for each axis: no Ellipsis, nothing left out."""
    return _expand(key, shape)


def get_oshape_of_gather_nd_op(dshape: tuple[int, ...], ishape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of ``gather_nd`` of data of shape ``dshape`` at indices of shape ``ishape``."""
    return tuple(ishape[1:]) + tuple(dshape[ishape[0] :])


def get_indexing_dispatch_code(key: tuple[Any, ...]) -> int:
    """0 if a key holds only numbers, slices and None, 1 if it holds arrays, else -1."""
    codes = {0 if _is_basic((_plain(each),)) else _array_code(each) for each in key}
    return -1 if -1 in codes else max(codes, default=0)


def _plain(each: object) -> Any:
    return None if each is Ellipsis else each


def _array_code(each: object) -> int:
    return 1 if isinstance(each, (NDArray, np.ndarray, list, tuple)) else -1


def is_contiguous(slc_key: Sequence[slice], shape: Sequence[int]) -> bool:
    """Whether slices, one for each axis, cut one piece of the storage out of an array of this shape."""
    cuts = [range(*each.indices(n)) for each, n in zip(slc_key, shape, strict=False)]
    if not all(cuts):
        return True  # nothing is cut out
    first = next((axis for axis, cut in enumerate(cuts) if len(cut) > 1), len(cuts))
    are_complete = all(len(cut) == shape[first + 1 + i] for i, cut in enumerate(cuts[first + 1 :]))
    return are_complete and all(cut.step == 1 for cut in cuts[first:] if len(cut) > 1)


def shape_of_elements(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of what indexing selects: a single element has an axis unless NumPy shapes are on."""
    return shape or (() if is_np_shape() else (1,))


def install(cls: Any) -> None:
    """Give a class of arrays indexing."""
    cls.__getitem__ = getitem
    cls.__setitem__ = setitem
    cls._write_all = _write_all
    cls._index_shape = staticmethod(shape_of_elements)
    cls._basic_indexing_slice_is_contiguous = staticmethod(is_contiguous)
