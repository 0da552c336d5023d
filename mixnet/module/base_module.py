"""The base of all modules: training, scoring and predicting over an iterator."""

from __future__ import annotations

import logging
import time
import warnings as warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import metric as metric
from mixnet import ndarray as ndarray
from mixnet.base import (
    AttributeValueError,
    CheckError,
    FileFormatError,
)
from mixnet.base import _as_list as _as_list
from mixnet.checkpoint import save_parameters, split_parameters
from mixnet.context import cpu as cpu
from mixnet.initializer import Uniform as Uniform
from mixnet.io import DataBatch as DataBatch
from mixnet.io import DataDesc as DataDesc
from mixnet.io import DataIter as DataIter
from mixnet.io.wrappers import check_iterator
from mixnet.model.batch_end import BatchEndParam as BatchEndParam
from mixnet.model.batch_end import call_each
from mixnet.module.descriptions import _check_input_names as _check_input_names
from mixnet.module.descriptions import _check_names_match as _check_names_match
from mixnet.module.descriptions import _parse_data_desc as _parse_data_desc
from mixnet.module.order import require
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load as load_arrays
from mixnet.process.docstrings import inherit_arguments
from mixnet.process.source import warn_user

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.callback import Callbacks
    from mixnet.initializer.initializer import Initializer
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.metric.evaluation import EvalMetric, MetricLike
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer, OptimizerParams


def _without_padding(outputs: Sequence[NDArray], pad: int | None) -> list[NDArray]:
    return [each[: each.shape[0] - (pad or 0)] for each in outputs]


