"""Modules written in Python without parameters, usually a loss at the end of a chain."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as nd
from mixnet.base import CheckError, MXNetError
from mixnet.initializer import Uniform
from mixnet.module.base_module import BaseModule
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.initializer.initializer import Initializer
    from mixnet.io.batch import DataDesc
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer, OptimizerParams


class PythonModule(BaseModule):
    """Base of modules without parameters: override ``forward``, ``backward`` and what you need.

    Args:
        data_names: names of the data.
        label_names: names of the labels, or None.
        output_names: names of the outputs.
        logger: for messages.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: logging.Logger | ModuleType = logging,
    ):
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> Any:
        """Names of the data."""
        return self._data_names

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data."""
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels."""
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Pairs of name and shape of the outputs."""
        return self._output_shapes

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Two empty dicts: there are no parameters."""
        return {}, {}

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Nothing: there are no parameters."""

    def update(self) -> None:
        """Nothing: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs to a metric, if the module takes labels.

        Raises:
            RuntimeError: labels are sliced per device, which such a module does not support.
        """
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise MXNetError(
                "PythonModule does not support pre_sliced=True; give the labels of the whole batch."
            )
        eval_metric.update(labels, self.get_outputs())

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
        """Set the shapes of the batches; see :class:`BaseModule`.

        Raises:
            AssertionError: the descriptions have unknown names.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise CheckError(
                f"Python module only support write gradient, not grad_req={grad_req!r:.60}."
            )
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        assert len(data_shapes) == len(self._data_names)
        assert [each[0] for each in data_shapes] == self._data_names
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        if label_shapes is not None:
            assert self._label_names is not None
            assert [each[0] for each in label_shapes] == self._label_names
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        """Pairs of name and shape of the outputs; override this."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Nothing: there are no parameters."""


class PythonLossModule(PythonModule):
    """A loss whose gradient is computed by a Python function; its output is its input.

    Args:
        name: of the module: its output is ``name_output``.
        data_names: name of the scores.
        label_names: name of the labels.
        logger: for messages.
        grad_func: maps scores and labels to the gradient of the scores, an NDArray or what can
            be converted to one; or override ``_backward_impl``, which sets ``_scores_grad``.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: logging.Logger | ModuleType = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ):
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        self._name = name
        assert len(data_names) == 1
        assert len(label_names) == 1
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        assert grad_func is None or callable(grad_func)
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> list[tuple[str, Any]]:
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Store the scores and, in training, the labels of a batch."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The scores."""
        assert merge_multi_context is True
        return [self._scores]

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradient of the scores."""
        if out_grads is not None:
            raise CheckError(
                "For a loss module, out_grads should be None: it computes the first gradient itself."
            )
        assert self.for_training
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradient of the scores."""
        assert merge_multi_context is True
        return [self._scores_grad]

    def install_monitor(self, mon: Monitor | None) -> None:
        """Not supported.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "BaseModule",
    "PythonLossModule",
    "PythonModule",
    "Uniform",
    "logging",
    "nd",
]
