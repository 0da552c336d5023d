"""Datasets: samples by index."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np

from mixnet.base import AttributeTypeError, CheckError, IndexingError, NotDefinedError
from mixnet.gluon.data.sampler import FilterSampler, Sampler, SequentialSampler
from mixnet.ndarray.ndarray import NDArray
from mixnet.recordio import MXIndexedRecordIO
from mixnet.runtime.record.copy import host_view
from mixnet.runtime.record.host import host_value
from mixnet.runtime.value.state import is_on_host


class Dataset:
    """Base of datasets: override ``__getitem__`` and ``__len__``."""

    def __getitem__(self, idx: int) -> Any:
        raise NotDefinedError(f"{type(self).__name__} does not define __getitem__.")

    def __len__(self) -> int:
        raise NotDefinedError(f"{type(self).__name__} does not define __len__.")

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which ``fn(sample)`` is true; it is called for all samples now."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part ``index`` of ``num_shards`` contiguous parts; the first ones may have one more sample.

        Raises:
            AssertionError: there is no such part.
        """
        if not 0 <= index < num_shards:
            raise CheckError(f"shard: index={index} is not within 0 to {num_shards - 1}.")
        size, longer = divmod(len(self), num_shards)
        start = size * index + min(index, longer)
        return _SampledDataset(self, SequentialSampler(size + (index < longer), start))

    def take(self, count: int | None) -> Dataset:
        """The first ``count`` samples; all for None, or if there are fewer."""
        size = len(self)
        if count is None or count > size:
            count = size
        return _SampledDataset(self, SequentialSampler(count))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples at the indices that ``sampler`` yields, in that order; it is iterated once, now.

        Raises:
            TypeError: it is not a sampler.
        """
        if not isinstance(sampler, Sampler):
            raise AttributeTypeError(
                f"sample takes a gluon.data.Sampler, not {type(sampler).__name__}; for the first "
                f"samples there is take(count)."
            )
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """A dataset of ``fn(*sample)``; computed on access if ``lazy``, otherwise now."""
        inner = fn._fn if isinstance(fn, _TransformFirstClosure) else fn
        if not callable(inner):
            raise AttributeTypeError(f"transform takes a function of a sample, not {inner!r:.60}.")
        transformed = _LazyTransformDataset(self, fn)
        return (
            transformed
            if lazy
            else SimpleDataset([transformed[i] for i in range(len(transformed))])
        )

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """A dataset with ``fn`` applied to the first element of each sample.

        Args:
            fn: takes the first element and returns another.
            lazy: whether to call it each time that a sample is read, or now for all samples.
        """
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """A list as a dataset.

    Args:
        data: anything with ``len`` and indexing.
    """

    def __init__(self, data: Sequence[Any]):
        if not (isinstance(data, Sized) and hasattr(data, "__getitem__")):
            raise AttributeTypeError(
                f"SimpleDataset takes a list, or an object with a length and indexing, not "
                f"{data!r:.60}."
            )
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        try:
            return self._data[idx]
        except IndexError:
            raise IndexingError(f"sample {idx} of a dataset of {len(self)}") from None


def _check_takes(function: Callable[..., Any], parts: tuple[Any, ...]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*parts)
    except TypeError:
        raise AttributeTypeError(
            f"The function of transform gets the {len(parts)} part(s) of a sample, but it takes {signature}. "
            f"transform_first works on the first part alone."
        ) from None


class _LazyTransformDataset(Dataset):
    def __init__(self, data: Any, fn: Callable[..., Any]):
        self._data, self._fn = data, fn

    def rows(self, indices: Sequence[int]) -> list[Any] | None:
        """Several samples at once, if the function supports that; otherwise None."""
        fn = self._fn
        first = isinstance(fn, _TransformFirstClosure)
        inner = fn._fn if isinstance(fn, _TransformFirstClosure) else fn
        if not takes_batches(inner):
            return None
        rows = rows_of(self._data, indices)
        if rows is None or (len(rows) > 1 and not first):
            return None
        return [inner(rows[0]), *rows[1:]]

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        parts = sample if isinstance(sample, tuple) else (sample,)
        try:
            return self._fn(*parts)
        except TypeError:
            _check_takes(self._fn, parts)
            raise


class _TransformFirstClosure:
    """``fn`` of the first element of a sample; a class, so that it can be pickled."""

    def __init__(self, fn: Callable[..., Any]):
        self._fn = fn

    def __call__(self, x: object, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(Dataset):
    def __init__(self, dataset: Dataset, sampler: Sampler):
        self._dataset, self._sampler = dataset, sampler
        self._indices = list(iter(sampler))

    def rows(self, indices: Sequence[int]) -> list[Any] | None:
        """Several samples at once, if the underlying dataset supports that."""
        return rows_of(self._dataset, [self._indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Samples made of the rows of several arrays.

    Args:
        args: arrays, NumPy arrays, lists or datasets of one length.

    Raises:
        AssertionError: there are none, or their lengths differ.
    """

    def __init__(self, *args: Any):
        if not args:
            raise CheckError("ArrayDataset takes at least one array.")
        for i, each in enumerate(args):
            if not isinstance(each, Sized):
                raise AttributeTypeError(
                    f"ArrayDataset: argument {i} must be an array, a list or a dataset, not {each!r:.60}."
                )
        self._length = len(args[0])
        self._data: list[Any] = []
        for i, each in enumerate(args):
            if len(each) != self._length:
                raise CheckError(
                    f"ArrayDataset: array 0 has {self._length} samples, but array {i} has {len(each)}."
                )
            # One copy to the host is cheaper than one for each sample.
            flat = isinstance(each, NDArray) and each.ndim == 1
            self._data.append(each.asnumpy() if flat else each)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        try:
            parts = [_part(each, idx) for each in self._data]
        except IndexError:
            raise IndexingError(f"sample {idx} of a dataset of {len(self)}") from None
        return parts[0] if len(parts) == 1 else tuple(parts)

    def rows(self, indices: Sequence[int]) -> list[Any] | None:
        """Several samples at once; None if an element is not an array.

        Args:
            indices: the indices of the samples.
        """
        return _rows(self._data, indices)


