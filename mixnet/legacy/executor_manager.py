"""``mx.executor_manager``: how FeedForward trains on several devices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet.base import AttributeValueError, CheckError, NotDefinedError
from mixnet.context import Context
from mixnet.context import cpu as cpu
from mixnet.io import DataDesc as DataDesc
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.dtype import DTypeLike
    from mixnet.symbol.executor import Executor
    from mixnet.symbol.symbol import Symbol


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """The part of a batch of each device.

    Args:
        batch_size: samples of the batch.
        work_load_list: how much each device does, relative to each other.

    Raises:
        ValueError: a device would get no sample.
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(0, batch_size - sum(counts))
    slices = []
    end = 0
    for count in counts:
        begin, end = min(end, batch_size), min(end + count, batch_size)
        if begin >= end:
            raise AttributeValueError(
                f"Too many slices. Some splits are empty. {batch_size} samples are too few for "
                f"{len(work_load_list)} contexts; use larger batches or fewer contexts."
            )
        slices.append(slice(begin, end))
    return slices


def _check_arguments(symbol: Symbol) -> None:
    """Refuse a symbol with two arguments, or two states, of one name.

    Raises:
        ValueError: two have the same name.
    """
    for kind, names in (
        ("argument", symbol.list_arguments()),
        ("auxiliary param", symbol.list_auxiliary_states()),
    ):
        for name in names:
            if names.count(name) > 1:
                raise AttributeValueError(
                    f'Find duplicated {kind} name "{name}", please make the weight name '
                    f"non-duplicated(using name arguments), {kind}s are {names}"
                )


