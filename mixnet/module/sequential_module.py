"""SequentialModule: a chain of modules."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.initializer import Uniform
from mixnet.io import DataBatch, DataDesc
from mixnet.module.base_module import BaseModule
from mixnet.module.order import require
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.initializer.initializer import Initializer
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.metric.evaluation import MetricLike
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer, OptimizerParams


class SequentialModule(BaseModule):
    """A chain of modules; each takes the outputs of the previous one as data.

    Args:
        logger: for messages.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: logging.Logger | ModuleType = logging):
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None
        self._data_shapes: Any = None
        self._meta_keys = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}

    def add(self, module: BaseModule, **kwargs: object) -> SequentialModule:
        """Add a module at the end.

        Args:
            module: the module.
            kwargs: ``take_labels=True`` passes it the labels of the batch; ``auto_wiring=True`` renames
                the previous outputs to its data names.

        Returns:
            This module, so that calls can be chained.

        Raises:
            AssertionError: another keyword.
        """
        for key in kwargs:
            if key not in self._meta_keys:
                raise CheckError(
                    f'Unknown meta "{key}", a typo? Use one of {", ".join(sorted(self._meta_keys))}.'
                )
        self._modules.append(module)
        self._metas.append(kwargs)
        # The chain was prepared without this module.
        self.binded = False
        self.params_initialized = False
        self.optimizer_initialized = False
        return self

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """Names of the data of the first module."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        """Names of the outputs of the last module."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data."""
        require(self, "binded")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels; None if no module takes them."""
        require(self, "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Pairs of name and shape of the outputs."""
        require(self, "binded")
        return self._modules[-1].output_shapes

    # ---- parameters -----------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states of all modules by name."""
        require(self, "binded", "params_initialized")
        arg_params: dict[str, NDArray] = {}
        aux_params: dict[str, NDArray] = {}
        for module in self._modules:
            args, auxs = module.get_params()
            arg_params.update(args)
            aux_params.update(auxs)
        return arg_params, aux_params

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize the parameters of all modules; see :class:`BaseModule`.

        Raises:
            AssertionError: two modules have a parameter of the same name.
        """
        if self.params_initialized and not force_init:
            return
        require(self, "binded")
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        for kind in (0, 1):
            owner: dict[str, int] = {}
            for layer, module in enumerate(self._modules):
                for name in module.get_params()[kind]:
                    if name in owner:
                        raise CheckError(
                            f'Duplicated parameter names: name "{name}" in layer {layer} '
                            f"({type(module)}) is already used in layer {owner[name]} "
                            f"({type(self._modules[owner[name]])})."
                        )
                    owner[name] = layer
        self.params_initialized = True

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
        """Bind the modules, each to the outputs of the one before; see :class:`BaseModule`.

        Raises:
            AssertionError: there is no module.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad
        if shared_module is not None:
            raise CheckError("SequentialModule does not support shared_module; leave it out.")
        if not self._modules:
            raise CheckError("Attempting to bind an empty SequentialModule; add modules first.")
        self.binded = True
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._data_shapes = data_shapes
        self._label_shapes = None
        shapes = data_shapes
        for i, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            takes_labels = meta.get(self.META_TAKE_LABELS)
            if takes_labels:
                self._label_shapes = label_shapes
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                assert len(names) == len(shapes)
                shapes = [_renamed(each, name) for name, each in zip(names, shapes, strict=True)]
            module.bind(
                data_shapes=shapes,
                label_shapes=label_shapes if takes_labels else None,
                for_training=for_training,
                inputs_need_grad=bool(inputs_need_grad or (for_training and i > 0)),
                force_rebind=force_rebind,
                shared_module=None,
                grad_req=grad_req,
            )
            shapes = module.output_shapes

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make an optimizer for each module; see :class:`BaseModule`."""
        require(self, "binded", "params_initialized")
        if self._mx_ignores_optimizer(force_init):
            return
        for module in self._modules:
            module.init_optimizer(
                kvstore=kvstore,
                optimizer=optimizer,
                optimizer_params=optimizer_params,
                force_init=force_init,
            )
        self.optimizer_initialized = True

    # ---- running --------------------------------------------------------------------------------

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of all modules in order."""
        require(self, "binded", "params_initialized")
        batch = data_batch
        for i, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if i + 1 == len(self._modules):
                break
            outputs = module.get_outputs()
            names = [name for name, _ in module.output_shapes]
            batch = DataBatch(
                data=outputs,
                label=data_batch.label,
                pad=data_batch.pad,
                index=data_batch.index,
                bucket_key=getattr(data_batch, "bucket_key", None),
                provide_label=getattr(data_batch, "provide_label", None),
                provide_data=[
                    DataDesc(name, each.shape, each.dtype)
                    for name, each in zip(names, outputs, strict=True)
                ],
            )

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients, from the last module to the first."""
        require(self, "binded", "params_initialized")
        for i, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads=out_grads)
            if i:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Update the parameters of all modules."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last module; merged over the devices, or a list by device for each."""
        require(self, "binded", "params_initialized")
        outputs: list[Any] = self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)
        return outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data of the first module; merged, or a list by device for each."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        gradients: list[Any] = self._modules[0].get_input_grads(
            merge_multi_context=merge_multi_context
        )
        return gradients

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs of the modules that take labels to a metric."""
        require(self, "binded", "params_initialized")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor | None) -> None:
        """Let a ``Monitor`` see what all modules compute."""
        require(self, "binded")
        for module in self._modules:
            module.install_monitor(mon)


def _renamed(described: Any, name: str) -> DataDesc | tuple[str, Any]:
    """A description, or a pair of name and shape, under another name."""
    if isinstance(described, DataDesc):
        return DataDesc(name, described.shape, described.dtype, described.layout)
    return name, described[1]


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "BaseModule",
    "SequentialModule",
    "Uniform",
    "copy",
    "logging",
]
