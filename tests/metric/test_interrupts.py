"""Ctrl-C while a metric is read or updated: batches count once, or not at all."""

from __future__ import annotations

import mixnet as mx
from mixnet import nd
from tests.line_interrupts import interrupted


def test_a_metric_whose_reading_is_interrupted_has_all_batches() -> None:
    metric = mx.metric.Accuracy()
    labels, predictions = nd.array([1, 0]), nd.array([[0.0, 1.0], [0.0, 1.0]])
    expected = 0
    for at in range(1, 1000):
        metric.update(labels, predictions)
        expected += 2
        place = interrupted(at, ("/mixnet/metric/", "/mixnet/process/interrupt"), metric.get)
        assert metric.num_inst == expected and metric.get() == ("accuracy", 0.5), place
        if place is None:
            return
    raise AssertionError("the last line was not reached")


def test_an_update_that_is_interrupted_is_done_or_not() -> None:
    metric = mx.metric.Accuracy()
    labels, predictions = nd.array([1, 0]), nd.array([[0.0, 1.0], [0.0, 1.0]])
    for at in range(1, 1000):
        metric.reset()
        place = interrupted(at, ("/mixnet/metric/",), lambda: metric.update(labels, predictions))
        assert metric.num_inst in (0, 2), place
        assert metric.num_inst == 0 or metric.get() == ("accuracy", 0.5), place
        if place is None:
            return
    raise AssertionError("the last line was not reached")
