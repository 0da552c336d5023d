"""Schedulers give MXNet 1.9.1's learning rates, messages and errors."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as onp
import pytest

import mixnet as mx
from mixnet import lr_scheduler
from tests.each_record import each_record

FIXTURES = Path(__file__).parent / "parity" / "fixtures"
CASES = json.loads((FIXTURES / "lr_schedulers.json").read_text())
NUMBERS = onp.load(FIXTURES / "lr_schedulers.npz")


@each_record("name", sorted(CASES))
def test_the_learning_rates_of_mxnet(name: str) -> None:
    case = CASES[name]
    scheduler = getattr(lr_scheduler, case["class"])(**case["kwargs"])
    results = [scheduler(number) for number in range(len(NUMBERS[name]))]
    assert results == NUMBERS[name].tolist()


def test_changes_of_the_rate_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scheduler = lr_scheduler.FactorScheduler(2, 0.1, 1e-2, base_lr=1)
    assert [scheduler(n) for n in (2, 3, 5, 7)] == [1, 0.1, 0.1 * 0.1, 0.01]
    assert [record.getMessage() for record in caplog.records] == [
        "Update[3]: Change learning rate to 1.00000e-01",
        "Update[5]: Change learning rate to 1.00000e-02",
        "Update[7]: now learning rate arrived at 1.00000e-02, will not change in the future",
    ]
    caplog.clear()
    scheduler = lr_scheduler.MultiFactorScheduler([1, 5], 0.1)
    rates = [scheduler(n) for n in range(8)]
    onp.testing.assert_allclose(rates, [0.01, 0.01, *[0.001] * 4, *[0.0001] * 2])
    assert [record.getMessage() for record in caplog.records] == [
        "Update[2]: Change learning rate to 1.00000e-03",
        "Update[6]: Change learning rate to 1.00000e-04",
    ]


def test_the_learning_rate_rises_in_the_warm_up() -> None:
    scheduler = lr_scheduler.LRScheduler(warmup_steps=5)
    assert scheduler.get_warmup_lr(3) == 0.006
    with pytest.raises(AssertionError, match="Update 7 is not in the warm-up"):
        scheduler.get_warmup_lr(7)
    still = lr_scheduler.LRScheduler(0.01, 5, 0.001, "constant")
    assert still.get_warmup_lr(3) == 0.001
    with pytest.raises(NotImplementedError):
        scheduler(3)


@each_record(
    ("make", "error", "says"),
    [
        (
            lambda s: s.LRScheduler(warmup_steps=5, warmup_begin_lr=1),
            ValueError,
            "must not be below warmup_begin_lr=1",
        ),
        (
            lambda s: s.LRScheduler(warmup_steps=-1),
            ValueError,
            "warmup_steps must be 0 or more, not -1",
        ),
        (lambda s: s.LRScheduler(warmup_steps=1.5), AssertionError, "whole number"),
        (
            lambda s: s.LRScheduler(warmup_mode="x"),
            ValueError,
            "must be 'linear' or 'constant', not 'x'",
        ),
        (lambda s: s.FactorScheduler(0), ValueError, "greater or equal than 1 round"),
        (lambda s: s.FactorScheduler(2, 1.5), ValueError, "Factor must be no more than 1"),
        (lambda s: s.MultiFactorScheduler([]), AssertionError, "list of numbers"),
        (lambda s: s.MultiFactorScheduler((1, 2)), AssertionError, "list of numbers"),
        (lambda s: s.MultiFactorScheduler([2, 2]), ValueError, "increasing integer list"),
        (lambda s: s.MultiFactorScheduler([0, 2]), ValueError, "greater or equal than 1 round"),
        (lambda s: s.MultiFactorScheduler([1, 2], 2), ValueError, "Factor must be"),
        (lambda s: s.PolyScheduler(0), ValueError, "strictly positive"),
        (lambda s: s.CosineScheduler(1.5), AssertionError, "whole number"),
    ],
)
def test_arguments_that_do_not_fit(make: object, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        make(mx.lr_scheduler)  # type: ignore[operator]


def test_a_curve_keeps_what_it_began_with() -> None:
    scheduler = lr_scheduler.CosineScheduler(10, 1.0)
    scheduler.base_lr = 5
    assert [scheduler(0), scheduler(5), scheduler(11)] == [1.0, 0.5, 0.5]
