"""Trainers and optimizers that average gradients over processes, and parameters that are shared."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from mixnet.autograd.scope import RecordingScope
from mixnet.base import AttributeValueError
from mixnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from mixnet.gluon.trainer import Trainer
from mixnet.horovod.exchanges import _share, grouped_allreduce_
from mixnet.horovod.job import ProcessSet, global_process_set
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer import Optimizer
from mixnet.process.source import warn_user


def broadcast_parameters(
    params: object,
    root_rank: int = 0,
    prefix: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> None:
    """Give all processes the parameters of one.

    Args:
        params: a dict of arrays, or ``net.collect_params()``; initialized parameters whose shapes are
            not known yet are shared when they are.
        root_rank: the one.
        prefix: accepted for compatibility.
        process_set: the processes that take part.

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
                _share_later(each, root_rank, process_set)
        else:
            arrays.append(each)
    _share(arrays, root_rank, 0, process_set)


def _share_later(parameter: Parameter, root: int, process_set: ProcessSet) -> None:
    initialize = parameter._init_impl

    def initialized(*args: Any, **kwargs: Any) -> None:
        initialize(*args, **kwargs)
        _share(parameter.list_data(), root, 0, process_set)

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
        process_set: the processes that train together.
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
        process_set: ProcessSet = global_process_set,
    ):
        if isinstance(optimizer, _Reducing):
            warn_user(
                "DistributedTrainer sums gradients itself: give it the optimizer that was given to "
                "DistributedOptimizer."
            )
            optimizer = optimizer._without_reducing()
        super().__init__(params, optimizer, optimizer_params, kvstore=None)
        self._scale *= gradient_predivide_factor / process_set.size()
        self._process_set = process_set
        self._compression, self._predivided_by = compression, gradient_predivide_factor

    def _allreduce_grads(self) -> None:
        gradients = [data for _, each in self._learned() for data in each.list_grad()]
        with RecordingScope(False, None):
            pairs = [self._compression.compress(each) for each in gradients]
            sent = [tensor for tensor, _ in pairs]
            factor = 1 / self._predivided_by
            grouped_allreduce_(
                sent, average=False, prescale_factor=factor, process_set=self._process_set
            )
            for gradient, (tensor, known) in zip(gradients, pairs, strict=True):
                if tensor is not gradient:
                    gradient[:] = self._compression.decompress(tensor, known)


class _Reducing:
    """Sums gradients before an optimizer's update, for ``DistributedOptimizer``."""

    _has_reduced = False
    _predivided_by = 1.0
    _process_set = global_process_set

    def _reduce(self, grad: Any) -> None:
        gradients = grad if isinstance(grad, (list, tuple)) else [grad]
        factor = 1 / self._predivided_by
        grouped_allreduce_(
            gradients, average=False, prescale_factor=factor, process_set=self._process_set
        )

    def _without_reducing(self) -> Any:
        plain = copy.copy(self)
        plain.__class__ = type(self).__mro__[2]
        plain.rescale_grad *= self._process_set.size() / self._predivided_by  # type: ignore[attr-defined]
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
    optimizer: Optimizer,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    process_set: ProcessSet = global_process_set,
) -> Optimizer:
    """An optimizer like ``optimizer`` that averages gradients over all processes before an update.

    Args:
        optimizer: the one.
        gradient_predivide_factor: divides gradients before the sum, which is multiplied by it.
        num_groups: accepted for compatibility: small gradients always travel together.
        process_set: the processes that train together.
    """
    distributed = copy.copy(optimizer)
    distributed.__class__ = type(
        f"Distributed{type(optimizer).__name__}", (_Reducing, type(optimizer)), {}
    )
    distributed.rescale_grad = (
        optimizer.rescale_grad * gradient_predivide_factor / process_set.size()
    )
    vars(distributed).update(_predivided_by=gradient_predivide_factor, _process_set=process_set)
    return distributed
