"""Queues between processes and threads, for user-defined loaders."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

from mixnet.context import Context, cpu, cpu_pinned
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.shared_memory import Shared, from_shared_memory, to_shared_memory
from mixnet.numpy.ndarray import ndarray


class ConnectionWrapper:
    """A connection that sends any object that can be pickled, arrays among them.

    Args:
        conn: one end of ``multiprocessing.Pipe()``; its other methods are there too.
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


class Queue(multiprocessing.queues.Queue):
    """A queue between processes, for arrays too."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, ctx=kwargs.pop("ctx", multiprocessing.get_context()), **kwargs)


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """A queue between processes without a thread and a limit, for arrays too."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, ctx=kwargs.pop("ctx", multiprocessing.get_context()), **kwargs)


def reduce_ndarray(data: NDArray) -> tuple[Any, Shared]:
    """An array as shared memory: what makes it again in another process, and its arguments.

    The memory is there as long as ``data`` is.
    """
    rebuild = rebuild_np_ndarray if isinstance(data, ndarray) else rebuild_ndarray
    return rebuild, to_shared_memory(data)


reduce_np_ndarray = reduce_ndarray


def rebuild_ndarray(pid: int, fd: int, shape: tuple[int, ...], dtype: Any) -> NDArray:
    """The array that :func:`reduce_ndarray` has put into shared memory.

    Args:
        pid: process that has it.
        fd: number of the file there.
        shape: its shape.
        dtype: its dtype.
    """
    return NDArray(from_shared_memory(pid, fd, shape, dtype))


def rebuild_np_ndarray(pid: int, fd: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """:func:`rebuild_ndarray` for an array of ``mx.np``."""
    return ndarray(from_shared_memory(pid, fd, shape, dtype))


def worker_loop_v1(dataset: Any, key_queue: Any, data_queue: Any, batchify_fn: Any) -> None:
    """Make batches until the number None comes.

    Args:
        dataset: the samples.
        key_queue: pairs of a number of a batch and numbers of samples.
        data_queue: takes pairs of the number and the batch.
        batchify_fn: makes a batch of a list of samples.
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
    """Move batches from a queue into a dictionary until the number None comes.

    Args:
        data_queue: pairs of a number and a batch.
        data_buffer: batches by number.
        pin_memory: put the arrays on ``cpu_pinned``, else on the CPU.
        pin_device_id: number of that context.
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


def as_in_context(data: Any, ctx: Context) -> Any:
    """A batch with all of its arrays on a context."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [as_in_context(each, ctx) for each in data]
    return data
