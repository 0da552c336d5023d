"""Arrays that the garbage collector frees while a tape is freed."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mixnet import autograd, nd
from mixnet.autograd import tape


class Cycle:
    """An object that only the collector frees, with arrays."""

    def __init__(self, arrays: list[nd.NDArray]):
        self.itself, self.arrays = self, arrays


def unrequested(count: int) -> list[nd.NDArray]:
    arrays = [nd.ones((1,)) for _ in range(count)]
    for each in arrays:
        each.attach_grad("null")
    return arrays


@pytest.fixture
def collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.collect()
    gc.disable()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()


def test_a_tape_is_freed_while_marked_arrays_are_collected(collector: None) -> None:
    alive = unrequested(4000)  # more than Python keeps tuples for reuse
    Cycle(unrequested(200))
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    node = y._read().node
    assert node is not None
    number = len(tape._without_request)
    gc.set_threshold(
        gc.get_count()[0] + 300
    )  # after 300 more objects, within the visit of all arrays
    gc.enable()
    tape._drop_marks([node])
    y.backward()
    gc.collect()
    assert x.grad.asnumpy().tolist() == [2, 2]
    assert len(tape._without_request) == number - 200
    assert len(alive) == 4000
