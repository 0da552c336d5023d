"""Horovod's functions for MXNet programs: ``import mixnet.horovod as hvd``.

They run on mixnet's own exchanges between processes; Horovod itself is not needed. Start programs as
those with ``dist_sync`` stores, by ``mixnet-launch``, ``mpirun`` or ``srun``; a process that is
started without them is the only one of its job. The k-th call of a process belongs with the k-th of
the others.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mixnet import profiler
from mixnet.autograd.scope import RecordingScope
from mixnet.base import AttributeValueError, MXNetError, ShapeError
from mixnet.distributed.buckets import buckets
from mixnet.distributed.exchanges import Copies, sums
from mixnet.distributed.job import local_rank as _local_rank
from mixnet.distributed.processes import World
from mixnet.distributed.processes import world as _world
from mixnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from mixnet.gluon.trainer import Trainer
from mixnet.kvstore.objects import Objects
from mixnet.ndarray.create import array as _array
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer
from mixnet.process.source import warn_user
from mixnet.profiler.session import session

_joined: list[World] = []


def init() -> None:
    """Join the job that this process was started in; without one, be its only process.

    With ``HOROVOD_TIMELINE`` set to the name of a file, start a timeline.

    Raises:
        JobError: the other processes do not join.
    """
    if not _joined:
        _joined.append(_world(may_be_alone=True))
        timeline = os.environ.get("HOROVOD_TIMELINE", "")
        if timeline and timeline != "DYNAMIC":
            start_timeline(timeline)


def shutdown() -> None:
    """Accepted for compatibility: the job is left when the process ends."""


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Profile the first process: what runs there, and its exchanges. The others do nothing.

    ``mx.profiler`` does this and writes the file, a Chrome trace, every second and at the end. To
    see all processes in one trace, call ``mx.profiler.dump_all`` instead.

    Args:
        file_path: of the trace.
        mark_cycles: kept for programs: exchanges are not run in cycles.

    Raises:
        MXNetError: a profile is running.
    """
    if rank() != 0:
        return
    if session.running:
        raise MXNetError(
            "start_timeline: a profile is running; call hvd.stop_timeline() or "
            "mx.profiler.set_state('stop') first."
        )
    # Programs run as they do without a profile.
    profiler.set_config(
        filename=file_path, profile_imperative=False, profile_symbolic=False, continuous_dump=True
    )
    profiler.set_state("run")


def stop_timeline() -> None:
    """End the timeline of the first process and write its file."""
    if rank() == 0 and session.running:
        profiler.dump()


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


def cross_size() -> int:
    """How many machines have a process with this one's ``local_rank``."""
    return len(_across())


def cross_rank() -> int:
    """Number of this process's machine among those."""
    return _across().index(rank())


def _across() -> list[int]:
    """The processes that are, on their machines, the same one as this."""
    hosts = [name.rpartition(" on ")[2] for name in _here().member.peers]
    of_each = [hosts[:i].count(host) for i, host in enumerate(hosts)]
    return [i for i, number in enumerate(of_each) if number == of_each[rank()]]


def gloo_built() -> bool:
    """Whether sums between CPU processes are those of Gloo, which XLA contains: yes."""
    return True


gloo_enabled = gloo_built


def mpi_built() -> bool:
    """Whether Horovod's libraries other than Gloo are available: no."""
    return False


mpi_enabled = mpi_threads_supported = mpi_built
nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = mpi_built


# ---- exchanges ----------------------------------------------------------------------------------


