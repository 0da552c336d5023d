"""Event handlers: called when training, an epoch or a batch begins or ends."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeValueError
from mixnet.gluon.contrib.estimator.utils import _check_metrics
from mixnet.metric import CompositeEvalMetric, EvalMetric, Loss
from mixnet.process.docstrings import inherit_arguments

if TYPE_CHECKING:
    from mixnet.gluon.contrib.estimator.estimator import Estimator


class EventHandler:
    """Base of handlers. Those with a lower ``priority`` (default 0) are called first."""

    priority: float = 0
    metrics: Sequence[EvalMetric] = ()
    """The estimator's metrics that it updates or shows."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)


class TrainBegin(EventHandler):
    """Called when training begins."""

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: nothing.
        """


class TrainEnd(EventHandler):
    """Called when training has ended."""

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: nothing.
        """


class EpochBegin(EventHandler):
    """Called when an epoch begins."""

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: nothing.
        """


class EpochEnd(EventHandler):
    """Called when an epoch has ended; training stops if a handler returns True."""

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: nothing.
        """
        return False


class BatchBegin(EventHandler):
    """Called with a ``batch`` before it is processed."""

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: ``batch``, the batch.
        """


class BatchEnd(EventHandler):
    """Called with a ``batch``, its ``pred``, ``label`` and ``loss``; the epoch stops on True."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Override it.

        Args:
            estimator: the estimator that trains.
            args: nothing.
            kwargs: ``batch``, and lists of ``pred``, ``label`` and ``loss``, one for each context.
        """
        return False


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Stops after a number of epochs or batches; the estimator's own limits take precedence.

    Args:
        max_epoch: number of epochs.
        max_batch: number of batches.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None):
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Start counting."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Count a batch."""
        self.current_batch += 1
        if self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Count an epoch."""
        self.current_epoch += 1
        if self.current_epoch == self.max_epoch:
            self.stop_training = True
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics after each batch and resets them at each epoch.

    Args:
        metrics: of the estimator; loss metrics get the loss, the others labels and predictions.
        priority: low, so that other handlers see the updated values.
    """

    def __init__(self, metrics: EvalMetric | Sequence[EvalMetric] | None, priority: float = -1000):
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Update the metrics."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Validates every few epochs or batches.

    Args:
        val_data: the loader.
        eval_fn: ``estimator.evaluate``.
        epoch_period: epochs between validations; None to disable.
        batch_period: batches between validations; None to disable.
        priority: low, so that other handlers see its results.
        event_handlers: handlers to call during validation.
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ):
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.priority, self.event_handlers = priority, event_handlers
        self.current_batch = self.current_epoch = 0

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Start counting."""
        self.current_batch = self.current_epoch = 0

    def _validate(self, estimator: Estimator) -> None:
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count a batch; validate if due."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._validate(estimator)

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count an epoch; validate if due."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._validate(estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs the progress with ``estimator.logger``.

    Args:
        log_interval: ``'epoch'``, or the number of batches between two lines.
        metrics: the metrics to log.
        priority: high, so that it runs after all other handlers.

    Raises:
        ValueError: an invalid interval, or no metrics.
    """

    def __init__(
        self,
        log_interval: int | str = "epoch",
        metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        priority: float = np.inf,
    ):
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise AttributeValueError(
                f"LoggingHandler: log_interval={log_interval!r} must be a number of batches or "
                f"'epoch'."
            )
        self.metrics = _check_metrics(metrics)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval = log_interval
        self.log_interval_time = 0.0
        self.priority = priority

    def _values(self) -> str:
        """``name: value, name: value``."""
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the optimizer, its learning rate, and the planned duration."""
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log how long it took, and the metrics."""
        took = time.time() - self.train_start
        text = f"Train finished using total {int(took)}s with {self.current_epoch} epochs. "
        estimator.logger.info((text + self._values()).rstrip(", "))

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Record the time."""
        if isinstance(self.log_interval, int):
            self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Log the time and the metrics if due."""
        if not isinstance(self.log_interval, int):
            return
        self.log_interval_time += time.time() - self.batch_start
        self.processed_samples += kwargs["batch"][0].shape[0]
        if self.batch_index % self.log_interval == 0:
            text = (
                f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
                f"[Samples {self.processed_samples}] time/interval: {self.log_interval_time:.3f}s "
            )
            self.log_interval_time = 0.0
            estimator.logger.info((text + self._values()).rstrip(", "))
        self.batch_index += 1

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the learning rate, if the metrics are those of training."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the time and the metrics."""
        text = f"[Epoch {self.current_epoch}] Finished in {time.time() - self.epoch_start:.3f}s, "
        estimator.logger.info((text + self._values()).rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0


def better(monitor: EvalMetric, mode: str, owner: str) -> Any:
    """``np.less`` or ``np.greater``: the direction in which a metric improves.

    Args:
        monitor: the metric.
        mode: ``min``, ``max``, or ``auto``: ``min`` for losses, ``max`` for others.
        owner: name for warnings.
    """
    if mode not in ("auto", "min", "max"):
        warnings.warn(
            f"{owner}: mode={mode!r} is not one of 'min', 'max' and 'auto'; 'auto' is used.",
            RuntimeWarning,
            stacklevel=3,
        )
        mode = "auto"
    name = str(monitor.get()[0])
    if mode == "auto":
        if "loss" in name.lower():
            return np.less
        warnings.warn(
            f"{owner}: a larger {name} is assumed to be better. Set mode='max' to confirm this, or "
            f"mode='min' for the opposite.",
            stacklevel=3,
        )
    return np.less if mode == "min" else np.greater


def monitored(monitor: EvalMetric) -> tuple[str, float | None]:
    """The name and value of a metric; None, with a warning, where it is NaN.

    Args:
        monitor: the metric.
    """
    name, value = monitor.get()
    if not math.isnan(value):
        return name, value
    warnings.warn(
        f"{name} is NaN. If it is never updated: is it one of estimator.train_metrics and "
        f"estimator.val_metrics?",
        RuntimeWarning,
        stacklevel=3,
    )
    return name, None


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric no longer improves.

    Args:
        monitor: a metric of the estimator.
        min_delta: minimum change that counts as an improvement.
        patience: epochs to wait for one.
        mode: ``min`` or ``max``, the direction of improvement; ``auto`` infers it from the name.
        baseline: value that must be exceeded first.

    Raises:
        ValueError: ``monitor`` is not a metric.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ):
        if not isinstance(monitor, EvalMetric):
            raise AttributeValueError(
                "EarlyStoppingHandler: monitor must be one of the metrics in "
                "estimator.train_metrics and estimator.val_metrics."
            )
        if isinstance(monitor, CompositeEvalMetric):
            raise AttributeValueError(
                "EarlyStoppingHandler: monitor has several values; give one of its metrics."
            )
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.min_delta = min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.monitor_op = better(monitor, mode, "EarlyStoppingHandler")
        if self.monitor_op is np.less:
            self.min_delta *= -1

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Reset the best value."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        worst = np.inf if self.monitor_op is np.less else -np.inf
        self.best: float = worst if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Compare with the best value."""
        _, value = monitored(self.monitor)
        if value is not None:
            self._compare(value)
        self.current_epoch += 1
        return self.stop_training

    def _compare(self, value: float) -> None:
        if self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = self.current_epoch
            self.stop_training = True

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log that this handler stopped training."""
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHanlder: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after a batch with a trainer step; the batch size is the number of losses.

    Args:
        priority: the lowest, so that parameters are updated first.
    """

    def __init__(self, priority: float = -2000):
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Take a step."""
        loss = kwargs["loss"]
        batch_size = sum(len(each) for each in (loss if isinstance(loss, list) else [loss]))
        estimator.trainer.step(batch_size)
