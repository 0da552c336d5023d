"""Batches prefetched by the engine's I/O workers, and the iterator that returns them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mixnet import engine
from mixnet.base import MXNetError
from mixnet.context import cpu
from mixnet.engine.current import whole_or_not_at_all
from mixnet.engine.variable import Var
from mixnet.io.batch import DataBatch, DataDesc
from mixnet.io.iterator import DataIter
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.value.value import adopt, aligned_empty


class BatchSource(ABC):
    """The source of an iterator's samples, and the way a batch is made of them.

    Epochs are numbered from 0. ``begin`` and ``take`` are called by one worker at a time,
    ``fill`` by several for different parts of a batch.

    Args:
        name: of the iterator.
        batch_size: samples in a batch.
        round_batch: fill up the last batch with samples of the next epoch, which then starts after them.
        data: shape of the data of a sample, and dtype.
        label: the same for the label.
        prefetch: number of batches to prepare in advance; 0 makes each on demand.
        workers: number of tasks that share a batch.
    """

    def __init__(
        self,
        name: str,
        batch_size: int,
        round_batch: bool,
        data: tuple[tuple[int, ...], Any],
        label: tuple[tuple[int, ...], Any],
        prefetch: int = 0,
        workers: int = 1,
    ):
        if batch_size < 1:
            raise MXNetError(f"{name}: batch_size must be at least 1, not {batch_size}.")
        self.name = name
        self.batch_size = batch_size
        self.round_batch = round_batch
        self.data = (batch_size, *data[0]), np.dtype(data[1])
        self.label = (batch_size, *label[0]), np.dtype(label[1])
        self.prefetch = prefetch
        self.workers = workers

    @abstractmethod
    def begin(self, epoch: int) -> None:
        """Go to the first sample of an epoch."""

    @abstractmethod
    def take(self, count: int) -> Sequence[Any]:
        """The next samples, fewer at the end of the epoch."""

    def allocate(self) -> Any:
        """Allocate memory for a batch."""
        return aligned_empty(*self.data), aligned_empty(*self.label)

    @abstractmethod
    def fill(
        self, buffers: object, samples: Sequence[Any], first: int, seed: tuple[int, int]
    ) -> None:
        """Write some samples of a batch.

        Args:
            buffers: the result of ``allocate``.
            samples: consecutive ones.
            first: place of the first in the batch.
            seed: epoch and batch index, for random operations.
        """

    def blank(self, buffers: Any, first: int) -> None:
        """Clear the memory from position ``first``, for an incomplete last batch."""
        for each in buffers:
            each[first:] = 0

    def finish(self, buffers: Any, samples: Sequence[Any]) -> tuple[Any, Any]:
        """Data and label as arrays."""
        return to_array(buffers[0]), to_array(buffers[1])

    def padding(self, buffers: object) -> int:
        """Number of samples of a batch that were skipped and replaced at its end."""
        return 0

    def index(self, samples: Sequence[Any]) -> np.ndarray:
        """Indices of the samples, zeros if they have none."""
        return np.zeros(self.batch_size, np.uint64)


def to_array(data: np.ndarray) -> NDArray:
    """An array from host data, which the caller must not use afterwards."""
    return NDArray._wrap(adopt(data, cpu()))


class _Ticket:
    """A batch in preparation."""

    def __init__(self, number: int):
        self.number = number
        self.samples: Sequence[Any] = ()
        self.pad = 0
        self.epoch = 0  # that the source is in after this batch
        self.rolled = False  # samples of the next epoch fill it up
        self.buffers: Any = None
        self.variables: list[Var] = []
        # Stored here, not in the variables: the error of a batch that is no longer needed is ignored.
        self.error: Exception | None = None


class _Reader:
    """Reads samples in order; exists as long as tasks need it, possibly longer than its iterator."""

    def __init__(self, source: BatchSource):
        self.source = source
        self.var = Var(f"reader of {source.name}")
        self.generation = 0  # tasks of an older one do nothing
        self.ended = False

    def read(self, ticket: _Ticket, generation: int, begin: int | None, epoch: int) -> None:
        """Take the samples of a batch; none at the end of the epoch."""
        if generation != self.generation:
            return
        try:
            self._read(ticket, begin, epoch)
        except Exception as error:
            ticket.error = error

    def _read(self, ticket: _Ticket, begin: int | None, epoch: int) -> None:
        source = self.source
        if begin is not None:
            source.begin(begin)
            self.ended = False
        elif ticket.number == 0:
            self.ended = False
        ticket.epoch = epoch
        if self.ended:
            return
        samples = source.take(source.batch_size)
        count = len(samples)
        if count < source.batch_size:
            self.ended = True
            if count and source.round_batch:
                samples = list(samples)
                while len(samples) < source.batch_size:
                    ticket.epoch += 1
                    source.begin(ticket.epoch)
                    samples += source.take(source.batch_size - len(samples))
                ticket.rolled = True
            ticket.pad = source.batch_size - count
        if count:
            ticket.samples = samples
            ticket.buffers = source.allocate()
            if len(samples) < source.batch_size:
                source.blank(ticket.buffers, len(samples))

    def fill(self, ticket: _Ticket, generation: int, begin: int, end: int) -> None:
        """Make a part of a batch."""
        part = ticket.samples[begin:end]
        if generation != self.generation or not len(part) or ticket.error is not None:
            return
        try:
            self.source.fill(ticket.buffers, part, begin, (ticket.epoch, ticket.number))
        except Exception as error:
            ticket.error = error

    def cancel(self) -> None:
        """Cancel batches in preparation."""
        self.generation += 1


class MXDataIter(DataIter):
    """An iterator over a source with prefetched batches.

    Reading is one engine task per batch, in order; preparing a batch is several tasks, in parallel. An
    error is raised by the ``next`` that returns its batch.

    Args:
        handle: a :class:`BatchSource`.
        data_name: of the data.
        label_name: of the labels.
    """

    def __init__(
        self, handle: Any, data_name: str = "data", label_name: str = "softmax_label", **_: object
    ):
        if not isinstance(handle, BatchSource):
            raise MXNetError(
                f"MXDataIter takes a mixnet.io.loader.BatchSource, not {type(handle).__name__}: "
                f"mixnet has no C handles."
            )
        super().__init__(handle.batch_size)
        self.handle = handle
        self.provide_data = [DataDesc(data_name, handle.data[0], handle.data[1].type)]
        self.provide_label = [DataDesc(label_name, handle.label[0], handle.label[1].type)]
        self.first_batch: DataBatch | None = None
        self._debug_skip_load = False
        self._current: DataBatch | None = None
        self._is_unread = True
        self._reader = _Reader(handle)
        self._queue: deque[_Ticket] = deque()
        self._epoch = 0
        self._start(0)

    def _start(self, begin: int | None) -> None:
        """Begin an epoch, or for None continue the one that filled up the last batch."""
        self._reader.cancel()
        self._queue.clear()
        self._pushed = 0
        self._begin = begin
        self._over = False
        self._rolled = False
        if begin is not None:
            self._epoch = begin
        for _ in range(self.handle.prefetch):
            self._push()

    def _push(self) -> None:
        """Make a batch, or push the tasks that do. After Ctrl-C there is none, or a whole one."""
        reader, ticket = self._reader, _Ticket(self._pushed)
        generation = reader.generation
        size = self.batch_size
        # At least 8 samples a task, so that scheduling costs little of it.
        step = max(-(-size // max(self.handle.workers, 1)), min(size, 8))
        parts = [(at, min(at + step, size)) for at in range(0, size, step)]
        read = partial(reader.read, ticket, generation, self._begin, self._epoch)
        if self.handle.prefetch:
            with whole_or_not_at_all():
                self._push_tasks(ticket, read, parts)
                self._begin, self._pushed = None, self._pushed + 1
                self._queue.append(ticket)
            return
        read()
        self._begin, self._pushed = None, self._pushed + 1
        for part in parts:
            reader.fill(ticket, generation, *part)
        self._queue.append(ticket)

    def _push_tasks(
        self, ticket: _Ticket, read: Callable[[], None], parts: Sequence[tuple[int, int]]
    ) -> None:
        reader, name = self._reader, self.handle.name
        raw = Var(f"{name} samples")
        # Earlier batches first: nothing is gained by a later one that is ready before them.
        priority = -ticket.number
        engine.push(read, (), (reader.var, raw), "io", priority, name=f"{name} read")
        ticket.variables = [raw]
        for part in parts:
            var = Var(f"{name} batch")
            fill = partial(reader.fill, ticket, reader.generation, *part)
            engine.push(fill, (raw,), (var,), "io", priority, name=f"{name} make")
            ticket.variables.append(var)

    def _advance(self) -> DataBatch | None:
        if self._over:
            return None
        if not self._queue or self.handle.prefetch:
            self._push()
        ticket = self._queue.popleft()
        for variable in ticket.variables:
            engine.wait_for_var(variable)
        if ticket.error is not None:
            ticket.error.add_note(f"while batch {ticket.number} of {self.handle.name} was made")
            raise ticket.error
        if not len(ticket.samples):
            self._over = True
            return None
        self._epoch, self._rolled = ticket.epoch, ticket.rolled
        data, label = self.handle.finish(ticket.buffers, ticket.samples)
        index = self.handle.index(ticket.samples)
        pad = ticket.pad + self.handle.padding(ticket.buffers)
        return DataBatch([data], [label], pad=pad, index=index)

    # ---- the interface of iterators -------------------------------------------------------------

    def debug_skip_load(self) -> None:
        """Return the first batch forever, to benchmark everything except loading."""
        self._debug_skip_load = True

    def reset(self) -> None:
        """Begin an epoch: after the samples that filled up the last batch, otherwise at the start."""
        self.first_batch, self._is_unread = None, False
        self._start(None if self._rolled else self._epoch + 1)

    def iter_next(self) -> int:
        """Move to the next batch; 1 if there is one, else 0."""
        self._is_unread = False
        if self.first_batch is not None:
            self._current, self.first_batch = self.first_batch, None
        else:
            self._current = self._advance()
        return int(self._current is not None)

    def next(self) -> DataBatch:
        """The next batch.

        Raises:
            StopIteration: the epoch is over.
            Exception: the error of this batch.
        """
        if self._debug_skip_load and self._current is not None:
            return self._current
        if not self.iter_next():
            raise StopIteration
        assert self._current is not None
        return self._current

    @property
    def _batch(self) -> Any:
        if self._is_unread:  # the first batch can be read before next()
            self._is_unread = False
            self._current = self.first_batch = self._advance()
        if self._current is None:
            raise MXNetError("There is no batch: call next() or iter_next() first.")
        return self._current

    def getdata(self) -> NDArray:
        """Data of the batch."""
        data: NDArray = self._batch.data[0]
        return data

    def getlabel(self) -> NDArray:
        """Labels of the batch."""
        label: NDArray = self._batch.label[0]
        return label

    def getindex(self) -> np.ndarray:
        """Indices of the samples."""
        index: np.ndarray = self._batch.index
        return index

    def getpad(self) -> int:
        """Number of samples at the end of the batch that only fill it up."""
        pad: int = self._batch.pad
        return pad

    def __del__(self) -> None:
        """Cancel prefetched batches."""
        if "_reader" in vars(self):  # the constructor has not failed
            self._reader.cancel()
