"""Finalizers of garbage in cycles, which the collector calls after it has cleared weak references."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.value.later import later


class _Ends:
    """Calls a function at its end, which the collector brings about."""

    def __init__(self, at_end: Callable[[], object]):
        self.at_end, self.cycle = at_end, self

    def __del__(self) -> None:
        self.at_end()


@pytest.fixture(autouse=True)
def collected_by_hand() -> Iterator[None]:
    """The collector runs only where a test says so, and finds no older garbage."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("generation", [0, 2])
@pytest.mark.parametrize("waits_before", [False, True])
def test_a_finalizer_reads_arrays_that_were_pending(waits_before: bool, generation: int) -> None:
    results = []
    first, second = nd.ones((3,)) + 1, nd.ones((3,)) + 2

    def read(first: nd.NDArray = first, second: nd.NDArray = second) -> None:
        if waits_before:
            nd.waitall()
        results.append([first.asnumpy().tolist(), (second * 2).asnumpy().tolist()])

    ends = _Ends(read)
    del first, second, read, ends
    gc.collect(generation)
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


def test_a_finalizer_reads_an_array_that_is_being_copied_to_another_device() -> None:
    results, may_copy = [], threading.Event()
    var, spec = mx.engine.Var("copies"), nd.ones((3,))._spec
    mx.engine.push(lambda: may_copy.wait(60), (), (var,))
    values = later("copy", [], [spec], lambda _: [np.ones(3)], "copy", also=[var])
    array = nd.NDArray._wrap(values.pop())

    def read(array: nd.NDArray = array) -> None:
        may_copy.set()
        results.append(array.asnumpy())

    ends = _Ends(read)
    del array, read, ends
    gc.collect(0)
    assert [each.tolist() for each in results] == [[1.0] * 3]


def test_values_that_collections_have_seen_are_not_held_again_by_one_of_new_objects() -> None:
    first = (nd.ones((3,)) + 1)._value
    segment = first.segment
    gc.collect(0)
    second = (nd.ones((3,)) + 2)._value
    assert [*segment.pending_values(only_new=True)] == [second]
    assert [*segment.pending_values(only_new=True)] == []
    assert [*segment.pending_values(only_new=False)] == [first, second]


def test_a_program_that_is_pushed_while_garbage_is_collected_is_the_usual_one() -> None:
    """Another thread may push one in between; what it has dropped is an output no more."""
    live: list[tuple[int, ...]] = []
    arrays = [nd.ones((3,)) + 1]
    arrays.append(arrays[0] * 2)
    segment = arrays[1]._value.segment

    def push(phase: str, _: object) -> None:
        if phase == "start":
            arrays.pop(0)  # after it is held
            segment.read_entries()
            live.append(segment.alive())

    gc.callbacks.append(push)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(push)
    assert live == [(arrays[0]._value.slot,)]
    assert arrays[0].asnumpy().tolist() == [4.0] * 3


def test_what_is_held_for_finalizers_is_given_back() -> None:
    value = (nd.ones((3,)) + 1)._value
    before = sys.getrefcount(value)
    gc.collect()
    assert sys.getrefcount(value) == before
