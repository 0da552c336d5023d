"""DataLoader: batches of a dataset, optionally prefetched by processes or threads."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import Future, TimeoutError
from multiprocessing.pool import ThreadPool as ThreadPool  # programs import both from here
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import context as context
from mixnet import ndarray as nd  # noqa: F401
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    DTypeError,
    SampleKindError,
    checked_count,
    checked_number,
)
from mixnet.context import Context
from mixnet.engine import Var, push
from mixnet.gluon.data.dataset import rows_of
from mixnet.gluon.data.queues import ConnectionWrapper as ConnectionWrapper
from mixnet.gluon.data.queues import Queue as Queue
from mixnet.gluon.data.queues import SimpleQueue as SimpleQueue
from mixnet.gluon.data.queues import as_in_context as _as_in_context
from mixnet.gluon.data.queues import fetcher_loop_v1 as fetcher_loop_v1
from mixnet.gluon.data.queues import rebuild_ndarray as rebuild_ndarray
from mixnet.gluon.data.queues import rebuild_np_ndarray as rebuild_np_ndarray
from mixnet.gluon.data.queues import reduce_ndarray as reduce_ndarray
from mixnet.gluon.data.queues import reduce_np_ndarray as reduce_np_ndarray
from mixnet.gluon.data.queues import worker_loop_v1 as worker_loop_v1
from mixnet.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from mixnet.gluon.data.worker import Workers, empty_shared
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray
from mixnet.process import locks
from mixnet.process.interrupt import Deferred
from mixnet.runtime.record.host import host_value, on_device, on_host, put_on_device
from mixnet.runtime.value.state import is_on_host, state
from mixnet.util import is_np_array, is_np_shape, set_np

if TYPE_CHECKING:
    from mixnet.gluon.data.dataset import Dataset

__all__ = ["DataLoader"]

_worker_dataset: Any = None  # in a worker process of a user's own pool

Batchify = Callable[[list[Any]], Any]
_CPU, _SHARED = Context("cpu", 0), Context("cpu_shared", 0)


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Samples stacked to arrays: numbers, arrays, or tuples of them.

    Args:
        data: a list of samples.

    Raises:
        TypeError: samples are not numeric.
        ValueError: their shapes differ.
    """
    return _batchify(data, _CPU)


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """Like ``default_batchify_fn``, with arrays in memory that the processes share."""
    return _batchify(data, _SHARED)


def _batchify(data: Any, context: Context) -> Any:
    first = data[0]
    if isinstance(first, tuple):
        return [_batchify(part, context) for part in zip(*data, strict=False)]
    if isinstance(first, NDArray):
        context = _where(first, context)
        if is_on_host():
            read = state.trace.array
            return _array(_stacked([read(each._read()) for each in data]), context)
        return _array(_stacked([each.asnumpy() for each in data]), context)
    if type(first) is np.ndarray and first.ndim and first.dtype.kind in "fiub":
        shape, dtype = first.shape, first.dtype
        if all(type(x) is np.ndarray and (x.shape, x.dtype) == (shape, dtype) for x in data):
            return _array(_stacked(data), context)
    try:
        batch = np.asarray(data)
    except ValueError:
        raise _ragged(*dict.fromkeys(_shape_of(each) for each in data)) from None
    if batch.dtype.kind not in "fiub":
        raise SampleKindError(
            f"Samples with parts of type {type(first).__name__} do not stack to an array; give "
            f"the DataLoader a batchify_fn that builds a batch from them."
        )
    return _array(batch, context)


def _where(samples: NDArray, context: Context) -> Context:
    """The context of a batch: samples on a GPU stay there."""
    return samples.context if samples.context.device_type == "gpu" else context


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for each in arrays:
        if each.shape != shape:
            raise _ragged(shape, each.shape)
        if each.dtype != dtype:
            raise DTypeError(
                f"Samples of dtypes {dtype} and {each.dtype} do not stack to a batch. Cast them to one "
                f"dtype with a transform."
            )
    return np.stack(arrays, out=empty_shared((len(arrays), *shape), dtype))


def _shape_of(sample: Any) -> tuple[int, ...] | str:
    try:
        shape: tuple[int, ...] = np.shape(sample)
        return shape
    except ValueError:
        return "that differ within one"


