"""SVRGModule: a Module that trains with stochastic variance-reduced gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import context as ctx
from mixnet import ndarray as nd
from mixnet.base import AttributeTypeError, AttributeValueError, CheckError
from mixnet.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer
from mixnet.model.update import _create_kvstore
from mixnet.module.module import Module
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.context import Context
    from mixnet.io.batch import DataBatch, DataDesc
    from mixnet.io.iterator import DataIter
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.module.base_module import BaseModule
    from mixnet.optimizer.base import Optimizer, OptimizerParams
    from mixnet.symbol.symbol import Symbol


class SVRGModule(Module):
    """A Module whose batch gradients are corrected by the gradient of all data.

    Every ``update_freq`` epochs the current parameters are stored, and the mean gradient of all
    batches at them is computed. From then on a batch takes

        gradient(parameters) − gradient(stored parameters) + mean gradient(stored parameters)

    Source: Johnson and Zhang, Accelerating Stochastic Gradient Descent using Predictive Variance
    Reduction, 2013.

    Args:
        symbol: the network.
        data_names: its inputs.
        label_names: its labels.
        logger: where messages go.
        context: a device, or a list.
        work_load_list: share of the batch of each device, relative to each other.
        fixed_param_names: parameters that stay as they are.
        state_names: inputs whose values persist from batch to batch.
        group2ctxs: devices of groups of nodes.
        compression_params: how gradients are compressed between devices.
        update_freq: epochs from one mean gradient to the next.

    Raises:
        TypeError: ``update_freq`` is not an integer.
        ValueError: it is not positive.
    """

    _mod_aux: Any = None  # the base class resets the bound state before there is one

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: logging.Logger | ModuleType = logging,
        context: Context | Sequence[Context] = ctx.cpu(),
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
        update_freq: int | None = None,
    ):
        arguments = (
            symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names,
            state_names, group2ctxs, compression_params,
        )  # fmt: skip
        super().__init__(*arguments)
        if not isinstance(update_freq, int):
            raise AttributeTypeError(
                "update_freq in SVRGModule must be an integer to represent the frequency for "
                "calculating full gradients"
            )
        if update_freq <= 0:
            raise AttributeValueError(
                "update_freq in SVRGModule must be a positive integer to represent the frequency "
                "for calculating full gradients"
            )
        self.update_freq = update_freq
        self._mod_aux = Module(*arguments)
        self._param_dict: Any = None
        self._ctx_len = len(self._context)

    def _reset_bind(self) -> None:
        super()._reset_bind()
        if self._mod_aux is not None:
            self._mod_aux._reset_bind()

    # ---- preparation ----------------------------------------------------------------------------

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
        """Create executors for both sets of parameters; see ``Module``."""
        arguments = (
            data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module,
            grad_req,
        )  # fmt: skip
        super().bind(*arguments)
        if for_training and not self._mod_aux.binded:
            self._mod_aux.bind(*arguments)

    def reshape(
        self,
        data_shapes: object,
        label_shapes: object = None,
    ) -> None:
        """Take batches of other shapes from now on; see ``Module``."""
        super().reshape(data_shapes, label_shapes=label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes=label_shapes)

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Create the optimizer, and zeros for the mean gradients; see ``Module``."""
        if self.optimizer_initialized and not force_init:
            super().init_optimizer(kvstore, optimizer, optimizer_params, force_init)
            return
        store, _ = _create_kvstore(kvstore, self._ctx_len, self._arg_params or {})
        created = self._create_optimizer(
            _SVRGOptimizer.__name__, optimizer, store, optimizer_params
        )
        super().init_optimizer(store, created, (), force_init)
        group = self._exec_group
        self._param_dict = [
            {
                name: nd.zeros(parts[k].shape, parts[k].context, parts[k].dtype)
                for name, parts in zip(group.param_names, group.param_arrays, strict=True)
            }
            for k in range(self._ctx_len)
        ]
        if self._kvstore:
            for name in group.param_names:
                self._kvstore.init(f"{name}_full", nd.zeros_like((self._arg_params or {})[name]))

    def _create_optimizer(
        self,
        optimizer: str,
        default_opt: Any,
        kvstore: Any,
        optimizer_params: OptimizerParams,
    ) -> Any:
        """The optimizer named first, around ``default_opt``, with numbers for all keys."""
        group = self._exec_group
        names = [*group.param_names, *(f"{name}_full" for name in group.param_names)]
        copies = self._ctx_len if kvstore is None else 1
        idx2name = {i * copies + k: name for k in range(copies) for i, name in enumerate(names)}
        settings = dict(optimizer_params)
        settings.setdefault("rescale_grad", 1.0 / self._mx_samples_of_step(kvstore))
        if optimizer != _SVRGOptimizer.__name__:
            raise CheckError(f"{optimizer} is not the optimizer of SVRG.")
        return _SVRGOptimizer(
            default_optimizer=default_opt, sym=self.symbol, param_idx2name=idx2name, **settings
        )

    # ---- running --------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs, in training at the stored parameters too."""
        super().forward(data_batch, is_train)
        if self.for_training if is_train is None else is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients at both sets of parameters."""
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Correct the gradients, then update the parameters."""
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: DataIter) -> None:
        """Store the current parameters, and compute the mean gradient of all batches at them.

        Args:
            train_data: the iterator; it is reset first.
        """
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        group = self._mod_aux._exec_group
        sums: list[dict[str, NDArray]] = [{} for _ in range(self._ctx_len)]
        nbatch, padding = 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            nbatch += 1
            for name, parts in zip(group.param_names, group.grad_arrays, strict=True):
                for of_device, gradient in zip(sums, parts, strict=True):
                    if gradient is not None:
                        of_device[name] = (
                            of_device[name] + gradient if name in of_device else gradient.copy()
                        )
            padding = batch.pad or 0
        # The samples that only fill up the last batch do not count.
        batches = nbatch - padding / train_data.batch_size
        for name in sums[0]:
            means = [of_device[name] / batches for of_device in sums]
            for of_device, mean in zip(self._param_dict, means, strict=True):
                of_device[name][:] = mean
            if self._kvstore:
                self._accumulate_kvstore(name, means)

    def _accumulate_kvstore(self, key: str, value: list[NDArray]) -> None:
        """Sum mean gradients over devices and workers."""
        self._kvstore.push(f"{key}_full", value)
        self._kvstore._barrier()
        self._kvstore.pull(f"{key}_full", value)
        self._allocate_gradients(key, value)

    def _allocate_gradients(self, key: str, value: list[NDArray]) -> None:
        """Give every device of every worker its part: the parts are summed again when parameters
        are updated.
        """
        parts = self._ctx_len * self._kvstore.num_workers
        for of_device, each in zip(self._param_dict, value, strict=True):
            of_device[key][:] = each / parts

    def _svrg_grads_update_rule(
        self,
        g_curr_batch_curr_weight: NDArray,
        g_curr_batch_special_weight: NDArray,
        g_special_weight_all_batch: NDArray,
    ) -> NDArray:
        """The corrected gradient."""
        return g_curr_batch_curr_weight - g_curr_batch_special_weight + g_special_weight_all_batch

    def _update_svrg_gradients(self) -> None:
        """Write the corrected gradients over those of the batch."""
        group, snapshot = self._exec_group, self._mod_aux._exec_group
        rows = zip(group.param_names, group.grad_arrays, snapshot.grad_arrays, strict=True)
        for name, now, before in rows:
            for k, gradient in enumerate(now):
                if gradient is not None:
                    gradient[:] = self._svrg_grads_update_rule(
                        gradient, before[k], self._param_dict[k][name]
                    )

    def _mx_begin_epoch(self, epoch: int, train_data: DataIter) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()

    def _mx_metric_of_epoch(self, eval_metric: Any) -> Any:
        """The metric since it was last reset, which a callback may have done."""
        return eval_metric.get_name_value()

    def prepare(
        self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None
    ) -> None:
        """Prepare both sets of parameters for a batch; see ``Module``."""
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