def allreduce(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> NDArray:
    """The mean over all processes, or the sum, as a new array.

    Args:
        tensor: of the same shape and dtype in all processes.
        average: divide the sum by ``size()``.
        name: accepted for compatibility: exchanges are matched by their order.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
    """
    return allreduce_(tensor.copy(), average, name, priority, prescale_factor, postscale_factor)


def allreduce_(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> NDArray:
    """``allreduce`` that writes to ``tensor``, and returns it.

    Args:
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
    """
    grouped_allreduce_([tensor], average, name, priority, prescale_factor, postscale_factor)
    return tensor


def grouped_allreduce(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[NDArray]:
    """``allreduce`` of several arrays, which travel together.

    Args:
        tensors: arrays, of the same shapes and dtypes in all processes.
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
    """
    copies = [each.copy() for each in tensors]
    return grouped_allreduce_(copies, average, name, priority, prescale_factor, postscale_factor)


def grouped_allreduce_(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[NDArray]:
    """``grouped_allreduce`` that writes to ``tensors``, and returns them.

    Args:
        average: as for :func:`allreduce`, also for the others.
        name: has no effect.
        priority: of the task.
        prescale_factor: multiplies what this process gives.
        postscale_factor: multiplies the result.
    """
    with RecordingScope(False, None):
        if prescale_factor != 1:
            for each in tensors:
                each *= prescale_factor
        _reduce(tensors, priority)
        for each in tensors:
            if average:
                each /= size()
            if postscale_factor != 1:
                each *= postscale_factor
    return list(tensors)


def broadcast(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """A copy of the array of process ``root_rank``.

    Args:
        tensor: of the same shape and dtype in all processes.
        name: has no effect.
        priority: of the task.
    """
    return broadcast_(tensor.copy(), root_rank, name, priority)


def broadcast_(
    tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0
) -> NDArray:
    """``broadcast`` that writes to ``tensor``, and returns it.

    Args:
        root_rank: the process whose content is sent.
        name: has no effect.
        priority: of the task.
    """
    _share([tensor], root_rank, priority)
    return tensor


def allgather(tensor: NDArray, name: str | None = None, priority: int = 0) -> NDArray:
    """The arrays of all processes, joined along their first axis, which may differ. Waits for them.

    Args:
        tensor: of the same dtype in all processes, and of the same shape but for the first axis.
        name: has no effect.
        priority: has no effect.
    """
    here, data = _here(), tensor.asnumpy()
    counts = here.gather(np.array([len(data)], np.int64))[:, 0]
    padded = np.zeros((int(counts.max()), *data.shape[1:]), data.dtype)
    padded[: len(data)] = data
    parts = zip(here.gather(padded), counts, strict=True)
    joined = np.concatenate([part[:count] for part, count in parts])
    return _like(tensor, joined)


def alltoall(
    tensor: NDArray, splits: object = None, name: str | None = None, priority: int = 0
) -> NDArray | tuple[NDArray, NDArray]:
    """Send parts of the first axis to all processes, wait, and join those received.

    With ``splits``, the lengths of the parts received are returned, too.

    Args:
        tensor: of the same shape after the first axis in all processes.
        splits: lengths of the parts, one for each process; by default equal ones.
        name: accepted for compatibility.
        priority: of the task.

    Raises:
        ShapeError: the parts are not the whole.
    """
    here, data = _here(), tensor.asnumpy()
    counts = (
        None
        if splits is None
        else np.asarray(splits.asnumpy() if isinstance(splits, NDArray) else splits)
    )
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
    joined = _like(tensor, np.concatenate([part[:count] for part, count in received]))
    if splits is None:
        return joined
    return joined, _array(every[:, here.rank], dtype="int32")


def broadcast_object(obj: Any, root_rank: int = 0, name: str | None = None) -> Any:
    """The Python object of the process ``root_rank``. Waits for it.

    It travels as a pickle, which is signed with a key that the processes read from a file of the user
    (in ``MIXNET_SERVER_FOLDER``); nothing else is unpickled.

    Args:
        obj: of that process; those of others are not looked at.
        root_rank: the one.
        name: kept for programs: exchanges are matched by their order.

    Raises:
        MXNetError: it cannot be pickled, or what arrives is not from a process of the job.
    """
    _check_root(root_rank)
    return _objects().broadcast(obj, root_rank)


def allgather_object(obj: Any, name: str | None = None) -> list[Any]:
    """The Python objects of all processes, in the order of ranks. Waits for them.

    Args:
        obj: of this process.
        name: kept for programs.

    Raises:
        MXNetError: as for ``broadcast_object``.
    """
    return _objects().gather(obj)


@lru_cache(maxsize=1)
def _objects() -> Objects:
    return Objects(_here())


def _like(tensor: NDArray, data: np.ndarray) -> NDArray:
    result = _array(data, tensor.context, tensor.dtype)
    return tensor._wrap(result._read())


def _reduce(tensors: Sequence[NDArray], priority: int = 0) -> None:
    """Sum arrays over all processes, in place; small ones travel together."""
    _exchange(sums, tensors, priority, "all-reduce")


def _check_root(root: int) -> None:
    if not 0 <= root < size():
        raise AttributeValueError(f"root_rank={root}: ranks go from 0 to {size() - 1}.")


def _share(tensors: Sequence[NDArray], root: int, priority: int = 0) -> None:
    _check_root(root)
    _exchange(Copies(root), tensors, priority, "broadcast")


def _exchange(exchange: Any, tensors: Sequence[NDArray], priority: int, name: str) -> None:
    values = [each._read() for each in tensors]
    values = [each if each.node is None else each.alias() for each in values]
    with RecordingScope(False, None):
        for bucket in buckets([value.spec for value in values]):
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
        prefix: accepted for compatibility.

    Raises:
        ValueError: ``params`` is neither.
    """
    if not isinstance(params, (Mapping, ParameterDict)):
        raise AttributeValueError(
            f"broadcast_parameters takes a dict of arrays or net.collect_params(), not "
            f"{type(params).__name__}."
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


class NoCompression:
    """Gradients travel as they are."""

    @staticmethod
    def compress(tensor: NDArray) -> tuple[NDArray, Any]:
        """The array to send, and what ``decompress`` needs.

        Args:
            tensor: the gradient.
        """
        return tensor, None

    @staticmethod
    def decompress(tensor: NDArray, ctx: Any) -> NDArray:
        """The gradient.

        Args:
            tensor: the sum.
            ctx: the second result of ``compress``.
        """
        return tensor


class HalfCompression(NoCompression):
    """Gradients travel as float16."""

    @staticmethod
    def compress(tensor: NDArray) -> tuple[NDArray, Any]:
        """A copy in float16, and the dtype of the gradient.

        Args:
            tensor: the gradient.
        """
        return tensor.astype("float16"), tensor.dtype

    @staticmethod
    def decompress(tensor: NDArray, ctx: Any) -> NDArray:
        """The sum in the dtype of the gradient.

        Args:
            tensor: the sum.
            ctx: the second result of ``compress``.
        """
        return tensor.astype(ctx)


class Compression:
    """How a ``DistributedTrainer`` sends gradients."""

    none = NoCompression
    fp16 = HalfCompression


class DistributedTrainer(Trainer):
    """A Trainer whose gradients are averaged over all processes.

    Args:
        params: as of ``gluon.Trainer``.
        optimizer: likewise.
        optimizer_params: likewise.
        compression: ``Compression.fp16`` halves what is sent.
        gradient_predivide_factor: divides gradients before the sum, which is multiplied by it.
        prefix: accepted for compatibility: exchanges are matched by their order.
        num_groups: accepted for compatibility: small gradients always travel together.
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Any = None,
        compression: type[NoCompression] = NoCompression,
        gradient_predivide_factor: float = 1.0,
        prefix: str | None = None,
        num_groups: int = 0,
    ):
        if isinstance(optimizer, _Reducing):
            warn_user(
                "DistributedTrainer sums gradients itself: give it the optimizer that was given to "
                "DistributedOptimizer."
            )
            optimizer = optimizer._without_reducing()
        super().__init__(params, optimizer, optimizer_params, kvstore=None)
        self._scale *= gradient_predivide_factor / size()
        self._compression, self._predivided_by = compression, gradient_predivide_factor

    def _allreduce_grads(self) -> None:
        gradients = [data for _, each in self._learned() for data in each.list_grad()]
        with RecordingScope(False, None):
            pairs = [self._compression.compress(each) for each in gradients]
            sent = [tensor for tensor, _ in pairs]
            grouped_allreduce_(sent, average=False, prescale_factor=1 / self._predivided_by)
            for gradient, (tensor, known) in zip(gradients, pairs, strict=True):
                if tensor is not gradient:
                    gradient[:] = self._compression.decompress(tensor, known)


class _Reducing:
    """What ``DistributedOptimizer`` puts before an optimizer's update."""

    _has_reduced = False
    _predivided_by = 1.0

    def _reduce(self, grad: Any) -> None:
        gradients = grad if isinstance(grad, (list, tuple)) else [grad]
        grouped_allreduce_(gradients, average=False, prescale_factor=1 / self._predivided_by)

    def _without_reducing(self) -> Any:
        plain = copy.copy(self)
        plain.__class__ = type(self).__mro__[2]
        plain.rescale_grad *= size() / self._predivided_by  # type: ignore[attr-defined]
        return plain

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Sum the gradients over all processes, then update."""
        if not self._has_reduced:
            self._reduce(grad)
        super().update(index, weight, grad, state)  # type: ignore[misc]

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The same, where an optimizer may keep weights in higher precision."""
        self._reduce(grad)
        self._has_reduced = True
        try:
            super().update_multi_precision(index, weight, grad, state)  # type: ignore[misc]
        finally:
            self._has_reduced = False


def DistributedOptimizer(
    optimizer: Optimizer, gradient_predivide_factor: float = 1.0, num_groups: int = 0
) -> Optimizer:
    """An optimizer like ``optimizer`` that averages gradients over all processes before an update.

    Args:
        optimizer: the one.
        gradient_predivide_factor: divides gradients before the sum, which is multiplied by it.
        num_groups: accepted for compatibility: small gradients always travel together.
    """
    distributed = copy.copy(optimizer)
    distributed.__class__ = type(
        f"Distributed{type(optimizer).__name__}", (_Reducing, type(optimizer)), {}
    )
    distributed.rescale_grad = optimizer.rescale_grad * gradient_predivide_factor / size()
    vars(distributed)["_predivided_by"] = gradient_predivide_factor
    return distributed
