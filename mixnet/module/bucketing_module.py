"""BucketingModule: one network per bucket key, with shared parameters."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import context as ctx
from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.base import AttributeTypeError, AttributeValueError, CheckError
from mixnet.checkpoint import load_params, numbered
from mixnet.initializer import Uniform
from mixnet.module.base_module import BaseModule
from mixnet.module.descriptions import _check_input_names
from mixnet.module.executor_group import Groups
from mixnet.module.module import Module
from mixnet.module.order import require
from mixnet.name import NameManager
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.callback import Callbacks
    from mixnet.context import Context
    from mixnet.initializer.initializer import Initializer
    from mixnet.io.batch import DataBatch, DataDesc
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.metric.evaluation import MetricLike
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer, OptimizerParams
    from mixnet.symbol.symbol import Symbol


class BucketingModule(BaseModule):
    """One module per bucket (such as sentences of one length), created for its first batch.

    All share the parameters and the optimizer of the module of ``default_bucket_key``.

    Args:
        sym_gen: maps a bucket key to the symbol, the names of its data, and the names of its labels.
        default_bucket_key: the bucket whose network has all parameters.
        logger: for messages.
        context: a device, or a list; each device gets a part of every batch.
        work_load_list: relative share of the batch for each device.
        fixed_param_names: parameters that are not updated.
        state_names: inputs whose values persist from batch to batch.
        group2ctxs: devices of groups of nodes.
        compression_params: how gradients are compressed between devices.

    Raises:
        ValueError: a name is not an argument of the symbol.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Any],
        default_bucket_key: Hashable = None,
        logger: logging.Logger | ModuleType = logging,
        context: Context | Sequence[Context] = ctx.cpu(),
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
        compression_params: Mapping[str, Any] | None = None,
    ):
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise CheckError("BucketingModule needs default_bucket_key, a key that sym_gen takes.")
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        symbol, data_names, label_names = self._call_sym_gen(default_bucket_key)
        self._compression_params = compression_params
        self._fixed_param_names = list(fixed_param_names or [])
        self._state_names = list(state_names or [])
        _check_input_names(symbol, list(data_names or []), "data", True)
        _check_input_names(symbol, list(label_names or []), "label", False)
        _check_input_names(symbol, self._state_names, "state", True)
        _check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        self._context = context
        self._work_load_list = work_load_list
        self._group2ctxs = group2ctxs
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None
        self._params_dirty = False
        self._monitor: Any = None
        self._grad_req: Any = None

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets = {}
        self._curr_module = None
        self._curr_bucket_key = None

    def _module(self, symbol: Symbol, data_names: Any, label_names: Any) -> Module:
        return Module(
            symbol,
            data_names,
            label_names,
            logger=self.logger,
            context=self._context,
            work_load_list=self._work_load_list,
            fixed_param_names=self._fixed_param_names,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
            compression_params=self._compression_params,
        )

    # ---- files ----------------------------------------------------------------------------------

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Save the symbol of every bucket, the keys and the parameters, each file atomically.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint.
            remove_amp_cast: omit the casts of mixed precision from the symbol files.
        """
        if not self._buckets:
            raise CheckError("The module has no bucket yet: call bind().")
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        self.save_params(numbered(prefix, epoch, "params"))
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype="int32"))

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: Callbacks | None = None,
        default_bucket_key: Hashable = None,
        **kwargs: object,
    ) -> BucketingModule:
        """A module from a checkpoint.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint.
            sym_gen: as for :class:`BucketingModule`.
            default_bucket_key: the same.
            kwargs: its other arguments.

        Raises:
            FileNotFoundError: a file is missing.
        """
        if sym_gen is None:
            raise CheckError(
                "BucketingModule.load needs sym_gen, a function from a bucket's key to its symbol."
            )
        if default_bucket_key is None:
            raise CheckError(
                "BucketingModule.load needs default_bucket_key, the key of the largest bucket."
            )
        keys = [int(key) for key in nd.load(f"{prefix}.buckets")[0].asnumpy()]
        arg_params, aux_params = load_params(prefix, epoch)
        symbols = dict.fromkeys(keys)
        return BucketingModule.load_dict(
            symbols, sym_gen, default_bucket_key, arg_params, aux_params, **kwargs
        )

    @staticmethod
    def load_dict(
        sym_dict: Any = None,
        sym_gen: Any = None,
        default_bucket_key: Hashable = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from symbols and parameters.

        Args:
            sym_dict: symbols by bucket key; for None, ``sym_gen`` is called.
            sym_gen: as for :class:`BucketingModule`.
            default_bucket_key: the same.
            arg_params: parameters by name.
            aux_params: auxiliary states by name.
            kwargs: other arguments of :class:`BucketingModule`.
        """
        for parameters, name in (
            (sym_dict, "sym_dict"),
            (arg_params, "arg_params"),
            (aux_params, "aux_params"),
            (sym_gen, "sym_gen"),
            (default_bucket_key, "default_bucket_key"),
        ):
            if parameters is None:
                raise CheckError(f"BucketingModule.load_dict needs {name}.")
        loaded = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            generated, data_names, label_names = loaded._call_sym_gen(key)
            module = loaded._module(
                generated if symbol is None else symbol, data_names, label_names
            )
            module._arg_params, module._aux_params = arg_params, aux_params
            module.params_initialized = True
            loaded._buckets[key] = module
        loaded._curr_module = loaded._buckets[default_bucket_key]
        loaded.params_initialized = True
        return loaded

    # ---- what it is -----------------------------------------------------------------------------

    def _call_sym_gen(self, bucket_key: Hashable) -> Any:
        # Names are counted from 0, so that layers without a name share parameters over buckets.
        with NameManager():
            result = self._sym_gen(bucket_key)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            # MXNet unpacks it.
            error = AttributeValueError if isinstance(result, Iterable) else AttributeTypeError
            raise error(
                f"sym_gen must return (symbol, data_names, label_names), not {result!r:.60}."
            )
        return result

    @property
    def data_names(self) -> Any:
        """Names of the data."""
        if self.binded:
            return self._curr_module.data_names
        return self._call_sym_gen(self._default_bucket_key)[1]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        if self.binded:
            module: Module = self._curr_module
            return module.output_names
        symbol: Symbol = self._call_sym_gen(self._default_bucket_key)[0]
        return symbol.list_outputs()

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data of the current bucket."""
        require(self, "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels of the current bucket."""
        require(self, "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        """Pairs of name and shape of the outputs of the current bucket."""
        require(self, "binded")
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Any:
        """The symbol of the current bucket."""
        require(self, "binded")
        return self._curr_module.symbol

    # ---- parameters -----------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states by name."""
        require(self, "params_initialized")
        self._curr_module._params_dirty = self._params_dirty
        params = (
            self._curr_module.get_params()
            if self.binded
            else (self._curr_module._arg_params, self._curr_module._aux_params)
        )
        self._params_dirty = False
        return params

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
            return
        require(self, "binded")
        self._curr_module.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and states; see :class:`BaseModule`."""
        if not allow_missing:
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self._mx_ignores_params(force_init):
            return
        self._curr_module.set_params(
            arg_params, aux_params, allow_missing=allow_missing, force_init=force_init,
            allow_extra=allow_extra,
        )  # fmt: skip
        # The module has them on its devices; what the dicts of the buckets hold is old.
        self._params_dirty = True
        self.params_initialized = True

    # ---- states ---------------------------------------------------------------------------------

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Arrays of the states of the current bucket; for every state a list per device."""
        require(self, "binded", "params_initialized")
        module: Module = self._curr_module
        return module.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states of the current bucket to arrays or to one number."""
        require(self, "binded", "params_initialized")
        self._curr_module.set_states(states, value)

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
        """Bind the module of the default bucket; see :class:`BaseModule`.

        Args:
            data_shapes: descriptions of the data of the default bucket.
            label_shapes: descriptions of its labels.
            for_training: whether gradients will be computed.
            inputs_need_grad: whether gradients of the data will be computed.
            force_rebind: rebind if it is bound already; the other buckets are discarded.
            shared_module: not supported.
            grad_req: ``write``, ``add`` or ``null``.
        """
        params = self.get_params() if self.params_initialized else None
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise CheckError(
                "shared_module for BucketingModule is not supported; its buckets share parameters already."
            )
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self.binded = True
        key = self._default_bucket_key
        if key not in self._buckets:
            self._buckets[key] = self._module(*self._call_sym_gen(key))
        module = self._buckets[key]
        module.bind(
            data_shapes,
            label_shapes,
            for_training,
            inputs_need_grad,
            force_rebind=False,
            shared_module=None,
            grad_req=grad_req,
        )
        self._curr_module, self._curr_bucket_key = module, key
        if params is not None:
            self.set_params(*params)

    def switch_bucket(
        self,
        bucket_key: Hashable,
        data_shapes: Sequence[DataDesc | tuple[Any, ...]],
        label_shapes: Sequence[DataDesc | tuple[Any, ...]] | None = None,
    ) -> None:
        """Switch to a bucket; its module is created if necessary.

        Args:
            bucket_key: the bucket.
            data_shapes: descriptions of its data.
            label_shapes: descriptions of its labels.
        """
        require(self, "binded")
        module = self._buckets.get(bucket_key)
        if module is None:
            module = self._module(*self._call_sym_gen(bucket_key))
        if not module.binded:
            module.bind(
                data_shapes,
                label_shapes,
                self._curr_module.for_training,
                self._curr_module.inputs_need_grad,
                force_rebind=False,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = module, bucket_key

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Create the optimizer of all buckets; see :class:`BaseModule`."""
        require(self, "binded", "params_initialized")
        if self._mx_ignores_optimizer(force_init):
            return
        self._curr_module.init_optimizer(
            kvstore, optimizer, optimizer_params, force_init=force_init
        )
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    # ---- running --------------------------------------------------------------------------------

    def prepare(
        self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None
    ) -> None:
        """Prepare the module of a batch's bucket without switching to it."""
        require(self, "binded", "params_initialized")
        now, module = self._curr_bucket_key, self._curr_module
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._curr_bucket_key, self._curr_module = now, module

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, in the module of its bucket."""
        require(self, "binded", "params_initialized")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the batch."""
        require(self, "binded", "params_initialized")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        """Update all parameters."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch; merged over the devices, or a list per device for each."""
        require(self, "binded", "params_initialized")
        module: Module = self._curr_module
        return module.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data; merged over the devices, or a list per device for each."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        module: Module = self._curr_module
        return module.get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs of the last batch to a metric."""
        require(self, "binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor | None) -> None:
        """Install a ``Monitor`` in all buckets."""
        require(self, "binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "NameManager",
    "Uniform",
    "ctx",
    "load_params",
    "logging",
    "nd",
    "np",
    "sym",
    "warnings",
]
