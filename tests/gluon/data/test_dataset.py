"""Datasets and samplers."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import data
from mixnet.gluon.contrib.data import IntervalSampler
from mixnet.gluon.data.dataset import rows_of
from mixnet.runtime.record.host import on_host
from mixnet.runtime.value.value import Spec, Value
from tests.threads import in_threads

FIXTURES = Path(__file__).parents[2] / "parity" / "fixtures"


def _list(dataset: data.Dataset) -> list:
    return [dataset[i] for i in range(len(dataset))]


def test_datasets_are_filtered_sharded_and_shortened() -> None:
    numbers = data.SimpleDataset(list(range(10)))
    assert _list(numbers.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert [_list(numbers.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert [len(numbers.take(n)) for n in (3, None, 30)] == [3, 10, 10]
    assert _list(numbers.sample(data.SequentialSampler(4, 2))) == [2, 3, 4, 5]
    for num_shards, index in ((3, 3), (0, 0), (2, -1)):
        with pytest.raises(AssertionError, match="is not within"):
            numbers.shard(num_shards, index)
    with pytest.raises(TypeError, match="takes a gluon"):
        numbers.sample(5)


def test_transforms_are_lazy_or_eager() -> None:
    read = []

    def double(x: int) -> int:
        read.append(x)
        return 2 * x

    numbers = data.SimpleDataset([1, 2, 3])
    lazy = numbers.transform(double)
    assert not read and lazy[1] == 4 and read == [2]
    now = numbers.transform(double, lazy=False)
    assert read == [2, 1, 2, 3] and _list(now) == [2, 4, 6]
    pairs = data.ArrayDataset([1, 2], ["a", "b"])
    assert _list(pairs.transform(lambda x, y: (y, x))) == [("a", 1), ("b", 2)]
    assert _list(pairs.transform_first(double)) == [(2, "a"), (4, "b")]
    assert _list(numbers.transform_first(double)) == [2, 4, 6]


def test_array_dataset_hands_out_rows() -> None:
    pairs = data.ArrayDataset(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([5, 6]), [7, 8])
    row, label, number = pairs[1]
    assert row.asnumpy().tolist() == [3, 4] and number == 8
    assert isinstance(label, np.float32) and label == 6
    assert data.ArrayDataset([1, 2, 3])[1] == 2
    with pytest.raises(AssertionError, match="at least one"):
        data.ArrayDataset()
    with pytest.raises(AssertionError, match="array 0 has 2 samples, but array 1 has 3"):
        data.ArrayDataset([1, 2], [1, 2, 3])
    with pytest.raises(NotImplementedError, match="__getitem__"):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError, match="__len__"):
        len(data.Dataset())


def test_records_of_a_file_are_read_by_index() -> None:
    records = data.RecordFileDataset(str(FIXTURES / "indexed.rec"))
    assert len(records) == 4 and records[0] == b"hello world"
    again = pickle.loads(pickle.dumps(records))
    assert [again[i] for i in range(4)] == [records[i] for i in range(4)]


def test_threads_of_a_forked_process_read_what_each_has_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = data.RecordFileDataset(str(FIXTURES / "indexed.rec"))
    expected = [records[i] for i in range(4)]
    own, both = os.getpid(), threading.Barrier(2)
    opened = records._opened

    def open_together() -> Any:
        both.wait(60)  # neither has set its file when the other opens one
        return opened()

    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    monkeypatch.setattr(records, "_opened", open_together)
    actual: list[Any] = [None, None]

    def read(place: int) -> None:
        actual[place] = [records[i] for i in range(4)]

    in_threads(2, read)
    assert actual == [expected, expected]
    assert records._record is not None and records._reader.pid == own + 1


def test_random_order_is_numpys() -> None:
    np.random.seed(3)
    assert list(data.RandomSampler(10)) == [5, 4, 1, 2, 9, 6, 7, 0, 3, 8]


@pytest.mark.parametrize(
    ("last", "lengths", "epochs"),
    [
        ("keep", [3, 3, 3], [[4, 4, 2], [4, 4, 2]]),
        ("discard", [2, 2, 2], [[4, 4], [4, 4]]),
        ("rollover", [2, 3, 2], [[4, 4], [4, 4, 4]]),
    ],
)
def test_the_last_batch_is_kept_discarded_or_rolled_over(
    last: str, lengths: list, epochs: list
) -> None:
    batches = data.BatchSampler(data.SequentialSampler(10), 4, last)
    results = [len(batches)]
    for sizes in epochs:
        assert [len(each) for each in batches] == sizes
        results.append(len(batches))
    assert results == lengths


def test_samples_that_roll_over_come_first() -> None:
    batches = data.BatchSampler(data.SequentialSampler(10), 4, "rollover")
    assert list(batches)[-1] == [4, 5, 6, 7]
    assert next(iter(batches)) == [8, 9, 0, 1]


def test_an_unknown_last_batch_is_an_error_when_it_matters() -> None:
    batches = data.BatchSampler(data.SequentialSampler(10), 4, "some")
    with pytest.raises(ValueError, match="not one of 'keep', 'discard' and 'rollover'"):
        list(batches)
    with pytest.raises(ValueError, match="'some'"):
        len(batches)


def test_samplers_filter_and_stride() -> None:
    chosen = data.FilterSampler(lambda x: x > 5, data.SimpleDataset(list(range(8))))
    assert list(chosen) == [6, 7] and len(chosen) == 2
    assert list(IntervalSampler(7, 3)) == [0, 3, 6, 1, 4, 2, 5]
    once = IntervalSampler(7, 3, rollover=False)
    assert list(once) == [0, 3, 6] and len(once) == 7
    with pytest.raises(AssertionError, match="interval=5 is larger than length=3"):
        IntervalSampler(3, 5)


def test_a_worker_says_that_it_cannot_read_arrays_of_a_gpu() -> None:
    array = mx.nd.ones((4, 2))
    spec = array._read().spec
    elsewhere = Value(Spec.of(spec.shape, spec.dtype, mx.gpu(0)), array._read().array)
    dataset = data.ArrayDataset(mx.nd.NDArray._wrap(elsewhere), np.arange(4))
    with on_host(alone=True):
        with pytest.raises(mx.MXNetError, match=r"gpu\(0\).*Keep the data of a dataset on the CPU"):
            rows_of(dataset, [1, 2])
        with pytest.raises(mx.MXNetError, match=r"gpu\(0\).*Keep the data of a dataset on the CPU"):
            dataset[1]
