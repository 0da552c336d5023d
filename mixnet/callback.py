"""``mx.callback``: callbacks of ``fit`` after a batch, an epoch or a validation."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from mixnet.base import checked_number
from mixnet.checkpoint import save_checkpoint as save_checkpoint

Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]]
"""A callback, or several that are called in order."""


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Callback after an epoch: save the module's checkpoint.

    Args:
        mod: the module.
        prefix: beginning of the files' paths.
        period: epochs between saves.
        save_optimizer_states: save the optimizer's states too, so that training can continue.
    """
    period = int(max(1, period))

    def _callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return _callback


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """Callback after an epoch: save symbol and parameters.

    Args:
        prefix: beginning of the files' paths.
        period: epochs between saves.
    """
    period = int(max(1, checked_number("do_checkpoint: period", period)))

    def _callback(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return _callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Callback after a batch: log the training metric.

    Args:
        period: batches between logs.
        auto_reset: reset the metric after it is logged.
    """

    def _callback(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return _callback


class Speedometer:
    """Callback after a batch: log samples per second, and the training metric.

    Args:
        batch_size: samples of a batch.
        frequent: batches between logs.
        auto_reset: reset the metric after it is logged.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True):
        self.batch_size = checked_number("Speedometer: batch_size", batch_size)
        self.frequent = frequent
        self.init = False
        self.tic: float = 0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: Any) -> None:
        """Log the speed and the metric of the last ``frequent`` batches.

        Args:
            param: a ``BatchEndParam``, as ``Module.fit`` passes it.
        """
        count = param.nbatch
        if self.last_count > count:  # another epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
            return
        if count % self.frequent:
            return
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds else math.inf
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            values = param.eval_metric.get_name_value()
            first = 0
            if self.auto_reset:
                param.eval_metric.reset_local()
                first = count - self.frequent
            line = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(values)
            parts = [part for pair in values for part in pair]
            logging.info(line, param.epoch, first, count, speed, *parts)
        self.tic = time.time()


class ProgressBar:
    """Callback after a batch: log a bar of how much of the epoch is done.

    Args:
        total: batches of an epoch.
        length: characters of the whole bar.
    """

    def __init__(self, total: int, length: int = 80):
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        """Draw the bar for the batches of the epoch so far.

        Args:
            param: a ``BatchEndParam``, as ``Module.fit`` passes it.
        """
        share = param.nbatch / float(self.total)
        filled = round(self.bar_len * share)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%s\r", bar, math.ceil(100.0 * share), "%")


class LogValidationMetricsCallback:
    """Callback after a validation: log its metrics."""

    def __call__(self, param: Any) -> None:
        """Log the values of the metric.

        Args:
            param: what ``Module.fit`` passes to ``eval_end_callback``.
        """
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "logging",
    "math",
    "module_checkpoint",
    "save_checkpoint",
    "time",
]
