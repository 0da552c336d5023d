"""FeedForward: a network that fits, predicts and scores; the predecessor of Module."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import io as io
from mixnet import metric as metric
from mixnet import ndarray as nd
from mixnet import optimizer as opt
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    UnknownAttributeError,
)
from mixnet.callback import LogValidationMetricsCallback
from mixnet.checkpoint import load_checkpoint, save_checkpoint
from mixnet.context import Context, cpu
from mixnet.initializer import Uniform
from mixnet.io import DataDesc
from mixnet.legacy.executor_manager import DataParallelExecutorManager, _check_arguments, _load_data
from mixnet.model.batch_end import BatchEndParam, call_each
from mixnet.model.update import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.record.record import flush
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import ArrayLike

    from mixnet.callback import Callbacks
    from mixnet.initializer.initializer import Initializer
    from mixnet.io.iterator import DataIter
    from mixnet.kvstore.base import KVStoreBase
    from mixnet.metric.evaluation import MetricLike
    from mixnet.monitor import Monitor
    from mixnet.optimizer.base import Optimizer

# MXNet makes FeedForward an estimator of scikit-learn where that is installed; importing mixnet
# does not load it.
BASE_ESTIMATOR = object
SKLEARN_INSTALLED = False


def _train_multi_device(
    symbol: Any,
    ctx: Sequence[Any],
    arg_names: Sequence[str],
    param_names: Sequence[str],
    aux_names: Sequence[str],
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    begin_epoch: int,
    end_epoch: int | None,
    epoch_size: int | None,
    optimizer: Any,
    kvstore: Any,
    update_on_kvstore: bool,
    train_data: DataIter,
    eval_data: DataIter | None = None,
    eval_metric: Any = None,
    epoch_end_callback: Callbacks | None = None,
    batch_end_callback: Callbacks | None = None,
    logger: logging.Logger | ModuleType | None = None,
    work_load_list: Sequence[float] | None = None,
    monitor: Monitor | None = None,
    eval_end_callback: Callbacks | None = None,
    eval_batch_end_callback: Callbacks | None = None,
    sym_gen: Callable[..., Any] | None = None,
) -> None:
    """The loop of ``FeedForward.fit``, which early programs call; ``arg_params`` are trained in place.

    Callbacks read its local variables by MXNet's names.
    """
    logger = logging if logger is None else logger
    executor_manager = DataParallelExecutorManager(
        symbol, ctx, train_data, arg_names, param_names, aux_names, work_load_list, logger, sym_gen
    )
    _set_up(executor_manager, arg_params, aux_params, monitor)
    updater = None if update_on_kvstore else opt.get_updater(optimizer)
    _fill_store(kvstore, executor_manager, arg_params, optimizer if update_on_kvstore else None)
    train_data.reset()
    for epoch in range(begin_epoch, end_epoch):  # type: ignore[arg-type]
        tic = time.time()
        eval_metric.reset()
        nbatch = 0
        while True:
            do_reset = True
            for data_batch in train_data:
                _train_batch(executor_manager, data_batch, updater, kvstore, monitor)
                executor_manager.update_metric(eval_metric, data_batch.label)
                nbatch += 1
                _call_after_batch(batch_end_callback, epoch, nbatch, eval_metric, locals())
                if epoch_size is not None and nbatch >= epoch_size:
                    do_reset = False
                    break
            if do_reset:
                logger.info("Epoch[%d] Resetting Data Iterator", epoch)
                train_data.reset()
            if epoch_size is None or nbatch >= epoch_size:
                break
        toc = time.time()
        logger.info("Epoch[%d] Time cost=%.3f", epoch, (toc - tic))
        if epoch_end_callback or epoch + 1 == end_epoch:
            executor_manager.copy_to(arg_params, aux_params)
        call_each(epoch_end_callback, epoch, symbol, arg_params, aux_params)
        if eval_data:
            _validate(executor_manager, epoch, eval_data, eval_metric, locals())


def _set_up(
    manager: DataParallelExecutorManager,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    monitor: Monitor | None,
) -> None:
    if monitor:
        manager.install_monitor(monitor)
    manager.set_params(arg_params, aux_params)


def _fill_store(
    store: Any,
    manager: DataParallelExecutorManager,
    arg_params: Mapping[str, NDArray],
    optimizer: Any,
) -> None:
    """Put the parameters into the store, if there is one, with the optimizer if it updates them."""
    if store:
        if optimizer is not None:
            store.set_optimizer(optimizer)
        arrays, names = manager.param_arrays, manager.param_names
        _initialize_kvstore(store, arrays, arg_params, names, optimizer is not None)


def _train_batch(
    manager: DataParallelExecutorManager,
    data_batch: Any,
    updater: Callable[..., None] | None,
    kvstore: Any,
    monitor: Monitor | None,
) -> None:
    """Update the parameters with the gradients of a batch; without an updater, the store does it."""
    flush("FeedForward.fit")
    manager.load_data_batch(data_batch)
    if monitor is not None:
        monitor.tic()
    manager.forward(is_train=True)
    manager.backward()
    for executor in manager.curr_execgrp.train_execs:
        executor.release()  # or the old parameters could not make room for the new ones
    arrays = manager.param_arrays, manager.grad_arrays
    if updater is None:
        _update_params_on_kvstore(*arrays, kvstore, manager.param_names)
    else:
        _update_params(*arrays, updater, len(manager.ctx), kvstore, manager.param_names)
    flush("FeedForward.fit")
    if monitor is not None:
        monitor.toc_print()


def _call_after_batch(
    callbacks: Callbacks | None,
    epoch: int,
    nbatch: int,
    eval_metric: Any,
    variables: dict[str, Any],
) -> None:
    if callbacks is not None:
        call_each(
            callbacks,
            BatchEndParam(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals=variables),
        )


def _validate(
    executor_manager: DataParallelExecutorManager,
    epoch: int,
    eval_data: DataIter,
    eval_metric: Any,
    of_fit: Mapping[str, Any],
) -> None:
    """The metric of ``eval_data``; ``of_fit`` has the callbacks, and the variables that they read."""
    eval_metric.reset()
    eval_data.reset()
    total_num_batch = 0
    for i, eval_batch in enumerate(eval_data):
        executor_manager.load_data_batch(eval_batch)
        executor_manager.forward(is_train=False)
        executor_manager.update_metric(eval_metric, eval_batch.label)
        flush("FeedForward.fit")
        variables = {**of_fit, "i": i, "eval_batch": eval_batch, "total_num_batch": total_num_batch}
        _call_after_batch(of_fit["eval_batch_end_callback"], epoch, i, eval_metric, variables)
        total_num_batch += 1
    variables = {**of_fit, "total_num_batch": total_num_batch}
    _call_after_batch(of_fit["eval_end_callback"], epoch, total_num_batch, eval_metric, variables)
    eval_data.reset()


def _with_names(arrays: dict[str, Any] | None, names: Sequence[str]) -> dict[str, Any] | None:
    """The arrays with these names; None and an empty dict as they are."""
    return {k: v for k, v in arrays.items() if k in names} if arrays else arrays


class FeedForward(BASE_ESTIMATOR):
    """A symbol with methods to fit, predict and score.

    Args:
        symbol: the network, or a function that returns it for a bucket's key.
        ctx: a device, or a list: each gets a part of every batch.
        num_epoch: number of the epoch to stop before.
        epoch_size: batches of an epoch; None is all that the iterator has.
        optimizer: an optimizer or its name.
        initializer: for parameters that ``arg_params`` lacks.
        numpy_batch_size: samples of a batch if the data are arrays.
        arg_params: parameters by name.
        aux_params: auxiliary states by name.
        allow_extra_params: drop parameters that the network does not have.
        begin_epoch: number of the first epoch.
        kwargs: arguments of the optimizer.

    Raises:
        ValueError: two arguments of the network have the same name.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Optimizer | str = "sgd",
        initializer: Initializer = Uniform(0.01),
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ):
        warnings.warn(
            "\033[91mmxnet.model.FeedForward has been deprecated. "
            "Please use mxnet.mod.Module instead.\033[0m",
            DeprecationWarning,
            stacklevel=2,
        )
        self.symbol: Any = symbol if isinstance(symbol, Symbol) else None
        self.sym_gen: Any = None if isinstance(symbol, Symbol) else symbol
        assert self.sym_gen is None or callable(self.sym_gen)
        self.arg_params: Any = arg_params
        self.aux_params: Any = aux_params
        self.allow_extra_params = allow_extra_params
        self.argument_checked = False
        if self.sym_gen is None:
            self._check_arguments()
        ctx = [cpu()] if ctx is None else ctx
        self.ctx: Sequence[Context] = [ctx] if isinstance(ctx, Context) else ctx
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.kwargs = dict(kwargs)
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self._pred_exec: Any = None
        self.begin_epoch = begin_epoch

    def _check_arguments(self) -> None:
        if self.argument_checked:
            return
        self.argument_checked = True
        _check_arguments(self.symbol)
        if self.allow_extra_params:
            arguments, states = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
            self.arg_params = _with_names(self.arg_params, arguments)
            self.aux_params = _with_names(self.aux_params, states)

    def _shapes_from(self, shapes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Shapes of all arguments and auxiliary states, from those of the inputs."""
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise CheckError(f"The shapes of all arguments cannot be inferred from {shapes}.")
        return arg_shapes, aux_shapes

    def _init_params(
        self, inputs: Sequence[Any], overwrite: bool = False
    ) -> tuple[list[str], list[str], list[str]]:
        """Initialize the parameters and states that do not exist yet."""
        described = [each if isinstance(each, DataDesc) else DataDesc(*each) for each in inputs]
        shapes = {each.name: each.shape for each in described}
        types = {each.name: each.dtype for each in described}
        names, states = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        arg_shapes, aux_shapes = self._shapes_from(shapes)
        arg_types, _, aux_types = self.symbol.infer_type(**types)
        if arg_types is None:
            raise CheckError(f"The dtypes of all arguments cannot be inferred from {types}.")
        inputs_too = dict(zip(names, zip(arg_shapes, arg_types, strict=True), strict=True))
        specs = {name: each for name, each in inputs_too.items() if name not in shapes}
        extra = dict(zip(states, zip(aux_shapes, aux_types, strict=True), strict=True))
        self.arg_params = self._initial(specs, self.arg_params, overwrite)
        self.aux_params = self._initial(extra, self.aux_params, overwrite)
        return names, list(specs), states

    def _initial(
        self, specs: Mapping[str, Any], previous: Mapping[str, NDArray] | None, overwrite: bool
    ) -> dict[str, NDArray]:
        initial = {}
        for name, (shape, dtype) in specs.items():
            initial[name] = nd.zeros(shape, dtype=dtype)
            if previous and name in previous and not overwrite:
                initial[name][:] = previous[name]
            else:
                # A plain name, as in MXNet: only with it the statistics of BatchNorm are known.
                self.initializer(name, initial[name])
        return initial

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # ---- data -----------------------------------------------------------------------------------

    def _init_iter(self, X: object, y: object, is_train: bool) -> Any:
        """``X`` if it is an iterator, else an iterator over its arrays."""
        if isinstance(X, (np.ndarray, NDArray)):
            if y is None:
                if is_train:
                    raise AttributeValueError(
                        "y must be specified when X is numpy.ndarray: give the labels."
                    )
                y = np.zeros(X.shape[0])
            if not isinstance(y, (np.ndarray, NDArray)):
                raise AttributeTypeError(
                    f"y must be ndarray when X is numpy.ndarray, not {type(y).__name__}."
                )
            if X.shape[0] != y.shape[0]:
                raise AttributeValueError(
                    f"The numbers of data points and labels not equal: {X.shape[0]} and {y.shape[0]}."
                )
            if y.ndim == 2 and y.shape[1] == 1:
                y = y.reshape((-1,))
            if y.ndim != 1:
                raise AttributeValueError(
                    f"Label must be 1D or 2D (with 2nd dimension being 1), not of shape {y.shape}."
                )
            size = min(X.shape[0], self.numpy_batch_size)
            last = "roll_over" if is_train else "pad"
            return io.NDArrayIter(X, y, size, shuffle=is_train, last_batch_handle=last)
        if not isinstance(X, io.DataIter):
            raise AttributeTypeError(
                f"X must be DataIter, NDArray or numpy.ndarray, not {type(X).__name__}."
            )
        return X

    def _init_eval_iter(self, eval_data: DataIter | tuple[ArrayLike, ArrayLike] | None) -> Any:
        if eval_data is None:
            return None
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            if eval_data[0] is None:
                raise AttributeValueError(
                    "Eval data is NONE: give (data, labels), an iterator, or no eval_data."
                )
            if eval_data[1] is None and isinstance(eval_data[0], io.DataIter):
                return eval_data[0]
            data, label = (np.array(d) if isinstance(d, list) else d for d in eval_data)
            return self._init_iter(data, label, is_train=True)
        if not isinstance(eval_data, io.DataIter):
            raise AttributeTypeError(
                "Eval data must be DataIter, or NDArray/numpy.ndarray/list pair (i.e. tuple/list "
                f"of length 2), not {type(eval_data).__name__}."
            )
        return eval_data

    # ---- predicting -----------------------------------------------------------------------------

    def _init_predictor(self, described: Sequence[Any]) -> None:
        """Bind an executor for inputs of these shapes, unless that of the last call fits."""
        if self.arg_params is None:
            raise UnknownAttributeError(
                "FeedForward.predict: the model has no parameters. Call fit(X, y) first, or give "
                "arg_params."
            )
        shapes = {name: array.shape for name, array in self.arg_params.items()}
        shapes.update({each[0]: tuple(each[1]) for each in described})
        if self._pred_exec is not None:
            arg_shapes, _ = self._shapes_from(shapes)
            if arg_shapes == [each.shape for each in self._pred_exec.arg_arrays]:
                return
        types = {each.name: each.dtype for each in described if isinstance(each, DataDesc)}
        executor = self.symbol.simple_bind(self.ctx[0], grad_req="null", type_dict=types, **shapes)
        executor.copy_params_from(self.arg_params, self.aux_params)
        _check_arguments(self.symbol)
        self._pred_exec = executor

    def _begin_inference(self, X: Any, reset: bool) -> tuple[Any, list[NDArray]]:
        """The iterator over ``X``, and the arrays of the executor that its batches are written to."""
        X = self._init_iter(X, None, is_train=False)
        if reset:
            X.reset()
        self._init_predictor(X.provide_data)
        return X, [self._pred_exec.arg_dict[each[0]] for each in X.provide_data]

    def predict(
        self,
        X: Any,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """Outputs for an iterator or an array.

        Args:
            X: the data.
            num_batch: how many batches; None is all.
            return_data: return data and labels, too.
            reset: reset the iterator first.

        Returns:
            A NumPy array, a list of them where there are several outputs; with ``return_data``
            outputs, data and labels.
        """
        X, targets = self._begin_inference(X, reset)
        outputs: list[list[NDArray]] = [[] for _ in self.symbol.list_outputs()]
        data: list[list[NDArray]] = [[] for _ in X.provide_data]
        labels: list[list[NDArray]] = [[] for _ in X.provide_label]
        for i, batch in enumerate(X):
            _load_data(batch, targets)
            self._pred_exec.forward(is_train=False)
            size = X.batch_size - (batch.pad or 0)
            collected = [(outputs, self._pred_exec.outputs)]
            if return_data:
                collected += [(data, batch.data), (labels, batch.label)]
            for batches, arrays in collected:
                for column, array in zip(batches, arrays, strict=False):
                    column.append(array[:size].copy())
            flush("FeedForward.predict")
            if num_batch is not None and i + 1 == num_batch:
                break

        def merged(columns: Sequence[Sequence[NDArray]]) -> Any:
            outputs = [np.concatenate([each.asnumpy() for each in column]) for column in columns]
            return outputs[0] if len(outputs) == 1 else outputs

        if return_data:
            return merged(outputs), merged(data), merged(labels)
        return merged(outputs)

    def score(
        self,
        X: Any,
        eval_metric: MetricLike = "acc",
        num_batch: int | None = None,
        batch_end_callback: Callbacks | None = None,
        reset: bool = True,
    ) -> Any:
        """The metric over an iterator.

        Args:
            X: the iterator, with labels.
            eval_metric: a metric, its name, a function, or a list of these.
            num_batch: how many batches; None is all.
            batch_end_callback: function or list, called with a ``BatchEndParam`` after a batch.
            reset: reset the iterator first.

        Returns:
            The value; for several metrics a list.
        """
        eval_metric = metric.create(eval_metric)
        X, data_arrays = self._begin_inference(X, reset)
        for i, batch in enumerate(X):
            if num_batch is not None and i == num_batch:
                break
            _load_data(batch, data_arrays)
            self._pred_exec.forward(is_train=False)
            eval_metric.update(batch.label, self._pred_exec.outputs)
            flush("FeedForward.score")
            if batch_end_callback is not None:
                call_each(
                    batch_end_callback,
                    BatchEndParam(epoch=0, nbatch=i, eval_metric=eval_metric, locals=locals()),
                )
        return eval_metric.get()[1]

    # ---- training -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks | None = None,
        batch_end_callback: Callbacks | None = None,
        kvstore: KVStoreBase | str | None = "local",
        logger: logging.Logger | ModuleType | None = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Monitor | None = None,
        eval_end_callback: Callbacks | None = LogValidationMetricsCallback(),
        eval_batch_end_callback: Callbacks | None = None,
    ) -> None:
        """Train.

        Args:
            X: an iterator, or an array.
            y: labels, where ``X`` is an array.
            eval_data: iterator for validation after every epoch, or a pair of arrays.
            eval_metric: a metric, its name, a function, or a list of these.
            epoch_end_callback: function or list, called after an epoch with its number, the symbol,
                parameters and states.
            batch_end_callback: function or list, called with a ``BatchEndParam`` after a batch.
            kvstore: sums the gradients of several devices: a store, its name, or None.
            logger: where messages go.
            work_load_list: share of the batch of each device, relative to each other.
            monitor: a ``Monitor`` to look at the batches with.
            eval_end_callback: as ``batch_end_callback``, after a validation.
            eval_batch_end_callback: the same after a batch of a validation.

        Raises:
            TypeError: data are neither an iterator nor arrays.
            ValueError: labels do not fit the data.
        """
        data = self._init_iter(X, y, is_train=True)
        eval_data = self._init_eval_iter(eval_data)
        if self.sym_gen:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._check_arguments()
        self.kwargs["sym"] = self.symbol
        inputs = [*data.provide_data, *data.provide_label]
        arg_names, param_names, aux_names = self._init_params(inputs)
        eval_metric = metric.create(eval_metric)
        count = len(self.ctx)
        store, on_store = _create_kvstore(kvstore, count, self.arg_params)
        copies = 1 if on_store else count
        self.kwargs["param_idx2name"] = {
            i * copies + k: name for i, name in enumerate(param_names) for k in range(copies)
        }
        optimizer = self._optimizer_for(data.batch_size, store)
        _train_multi_device(
            self.symbol, self.ctx, arg_names, param_names, aux_names, self.arg_params, self.aux_params,
            self.begin_epoch, self.num_epoch, self.epoch_size, optimizer, store, on_store, data,
            eval_data, eval_metric, epoch_end_callback, batch_end_callback, logger, work_load_list,
            monitor, eval_end_callback, eval_batch_end_callback, self.sym_gen,
        )  # fmt: skip
        self._pred_exec = None  # it has the old parameters

    def _optimizer_for(self, batch_size: int, store: Any) -> Any:
        """The optimizer; if given by name, it averages over the batches of all workers that step together."""
        optimizer = self.optimizer
        if isinstance(optimizer, str):
            if store and "dist" in store.type and "_async" not in store.type:
                batch_size *= store.num_workers
            return opt.create(optimizer, rescale_grad=1.0 / batch_size, **self.kwargs)
        if isinstance(optimizer, opt.Optimizer) and not optimizer.idx2name:
            optimizer.idx2name = dict(self.kwargs["param_idx2name"])
        return optimizer

    # ---- files ----------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write a checkpoint; each file is complete or absent.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint, by default ``num_epoch``.
            remove_amp_cast: leave the casts of mixed precision out of the symbol file.
        """
        epoch = self.num_epoch if epoch is None else epoch
        assert epoch is not None
        save_checkpoint(
            prefix, epoch, self.symbol, self.arg_params, self.aux_params, remove_amp_cast
        )

    @staticmethod
    def load(
        prefix: str, epoch: int, ctx: Context | Sequence[Context] | None = None, **kwargs: Any
    ) -> FeedForward:
        """A model from a checkpoint.

        Args:
            prefix: beginning of the files' paths.
            epoch: number of the checkpoint.
            ctx: as for :class:`FeedForward`.
            kwargs: its other arguments.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol,
            ctx=ctx,
            arg_params=arg_params,
            aux_params=aux_params,
            begin_epoch=epoch,
            **kwargs,
        )

    @staticmethod
    def create(
        symbol: Symbol,
        X: DataIter | ArrayLike,
        y: DataIter | ArrayLike | None = None,
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Optimizer | str = "sgd",
        initializer: Initializer = Uniform(0.01),
        eval_data: DataIter | tuple[ArrayLike, ArrayLike] | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Callbacks | None = None,
        batch_end_callback: Callbacks | None = None,
        kvstore: KVStoreBase | str | None = "local",
        logger: logging.Logger | ModuleType | None = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Callbacks | None = LogValidationMetricsCallback(),
        eval_batch_end_callback: Callbacks | None = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model that has been trained: arguments as of :class:`FeedForward` and ``fit``."""
        model = FeedForward(
            symbol,
            ctx=ctx,
            num_epoch=num_epoch,
            epoch_size=epoch_size,
            optimizer=optimizer,
            initializer=initializer,
            **kwargs,
        )
        model.fit(
            X,
            y,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            kvstore=kvstore,
            logger=logger,
            work_load_list=work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model