def _load_general(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copy arrays to one target each, or their slices to the targets of the devices."""
    for source, places in zip(data, targets, strict=True):
        if isinstance(places, NDArray):
            source.copyto(places)
            continue
        if places[-1][0].stop != source.shape[0]:
            raise CheckError(
                f"Expected a batch of {places[-1][0].stop} samples, got {source.shape[0]}."
            )
        for part, target in places:
            is_complete = part.start == 0 and part.stop == source.shape[0]
            (source if is_complete else source[part]).copyto(target)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the data of a batch."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the labels of a batch."""
    _load_general(batch.label, targets)


def _bind_exec(
    sym: Symbol,
    ctx: Context,
    input_shapes: Mapping[str, tuple[int, ...]],
    param_names: Sequence[str],
    need_grad: bool | Container[str] = False,
    base_exec: Executor | None = None,
    shared_data_arrays: dict[str, NDArray] | None = None,
    input_types: Mapping[str, DTypeLike] | None = None,
    logger: logging.Logger | ModuleType = logging,
) -> Executor:
    """Bind a symbol, perhaps to the arrays of another executor.

    Args:
        sym: the network.
        ctx: the device.
        input_shapes: shapes of data and labels by name.
        param_names: arguments that are taken from ``base_exec``.
        need_grad: the arguments with a gradient; True for all but data and labels.
        base_exec: an executor whose parameters, gradients and states this one shares.
        shared_data_arrays: arrays that executors share as their data and labels, by name.
        input_types: dtypes of data and labels by name.
        logger: accepted for compatibility.
    """
    names = sym.list_arguments()
    if need_grad is True:
        need_grad = {name for name in names if name not in input_shapes}
    with_gradient: Container[str] = need_grad or ()
    executor: Executor = sym.simple_bind(
        ctx=ctx,
        grad_req={name: "write" if name in with_gradient else "null" for name in names},
        type_dict=dict(input_types or {}),
        shared_arg_names=param_names,
        shared_exec=base_exec,
        shared_buffer=shared_data_arrays,
        **input_shapes,
    )
    return executor


class DataParallelExecutorGroup:
    """Executors of one symbol on several devices.

    Args:
        sym: the network.
        arg_names: its arguments.
        param_names: those that are parameters.
        ctx: the devices.
        slices: part of the batch of each device.
        train_data: an iterator, or a batch, that describes data and labels.
        shared_group: a group whose parameters this one shares.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ):
        _check_arguments(sym)
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in ctx] if shared_group is None else shared_group.shared_data_arrays
        )
        self.data_names = [each[0] for each in train_data.provide_data]
        self.label_names = [each[0] for each in train_data.provide_label]
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.slices = slices
        described = [*train_data.provide_data, *train_data.provide_label]
        self.train_execs: list[Any] = []
        for i, (context, part) in enumerate(zip(ctx, slices, strict=True)):
            shapes = {each[0]: (part.stop - part.start, *each[1][1:]) for each in described}
            types = {each.name: each.dtype for each in described if isinstance(each, DataDesc)}
            shared = None if shared_group is None else shared_group.train_execs[i]
            executor = _bind_exec(
                sym, context, shapes, self.param_names, frozenset(self.param_names), shared,
                self.shared_data_arrays[i], types,
            )  # fmt: skip
            self.train_execs.append(executor)

        def sliced(names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
            return [
                [(part, e.arg_dict[name]) for part, e in zip(slices, self.train_execs, strict=True)]
                for name in names
            ]

        execs = self.train_execs
        self.data_arrays = sliced(self.data_names)
        self.label_arrays = sliced(self.label_names)
        self.param_arrays = [[e.arg_dict[name] for e in execs] for name in self.param_names]
        self.grad_arrays = [[e.grad_dict[name] for e in execs] for name in self.param_names]
        self.aux_arrays = [[e.aux_dict[name] for e in execs] for name in self.aux_names]

    def load_data_batch(self, data_batch: object) -> None:
        """Copy a batch to the devices."""
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs."""
        for each in self.train_execs:
            each.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        for each in self.train_execs:
            each.backward()

    def update_metric(
        self, metric: Any, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs and labels to a metric; with ``pre_sliced``, labels are a list for each device."""
        for i, (executor, part) in enumerate(zip(self.train_execs, self.slices, strict=True)):
            device_labels = labels[i] if pre_sliced else [each[part] for each in labels]
            metric.update(device_labels, executor.outputs)


class DataParallelExecutorManager:
    """Several devices that train one network, with networks by bucket where they are given.

    Args:
        symbol: the network.
        ctx: the devices.
        train_data: the iterator: its batch size is split over the devices.
        arg_names: arguments of the network.
        param_names: those that are parameters.
        aux_names: auxiliary states.
        work_load_list: share of the batch of each device, relative to each other.
        logger: where messages go.
        sym_gen: gives the network of a bucket.

    Raises:
        AssertionError: there are not as many work loads as devices.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: logging.Logger | ModuleType | None = None,
        sym_gen: Callable[..., Any] | None = None,
    ):
        logger = logging if logger is None else logger
        logger.info("Start training with %s", str(list(ctx)))
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        if not isinstance(loads, list) or len(loads) != len(ctx):
            raise CheckError(
                f"work_load_list must be a list of {len(ctx)} numbers, one for each context, not "
                f"{loads!r:.60}."
            )
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.arg_names = arg_names
        self.param_names = param_names
        self.aux_names = aux_names
        self.ctx = ctx
        self.execgrp = DataParallelExecutorGroup(
            symbol, arg_names, param_names, ctx, self.slices, train_data
        )
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.curr_execgrp: DataParallelExecutorGroup = self.execgrp
        self.execgrp_bucket = {}
        if sym_gen is not None:
            self.execgrp_bucket = {train_data.default_bucket_key: self.execgrp}

    def install_monitor(self, monitor: Any) -> None:
        """Let a monitor see what the executors compute.

        Raises:
            NotImplementedError: there are buckets.
        """
        if self.sym_gen is not None:
            raise NotDefinedError(
                "install_monitor is not supported with sym_gen; use mx.mod.BucketingModule."
            )
        for each in self.execgrp.train_execs:
            monitor.install(each)

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, Any]) -> None:
        """Copy parameters and states to all devices.

        Args:
            arg_params: arrays of parameters by name.
            aux_params: arrays of states by name.
        """
        for each in self.execgrp.train_execs:
            each.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and states, averaged over the devices, into these arrays.

        Args:
            arg_params: arrays of parameters by name.
            aux_params: arrays of states by name.
        """
        group = self.execgrp
        for names, arrays, targets in (
            (group.param_names, group.param_arrays, arg_params),
            (group.aux_names, group.aux_arrays, aux_params),
        ):
            for name, parts in zip(names, arrays, strict=True):
                target = targets[name]
                moved = [each.as_in_context(target.context) for each in parts]
                mean = nd.add_n(*moved) / len(moved) if len(moved) > 1 else moved[0]
                mean.copyto(target)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """Parameters: for each one array a device."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[NDArray]]:
        """Their gradients likewise."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """Auxiliary states likewise."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy a batch to the devices, and take the network of its bucket.

        Args:
            data_batch: a ``DataBatch``.
        """
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = DataParallelExecutorGroup(
                    self.sym_gen(key), self.arg_names, self.param_names, self.ctx, self.slices,
                    data_batch, shared_group=self.execgrp,
                )  # fmt: skip
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self.curr_execgrp.backward()

    def update_metric(
        self, metric: object, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs and labels to a metric; with ``pre_sliced``, labels are a list for each device."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
