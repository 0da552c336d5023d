"""Horovod's functions for MXNet programs: ``import mixnet.horovod as hvd``.

They run on mixnet's own exchanges between processes; Horovod itself is not needed. Start programs as
those with ``dist_sync`` stores, by ``mixnet-launch``, ``mpirun`` or ``srun``; a process that is
started without them is the only one of its job. The k-th call of a process belongs with the k-th of
the others.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import AttributeValueError, MXNetError, ShapeError
from mixnet.distributed.job import local_rank as _local_rank
from mixnet.distributed.processes import Copies, World, buckets, sums
from mixnet.distributed.processes import world as _world
from mixnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from mixnet.gluon.trainer import Trainer
from mixnet.ndarray.create import array as _array
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer

_joined: list[World] = []


def init() -> None:
    """Join the job that this process was started in; without one, be its only process.

    Raises:
        JobError: the others do not come.
    """
    if not _joined:
        _joined.append(_world(may_be_alone=True))


def shutdown() -> None:
    """Kept for programs: the job is left when the process ends."""


def is_initialized() -> bool:
    """Whether ``init`` was called."""
    return bool(_joined)


def _here() -> World:
    if not _joined:
        raise MXNetError(
            "hvd.init() was not called: call it before any other function of hvd, to join the job."
        )
    return _joined[0]


def rank() -> int:
    """Number of this process in the job."""
    return _here().rank


def size() -> int:
    """How many processes the job has."""
    return _here().size


def local_rank() -> int:
    """Number of this process on its machine, as the launcher says; else ``rank()``."""
    return _local_rank(rank())


def local_size() -> int:
    """How many processes of the job are on this machine."""
    host = [name.rpartition(" on ")[2] for name in _here().member.peers]
    return host.count(host[rank()])


# ---- exchanges ----------------------------------------------------------------------------------


def allreduce(
    tensor: NDArray, average: bool = True, name: str | None = None, priority: int = 0
) -> NDArray:
    """The mean over all processes, or the sum, as a new array.

    Args:
        tensor: of the same shape and dtype in all processes.
        average: divide the sum by ``size()``.
        name: kept for programs: exchanges are matched by their order.
        priority: of the task.
    """
    result = tensor.copy()
    return allreduce_(result, average, name, priority)


def allreduce_(
    tensor: NDArray, average: bool = True, name: str | None = None, priority: int = 0
) -> NDArray:
    """``allreduce`` that writes to ``tensor``, and returns it."""
    _reduce([tensor], priority)
    if average:
        with RecordingScope(False, None):
            tensor /= size()
    return tensor


def broadcast(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """What the process ``root_rank`` has, as a new array."""
    return broadcast_(tensor.copy(), root_rank, name, priority)


def broadcast_(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """``broadcast`` that writes to ``tensor``, and returns it."""
    _share([tensor], root_rank, priority)
    return tensor


def allgather(tensor: NDArray, name: str | None = None, priority: int = 0) -> NDArray:
    """The arrays of all processes, joined along their first axis, which may differ. Waits for them."""
    here, data = _here(), tensor.asnumpy()
    counts = here.gather(np.array([len(data)], np.int64))[:, 0]
    padded = np.zeros((int(counts.max()), *data.shape[1:]), data.dtype)
    padded[: len(data)] = data
    parts = zip(here.gather(padded), counts, strict=True)
    joined = np.concatenate([part[:count] for part, count in parts])
    return _like(tensor, joined)


def alltoall(
    tensor: NDArray, splits: object = None, name: str | None = None, priority: int = 0
) -> NDArray:
    """Send parts of the first axis to all processes, wait, and join those received.

    Args:
        tensor: of the same shape after the first axis in all processes.
        splits: lengths of the parts, one for each process; by default equal ones.
        name: kept for programs.
        priority: of the task.

    Raises:
        ShapeError: the parts are not the whole.
    """
    here, data = _here(), tensor.asnumpy()
    counts = None if splits is None else np.asarray(getattr(splits, "asnumpy", lambda: splits)())
    if counts is None:
        if len(data) % here.size:
            raise ShapeError(
                f"alltoall: {len(data)} rows cannot be split evenly over {here.size} processes; give splits=."
            )
        counts = np.full(here.size, len(data) // here.size)
    lengths = counts.astype(np.int64)
    if lengths.shape != (here.size,) or lengths.sum() != len(data) or (lengths < 0).any():
        raise ShapeError(
            f"alltoall: splits {lengths.tolist()} should be {here.size} numbers whose sum is {len(data)}."
        )
    every = here.gather(lengths)
    room = int(every.max())
    parts = np.zeros((here.size, room, *data.shape[1:]), data.dtype)
    for part, rows in zip(parts, np.split(data, np.cumsum(lengths)[:-1]), strict=True):
        part[: len(rows)] = rows
    received = zip(here.swap(parts), every[:, here.rank], strict=True)
    return _like(tensor, np.concatenate([part[:count] for part, count in received]))


def _like(tensor: NDArray, data: np.ndarray) -> NDArray:
    result = _array(data, tensor.context, tensor.dtype)
    return tensor._wrap(result._read())


def _reduce(tensors: Sequence[NDArray], priority: int = 0) -> None:
    """Sum arrays over all processes, in place; small ones travel together."""
    _exchange(sums, tensors, priority, "all-reduce")


def _share(tensors: Sequence[NDArray], root: int, priority: int = 0) -> None:
    if not 0 <= root < size():
        raise AttributeValueError(f"root_rank={root}: ranks go from 0 to {size() - 1}.")
    _exchange(Copies(root), tensors, priority, "broadcast")


def _exchange(exchange: Any, tensors: Sequence[NDArray], priority: int, name: str) -> None:
    values = [each._read() for each in tensors]
    values = [each if each.node is None else each.alias() for each in values]
    with RecordingScope(False, None):
        for bucket in buckets(values):
            row = [values[i] for i in bucket]
            (exchanged,) = _here().exchange(exchange, [row], priority, name)
            for i, value in zip(bucket, exchanged, strict=True):
                tensors[i]._store(value)


# ---- training -----------------------------------------------------------------------------------


def broadcast_parameters(params: object, root_rank: int = 0, prefix: str | None = None) -> None:
    """Give all processes the parameters of one.

    Args:
        params: a dict of arrays, or ``net.collect_params()``; initialized parameters whose shapes are
            not known yet are shared when they are.
        root_rank: the one.
        prefix: kept for programs.

    Raises:
        ValueError: they are neither.
    """
    if not isinstance(params, (Mapping, ParameterDict)):
        raise AttributeValueError(
            f"invalid params of type: {type(params)}; give net.collect_params()."
        )
    arrays: list[NDArray] = []
    for _, each in sorted(params.items()):
        if isinstance(each, Parameter):
            try:
                arrays += each.list_data()
            except DeferredInitializationError:
                _share_later(each, root_rank)
        else:
            arrays.append(each)
    _share(arrays, root_rank)


def _share_later(parameter: Parameter, root: int) -> None:
    initialize = parameter._init_impl

    def initialized(*args: Any, **kwargs: Any) -> None:
        initialize(*args, **kwargs)
        _share(parameter.list_data(), root)

    parameter._init_impl = initialized  # type: ignore[method-assign]


class DistributedTrainer(Trainer):
    """A Trainer whose gradients are averaged over all processes.

    Args:
        params: as of ``gluon.Trainer``.
        optimizer: likewise.
        optimizer_params: likewise.
    """

    def __init__(self, params: Any, optimizer: Any, optimizer_params: Any = None):
        super().__init__(params, optimizer, optimizer_params, kvstore=None)
        self._scale /= size()

    def _allreduce_grads(self) -> None:
        _reduce([data for _, each in self._learned() for data in each.list_grad()])


class _Reducing:
    """What ``DistributedOptimizer`` puts before an optimizer's update."""

    _has_reduced = False

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Sum the gradients over all processes, then update."""
        if not self._has_reduced:
            _reduce(grad if isinstance(grad, (list, tuple)) else [grad])
        super().update(index, weight, grad, state)  # type: ignore[misc]

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The same, where an optimizer may keep weights in higher precision."""
        _reduce(grad if isinstance(grad, (list, tuple)) else [grad])
        self._has_reduced = True
        try:
            super().update_multi_precision(index, weight, grad, state)  # type: ignore[misc]
        finally:
            self._has_reduced = False


def DistributedOptimizer(optimizer: Optimizer) -> Optimizer:
    """An optimizer like ``optimizer`` that averages gradients over all processes before an update."""
    distributed = copy.copy(optimizer)
    distributed.__class__ = type(
        f"Distributed{type(optimizer).__name__}", (_Reducing, type(optimizer)), {}
    )
    distributed.rescale_grad = optimizer.rescale_grad / size()
    return distributed
