"""Estimator: trains a network with a loss on data."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError
from mixnet.context import Context, cpu, gpu, num_gpus
from mixnet.gluon.contrib.estimator.batch_processor import BatchProcessor
from mixnet.gluon.contrib.estimator.handlers import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)
from mixnet.gluon.contrib.estimator.utils import (
    _check_handlers,
    _check_metrics,
    _suggest_metric_for_loss,
)
from mixnet.gluon.data import DataLoader
from mixnet.gluon.loss import Loss as GluonLoss
from mixnet.gluon.parameter.arrays import is_initialized
from mixnet.gluon.trainer import Trainer
from mixnet.metric import EvalMetric
from mixnet.metric import Loss as LossMetric

if TYPE_CHECKING:
    from mixnet.gluon.block.block import Block
    from mixnet.initializer.initializer import Initializer

__all__ = ["Estimator"]


class Estimator:
    """Trains and validates a network, and calls event handlers.

    Args:
        net: the network.
        loss: a Gluon loss.
        train_metrics: metrics of training; by default the loss, and accuracy for
            ``SoftmaxCrossEntropyLoss``.
        val_metrics: metrics of validation; by default the same as for training.
        initializer: initializes the parameters, if they have no values.
        trainer: by default SGD with learning rate 0.001.
        context: one or several contexts; by default the first GPU, or the CPU if there is none.
        val_net: the network to validate, by default ``net``.
        val_loss: the loss of validation, by default ``loss``.
        batch_processor: forward and backward of a batch.

    Raises:
        ValueError: an argument has the wrong type.
    """

    logger: Any = None

    def __init__(
        self,
        net: Block,
        loss: GluonLoss,
        train_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        val_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        initializer: Initializer | str | None = None,
        trainer: Trainer | None = None,
        context: Context | Sequence[Context] | None = None,
        val_net: Block | None = None,
        val_loss: GluonLoss | None = None,
        batch_processor: BatchProcessor | None = None,
    ):
        self.net = net
        self.loss = self._check_loss(loss)
        self._train_metrics = [] if train_metrics is None else _check_metrics(train_metrics)
        self._val_metrics = [] if val_metrics is None else _check_metrics(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = net if val_net is None else val_net

        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))

        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)

    # ---- checking arguments -------------------------------------------------------------------

    @staticmethod
    def _check_loss(loss: object) -> GluonLoss:
        if not isinstance(loss, GluonLoss):
            raise AttributeValueError(f"loss must be a loss of gluon.loss, not {loss!r}.")
        return loss

    @staticmethod
    def _check_context(context: object) -> list[Context]:
        if context is None:
            if num_gpus() > 1:
                warnings.warn(
                    "There are several GPUs, but only gpu(0) is used; select them with context=.",
                    stacklevel=3,
                )
            return [gpu(0)] if num_gpus() else [cpu()]
        contexts = [context] if isinstance(context, Context) else context
        if not isinstance(contexts, list) or not all(
            isinstance(each, Context) for each in contexts
        ):
            raise AttributeValueError(
                f"context must be a context or a list of contexts, such as mx.cpu() or [mx.gpu(0), "
                f"mx.gpu(1)], not {context!r}."
            )
        return contexts

    @staticmethod
    def _check_batch_processor(batch_processor: object) -> Any:
        if batch_processor is None:
            return BatchProcessor()
        for name in ("fit_batch", "evaluate_batch"):
            if not callable(getattr(batch_processor, name, None)):
                raise AttributeValueError(f"batch_processor must have the method {name}; derive it from "
                                 f"BatchProcessor.")  # fmt: skip
        return batch_processor

    def _initialize(self, initializer: Initializer | str | None) -> None:
        parameters = list(self.net.collect_params().values())
        if not all(_has_values(each) for each in parameters):
            if initializer is None:
                self.net.initialize(ctx=self.context)
            else:
                self.net.initialize(init=initializer, ctx=self.context)
            return
        if initializer is not None:
            warnings.warn(
                "The network is fully initialized already: the initializer is ignored. "
                "net.initialize(init=..., force_reinit=True) initializes it again.",
                stacklevel=3,
            )
        for each in parameters:
            if each._deferred_init:
                continue
            if set(each.list_ctx()) != set(self.context):
                each.reset_ctx(self.context)

    def _check_trainer(self, trainer: object) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified: SGD with learning rate 0.001 is used.", stacklevel=3
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise AttributeValueError(f"trainer must be a gluon.Trainer, not {trainer!r}.")
        return trainer

    # ---- metrics ------------------------------------------------------------------------------

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """Metrics of training; their names begin with "training"."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """Metrics of validation; their names begin with "validation"."""
        return self._val_metrics

    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            suggested = _suggest_metric_for_loss(self.loss)
            if suggested is not None:
                self._train_metrics.append(suggested)
            name = self.loss.name.rstrip("1234567890")
            self._train_metrics.append(LossMetric(name))
        for metric in self._train_metrics:
            metric.name = "training " + metric.name

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            name = metric.name.removeprefix("training ")
            metric.name = "validation " + name

    # ---- running ------------------------------------------------------------------------------

    def evaluate(self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Update the metrics of validation with the batches of a loader.

        Args:
            val_data: a DataLoader of data and labels.
            batch_axis: axis that is split over the contexts.
            event_handlers: handlers to call.

        Raises:
            ValueError: ``val_data`` is not a DataLoader.
        """
        _check_loader(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = _check_handlers(event_handlers, EventHandler)
        if not any(isinstance(each, MetricHandler) for each in handlers):
            handlers.append(MetricHandler(metrics=self.val_metrics))
        if not any(isinstance(each, LoggingHandler) for each in handlers):
            handlers.append(LoggingHandler(metrics=self.val_metrics))
        handlers_by_kind = _HandlersByKind(self, handlers)
        handlers_by_kind.epoch_begin()
        for batch in val_data:
            handlers_by_kind.batch_begin(batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            handlers_by_kind.batch_end(batch=batch, pred=pred, label=label, loss=loss)
        handlers_by_kind.epoch_end()

    def fit(
        self,
        train_data: Any,
        val_data: Any = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for a number of epochs or batches.

        Args:
            train_data: a DataLoader of data and labels.
            val_data: likewise, for validation after each epoch.
            epochs: number of epochs.
            event_handlers: handlers to call; default handlers for stopping, updating, metrics, validation
                and logging are added if there are none.
            batches: number of batches, instead of epochs.
            batch_axis: axis that is split over the contexts.

        Raises:
            ValueError: neither or both of ``epochs`` and ``batches`` are given, or 0, or there is no
                DataLoader.
        """
        _check_loader(train_data)
        if bool(epochs) == bool(batches):
            raise AttributeValueError(
                f"fit trains for a number of epochs or of batches: give exactly one of them, at least "
                f"1, not epochs={epochs} and batches={batches}."
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers_by_kind = _HandlersByKind(
            self, self._prepare_default_handlers(val_data, event_handlers)
        )
        handlers_by_kind.train_begin()
        while True:
            handlers_by_kind.epoch_begin()
            for batch in train_data:
                handlers_by_kind.batch_begin(batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if handlers_by_kind.batch_end(batch=batch, pred=pred, label=label, loss=loss):
                    break
            if handlers_by_kind.epoch_end():
                break
        handlers_by_kind.train_end()

    def _categorize_handlers(self, event_handlers: Any) -> tuple[list[Any], ...]:
        """The handlers of each event, in ascending order of priority: six lists, from the beginning of
        training to its end."""
        return tuple(_HandlersByKind(self, event_handlers).of_kinds.values())

    def _prepare_default_handlers(self, val_data: object, event_handlers: object) -> list[Any]:
        """The handlers that ``fit`` uses, in ascending order of priority."""
        handlers = _check_handlers(event_handlers, EventHandler)
        added: list[Any] = [StoppingHandler(self.max_epoch, self.max_batch)]
        defaults = (
            (GradientUpdateHandler, lambda: GradientUpdateHandler()),
            (MetricHandler, lambda: MetricHandler(metrics=self.train_metrics)),
            (
                ValidationHandler,
                lambda: ValidationHandler(val_data=val_data, eval_fn=self.evaluate),
            ),
            (LoggingHandler, lambda: LoggingHandler(metrics=self.train_metrics)),
        )
        for kind, make in defaults:
            needless = kind is ValidationHandler and not val_data
            if not needless and not any(isinstance(each, kind) for each in handlers):
                added.append(make())
        known = {id(metric) for metric in (*self.train_metrics, *self.val_metrics)}
        for handler in handlers:
            for metric in handler.metrics:
                if id(metric) not in known:
                    raise AttributeValueError(
                        f"{type(handler).__name__} has the metric {metric}, which is not one of "
                        f"estimator.train_metrics and estimator.val_metrics; use it from there."
                    )
        return sorted(handlers + added, key=_priority)


_priority = attrgetter("priority")


class _HandlersByKind:
    """Handlers by event, in ascending order of priority."""

    def __init__(self, estimator: Estimator, handlers: Iterable[Any]):
        self._estimator = estimator
        ordered = sorted(handlers, key=_priority)
        kinds = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)
        self.of_kinds: dict[type, list[Any]] = {
            k: [each for each in ordered if isinstance(each, k)] for k in kinds
        }

    def train_begin(self) -> None:
        for each in self.of_kinds[TrainBegin]:
            each.train_begin(self._estimator)

    def epoch_begin(self) -> None:
        for each in self.of_kinds[EpochBegin]:
            each.epoch_begin(self._estimator)

    def batch_begin(self, **facts: object) -> None:
        for each in self.of_kinds[BatchBegin]:
            each.batch_begin(self._estimator, **facts)

    def batch_end(self, **facts: object) -> bool:
        # All are called, even after one that requests a stop.
        answers = [each.batch_end(self._estimator, **facts) for each in self.of_kinds[BatchEnd]]
        return any(answers)

    def epoch_end(self) -> bool:
        answers = [each.epoch_end(self._estimator) for each in self.of_kinds[EpochEnd]]
        return any(answers)

    def train_end(self) -> None:
        for each in self.of_kinds[TrainEnd]:
            each.train_end(self._estimator)


def _check_loader(data: object) -> None:
    if not isinstance(data, DataLoader):
        raise AttributeValueError(
            f"The estimator takes a gluon.data.DataLoader, not {type(data).__name__}; make one of "
            f"a dataset."
        )


def _has_values(parameter: Any) -> bool:
    """Whether a parameter is initialized, possibly deferred to the first data."""
    return is_initialized(parameter) or bool(parameter._deferred_init)