def takes_batches(transform: object) -> bool:
    """Whether a transform of several samples at once gives the same results as one by one.

    This is not inherited: a subclass may behave differently and must declare it itself.
    """
    declared = vars(type(transform)).get("takes_batches", False)
    return bool(getattr(transform, "__dict__", {}).get("takes_batches", declared))


def rows_of(dataset: Any, indices: Sequence[int]) -> list[Any] | None:
    """The samples at these indices, one array per element, if a dataset supports that.

    This is not inherited: a subclass may return other samples.
    """
    cls = type(dataset)
    for base in (ArrayDataset, _DownloadedDataset, _LazyTransformDataset, _SampledDataset):
        if isinstance(dataset, base):
            same = cls.__getitem__ is base.__getitem__
            return dataset.rows(indices) if same else None
    return None


def _rows(parts: Sequence[Any], indices: Sequence[int]) -> list[Any] | None:
    rows: list[Any] = []
    for each in parts:
        if isinstance(each, NDArray) and not each._is_sparse:
            pixels = host_view(each._read(), "dataset")[np.asarray(indices)]
            rows.append(type(each)._wrap(host_value(pixels, each.context)))
        elif type(each) is np.ndarray and each.dtype.kind in "fiub":
            rows.append(each[np.asarray(indices)])
        else:
            return None
    return rows


def _part(part: Any, idx: int) -> Any:
    """One row of an array; on the host without creating a view, which takes longer than the row."""
    if type(idx) is int and is_on_host() and isinstance(part, NDArray) and not part._is_sparse:
        view = host_view(part._read(), "dataset")
        return type(part)._wrap(host_value(view[idx], part.context))
    return part[idx]


class _Reader(NamedTuple):
    """An open record file, which one thread of one process reads at a time."""

    records: MXIndexedRecordIO
    lock: threading.Lock
    pid: int


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes.

    Args:
        filename: path of the ``.rec`` file; its index, ``.idx``, is next to it.
    """

    def __init__(self, filename: str):
        self.filename = filename
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self._reader = self._opened()

    def _opened(self) -> _Reader:
        records = MXIndexedRecordIO(self.idx_file, self.filename, "r")
        return _Reader(records, threading.Lock(), os.getpid())

    @property
    def _record(self) -> MXIndexedRecordIO:
        """The open file, under MXNet's name."""
        return self._reader.records

    def __getitem__(self, idx: int) -> Any:
        reader = self._reader
        if reader.pid != os.getpid():
            # A forked process shares the file position with its parent. Each of several threads may open the
            # file once, and reads what it has opened.
            reader = self._reader = self._opened()
        with reader.lock:
            return reader.records.read_idx(reader.records.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_reader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reader = self._opened()


class _DownloadedDataset(Dataset):
    """Base of datasets that read all of their files at once.

    Args:
        root: folder of the files; created if it does not exist.
        transform: maps a sample and its label to the returned sample.
    """

    def __init__(self, root: str, transform: Callable[..., Any] | None):
        super().__init__()
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        if not os.path.isdir(self._root):
            os.makedirs(self._root)
        self._get_data()

    def __getitem__(self, idx: int) -> Any:
        sample = _part(self._data, idx), self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def rows(self, indices: Sequence[int]) -> list[Any] | None:
        """Several samples at once; None if they are transformed one by one."""
        return None if self._transform is not None else _rows((self._data, self._label), indices)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        """Set ``_data`` and ``_label``."""
        raise NotImplementedError