def _ragged(*shapes: object) -> AttributeValueError:
    return AttributeValueError(
        f"Samples of shapes {' and '.join(map(str, shapes[:3]))} do not stack to a batch. Bring them "
        f"to one shape with a transform, or give the DataLoader a batchify_fn that pads."
    )


def _array(data: np.ndarray, context: Context) -> NDArray:
    value = host_value(data, context)
    return (ndarray if is_np_array() else NDArray)._wrap(
        value if is_on_host() else on_device(value)
    )


def _whole(rows: Any, context: Context) -> NDArray:
    """Samples that are already a batch."""
    if isinstance(rows, NDArray):
        array = state.trace.array(rows._read())
        return type(rows)._wrap(host_value(array, _where(rows, context)))
    return _array(rows, context)


class _Maker:
    """Makes a batch from sample indices; worker processes inherit it by forking."""

    def __init__(self, dataset: Any, batchify: Batchify):
        self.dataset, self.batchify = dataset, batchify
        self._mx_whole = batchify in (default_batchify_fn, default_mp_batchify_fn)
        self._context = _SHARED if batchify is default_mp_batchify_fn else _CPU

    def __call__(self, numbers: Sequence[int]) -> Any:
        rows = rows_of(self.dataset, numbers) if self._mx_whole else None
        if rows is not None:
            arrays = [_whole(row, self._context) for row in rows]
            return arrays if len(arrays) > 1 else arrays[0]
        dataset = self.dataset
        return self.batchify([dataset[i] for i in numbers])

    def in_this_process(self, numbers: Sequence[int]) -> Any:
        """Create a batch in this thread, with arrays on their devices."""
        with on_host():
            batch = self(numbers)
        put_on_device(batch)
        return batch


