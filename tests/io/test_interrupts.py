"""After Ctrl-C in ``next``, an iterator goes on with whole batches, and its next epoch is complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from tests.line_interrupts import interrupted

COUNT, SIZE = 20, 4
DATA = np.arange(COUNT * 3, dtype=np.float32).reshape(COUNT, 3)
LABELS = np.arange(COUNT, dtype=np.float32)


def arrays(name: str = "data") -> mx.io.NDArrayIter:
    return mx.io.NDArrayIter({name: DATA}, {f"label of {name}": LABELS}, SIZE)


def from_csv(folder: Path, **options: Any) -> mx.io.DataIter:
    for name, content in (("data", DATA), ("label", LABELS)):
        np.savetxt(folder / name, content, delimiter=",")
    files = {"data_csv": str(folder / "data"), "label_csv": str(folder / "label")}
    return mx.io.CSVIter(**files, data_shape=(3,), batch_size=SIZE, **options)


def prefetched(folder: Path) -> mx.io.DataIter:
    return mx.io.PrefetchingIter(arrays())


def both(folder: Path) -> mx.io.DataIter:
    return mx.io.PrefetchingIter([arrays(), arrays("again")])


def samples_of(batch: mx.io.DataBatch) -> list[int]:
    """The labels of a batch, whose data must be those of these samples."""
    labels = batch.label[0].asnumpy().reshape(-1)
    for data in batch.data:
        assert np.array_equal(data.asnumpy(), DATA[labels.astype(int)])
    return [int(label) for label in labels]


def rest_of(iterator: mx.io.DataIter) -> list[int]:
    samples = []
    try:
        for batch in iterator:
            samples += samples_of(batch)
    except MXNetError as error:  # of a batch that was being made
        assert "was interrupted" in str(error)
    return samples


@pytest.mark.parametrize("make", [from_csv, prefetched, both], ids=lambda make: make.__name__)
def test_batches_are_whole_after_ctrl_c(
    make: Callable[[Path], mx.io.DataIter], tmp_path: Path
) -> None:
    iterators = []  # kept, as an interrupt in a finalizer is only reported
    for at in range(1, 1000):
        iterator = make(tmp_path)
        iterators.append(iterator)
        samples = samples_of(iterator.next())
        place = interrupted(at, ("/mixnet/io/",), iterator.next)
        samples += rest_of(iterator)
        assert samples == sorted(set(samples)), place
        iterator.reset()
        assert rest_of(iterator) == list(range(COUNT)), place
        if place is None:
            return
    raise AssertionError("the last line was not reached")


def test_an_epoch_whose_first_batch_is_interrupted_begins_again(tmp_path: Path) -> None:
    iterator = from_csv(tmp_path)
    for at in range(1, 1000):
        rest_of(iterator)
        iterator.reset()
        place = interrupted(at, ("/mixnet/io/loader",), iterator.next)
        assert len(rest_of(iterator)) >= COUNT - SIZE, place
        if place is None:
            return
    raise AssertionError("the last line was not reached")


def test_several_iterators_of_which_one_failed_have_to_be_reset() -> None:
    class Fails(mx.io.NDArrayIter):
        left = 2

        def next(self) -> mx.io.DataBatch:
            self.left -= 1
            if not self.left:
                raise ValueError("damaged")
            return super().next()

    iterator = mx.io.PrefetchingIter([arrays(), Fails({"other": DATA}, None, SIZE)])
    iterator.next()
    for _ in range(2):  # the first one has gone on
        with pytest.raises(ValueError, match="damaged"):
            iterator.next()
    iterator.reset()
    assert rest_of(iterator) == list(range(COUNT))
