"""Learning rate schedules by number of updates."""

from __future__ import annotations

import logging
from math import cos, pi

from mixnet.base import AttributeTypeError, AttributeValueError, CheckError, NotDefinedError


class LRScheduler:
    """Base of schedulers: called with the number of updates, they give the learning rate.

    Args:
        base_lr: learning rate to begin with, after the warm-up.
        warmup_steps: updates of the warm-up.
        warmup_begin_lr: learning rate that the warm-up begins with.
        warmup_mode: ``'linear'`` rises to ``base_lr``, ``'constant'`` stays.

    Raises:
        AssertionError: ``warmup_steps`` is not a whole number.
        ValueError: the other numbers do not go together.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        self.base_lr = base_lr
        if not isinstance(warmup_steps, int):
            raise CheckError(f"warmup_steps={warmup_steps!r} must be a whole number.")
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        if self.warmup_begin_lr > self.warmup_final_lr:
            raise AttributeValueError(
                f"base_lr={base_lr} must not be below warmup_begin_lr={warmup_begin_lr}."
            )
        if self.warmup_steps < 0:
            raise AttributeValueError(f"warmup_steps must be 0 or more, not {warmup_steps}.")
        if warmup_mode not in ("linear", "constant"):
            raise AttributeValueError(
                f"warmup_mode must be 'linear' or 'constant', not {warmup_mode!r}."
            )
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The learning rate during the warm-up, for ``num_update`` below ``warmup_steps``."""
        if num_update >= self.warmup_steps:
            raise CheckError(
                f"Update {num_update} is not in the warm-up of {self.warmup_steps} updates."
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = (self.warmup_final_lr - self.warmup_begin_lr) * float(num_update)
        return self.warmup_begin_lr + rise / float(self.warmup_steps)

    def __call__(self, num_update: int) -> float:
        """The learning rate after ``num_update`` updates."""
        raise NotDefinedError(f"{type(self).__name__} does not define __call__(self, num_update).")


def _check_factor(factor: float) -> float:
    if factor > 1.0:
        raise AttributeValueError(f"Factor must be no more than 1 to make lr reduce, not {factor}.")
    return factor


class FactorScheduler(LRScheduler):
    """Every ``step`` updates the learning rate is multiplied by ``factor``.

    Args:
        step: updates between two changes, at least 1.
        factor: at most 1.
        stop_factor_lr: the learning rate does not fall below this.
        base_lr: learning rate to begin with.
        warmup_steps: see :class:`LRScheduler`, also for the two others.
        warmup_begin_lr: learning rate of the first step of the warm-up.
        warmup_mode: ``'linear'`` or ``'constant'``.

    Raises:
        ValueError: ``step`` is below 1 or ``factor`` above 1.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (int, float)):
            raise AttributeTypeError(
                f"FactorScheduler: step must be a number of updates, not {step!r}."
            )
        if step < 1:
            raise AttributeValueError(
                f"Schedule step must be greater or equal than 1 round, not {step}."
            )
        self.step = step
        self.factor = _check_factor(factor)
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        """The learning rate after ``num_update`` updates, which may only grow."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """After each of the updates in ``step`` the learning rate is multiplied by ``factor``.

    Args:
        step: numbers of updates, rising.
        factor: at most 1.
        base_lr: learning rate to begin with.
        warmup_steps: see :class:`LRScheduler`, also for the two others.
        warmup_begin_lr: learning rate of the first step of the warm-up.
        warmup_mode: ``'linear'`` or ``'constant'``.

    Raises:
        AssertionError: ``step`` is not a list, or empty.
        ValueError: ``step`` does not rise or begins below 1, or ``factor`` is above 1.
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step:
            raise CheckError(f"step must be a list of numbers of updates, not {step!r}.")
        for before, each in zip([None, *step], step, strict=False):
            if before is not None and each <= before:
                raise AttributeValueError(
                    f"Schedule step must be an increasing integer list, not {step}."
                )
            if each < 1:
                raise AttributeValueError(
                    f"Schedule step must be greater or equal than 1 round, not {each}."
                )
        self.step = step
        self.cur_step_ind = 0
        self.factor = _check_factor(factor)
        self.count = 0

    def __call__(self, num_update: int) -> float:
        """The learning rate after ``num_update`` updates, which may only grow."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _Curve(LRScheduler):
    """A curve from ``base_lr`` to ``final_lr``; beyond ``max_update`` it stays."""

    def _begin(self, max_update: int, final_lr: float) -> None:
        if not isinstance(max_update, int):
            raise CheckError(f"max_update={max_update!r} must be a whole number.")
        if max_update < 1:
            raise AttributeValueError(
                f"maximum number of updates must be strictly positive, not {max_update}."
            )
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = self.max_update - self.warmup_steps

    def _left(self, way: float, steps: float) -> float:
        """The part of the way to ``final_lr`` that remains after so many steps."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        """The learning rate after ``num_update`` updates."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            steps = float(num_update - self.warmup_steps)
            self.base_lr = self.final_lr + self._left(self.base_lr_orig - self.final_lr, steps)
        return self.base_lr


class PolyScheduler(_Curve):
    """From ``base_lr`` to ``final_lr`` along a power of the remaining share of updates.

    Args:
        max_update: updates until ``final_lr``, with the warm-up.
        base_lr: learning rate to begin with.
        pwr: the power.
        final_lr: learning rate to end with.
        warmup_steps: see :class:`LRScheduler`, also for the two others.
        warmup_begin_lr: learning rate of the first step of the warm-up.
        warmup_mode: ``'linear'`` or ``'constant'``.

    Raises:
        AssertionError: ``max_update`` is not a whole number.
        ValueError: it is below 1.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr
        self._begin(max_update, final_lr)

    def _left(self, way: float, steps: float) -> float:
        return float(way * pow(1 - steps / float(self.max_steps), self.power))


class CosineScheduler(_Curve):
    """From ``base_lr`` to ``final_lr`` along half a cosine.

    Source: Loshchilov and Hutter, 2017.

    Args:
        max_update: updates until ``final_lr``, with the warm-up.
        base_lr: learning rate to begin with.
        final_lr: learning rate to end with.
        warmup_steps: see :class:`LRScheduler`, also for the two others.
        warmup_begin_lr: learning rate of the first step of the warm-up.
        warmup_mode: ``'linear'`` or ``'constant'``.

    Raises:
        AssertionError: ``max_update`` is not a whole number.
        ValueError: it is below 1.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._begin(max_update, final_lr)

    def _left(self, way: float, steps: float) -> float:
        return way * (1 + cos(pi * steps / self.max_steps)) / 2


# What `import *` brings: what MXNet's module brings.
__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
    "cos",
    "logging",
    "pi",
]