class _ThreadWorkers:
    """Makes batches on the engine's I/O workers, ``count`` at a time."""

    is_broken = False
    """Whether an interrupt may have left the workers in an invalid state: never."""

    def __init__(self, make: _Maker, count: int):
        self._make = make
        self._lanes = itertools.cycle([Var(f"DataLoader {i}") for i in range(count)])

    def submit(self, numbers: Sequence[int], seed: int) -> Future[Any]:
        """Request a batch."""
        future: Future[Any] = Future()
        work = functools.partial(self._run, future, numbers, (is_np_shape(), is_np_array()))
        push(work, (), (next(self._lanes),), "io", name="DataLoader batch")
        return future

    def _run(self, future: Future[Any], numbers: Sequence[int], numpy: tuple[bool, bool]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        before = is_np_shape(), is_np_array()
        set_np(*numpy)  # settings are per thread
        try:
            future.set_result(self._make.in_this_process(numbers))
        except BaseException as error:
            future.set_exception(error)
        finally:
            set_np(*before)

    def result(self, job: Future[Any], timeout: float) -> Any:
        """The batch of a job; raises the job's exception.

        Raises:
            multiprocessing.TimeoutError: it is not ready after ``timeout`` seconds.
        """
        try:
            return job.result(timeout)
        except TimeoutError as error:
            if job.done() and job.exception() is error:
                raise  # an error of the dataset
            raise multiprocessing.TimeoutError(
                f"A thread of a DataLoader took more than {timeout} seconds for a batch. If its "
                f"samples really take that long, give the DataLoader a larger timeout."
            ) from None

    def forget(self, jobs: Sequence[Future[Any]]) -> None:
        """Cancel these jobs; running ones finish first."""
        for job in jobs:
            job.cancel()

    def stop(self) -> None:
        """Nothing to do: the threads belong to the engine."""


class _MultiWorkerIter:
    """The batches of one epoch, some of them prefetched."""

    def __init__(self, loader: DataLoader):
        self._loader = loader
        self._jobs: deque[Any] = deque()
        with loader._mx_lock:
            self._workers = loader._mx_start_workers()
            self._batches = iter(loader._batch_sampler)
            self._seed = loader._mx_next_seed()
            self._iterations = 0
            with loader._mx_whole():
                for _ in range(max(1, loader._prefetch)):
                    self._ask()

    def __len__(self) -> int:
        return len(self._loader._batch_sampler)

    def __iter__(self) -> _MultiWorkerIter:
        return self

    def _ask(self) -> None:
        numbers = next(self._batches, None)
        if numbers is not None:
            # Seeded for each batch, not each worker: results do not depend on which worker is faster.
            seed = zlib.crc32(f"{self._seed} {self._iterations}".encode())
            self._jobs.append(self._workers.submit(numbers, seed))
            self._iterations += 1

    def __next__(self) -> Any:
        if not self._jobs:
            raise StopIteration
        loader = self._loader
        with loader._mx_lock, loader._mx_whole():
            try:
                batch = self._workers.result(self._jobs.popleft(), loader._timeout)
            except Exception as error:
                self.close()
                if error.__cause__ is None:  # the worker is stuck or dead
                    loader._mx_stop_workers()
                raise
            self._ask()
        if loader._pin_memory:
            batch = _as_in_context(batch, Context("cpu_pinned", loader._pin_device_id))
        return batch

    def close(self) -> None:
        """Request no more batches."""
        jobs, self._jobs = list(self._jobs), deque()
        self._workers.forget(jobs)


class _Whole:
    """Scope around calls of a loader's workers: an interrupt stops all of them.

    If another interrupt arrives while they are being stopped, the next epoch detects that a call has not
    ended, and starts new workers.
    """

    def __init__(self, loader: DataLoader):
        self._loader = loader

    def __enter__(self) -> None:
        self._loader._mx_under_way += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._loader._mx_stop_workers()
        else:
            self._loader._mx_under_way = max(0, self._loader._mx_under_way - 1)


class DataLoader:
    """Iterates over batches of a dataset.

    Samples are made with NumPy, also in the main process: operators of ``mx.nd`` that a dataset, a
    transform or ``batchify_fn`` calls run immediately on the host, for any shape of a sample.

    Args:
        dataset: samples: anything with ``len`` and indexing.
        batch_size: samples per batch.
        shuffle: a new random order in every epoch, from NumPy's global random state.
        sampler: determines the order instead.
        last_batch: ``keep`` a shorter last batch (default), ``discard`` it, or ``rollover``.
        batch_sampler: determines the indices of each batch, instead of the arguments above.
        batchify_fn: makes a batch from a list of samples; by default they are stacked.
        num_workers: number of processes or threads that prefetch batches; 0 makes them on demand.
        pin_memory: return arrays on ``cpu_pinned``.
        pin_device_id: device id of that context.
        prefetch: number of batches to prefetch, by default twice ``num_workers``.
        thread_pool: use threads instead of processes: for datasets that release the GIL, such as
            image decoding. They are the engine's I/O workers (``MIXNET_IO_NTHREADS``).
        timeout: seconds to wait for a batch of a worker.
        auto_reload: prefetch the first batches of the next epoch when one has ended.

    Raises:
        ValueError: arguments contradict each other.
        AssertionError: ``timeout`` is not positive.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Batchify | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ):
        self._dataset = dataset
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        if timeout <= 0:
            raise CheckError(f"DataLoader: timeout={timeout} must be above 0 seconds.")
        if batch_sampler is None:
            if batch_size is None:
                raise AttributeValueError("DataLoader needs batch_size, or a batch_sampler.")
            checked_count("DataLoader: batch_size", batch_size)
            if sampler is None:
                if not isinstance(dataset, Sized):
                    raise AttributeTypeError(
                        f"DataLoader takes a dataset, with len and indexing, not {dataset!r:.60}."
                    )
                count = len(dataset)
                sampler = RandomSampler(count) if shuffle else SequentialSampler(count)
            elif shuffle:
                raise AttributeValueError(
                    "DataLoader: shuffle and sampler exclude each other; give one."
                )
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise AttributeValueError(
                "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and last_batch."
            )
        self._batch_sampler = batch_sampler
        self._num_workers = max(0, int(checked_number("DataLoader: num_workers", num_workers)))
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        if batchify_fn is None:
            batchify_fn = default_mp_batchify_fn if self._num_workers else default_batchify_fn
        self._batchify_fn = batchify_fn
        self._worker_pool: Any = None
        self._mx_lock = _new_lock()
        self._mx_under_way = 0  # calls of workers that have not ended
        self._mx_epochs = 0
        self._iter: _MultiWorkerIter | None = None
        self.auto_reload = auto_reload
        if auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if not self._num_workers:
            yield from self._mx_same_process()
            return
        with self._mx_lock:
            if self._iter is None:
                self.refresh()
            batches, self._iter = self._iter, None
        assert batches is not None
        try:
            yield from batches
        finally:
            batches.close()
        if self.auto_reload:
            self.refresh()

    def _mx_same_process(self) -> Iterator[Any]:
        make = _Maker(self._dataset, self._batchify_fn)
        for numbers in self._batch_sampler:
            batch = make.in_this_process(numbers)
            if self._pin_memory:
                batch = _as_in_context(batch, Context("cpu_pinned", self._pin_device_id))
            yield batch

    def refresh(self) -> None:
        """Prefetch the first batches of an epoch now, for the next iteration."""
        self.clean()
        if self._num_workers:
            self._iter = _MultiWorkerIter(self)

    def clean(self) -> None:
        """Cancel prefetched batches."""
        if self._iter is not None:
            self._iter.close()
            self._iter = None

    def _mx_whole(self) -> _Whole:
        return _Whole(self)

    def _mx_start_workers(self) -> Any:
        if self._mx_under_way or (self._worker_pool is not None and self._worker_pool.is_broken):
            self._mx_stop_workers()  # an interrupt has left them in an invalid state
        if self._worker_pool is None:
            make = _Maker(self._dataset, self._batchify_fn)
            if self._thread_pool:
                self._worker_pool = _ThreadWorkers(make, self._num_workers)
            else:
                ahead = max(1, self._prefetch)
                with Deferred():
                    self._worker_pool = Workers(make, self._num_workers, ahead + _SPARE, _SPARE)
        return self._worker_pool

    def _mx_stop_workers(self) -> None:
        with Deferred():
            pool, self._worker_pool, self._mx_under_way = self._worker_pool, None, 0
            if pool is not None:
                pool.stop()

    def _mx_next_seed(self) -> str:
        # Seeds of samples are derived from np.random.seed, without drawing from that generator.
        self._mx_epochs += 1
        drawn = np.random.get_state(legacy=False)["state"]
        return f"{zlib.crc32(drawn['key'].tobytes())} {drawn['pos']} {self._mx_epochs}"

    def __getstate__(self) -> dict[str, Any]:
        return {
            **vars(self),
            "_worker_pool": None,
            "_iter": None,
            "_mx_under_way": 0,
            "_mx_lock": None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _mx_lock=_new_lock())

    def __del__(self) -> None:
        try:
            self.clean()
            self._mx_stop_workers()
        except (AttributeError, TypeError):  # the constructor failed, or the interpreter ends
            pass


def _new_lock() -> Any:
    """The lock of a loader's workers, which threads that iterate over it share.

    Held while a thread waits for a batch, unlike those of ``locks.ORDER``, and so never taken by finalizers.
    """
    return locks.renewed(threading.RLock())


_SPARE = 4  # batches in shared memory that a program may hold; further ones are copied


class DataLoaderV1(DataLoader):
    """The DataLoader of earlier versions: the same with fewer arguments."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Batchify | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
    ):
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            last_batch,
            batch_sampler,
            batchify_fn,
            num_workers,
            pin_memory,
            pin_device_id,
        )


# ---- functions for users' own pools of workers, with MXNet's names --------------------------------


def _worker_initializer(dataset: Dataset, active_shape: bool, active_array: bool) -> None:
    """Initialize a process of a pool: its dataset and NumPy mode."""
    global _worker_dataset
    _worker_dataset = dataset
    set_np(shape=active_shape, array=active_array)


def _worker_fn(
    samples: Sequence[int], batchify_fn: Batchify, dataset: Dataset | None = None
) -> bytes:
    """A pickled batch of these samples; ``dataset`` is the worker's by default."""
    source = _worker_dataset if dataset is None else dataset
    return bytes(ForkingPickler.dumps(_thread_worker_fn(samples, batchify_fn, source)))


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    """Initialize a thread of a pool: its NumPy mode."""
    set_np(shape=active_shape, array=active_array)


def _thread_worker_fn(samples: Sequence[int], batchify_fn: Batchify, dataset: Dataset) -> Any:
    """A batch of these samples."""
    return batchify_fn([dataset[i] for i in samples])
