"""Queues between processes and threads, for user-defined loaders."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from mixnet.context import Context, cpu, cpu_pinned
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.shared_memory import Shared, from_shared_memory, to_shared_memory
from mixnet.numpy.ndarray import ndarray

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.gluon.data.dataset import Dataset


class ConnectionWrapper:
    """A connection that sends any object that can be pickled, arrays among them.

    Args:
        conn: one end of ``multiprocessing.Pipe()``; its other methods are available as well.
    """

    def __init__(self, conn: Any):
        self._conn = conn

    def send(self, obj: Any) -> None:
        """Send an object."""
        self._conn.send_bytes(ForkingPickler.dumps(obj))

    def recv(self) -> Any:
        """The next object."""
        return pickle.loads(self._conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if name == "_conn":
            raise AttributeError(name)
        return getattr(self._conn, name)


class Queue(multiprocessing.queues.Queue):  # type: ignore[type-arg]
    """A queue between processes that also accepts arrays."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, ctx=kwargs.pop("ctx", multiprocessing.get_context()), **kwargs)


class SimpleQueue(multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]
    """A queue between processes without a thread or a size limit, that also accepts arrays."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, ctx=kwargs.pop("ctx", multiprocessing.get_context()), **kwargs)


def reduce_ndarray(data: NDArray) -> tuple[Any, Shared]:
    """Reduce an array to shared memory: the function that rebuilds it in another process, and its arguments.

    The memory exists as long as ``data`` does.
    """
    rebuild = rebuild_np_ndarray if isinstance(data, ndarray) else rebuild_ndarray
    return rebuild, to_shared_memory(data)


reduce_np_ndarray = reduce_ndarray


def rebuild_ndarray(pid: int, fd: int, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Rebuild an array that :func:`reduce_ndarray` has put into shared memory.

    Args:
        pid: process id of the owner.
        fd: its file descriptor there.
        shape: its shape.
        dtype: its dtype.
    """
    return NDArray(from_shared_memory(pid, fd, shape, dtype))


def rebuild_np_ndarray(pid: int, fd: int, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
    """:func:`rebuild_ndarray` for an array of ``mx.np``."""
    return ndarray(from_shared_memory(pid, fd, shape, dtype))


def worker_loop_v1(dataset: Dataset, key_queue: Any, data_queue: Any, batchify_fn: Any) -> None:
    """Make batches until the index None arrives.

    Args:
        dataset: the samples.
        key_queue: pairs of a batch index and sample indices.
        data_queue: receives pairs of index and batch.
        batchify_fn: makes a batch from a list of samples.
    """
    while True:
        number, samples = key_queue.get()
        if number is None:
            return
        data_queue.put((number, batchify_fn([dataset[i] for i in samples])))


def fetcher_loop_v1(
    data_queue: Any,
    data_buffer: dict[int, Any],
    pin_memory: bool = False,
    pin_device_id: int = 0,
    data_buffer_lock: Any = None,
) -> None:
    """Move batches from a queue into a dictionary until the index None arrives.

    Args:
        data_queue: pairs of index and batch.
        data_buffer: batches by index.
        pin_memory: put the arrays on ``cpu_pinned``, otherwise on the CPU.
        pin_device_id: device id of that context.
        data_buffer_lock: held while the dictionary changes.
    """
    context = cpu_pinned(pin_device_id) if pin_memory else cpu()
    while True:
        number, batch = data_queue.get()
        if number is None:
            return
        batch = as_in_context(batch, context)
        if data_buffer_lock is None:
            data_buffer[number] = batch
        else:
            with data_buffer_lock:
                data_buffer[number] = batch


def as_in_context(data: object, ctx: Context) -> Any:
    """A batch with all of its arrays on a context."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [as_in_context(each, ctx) for each in data]
    return data
