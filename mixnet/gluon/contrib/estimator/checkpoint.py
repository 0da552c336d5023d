"""CheckpointHandler: save and restore parameters and trainer states."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import symbol as sym
from mixnet.base import AttributeValueError, CheckError
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.contrib.estimator.handlers import (
    BatchEnd,
    EpochEnd,
    TrainBegin,
    better,
    monitored,
)
from mixnet.metric import EvalMetric

if TYPE_CHECKING:
    from mixnet.gluon.contrib.estimator.estimator import Estimator


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters and trainer states every few epochs or batches.

    The files are ``PREFIX-epochEbatchB.params`` and ``.states``, where E and B count from 0, and
    ``PREFIX-symbol.json`` for a hybridized network; ``PREFIX-best.params`` is the best one.

    Args:
        model_dir: folder; created if it does not exist.
        model_prefix: prefix of the file names.
        monitor: the metric that determines the best one.
        verbose: 1 logs each file.
        save_best: keep the best one in addition to the last ones.
        mode: ``min`` or ``max``, the direction of improvement; ``auto`` infers it from the name.
        epoch_period: epochs between checkpoints; None to disable.
        batch_period: batches between checkpoints; None to disable.
        max_checkpoints: number of recent checkpoints to keep.
        resume_from_checkpoint: resume from the last one in the folder.

    Raises:
        ValueError: ``save_best`` without a metric.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ):
        self.monitor, self.verbose = monitor, verbose
        self.model_dir, self.model_prefix = model_dir, model_prefix
        self.save_best = save_best
        if save_best and not isinstance(monitor, EvalMetric):
            raise AttributeValueError(
                "CheckpointHandler: save_best needs monitor, one of the metrics in "
                "estimator.train_metrics and estimator.val_metrics."
            )
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        if save_best and monitor is not None:
            self.monitor_op = better(monitor, mode, "CheckpointHandler")
            self.best: float = np.inf if self.monitor_op is np.less else -np.inf

    # ---- events -------------------------------------------------------------------------------

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Create the folder; resume from the last checkpoint if requested.

        Raises:
            AssertionError: training counts epochs and checkpoints count batches, or vice versa.
            ValueError: the checkpoint already contains all epochs or batches.
        """
        os.makedirs(self.model_dir, exist_ok=True)
        self.current_batch = self.current_epoch = 0
        self.trained_epoch, self.trained_batch = -1, 0
        if self.save_best:
            self.best = np.inf if self.monitor_op is np.less else -np.inf
        if self.resume_from_checkpoint:
            self._resume(estimator)

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: object) -> None:
        """Count a batch; save if due."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count an epoch; save if due."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # ---- saving -------------------------------------------------------------------------------

    def _save_checkpoint(self, estimator: Estimator) -> None:
        epoch = self.trained_epoch + self.current_epoch + 1
        batch = self.trained_batch + self.current_batch
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, prefix)
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with "
                "prefix: %s",
                self.current_epoch,
                self.current_batch + 1,
                self.model_dir,
                prefix,
            )
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator: Estimator) -> None:
        assert self.monitor is not None
        name, value = monitored(self.monitor)
        if value is None:
            return
        if self.monitor_op(value, self.best):
            prefix = f"{self.model_prefix}-best"
            self._save_params_and_trainer(estimator, prefix)
            self.best = value
            if self.verbose > 0:
                estimator.logger.info(
                    "[Epoch %d] CheckpointHandler: %s improved from %0.5f to %0.5f, updating best "
                    "model at %s with prefix: %s",
                    self.current_epoch,
                    name,
                    self.best,
                    value,
                    self.model_dir,
                    prefix,
                )
        elif self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s did not improve from %0.5f, skipping updating "
                "best model",
                self.current_batch,
                name,
                self.best,
            )

    def _save_symbol(self, estimator: Estimator) -> None:
        path = os.path.join(self.model_dir, f"{self.model_prefix}-symbol.json")
        net = estimator.net
        if isinstance(net, HybridBlock) and net._active:
            net(sym.Variable("data")).save(path)
        elif isinstance(net, HybridBlock) and net._cached_graph:  # traced to infer its shapes
            net._cached_graph[1].save(path)
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to "
                "construct your model, and call net.hybridize() before passing to Estimator in "
                "order to save model architecture as %s.",
                path,
            )

    def _save_params_and_trainer(self, estimator: Estimator, prefix: str) -> None:
        path = os.path.join(self.model_dir, prefix)
        for ending in (".params", ".states"):
            if os.path.exists(path + ending):
                os.remove(path + ending)
        estimator.net.save_parameters(path + ".params")
        estimator.trainer.save_states(path + ".states")
        if "best" in prefix:
            return
        self.saved_checkpoints.append(prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            old = self.saved_checkpoints.pop(0)
            for name in os.listdir(self.model_dir):
                if name in (f"{old}.params", f"{old}.states"):
                    os.remove(os.path.join(self.model_dir, name))

    # ---- resuming -----------------------------------------------------------------------------

    def _checkpoints(self) -> list[tuple[int, int, str]]:
        """Epoch, batch and name of the checkpoints in the folder, in the order of training."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = filter(None, map(pattern.fullmatch, os.listdir(self.model_dir)))
        return sorted((int(m[1]), int(m[2]), m[0].removesuffix(".params")) for m in matches)

    def _resume(self, estimator: Any) -> None:
        by_epoch = estimator.max_epoch is not None
        if by_epoch != bool(self.epoch_period) or by_epoch == bool(self.batch_period):
            raise CheckError(
                "CheckpointHandler: to resume from a checkpoint, training and checkpoints must "
                "use the same unit. Give only epoch_period for fit(epochs=...), only "
                "batch_period (with epoch_period=None) for fit(batches=...)."
            )
        checkpoints = self._checkpoints()
        extent = f"{estimator.max_epoch} epochs" if by_epoch else f"{estimator.max_batch} batches"
        if not checkpoints:
            self.trained_batch = -1  # as in MXNet, which then names files after completed batches
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch for %s", extent
            )
            return
        self.saved_checkpoints = [prefix for _, _, prefix in checkpoints]
        self.trained_epoch, self.trained_batch, last = checkpoints[-1]
        if by_epoch:
            left = estimator.max_epoch - self.trained_epoch - 1
            kind, limit = "epochs", estimator.max_epoch
        else:
            left = estimator.max_batch - self.trained_batch
            kind, limit = "batches", estimator.max_batch
        if left <= 0:
            raise AttributeValueError(
                f"The checkpoint {last} in {self.model_dir} already has {limit} {kind}: train "
                f"for more, or start over with resume_from_checkpoint=False."
            )
        if by_epoch:
            estimator.max_epoch = left
        else:
            estimator.max_batch = left
        path = os.path.join(self.model_dir, last)
        estimator.net.load_parameters(path + ".params", ctx=estimator.context)
        estimator.trainer.load_states(path + ".states")
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for "
            "%d %s ",
            self.trained_epoch,
            self.trained_batch,
            left,
            kind,
        )
