"""Exchanges of arrays and objects between all processes of a job, or those of a process set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import ShapeError
from mixnet.distributed.buckets import buckets
from mixnet.distributed.exchanges import Copies, sums
from mixnet.distributed.processes import World
from mixnet.horovod.job import ProcessSet, global_process_set
from mixnet.kvstore.objects import Objects
from mixnet.ndarray.create import array as _array
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.schema.over_devices import Exchange


def allreduce(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> NDArray:
    """The mean over all processes, or the sum, as a new array.

    Args:
        tensor: of the same shape and dtype in all processes.
        average: divide the sum by the number of processes.
        name: has no effect: exchanges are matched by their order.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
        process_set: the processes that take part.
    """
    factors = prescale_factor, postscale_factor
    return allreduce_(tensor.copy(), average, name, priority, *factors, process_set)


def allreduce_(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> NDArray:
    """``allreduce`` that writes to ``tensor``, and returns it.

    Args:
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
        process_set: the processes that take part.
    """
    factors = prescale_factor, postscale_factor
    grouped_allreduce_([tensor], average, name, priority, *factors, process_set)
    return tensor


def grouped_allreduce(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[NDArray]:
    """``allreduce`` of several arrays, which travel together.

    Args:
        tensors: arrays, of the same shapes and dtypes in all processes.
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
        process_set: the processes that take part.
    """
    copies = [each.copy() for each in tensors]
    factors = prescale_factor, postscale_factor
    return grouped_allreduce_(copies, average, name, priority, *factors, process_set)


def grouped_allreduce_(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[NDArray]:
    """``grouped_allreduce`` that writes to ``tensors``, and returns them.

    Args:
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
        process_set: the processes that take part.
    """
    world = process_set._exchanges("allreduce")
    with RecordingScope(False, None):
        if prescale_factor != 1:
            for each in tensors:
                each *= prescale_factor
        _exchange(world, sums, tensors, priority, "all-reduce")
        for each in tensors:
            if average:
                each /= world.size
            if postscale_factor != 1:
                each *= postscale_factor
    return list(tensors)


def broadcast(
    tensor: NDArray,
    root_rank: int,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> NDArray:
    """A copy of the array of process ``root_rank``.

    Args:
        tensor: of the same shape and dtype in all processes.
        name: has no effect.
        priority: of the task.
        process_set: the processes that take part.
    """
    return broadcast_(tensor.copy(), root_rank, name, priority, process_set)


def broadcast_(
    tensor: NDArray,
    root_rank: int,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> NDArray:
    """``broadcast`` that writes to ``tensor``, and returns it.

    Args:
        root_rank: the process whose content is sent.
        name: has no effect.
        priority: of the task.
        process_set: the processes that take part.
    """
    _share([tensor], root_rank, priority, process_set)
    return tensor


def allgather(
    tensor: NDArray,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> NDArray:
    """The arrays of all processes, joined along their first axis, which may differ. Waits for them.

    Args:
        tensor: of the same dtype in all processes, and of the same shape but for the first axis.
        name: has no effect.
        priority: has no effect.
        process_set: the processes that take part.
    """
    world, data = process_set._exchanges("allgather"), tensor.asnumpy()
    counts = world.gather(np.array([len(data)], np.int64))[:, 0]
    padded = np.zeros((int(counts.max()), *data.shape[1:]), data.dtype)
    padded[: len(data)] = data
    parts = zip(world.gather(padded), counts, strict=True)
    joined = np.concatenate([part[:count] for part, count in parts])
    return _like(tensor, joined)


def alltoall(
    tensor: NDArray,
    splits: object = None,
    name: str | None = None,
    priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> NDArray | tuple[NDArray, NDArray]:
    """Send parts of the first axis to all processes, wait, and join those received.

    With ``splits``, the lengths of the parts received are returned, too.

    Args:
        tensor: of the same shape after the first axis in all processes.
        splits: lengths of the parts, one for each process; by default equal ones.
        name: has no effect.
        priority: of the task.
        process_set: the processes that take part.

    Raises:
        ShapeError: the parts are not the whole.
    """
    world, data = process_set._exchanges("alltoall"), tensor.asnumpy()
    lengths = _lengths_to_send(splits, len(data), world.size)
    of_all = world.gather(lengths)
    # All parts are sent with the length of the longest.
    parts = np.zeros((world.size, int(of_all.max()), *data.shape[1:]), data.dtype)
    for part, rows in zip(parts, np.split(data, np.cumsum(lengths)[:-1]), strict=True):
        part[: len(rows)] = rows
    lengths_received = of_all[:, world.rank]
    received = zip(world.swap(parts), lengths_received, strict=True)
    joined = _like(tensor, np.concatenate([part[:length] for part, length in received]))
    return joined if splits is None else (joined, _array(lengths_received, dtype="int32"))


def _lengths_to_send(splits: object, rows: int, size: int) -> np.ndarray:
    """How many of the rows each of ``size`` processes gets: ``splits``, or equally many.

    Raises:
        ShapeError: these are not all rows.
    """
    if splits is None:
        if rows % size:
            raise ShapeError(
                f"alltoall: {rows} rows cannot be split evenly over {size} processes; give splits=."
            )
        return np.full(size, rows // size, np.int64)
    lengths = np.asarray(splits.asnumpy() if isinstance(splits, NDArray) else splits)
    lengths = lengths.astype(np.int64)
    if lengths.shape != (size,) or lengths.sum() != rows or (lengths < 0).any():
        raise ShapeError(
            f"alltoall: splits {lengths.tolist()} should be {size} numbers whose sum is {rows}."
        )
    return lengths


def broadcast_object(
    obj: Any,
    root_rank: int = 0,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """The Python object of the process ``root_rank``. Waits for it.

    It travels as a pickle, which is signed with a key that the processes read from a file of the user
    (in ``MIXNET_SERVER_FOLDER``); nothing else is unpickled.

    Args:
        obj: of that process; those of others are not looked at.
        root_rank: the process whose object is sent.
        name: has no effect.
        process_set: the processes that take part.

    Raises:
        MXNetError: it cannot be pickled, or what arrives is not from a process of the job.
    """
    world = process_set._exchanges("broadcast_object")
    return _objects(world).broadcast(obj, process_set._place(root_rank))


def allgather_object(
    obj: Any, name: str | None = None, process_set: ProcessSet = global_process_set
) -> list[Any]:
    """The Python objects of all processes, in the order of ranks. Waits for them.

    Args:
        obj: of this process.
        name: has no effect.
        process_set: the processes that take part.

    Raises:
        MXNetError: as for ``broadcast_object``.
    """
    return _objects(process_set._exchanges("allgather_object")).gather(obj)


@cache
def _objects(world: World) -> Objects:
    return Objects(world)


def _like(tensor: NDArray, data: np.ndarray) -> NDArray:
    result = _array(data, tensor.context, tensor.dtype)
    return tensor._wrap(result._read())


def _share(
    tensors: Sequence[NDArray],
    root: int,
    priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> None:
    world = process_set._exchanges("broadcast")
    _exchange(world, Copies(process_set._place(root)), tensors, priority, "broadcast")


def _exchange(
    world: World, exchange: Exchange, tensors: Sequence[NDArray], priority: int, name: str
) -> None:
    values = [each._read() for each in tensors]
    values = [each if each.node is None else each.alias() for each in values]
    with RecordingScope(False, None):
        for bucket in buckets([value.spec for value in values]):
            row = [values[i] for i in bucket]
            (exchanged,) = world.exchange(exchange, [row], priority, name)
            for i, value in zip(bucket, exchanged, strict=True):
                tensors[i]._store(value)
