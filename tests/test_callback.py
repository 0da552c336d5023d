"""Callbacks log MXNet 1.9.1's lines."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from tests.module.networks import bound, mlp

Param = mx.model.BatchEndParam


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO)

    def logged() -> list[str]:
        messages = [re.sub(r"Speed: (inf|\d+\.\d\d) ", "Speed: # ", m) for m in caplog.messages]
        caplog.clear()
        return messages

    return logged


def accuracy() -> Any:
    metric = mx.metric.create("acc")
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0, 1.0], [0, 1]])])
    return metric


def test_callbacks_get_epoch_symbol_and_parameters() -> None:
    assert Param._fields == ("epoch", "nbatch", "eval_metric", "locals")
    assert str(Param(1, 2, 3, 4)) == "BatchEndParams(epoch=1, nbatch=2, eval_metric=3, locals=4)"


def test_the_speedometer_logs_samples_per_second(lines: Any) -> None:
    meter, metric = mx.callback.Speedometer(10, 2), accuracy()
    for nbatch in range(5):
        meter(Param(0, nbatch, metric, None))
    assert lines() == [
        "Epoch[0] Batch [0-2]\tSpeed: # samples/sec\taccuracy=0.500000",
        "Epoch[0] Batch [2-4]\tSpeed: # samples/sec\taccuracy=nan",
    ]
    keeping, metric = mx.callback.Speedometer(10, 2, auto_reset=False), accuracy()
    for epoch in range(2):
        for nbatch in range(5):
            keeping(Param(epoch, nbatch, metric, None))
    rest = "\tSpeed: # samples/sec\taccuracy=0.500000"
    assert lines() == [f"Epoch[{e}] Batch [0-{n}]{rest}" for e in (0, 1) for n in (2, 4)]
    without = mx.callback.Speedometer(10, 2)
    for nbatch in range(3):
        without(Param(0, nbatch, None, None))
    assert lines() == ["Iter[0] Batch [2]\tSpeed: # samples/sec"]


def test_the_training_metric_is_logged(lines: Any) -> None:
    callback, metric = mx.callback.log_train_metric(2, auto_reset=True), accuracy()
    for nbatch in range(3):
        callback(Param(0, nbatch, metric, None))
    callback(Param(0, 4, None, None))
    assert lines() == [
        "Iter[0] Batch[0] Train-accuracy=0.500000",
        "Iter[0] Batch[2] Train-accuracy=nan",
    ]


def test_validation_metrics_are_logged(lines: Any) -> None:
    mx.callback.LogValidationMetricsCallback()(Param(3, 1, accuracy(), None))
    mx.callback.LogValidationMetricsCallback()(Param(3, 1, None, None))
    assert lines() == ["Epoch[3] Validation-accuracy=0.500000"]


def test_the_progress_bar_shows_the_share_of_batches(lines: Any) -> None:
    bar = mx.callback.ProgressBar(10, 20)
    bar(Param(0, 3, None, None))
    bar(Param(0, 10, None, None))
    mx.callback.ProgressBar(total=7)(Param(0, 3, None, None))
    assert lines() == [
        "[======--------------] 30%\r",
        "[====================] 100%\r",
        f"[{'=' * 34}{'-' * 46}] 43%\r",
    ]


def test_checkpoints_are_saved_by_epoch(
    lines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = {"fc1_weight": mx.nd.ones((4, 5))}
    for period, epoch in ((0, 0), (3, 1), (3, 2)):
        mx.callback.do_checkpoint("dc", period)(epoch, mlp(), params, {})
    assert lines() == [f'Saved checkpoint to "dc-000{n}.params"' for n in (1, 3)]
    module, _ = bound()
    module.init_optimizer()
    saves = mx.callback.module_checkpoint(module, "mc", 2, True)
    saves(0)
    saves(1, 1, 2, 3)
    assert lines() == [
        'Saved checkpoint to "mc-0002.params"',
        'Saved optimizer state to "mc-0002.states"',
    ]
    assert sorted(os.listdir()) == [
        "dc-0001.params", "dc-0003.params", "dc-symbol.json", "mc-0002.params", "mc-0002.states",
        "mc-symbol.json",
    ]  # fmt: skip
