"""Metrics that several threads update."""

from __future__ import annotations

import sys
import threading

import mixnet as mx
from mixnet import nd


def test_updates_of_several_threads_all_count() -> None:
    metric = mx.metric.Accuracy()
    label, prediction = nd.array([0, 1]), nd.array([[1, 0], [1, 0]])

    def update() -> None:
        for _ in range(100):
            metric.update([label], [prediction])

    threads = [threading.Thread(target=update) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns within an update
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join(timeout=120)
    finally:
        sys.setswitchinterval(interval)
    assert (metric.num_inst, metric.sum_metric) == (800, 400)
    assert metric.get_global() == ("accuracy", 0.5)
