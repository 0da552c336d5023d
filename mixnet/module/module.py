"""Module: a symbol that trains and predicts on one or several devices."""

from __future__ import annotations

import logging
import warnings as warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import context as ctx
from mixnet import ndarray as nd
from mixnet import optimizer as opt
from mixnet.base import (
    AttributeTypeError,
    CheckError,
    ObjectKindError,
    PathNotFoundError,
    StateError,
    did_you_mean,
)
from mixnet.checkpoint import load_checkpoint, numbered
from mixnet.files.whole_file import write_whole
from mixnet.initializer import InitDesc, Uniform
from mixnet.io import DataDesc
from mixnet.model.update import (
    _create_kvstore,
    _initialize_kvstore,
    _pull_rows,
    _update_params,
    _update_params_on_kvstore,
)
from mixnet.module.base_module import BaseModule
from mixnet.module.descriptions import (
    _check_input_names,
    _parse_data_desc,
    described,
    descriptions_of,
)
from mixnet.module.executor_group import DataParallelExecutorGroup, Groups
from mixnet.module.order import require
from mixnet.module.parameters import copy_checked, initialize, parameters_like
from mixnet.ndarray.create import arange, zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.updater import states_of
from mixnet.process.source import warn_user
from mixnet.runtime.record.record import flush

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.initializer.initializer import Initializer
    from mixnet.io.batch import DataBatch
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.metric.evaluation import MetricLike
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer, OptimizerParams
    from mixnet.symbol.symbol import Symbol


