"""Iterators over iterators: resizing and prefetching."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from mixnet import engine
from mixnet.base import CheckError, ObjectKindError
from mixnet.engine.current import current, whole_or_not_at_all
from mixnet.engine.variable import Var
from mixnet.io.batch import DataBatch, DataDesc
from mixnet.io.iterator import DataIter
from mixnet.process.overridden import Methods


def check_iterator(title: str, iterator: object) -> None:
    """Raise unless an object is an iterator of batches, which describes its data."""
    if not hasattr(iterator, "provide_data"):
        raise ObjectKindError(
            f"{title} takes an iterator of batches, such as mx.io.NDArrayIter(...), not {iterator!r:.60}."
        )


class _OverIterators(DataIter):
    """Base of iterators over iterators: ``iter_next`` puts the batch into ``current_batch``."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        """The next batch."""
        if not self.iter_next():
            raise StopIteration
        assert self.current_batch is not None
        return self.current_batch

    def getdata(self) -> Any:
        """Data of the batch."""
        return None if self.current_batch is None else self.current_batch.data

    def getlabel(self) -> Any:
        """Labels of the batch."""
        return None if self.current_batch is None else self.current_batch.label

    def getindex(self) -> Any:
        """Indices of the samples."""
        return None if self.current_batch is None else self.current_batch.index

    def getpad(self) -> Any:
        """Number of samples at the end of the batch that only fill it up."""
        return None if self.current_batch is None else self.current_batch.pad


class ResizeIter(_OverIterators):
    """Changes the number of batches per epoch of an iterator.

    Args:
        data_iter: the iterator; when its own epoch ends, it is reset and continues.
        size: batches in an epoch.
        reset_internal: whether ``reset`` also resets ``data_iter``.
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True):
        super().__init__()
        check_iterator("ResizeIter", data_iter)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.current_batch: DataBatch | None = None
        self.provide_data = data_iter.provide_data  # type: ignore[attr-defined]  # was checked
        self.provide_label = data_iter.provide_label  # type: ignore[attr-defined]
        self.batch_size = data_iter.batch_size
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def next(self) -> DataBatch:
        """The next batch."""
        if _PARTS.are_those_of(self):
            return super().next()
        return DataIter.next(self)  # put together from what a subclass gives

    def reset(self) -> None:
        """Begin an epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Move to the next batch; whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


_PARTS = Methods(ResizeIter, "getdata", "getlabel", "getindex", "getpad")


class PrefetchingIter(_OverIterators):
    """Prepares the next batch of one or several iterators while the current one is used.

    The engine's I/O workers do that; the iterator has no thread of its own.

    Args:
        iters: an iterator, or a list of them, whose batches are combined.
        rename_data: for each a dict from its data names to new names.
        rename_label: the same for labels.

    Raises:
        AssertionError: there is no iterator.
    """

    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ):
        super().__init__()
        self.iters: list[Any] = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise CheckError("PrefetchingIter takes at least one iterator.")
        for each in self.iters:
            check_iterator("PrefetchingIter", each)
        self.rename_data = rename_data
        self.rename_label = rename_label
        self.batch_size = self.provide_data[0][1][0]
        self.current_batch: DataBatch | None = None
        self.next_batch: list[Any] = [None] * self.n_iter
        self._variables = [Var(f"batch of {type(each).__name__}") for each in self.iters]
        self.started = True
        self._has_failed = False
        self._prefetch()

    def _prefetch(self) -> None:
        batches = self.next_batch

        def work(i: int, iterator: Any) -> None:
            batches[i] = None
            with contextlib.suppress(StopIteration):
                batches[i] = iterator.next()

        with whole_or_not_at_all():
            for i, (iterator, variable) in enumerate(zip(self.iters, self._variables, strict=True)):
                name = f"{type(iterator).__name__}.next"
                engine.push(partial(work, i, iterator), (), (variable,), "io", name=name)

    @staticmethod
    def _described(described_by_iterator: Iterable[Any], renames: Any) -> list[Any]:
        descriptions = []
        for i, described in enumerate(described_by_iterator):
            if renames is None:
                descriptions += described
                continue
            for each in described:
                desc = each if isinstance(each, DataDesc) else DataDesc(*each)
                name = renames[i].get(desc.name, desc.name)
                descriptions.append(DataDesc(name, desc.shape, desc.dtype, desc.layout))
        return descriptions

    @property
    def provide_data(self) -> list[Any]:
        """Descriptions of the data of all iterators."""
        return self._described((each.provide_data for each in self.iters), self.rename_data)

    @property
    def provide_label(self) -> list[Any]:
        """Descriptions of the labels of all iterators."""
        return self._described((each.provide_label for each in self.iters), self.rename_label)

    def _settle(self) -> None:
        """Wait for the next batches.

        One whose error was raised before is prepared again. Of several iterators, each may have gone on or
        not, so the error is raised until ``reset``.
        """
        for variable in self._variables:
            current.engine.settle(variable)
        if self._has_failed and self.n_iter == 1:
            self._has_failed = False
            self._prefetch()
        try:
            for variable in self._variables:
                engine.wait_for_var(variable)
        except BaseException:
            self._has_failed = True
            raise

    def reset(self) -> None:
        """Reset all iterators, also after an interrupt or an error."""
        for variable in self._variables:
            with contextlib.suppress(Exception):  # of a batch that nobody will read
                engine.wait_for_var(variable)
        self._has_failed = False
        for each in self.iters:
            each.reset()
        self._prefetch()

    def iter_next(self) -> bool:
        """Move to the next batch; whether there is one.

        Raises:
            AssertionError: some iterators have ended and others have not, or their padding differs.
        """
        self._settle()
        batches = list(self.next_batch)
        if all(each is None for each in batches):
            return False
        if any(each is None for each in batches) or len({each.pad for each in batches}) > 1:
            raise CheckError("PrefetchingIter: the iterators have different numbers of samples.")
        first = batches[0]
        self.current_batch = DataBatch(
            [array for each in batches for array in each.data],
            [array for each in batches for array in each.label or ()],
            first.pad,
            first.index,
            bucket_key=first.bucket_key,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._prefetch()
        return True

    def __del__(self) -> None:
        """Nothing to do: the workers belong to the engine."""
        self.started = False
