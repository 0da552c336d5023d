"""Finalizers of garbage in cycles, which the collector calls after it has cleared weak references."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd


class _Ends:
    """Calls a function at its end, which the collector brings about."""

    def __init__(self, at_end: Callable[[], object]):
        self.at_end, self.cycle = at_end, self

    def __del__(self) -> None:
        self.at_end()


@pytest.mark.parametrize("waits_before", [False, True])
def test_a_finalizer_reads_arrays_that_were_pending(waits_before: bool) -> None:
    results = []
    first, second = nd.ones((3,)) + 1, nd.ones((3,)) + 2

    def read(first: nd.NDArray = first, second: nd.NDArray = second) -> None:
        if waits_before:
            nd.waitall()
        results.append([first.asnumpy().tolist(), (second * 2).asnumpy().tolist()])

    ends = _Ends(read)
    del first, second, read, ends
    gc.collect()
    assert results == [[[2.0] * 3, [6.0] * 3]]


def test_a_trainer_that_saves_its_network_at_its_end_has_made_its_last_step(tmp_path: Path) -> None:
    file = str(tmp_path / "net.params")
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    for _ in range(2):
        with autograd.record():
            loss = net(nd.ones((1, 3))).sum()
        loss.backward()
        trainer.step(1)
    ends = _Ends(lambda net=net: net.save_parameters(file))  # type: ignore[misc]
    del net, trainer, loss, ends
    gc.collect()
    saved = {name: array.asnumpy().tolist() for name, array in nd.load(file).items()}
    assert saved == {"weight": [[-1.0] * 3] * 2, "bias": [-2.0] * 2}  # MXNet 1.9.1's


def test_what_is_held_for_finalizers_is_given_back() -> None:
    value = (nd.ones((3,)) + 1)._value
    before = sys.getrefcount(value)
    gc.collect()
    assert sys.getrefcount(value) == before