class Module(BaseModule):
    """A symbol with parameters, an optimizer and devices.

    Args:
        symbol: the network.
        data_names: its inputs.
        label_names: its labels; None for none.
        logger: for messages.
        context: a device, or a list; each device gets a part of every batch.
        work_load_list: relative share of the batch for each device.
        fixed_param_names: parameters that are not updated.
        state_names: inputs whose values persist from batch to batch.
        group2ctxs: devices of groups of nodes: a dict from names to devices, or one per device.
        compression_params: how gradients are compressed between devices.

    Raises:
        ValueError: a name is not an argument of the symbol.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: logging.Logger | ModuleType = logging,
        context: ctx.Context | Sequence[ctx.Context] = ctx.cpu(),
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
        compression_params: Mapping[str, Any] | None = None,
    ):
        super().__init__(logger=logger)
        self._context = [context] if isinstance(context, ctx.Context) else list(context)
        if not all(isinstance(each, ctx.Context) for each in self._context):
            raise AttributeTypeError(
                f"Module: context is mx.cpu(), mx.gpu(0), or a list of these, not {context!r:.60}."
            )
        self._work_load_list = work_load_list or [1] * len(self._context)
        if len(self._work_load_list) != len(self._context):
            raise CheckError(
                f"Module: work_load_list={work_load_list} needs one number for each of the "
                f"{len(self._context)} contexts."
            )
        self._group2ctxs = group2ctxs
        self._symbol = symbol
        self._data_names = list(data_names or [])
        self._label_names = list(label_names or [])
        self._state_names = list(state_names or [])
        self._fixed_param_names = list(fixed_param_names or [])
        for names, kind, throw in (
            (self._data_names, "data", True),
            (self._label_names, "label", False),
            (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):
            _check_input_names(symbol, names, kind, throw)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        arguments = symbol.list_arguments()
        self._param_names = [name for name in arguments if name not in inputs]
        self._mx_labels_of_symbol = [name for name in self._label_names if name in arguments]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: dict[str, NDArray] | None = None
        self._aux_params: dict[str, NDArray] | None = None
        self._params_dirty = False
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._updater: Any = None
        self._preload_opt_states: str | None = None
        self._grad_req: Any = None
        self._mx_has_pulled = False
        self._reset_bind()

    # ---- files ----------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """A module from a checkpoint.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint.
            load_optimizer_states: also load the optimizer's states, when it is created.
            kwargs: arguments of :class:`Module`.

        Raises:
            FileNotFoundError: a file is missing.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = numbered(prefix, epoch, "states")
        return module

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Save the symbol, the parameters and optionally the optimizer's states, each file atomically.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint.
            save_optimizer_states: also save the optimizer's states.
            remove_amp_cast: omit the casts of mixed precision from the symbol file.
        """
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        params = numbered(prefix, epoch, "params")
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = numbered(prefix, epoch, "states")
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None  # a DataParallelExecutorGroup once it is bound
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data."""
        require(self, "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels; None if it was bound without."""
        require(self, "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of name and shape of the outputs."""
        require(self, "binded")
        group: DataParallelExecutorGroup = self._exec_group
        return group.get_output_shapes()

    # ---- parameters -----------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states by name, on the CPU."""
        if not self.params_initialized:  # those of a file are there before ``bind``
            require(self, "binded", "params_initialized")
        if self._params_dirty:
            self._sync_params_from_devices()
        assert self._arg_params is not None and self._aux_params is not None
        return self._arg_params, self._aux_params

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize parameters and states; see :class:`BaseModule`."""
        if self.params_initialized and not force_init:
            warn_user(
                "Parameters already initialized and force_init=False. init_params call ignored."
            )
            return
        require(self, "binded")
        attrs = self._symbol.attr_dict()
        inputs = f"data_names={self._data_names} nor in label_names={self._label_names}"
        for target, source in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name, array in sorted((target or {}).items()):
                desc = InitDesc(name, attrs.get(name))
                if source is not None and name in source:
                    if source[name] is not array:
                        copy_checked(name, source[name], array)
                    continue
                if source is not None and not allow_missing:
                    raise StateError(
                        f"{name} is not presented: the parameters given have no such name."
                        f"{did_you_mean(name, source)} Pass allow_missing=True to leave it out."
                    )
                if initializer is None and (source is not None or allow_missing):
                    continue
                if array.stype == "default":
                    initialize(initializer, desc, array, inputs)
                else:
                    dense = zeros(array.shape, array.context, array.dtype)
                    initialize(initializer, desc, dense, inputs)
                    dense.copyto(array)
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and states; see :class:`BaseModule`.

        Raises:
            RuntimeError: one is missing, unless ``allow_missing``.
            ValueError: with ``allow_missing``, a name is unknown to the network.
        """
        if not allow_missing:
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self._mx_ignores_params(force_init):
            return
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def _sync_params_from_devices(self) -> None:
        """Fetch the current parameters and states from the devices or the store."""
        assert self._arg_params is not None
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._kvstore and self._update_on_kvstore:
            # Executors keep the rows of the last prepare().
            for name, array in self._arg_params.items():
                if array.stype == "row_sparse":
                    rows = arange(array.shape[0], dtype="int64")
                    self._kvstore.row_sparse_pull(name, array, row_ids=rows)
        self._params_dirty = False

    # ---- preparation ----------------------------------------------------------------------------

    _mx_has_optimizer = "optimizer already initialized, ignoring..."

    def bind(
        self,
        data_shapes: Sequence[DataDesc | tuple[Any, ...]],
        label_shapes: Sequence[DataDesc | tuple[Any, ...]] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        """Create executors for batches of these shapes; see :class:`BaseModule`.

        Raises:
            ValueError: the names of the data differ from ``data_names``.
        """
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        if inputs_need_grad and not for_training:
            raise CheckError("bind: inputs_need_grad=True needs for_training=True.")
        data, labels = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        shared = None if shared_module is None else _checked(shared_module)
        shared_group = None if shared is None else shared._exec_group
        assert shared_group is None or len(shared_group.execs) >= len(self._context)
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            group2ctxs=self._group2ctxs,
            state_names=self._state_names,
        )
        self._data_shapes, self._label_shapes = data, labels
        if shared is not None:
            self.params_initialized = True
            self._arg_params = shared._arg_params
            self._aux_params = shared._aux_params
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params, self._aux_params)
        else:
            group = self._exec_group
            self._arg_params = parameters_like(self._param_names, group.param_arrays)
            self._aux_params = parameters_like(self._aux_names, group.aux_arrays)
        self.binded = True  # last: after an interrupt the module can be bound again
        if shared is not None and shared.optimizer_initialized:
            self.borrow_optimizer(shared)

    def reshape(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
    ) -> None:
        """Switch to batches of other shapes; parameters stay the same.

        Args:
            data_shapes: descriptions of the data: ``DataDesc``, or pairs of name and shape.
            label_shapes: descriptions of the labels.
        """
        require(self, "binded")
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    def _mx_optimizer_of(
        self,
        optimizer: Optimizer | str,
        optimizer_params: OptimizerParams,
        rescale_grad: float,
        copies: int,
    ) -> Optimizer:
        """The optimizer itself or the one of a name, with the names of the parameters.

        Args:
            optimizer: the optimizer or its name.
            optimizer_params: its arguments.
            rescale_grad: the default factor of gradients.
            copies: how many devices update a parameter.
        """
        idx2name = {
            i * copies + k: name
            for k in range(copies)
            for i, name in enumerate(self._exec_group.param_names)
        }
        if isinstance(optimizer, str):
            settings = dict(optimizer_params)
            settings.setdefault("rescale_grad", rescale_grad)
            return opt.create(optimizer, sym=self.symbol, param_idx2name=idx2name, **settings)
        _check_optimizer(optimizer, rescale_grad)
        if not optimizer.idx2name:
            optimizer.idx2name = idx2name.copy()
        return optimizer

    def _mx_samples_of_step(self, store: KVStoreBase | None) -> int:
        """The number of samples whose gradients a step adds up, on all workers that wait for each other."""
        size: int = self._exec_group.batch_size
        if store and "dist" in store.type and "_sync" in store.type:
            size *= store.num_workers
        return size

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Create the optimizer; by default, gradients are divided by the batch size.

        See :class:`BaseModule`.

        Raises:
            ValueError: no optimizer has that name.
        """
        require(self, "binded", "params_initialized")
        if self._mx_ignores_optimizer(force_init):
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        group, count = self._exec_group, len(self._context)
        store, on_store = _create_kvstore(kvstore, count, self._arg_params or {})
        scale = 1.0 / self._mx_samples_of_step(store)
        optimizer = self._mx_optimizer_of(
            optimizer, optimizer_params, scale, copies=1 if on_store else count
        )
        self._optimizer, self._kvstore, self._update_on_kvstore = optimizer, store, on_store
        self._updater = None
        if store:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(optimizer)
            _initialize_kvstore(
                kvstore=store,
                param_arrays=group.param_arrays,
                arg_params=self._arg_params or {},
                param_names=self._param_names,
                update_on_kvstore=on_store,
            )
        if not on_store:
            self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another module, which shares the parameters.

        Args:
            shared_module: a module whose optimizer is initialized.
        """
        require(shared_module, "optimizer_initialized")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # ---- running --------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, or of a list of batches, one per device.

        A batch of another shape makes the module switch to that shape.
        """
        require(self, "binded", "params_initialized")
        training = self.for_training if is_train is None else is_train
        if training and self._updater is not None and not self._updater.states:
            self._mx_make_states()
        if not self._mx_has_pulled:  # rows that were pulled belong to the step
            # What came before, as a metric, stays a program of its own: this one is the same each time.
            flush("Module.forward")
        self._mx_has_pulled = False
        data, labels = descriptions_of(
            data_batch, self._data_shapes, self._label_shapes, self._mx_labels_of_symbol
        )
        if data != self._data_shapes or (labels and labels != self._label_shapes):
            self._data_shapes = described(data)
            self._label_shapes = described(labels) if labels else None
            self._exec_group.reshape(self._data_shapes, self._label_shapes)
        self._exec_group.forward(data_batch, is_train)

    def _mx_make_states(self) -> None:
        """Create the optimizer's states now: created in the first step, they would be part of its program,
        and the second step would compile another one."""
        group, updater, count = self._exec_group, self._updater, len(self._context)
        for i, (weights, gradients) in enumerate(
            zip(group.param_arrays, group.grad_arrays or (), strict=False)
        ):
            for k, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                if gradient is None or weight.dtype is not np.float32 or weight.stype != "default":
                    continue  # states of other dtypes may hold the weight itself
                number = i * count + k
                updater.states[number] = self._optimizer.create_state_multi_precision(
                    number, weight
                )
                updater.states_synced[number] = True

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the batch."""
        require(self, "binded", "params_initialized")
        self._exec_group.backward(out_grads=out_grads)

    def update(self) -> None:
        """Update all parameters: forward, backward and update are one program per device."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        group = self._exec_group
        for executor in group.execs:
            executor.release()  # or the old parameters could not make room for the new ones
        if self._update_on_kvstore:
            _update_params_on_kvstore(
                group.param_arrays, group.grad_arrays, self._kvstore, group.param_names
            )
        else:
            _update_params(
                group.param_arrays,
                group.grad_arrays,
                updater=self._updater,
                num_device=len(self._context),
                kvstore=self._kvstore,
                param_names=group.param_names,
            )
        flush("Module.update")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch; merged over the devices, or a list per device for each."""
        require(self, "binded", "params_initialized")
        group: DataParallelExecutorGroup = self._exec_group
        return group.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data; merged over the devices, or a list per device for each."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        group: DataParallelExecutorGroup = self._exec_group
        return group.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Arrays of the states; for every state a list per device."""
        require(self, "binded", "params_initialized")
        group: DataParallelExecutorGroup = self._exec_group
        return group.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states to arrays, for every state a list per device, or to one number."""
        require(self, "binded", "params_initialized")
        self._exec_group.set_states(states, value)

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs of the last batch to a metric."""
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor | None) -> None:
        """Install a ``Monitor``."""
        require(self, "binded")
        if not hasattr(mon, "install"):
            raise ObjectKindError(f"install_monitor takes an mx.mon.Monitor, not {mon!r:.60}.")
        self._exec_group.install_monitor(mon)

    def prepare(
        self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None
    ) -> None:
        """Fetch the rows of row_sparse parameters that a batch needs; see :class:`BaseModule`."""
        require(self, "binded")
        if sparse_row_id_fn is None:
            return
        if not self._kvstore or not self._update_on_kvstore:
            warn_user(
                "Parameters are not updated in the KVStore. No need to call sparse_row_id_fn."
            )
            return
        rows = sparse_row_id_fn(data_batch)
        if not isinstance(rows, dict):
            raise CheckError(
                f"sparse_row_id_fn must return a dict from parameters to row numbers, not "
                f"{type(rows).__name__}."
            )
        flush("Module.prepare")
        group = self._exec_group
        _pull_rows(group.param_arrays, group.param_names, rows, self._kvstore, self.logger)
        self._mx_has_pulled = True

    # ---- states of the optimizer ----------------------------------------------------------------

    def save_optimizer_states(self, fname: str) -> None:
        """Save the optimizer's states to a file, atomically.

        Args:
            fname: path; in MXNet's format.
        """
        require(self, "optimizer_initialized")
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            write_whole(fname, self._updater.get_states(), PathNotFoundError)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file.

        Args:
            fname: path of a file that MXNet or mixnet wrote.

        Raises:
            MissingFileError: there is no such file.
            FileFormatError: it holds no states, or not those of the optimizer for these parameters.
                The module is unchanged then.
        """
        require(self, "optimizer_initialized")
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            group, count = self._exec_group, len(self._context)
            weights = {
                i * count + k: array
                for i, arrays in enumerate(group.param_arrays)
                for k, array in enumerate(arrays)
            }
            with states_of(fname) as content:
                self._updater.set_states(content, weights)


def _checked(shared_module: BaseModule) -> Module:
    """The module to share parameters with; it must be bound and initialized."""
    if not isinstance(shared_module, Module):
        raise CheckError(f"bind: shared_module must be a Module, not {shared_module!r:.60}.")
    require(shared_module, "binded", "params_initialized")
    return shared_module


def _check_optimizer(optimizer: Optimizer, rescale_grad: float) -> None:
    """Refuse what is no optimizer; warn of one that does not divide gradients by the batch size."""
    if not isinstance(optimizer, opt.Optimizer):
        raise CheckError(
            f"init_optimizer: optimizer must be an Optimizer or its name, not {optimizer!r:.60}."
        )
    if optimizer.rescale_grad != rescale_grad:
        warn_user(
            "Optimizer created manually outside Module but rescale_grad is not normalized "
            f"to 1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale_grad}). "
            "Is this intended?"
        )


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "BaseModule",
    "DataDesc",
    "DataParallelExecutorGroup",
    "InitDesc",
    "Module",
    "Uniform",
    "ctx",
    "load_checkpoint",
    "logging",
    "nd",
    "opt",
    "warnings",
    "zeros",
]
