"""Learning rate schedulers of MXNet's first versions, which multiply by a factor at fixed steps."""

from __future__ import annotations

import logging


class LearningRateScheduler:
    """Base class of these schedulers: called with the number of the update, they return its learning rate."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(
            f"{type(self).__name__}.__call__(iteration) returns the learning rate of an update: define it."
        )


class FactorScheduler(LearningRateScheduler):
    """``base_lr * factor ** (iteration // step)``; every change is logged.

    Args:
        step: updates between two changes.
        factor: below 1.

    Raises:
        ValueError: ``step`` below 1, or ``factor`` not below 1.
    """

    def __init__(self, step: int, factor: float = 0.1):
        super().__init__()
        if step < 1:
            raise ValueError(f"step is {step}: the rate changes after at least 1 update.")
        if factor >= 1.0:
            raise ValueError(f"factor is {factor}: the rate only falls with a factor below 1.")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:  # base_lr is set after the constructor
            self.init = True
            self.old_lr = self.base_lr
        rate = self.base_lr * self.factor ** int(iteration / self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            # MXNet's spelling, which programs that read logs search for.
            logging.info("At Iteration [%d]: Swith to new learning rate %.5f", iteration, rate)
        return rate