class BaseModule:
    """Base of modules: something with inputs, outputs and parameters that trains and predicts.

    A module is bound to the shapes of a batch, its parameters and its optimizer are initialized, and
    then it runs batch by batch; ``fit``, ``score`` and ``predict`` do all of that over an iterator.

    Args:
        logger: for messages.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)

    def __init__(self, logger: logging.Logger | ModuleType = logging):
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    # ---- a batch at a time ----------------------------------------------------------------------

    def forward_backward(self, data_batch: DataBatch) -> None:
        """Compute outputs and gradients of a batch.

        Args:
            data_batch: the batch; computed in training mode.
        """
        self.forward(data_batch, is_train=True)
        self.backward()

    # ---- over an iterator -----------------------------------------------------------------------

    def score(
        self,
        eval_data: DataIter,
        eval_metric: MetricLike,
        num_batch: int | None = None,
        batch_end_callback: Callbacks | None = None,
        score_end_callback: Callbacks | None = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> list[tuple[str, float]]:
        """Metrics over an iterator.

        Args:
            eval_data: the iterator.
            eval_metric: a metric, its name, a function, or a list of these.
            num_batch: how many batches; None is all.
            batch_end_callback: function or list, called with a ``BatchEndParam`` after a batch.
            score_end_callback: the same, after the last batch.
            reset: reset the iterator first.
            epoch: number passed to callbacks.
            sparse_row_id_fn: see ``prepare``.

        Returns:
            Pairs of name and value.
        """
        require(self, "binded", "params_initialized")
        if reset:
            eval_data.reset()
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in self._mx_predicted(eval_data, num_batch, sparse_row_id_fn):
            self._mx_update_metric(eval_metric, eval_batch)
            if batch_end_callback is not None:
                call_each(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if score_end_callback:
            call_each(
                score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals())
            )
        return eval_metric.get_name_value()

    def _mx_predicted(
        self,
        eval_data: DataIter,
        num_batch: int | None,
        sparse_row_id_fn: Callable[[Any], Any] | None,
    ) -> Iterator[tuple[int, Any]]:
        """Index and batch, after the module has predicted it."""
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            yield nbatch, eval_batch

    def _mx_update_metric(self, eval_metric: Any, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [each.label for each in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def iter_predict(
        self,
        eval_data: DataIter,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, Any]]:
        """Predict batch by batch.

        Args:
            eval_data: the iterator.
            num_batch: how many batches; None is all.
            reset: reset the iterator first.
            sparse_row_id_fn: see ``prepare``.

        Yields:
            Outputs without padding, index of the batch, the batch. Copy outputs that must outlive
            the next batch.
        """
        require(self, "binded", "params_initialized")
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in self._mx_predicted(eval_data, num_batch, sparse_row_id_fn):
            yield _without_padding(self.get_outputs(), eval_batch.pad), nbatch, eval_batch

    def predict(
        self,
        eval_data: object,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Outputs over an iterator, or for one array.

        Args:
            eval_data: an iterator, or an array with one batch.
            num_batch: how many batches; None is all.
            merge_batches: concatenate the outputs of all batches.
            reset: reset the iterator first.
            always_output_list: return a list even for a single output.
            sparse_row_id_fn: see ``prepare``.

        Returns:
            An array, or a list if there are several outputs; without ``merge_batches`` a list of
            such lists, one per batch.

        Raises:
            ValueError: ``eval_data`` is neither.
        """
        require(self, "binded", "params_initialized")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            if isinstance(eval_data, np.ndarray):
                eval_data = ndarray.array(eval_data)
            self.forward(DataBatch([eval_data]))
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise AttributeValueError(
                f"predict: eval_data must be of type NDArray or DataIter, not "
                f"{type(eval_data).__name__}."
            )
        predictions = []
        # Not a subclass's: a program may replace the one without the other.
        batches = BaseModule.iter_predict(self, eval_data, num_batch, reset, sparse_row_id_fn)
        for outputs, _, _ in batches:
            predictions.append([each.copy() for each in outputs])
        if not predictions or not merge_batches:
            return predictions
        count = len(predictions[0])
        if not all(len(outputs) == count for outputs in predictions):
            raise CheckError(
                "predict: batches have different numbers of outputs and cannot be merged. Pass "
                "merge_batches=False."
            )
        merged = [ndarray.concatenate(list(parts)) for parts in zip(*predictions, strict=True)]
        return merged[0] if count == 1 and not always_output_list else merged

    def fit(
        self,
        train_data: DataIter,
        eval_data: DataIter | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks | None = None,
        batch_end_callback: Callbacks | None = None,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks | None = None,
        eval_batch_end_callback: Callbacks | None = None,
        initializer: Initializer | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: MetricLike | None = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        """Train over an iterator.

        Args:
            train_data: the iterator.
            eval_data: iterator for validation after every epoch.
            eval_metric: a metric, its name, a function, or a list of these.
            epoch_end_callback: function or list, called after an epoch with its number, the symbol,
                parameters and states.
            batch_end_callback: function or list, called with a ``BatchEndParam`` after a batch.
            kvstore: how gradients of several devices are merged: a store, its name, or None.
            optimizer: an optimizer or its name.
            optimizer_params: its arguments, a dict or pairs.
            eval_end_callback: as ``batch_end_callback``, after a validation.
            eval_batch_end_callback: the same after a batch of a validation.
            initializer: for parameters that ``arg_params`` lacks.
            arg_params: initial values of parameters by name.
            aux_params: initial values of auxiliary states by name.
            allow_missing: whether these may be incomplete.
            force_rebind: rebind if the module is bound already.
            force_init: initialize again if the parameters are initialized already.
            begin_epoch: number of the first epoch.
            num_epoch: number of the epoch to stop before.
            validation_metric: metric of the validation, by default ``eval_metric``.
            monitor: a ``Monitor`` to install.
            sparse_row_id_fn: see ``prepare``.
        """
        if num_epoch is None:
            raise CheckError("fit: please specify number of epochs, num_epoch=...")
        self._mx_bind_for_training(train_data, force_rebind, monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        eval_metric = metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            tic = time.time()
            eval_name_vals = self._mx_train_epoch(
                epoch,
                train_data,
                eval_metric,
                batch_end_callback,
                monitor,
                sparse_row_id_fn,
                locals(),
            )
            toc = time.time()
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, (toc - tic))
            # Devices may differ in their states, as moving means: from here on all have the average.
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            call_each(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                # A variable that callbacks of the next epoch read.
                res = self._mx_validate(
                    epoch, eval_data, validation_metric, eval_end_callback, eval_batch_end_callback
                )
            train_data.reset()

    def _mx_train_epoch(
        self,
        epoch: int,
        train_data: DataIter,
        eval_metric: EvalMetric,
        batch_end_callback: Callbacks | None,
        monitor: Monitor | None,
        sparse_row_id_fn: Callable[[Any], Any] | None,
        of_fit: Mapping[str, Any],
    ) -> Any:
        """Train with all batches of the iterator; returns names and values of the metric.

        Callbacks read the variables of MXNet's ``fit`` by their names: those in ``of_fit`` and here.
        """
        eval_metric.reset()
        self._mx_begin_epoch(epoch, train_data)
        nbatch = 0
        data_iter = iter(train_data)
        end_of_batch = False
        next_data_batch = next(data_iter)
        while not end_of_batch:
            data_batch = next_data_batch
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            # Before the next batch is fetched, which may refill the arrays of this one.
            self._mx_update_metric(eval_metric, data_batch)
            try:
                next_data_batch = next(data_iter)
                self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
            except StopIteration:
                end_of_batch = True
            if monitor is not None:
                monitor.toc_print()
            if end_of_batch:
                eval_name_vals = self._mx_metric_of_epoch(eval_metric)
            if batch_end_callback is not None:
                # Not a variable: it would keep those of the batch before, and these their predecessors.
                call_each(
                    batch_end_callback,
                    BatchEndParam(epoch, nbatch, eval_metric, {**of_fit, **locals()}),
                )
            nbatch += 1
        self._mx_log("Epoch[%d] Train-%s=%f", epoch, eval_name_vals)
        return eval_name_vals

    def _mx_validate(
        self,
        epoch: int,
        eval_data: DataIter,
        validation_metric: MetricLike,
        eval_end_callback: Callbacks | None,
        eval_batch_end_callback: Callbacks | None,
    ) -> list[tuple[str, float]]:
        """Log the metric over ``eval_data``; returns its names and values."""
        res = self.score(
            eval_data,
            validation_metric,
            score_end_callback=eval_end_callback,
            batch_end_callback=eval_batch_end_callback,
            epoch=epoch,
        )
        self._mx_log("Epoch[%d] Validation-%s=%f", epoch, res)
        return res

    def _mx_bind_for_training(
        self, train_data: Any, force_rebind: bool, monitor: Monitor | None
    ) -> None:
        """Bind to the shapes of an iterator.

        Raises:
            TypeError: ``train_data`` is not an iterator over batches.
        """
        check_iterator("fit: train_data", train_data)
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)

    def _mx_log(self, text: str, epoch: int, values: Any) -> None:
        for name, value in values:
            self.logger.info(text, epoch, name, value)

    def _mx_begin_epoch(self, epoch: int, train_data: DataIter) -> None:
        """Prepare an epoch."""

    def _mx_metric_of_epoch(self, eval_metric: Any) -> Any:
        """Names and values that are logged when an epoch ends."""
        return eval_metric.get_global_name_value()

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """Names of the data."""
        raise NotImplementedError

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        raise NotImplementedError

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data."""
        raise NotImplementedError

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels."""
        raise NotImplementedError

    @property
    def output_shapes(self) -> Any:
        """Pairs of name and shape of the outputs."""
        raise NotImplementedError

    @property
    def symbol(self) -> Any:
        """The symbol, None if there is none."""
        return self._symbol

    # ---- parameters -----------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states by name."""
        raise NotImplementedError

    def init_params(
        self,
        initializer: Initializer | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize parameters and states.

        Args:
            initializer: for parameters in neither dict; None leaves it unchanged.
            arg_params: parameters by name.
            aux_params: auxiliary states by name.
            allow_missing: whether the dicts may be incomplete.
            force_init: repeat it if it was done already.
            allow_extra: whether they may have names that the network does not have.

        Raises:
            RuntimeError: a parameter is missing.
        """
        raise NotImplementedError

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and states; see ``init_params``.

        Args:
            arg_params: parameters by name.
            aux_params: auxiliary states by name.
            allow_missing: whether the dicts may be incomplete.
            force_init: False leaves parameters that are initialized as they are, with a warning.
            allow_extra: whether the dicts may have names that the network does not have.
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def _mx_ignores_params(self, force_init: bool) -> bool:
        """Whether ``set_params`` leaves parameters as they are; it warns then."""
        if force_init or not self.params_initialized:
            return False
        warn_user("Parameters already initialized and force_init=False. set_params call ignored.")
        return True

    def save_params(self, fname: str) -> None:
        """Save parameters and states to a file, atomically.

        Args:
            fname: path; in MXNet's ``.params`` format.
        """
        save_parameters(fname, *self.get_params())

    def load_params(self, fname: str) -> None:
        """Read parameters and states from a file.

        Args:
            fname: path of a file that ``save_params`` of MXNet or mixnet wrote.

        Raises:
            FileFormatError: it is not a parameter file.
        """
        arg_params, aux_params, others = split_parameters(load_arrays(fname), fname)
        if others:
            raise FileFormatError(
                f"Invalid param file {fname}: {others[0]!r} does not begin with 'arg:' or 'aux:'."
            )
        self.set_params(arg_params, aux_params)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """States of the inputs named in ``state_names``.

        Args:
            merge_multi_context: True gives one array for each, joined along the batch; False a list of
                arrays, one per device, for each.
        """
        require(self, "binded", "params_initialized")
        assert not merge_multi_context
        return []

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states to arrays or to one number.

        Args:
            states: for every state a list of arrays, one per device.
            value: a number for all elements, in place of ``states``.
        """
        require(self, "binded", "params_initialized")
        assert not states and not value

    def install_monitor(self, mon: Monitor | None) -> None:
        """Install a ``Monitor``.

        Args:
            mon: a ``mx.mon.Monitor``, which sees the outputs of operators.
        """
        raise NotImplementedError

    # ---- running --------------------------------------------------------------------------------

    def prepare(
        self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None
    ) -> None:
        """Prepare for a batch before it is computed.

        Args:
            data_batch: the batch.
            sparse_row_id_fn: maps a batch to a dict from names of row_sparse parameters to the
                rows that it needs.
        """
        if sparse_row_id_fn is not None:
            warn_user("sparse_row_id_fn is not invoked for BaseModule.")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        Args:
            data_batch: the batch.
            is_train: training mode; by default, the mode that the module was bound with.
        """
        raise NotImplementedError

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the batch.

        Args:
            out_grads: gradients of the outputs; loss heads need none.
        """
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch; merged over the devices, or a list per device for each.

        Args:
            merge_multi_context: True gives one array for each, joined along the batch; False a list of
                arrays, one per device, for each.
        """
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data; merged over the devices, or a list per device for each.

        Args:
            merge_multi_context: True gives one array for each, joined along the batch; False a list of
                arrays, one per device, for each.
        """
        raise NotImplementedError

    def update(self) -> None:
        """Update the parameters with the gradients of the last batch."""
        raise NotImplementedError

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Add the outputs of the last batch to a metric.

        Args:
            eval_metric: the metric.
            labels: labels of the batch.
            pre_sliced: whether labels are sliced per device.
        """
        raise NotImplementedError

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
        """Create executors for batches of these shapes.

        Args:
            data_shapes: descriptions of the data: ``DataDesc``, or pairs of name and shape.
            label_shapes: descriptions of the labels.
            for_training: whether gradients will be computed.
            inputs_need_grad: whether gradients of the data will be computed.
            force_rebind: rebind if it is bound already.
            shared_module: a module whose parameters this one shares.
            grad_req: ``write``, ``add`` or ``null``: for all arguments, or a list or dict by argument.
        """
        raise NotImplementedError

    _mx_has_optimizer = "optimizer already initialized, ignoring."

    def _mx_ignores_optimizer(self, force_init: bool) -> bool:
        """Whether ``init_optimizer`` leaves the module as it is; logs that it does."""
        ignores = self.optimizer_initialized and not force_init
        if ignores:
            self.logger.warning(self._mx_has_optimizer)
        return ignores

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Create the optimizer.

        Args:
            kvstore: how gradients of several devices are merged: a store, its name, or None.
            optimizer: an optimizer or its name.
            optimizer_params: its arguments, a dict or pairs.
            force_init: repeat it if it was done already.
        """
        raise NotImplementedError


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "BaseModule",
    "BatchEndParam",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "Uniform",
    "cpu",
    "logging",
    "metric",
    "ndarray",
    "np",
    "time",
    "warnings",
]
