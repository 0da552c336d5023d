"""Training boards in the library's training loops: Estimator and Module.fit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mixnet.gluon.contrib.estimator.handlers import BatchEnd, EpochBegin, EpochEnd, TrainBegin
from mixnet.widgets.board.control import StopTraining

if TYPE_CHECKING:
    from mixnet.gluon.contrib.estimator.estimator import Estimator

_OFTEN = 0.25  # seconds between two readings of a metric, which wait for the device


class BoardHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd):
    """Losses of batches and metrics of epochs for a board; stops as the estimator does.

    Args:
        board: the TrainingBoard.
    """

    def __init__(self, board: Any):
        self.board = board
        self._stopped = False
        self._epoch = 0

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: object) -> None:
        """The learning rate is that of the estimator's trainer."""
        self._stopped, self._epoch = False, 0
        if estimator.trainer is not None:
            self.board.attach(estimator.trainer)

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count epochs."""
        self._epoch += 1

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: object) -> bool:
        """The loss; then obey the buttons."""
        loss = kwargs["loss"]
        self.board.log(loss=list(loss) if isinstance(loss, (list, tuple)) else loss)
        try:
            self.board.checkpoint()
        except StopTraining:
            self._stopped = True
        return self._stopped

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: object) -> bool:
        """The metrics."""
        values = {}
        for metric in [*estimator.train_metrics, *estimator.val_metrics]:
            names, numbers = metric.get()
            for name, number in _pairs(names, numbers):
                values[name] = number
        # An empty metric (nothing was validated) is not a number by right.
        self.board.log(self.board.steps, **{k: v for k, v in values.items() if v == v})
        self.board.event(f"epoch {self._epoch} ended")
        return self._stopped


class BoardCallback:
    """After a batch of ``Module.fit``: its metrics for a board, read four times a second at most.

    Args:
        board: the TrainingBoard.
    """

    def __init__(self, board: Any):
        self.board = board
        self._read = 0.0
        self._epoch: int | None = None

    def __call__(self, param: Any) -> None:
        """A batch has ended."""
        known = param.locals or {}
        if "self" in known and getattr(known["self"], "_optimizer", None) is not None:
            batch = getattr(known.get("data_batch"), "data", None)
            self.board.attach(known["self"], batch[0].shape[0] if batch else None)
        if param.epoch != self._epoch:
            self._epoch = param.epoch
            self.board.event(f"epoch {param.epoch} began")
        now = time.monotonic()
        values = {}
        if param.eval_metric is not None and (
            now - self._read >= _OFTEN or known.get("end_of_batch")
        ):
            self._read = now
            values = {k: v for k, v in param.eval_metric.get_name_value() if v == v}
        self.board.log(**values)
        self.board.checkpoint()


def _pairs(names: Any, numbers: Any) -> list[tuple[str, Any]]:
    if isinstance(names, str):
        return [(names, numbers)]
    return list(zip(names, numbers, strict=True))
