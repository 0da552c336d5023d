"""NDArrayIter and its batches, against numbers of MXNet 1.9.1."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import mixnet as mx
from mixnet.io import DataBatch, DataDesc, DataIter, NDArrayIter

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
X = np.arange(20).reshape(10, 2)
Y = np.arange(10)


def labels(iterator: DataIter) -> list[list[float]]:
    return [batch.label[0].asnumpy().tolist() for batch in iterator]


@pytest.mark.parametrize("mode", ["pad", "discard", "roll_over"])
def test_last_batches_as_recorded(mode: str) -> None:
    recorded = np.load(FIXTURES / "iterators.npz")
    data = np.arange(14, dtype=np.float32).reshape(7, 2)
    iterator = NDArrayIter(data, np.arange(7), 3, last_batch_handle=mode)
    for epoch in range(2):
        iterator.reset()
        batches = list(iterator)
        prefix = f"nditer_{mode}:e{epoch}:"
        assert len(batches) == sum(key.startswith(prefix + "pad") for key in recorded)
        for i, batch in enumerate(batches):
            np.testing.assert_array_equal(batch.data[0].asnumpy(), recorded[f"{prefix}data{i}"])
            np.testing.assert_array_equal(batch.label[0].asnumpy(), recorded[f"{prefix}label{i}"])
            assert batch.pad == recorded[f"{prefix}pad{i}"]
            assert batch.index is None


def test_shuffling_draws_from_numpys_generator() -> None:
    np.random.seed(0)
    iterator = NDArrayIter({"x": X, "y": X}, Y, 4, shuffle=True)
    assert labels(iterator) == [[2, 8, 4, 9], [1, 6, 7, 3], [0, 5, 2, 8]]
    assert iterator.idx.tolist() == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]
    iterator.reset()
    assert labels(iterator) == [[5, 7, 0, 1], [6, 2, 4, 3], [9, 8, 5, 7]]
    assert iterator.idx.tolist() == [9, 6, 8, 4, 5, 0, 2, 7, 3, 1]
    assert iterator.label[0][1].asnumpy().tolist() == [5, 7, 0, 1, 6, 2, 4, 3, 9, 8]
    np.testing.assert_array_equal(
        iterator.data[0][1].asnumpy()[:, 0] / 2, [5, 7, 0, 1, 6, 2, 4, 3, 9, 8]
    )
    assert [each.shape for each in iterator.data_list] == [(10, 2), (10, 2), (10,)]


def test_shuffled_samples_roll_over() -> None:
    np.random.seed(0)
    iterator = NDArrayIter(X, Y, 4, shuffle=True, last_batch_handle="roll_over")
    epochs = []
    for _ in range(3):
        epochs.append(labels(iterator))
        iterator.reset()
    assert epochs == [
        [[2, 8, 4, 9], [1, 6, 7, 3]],
        [[0, 5, 5, 7], [0, 1, 6, 2], [4, 3, 9, 8]],
        [[9, 6, 1, 2], [5, 4, 8, 0]],
    ]


def test_rolling_over_step_by_step() -> None:
    iterator = NDArrayIter(X, Y, 3, last_batch_handle="roll_over")
    assert len(list(iterator)) == 3
    iterator.reset()
    assert (iterator.cursor, iterator.getpad()) == (-4, 0)
    first = iterator.next()
    assert (first.pad, iterator.cursor) == (1, -1)
    assert first.label[0].asnumpy().tolist() == [9, 0, 1]
    iterator.reset()
    assert labels(iterator)[0] == [0, 1, 2]
    iterator.reset()
    iterator.hard_reset()
    assert iterator.cursor == -3
    assert labels(iterator)[0] == [0, 1, 2]


def test_a_batch_larger_than_the_data_repeats_it() -> None:
    [batch] = NDArrayIter(X, Y, 25)
    assert batch.label[0].asnumpy().tolist() == [*range(10), *range(10), *range(5)]
    assert batch.pad == 15
    assert list(NDArrayIter(X, Y, 20, last_batch_handle="discard")) == []
    assert list(NDArrayIter(X, Y, 20, last_batch_handle="roll_over")) == []


def test_batches_can_be_read_by_iter_next() -> None:
    iterator = NDArrayIter(X, Y, 3)
    with pytest.raises(AssertionError, match="first"):
        iterator.getdata()
    while iterator.iter_next():
        last = iterator.getlabel()[0].asnumpy().tolist(), iterator.getpad(), iterator.getindex()
    assert last == ([9, 0, 1], 2, None)
    with pytest.raises(AssertionError, match="needs reset"):
        iterator.getdata()
    with pytest.raises(StopIteration):
        iterator.next()


@pytest.mark.parametrize(
    ("data", "label", "names"),
    [
        (X, None, (["data"], [])),
        ([X, X], Y, (["_0_data", "_1_data"], ["softmax_label"])),
        ({"b": X, "a": X}, {"l": Y}, (["a", "b"], ["l"])),
        ([X], [Y, Y], (["data"], ["_0_softmax_label", "_1_softmax_label"])),
        (X, {}, (["data"], [])),
    ],
)
def test_data_and_labels_have_mxnets_names(
    data: object, label: object, names: tuple[list[str], list[str]]
) -> None:
    iterator = NDArrayIter(data, label, 3)
    assert [each.name for each in iterator.provide_data] == names[0]
    assert [each.name for each in iterator.provide_label] == names[1]
    assert all(each.shape == (3, 2) for each in iterator.provide_data)
    assert iterator.num_source == len(names[0]) + len(names[1])


def test_dtypes_are_those_of_mxnet() -> None:
    whole = mx.nd.array(X, dtype="int32"), mx.nd.array(Y, dtype="int64")
    iterator = NDArrayIter(*whole, 3)
    assert iterator.provide_data[0].dtype is np.int32
    assert [each.dtype for each in next(iterator).label] == [np.int64]
    assert next(NDArrayIter(*whole, 3, shuffle=True)).data[0].dtype is np.float32
    assert next(NDArrayIter(X.astype("float64"), Y, 3)).data[0].dtype is np.float32
    assert isinstance(next(NDArrayIter(mx.np.array(X), None, 3)).data[0], mx.np.ndarray)


def test_writes_to_the_source_and_to_batches_are_independent() -> None:
    source = mx.nd.array(X)
    iterator = NDArrayIter(source, Y, 3)
    first = next(iterator)
    first.data[0][:] = 7
    assert source.asnumpy()[0].tolist() == [0, 1]
    source[:] = -1
    assert next(iterator).data[0].asnumpy().tolist() == [[-1, -1]] * 3
    assert first.data[0].asnumpy().tolist() == [[7, 7]] * 3
    host = X.astype("float32")
    iterator = NDArrayIter(host, Y, 3)
    host[:] = -1
    assert next(iterator).data[0].asnumpy().tolist() == [[0, 1], [2, 3], [4, 5]]


def test_sparse_data_are_sliced() -> None:
    dense = np.eye(10, 4, dtype=np.float32)
    for source in (mx.nd.array(dense).tostype("csr"), scipy.sparse.csr_matrix(dense)):
        with pytest.raises(NotImplementedError, match="discard"):
            NDArrayIter(source, Y, 4)
        for shuffle in (False, True):
            iterator = NDArrayIter(source, Y, 4, shuffle, "discard")
            batches = list(iterator)
            assert len(batches) == 2
            for batch in batches:
                rows = batch.label[0].asnumpy().astype(int)
                np.testing.assert_array_equal(batch.data[0].asnumpy(), dense[rows])


class Stored:
    """Reads like an ``h5py.Dataset``: rows in ascending order, each once."""

    shape, dtype = X.shape, np.dtype("int32")

    def __getitem__(self, rows: object) -> np.ndarray:
        assert isinstance(rows, slice) or (np.diff(rows) > 0).all()
        return X[rows].astype("int32")


def test_data_in_files_are_read_by_the_batch() -> None:
    for shuffle in (False, True):
        iterator = NDArrayIter(Stored(), Y, 4, shuffle)
        for batch in iterator:
            assert batch.data[0].dtype is np.int32
            np.testing.assert_array_equal(
                batch.data[0].asnumpy()[:, 0] / 2, batch.label[0].asnumpy()
            )


def test_wrong_arguments_are_refused() -> None:
    for bad in ("abc", 5, {"a": "b"}, np.array(["a", "b"])):
        with pytest.raises(TypeError, match=r"NDArray, numpy.ndarray, h5py.Dataset"):
            NDArrayIter(bad)
    for none in (None, []):
        with pytest.raises(AssertionError):
            NDArrayIter(none)
    for single in (np.array(3.0), [1.0, 2.0]):
        with pytest.raises(IndexError, match="single number"):
            NDArrayIter(single)


def test_fewer_labels_than_data() -> None:
    """As in MXNet, an error at the batch that needs them, or at once to shuffle."""
    iterator = NDArrayIter(X, Y[:5], 3)
    assert iterator.provide_label == [("softmax_label", (3,))]
    assert next(iterator).label[0].asnumpy().tolist() == [0, 1, 2]
    with pytest.raises(mx.base.ShapeError, match=r"'data' has 10 samples, 'softmax_label' has 5"):
        next(iterator)
    with pytest.raises(IndexError, match=r"'softmax_label' has 9"):
        NDArrayIter(X, Y[:9], shuffle=True)


def test_unknown_handling_of_the_last_batch_drops_it() -> None:
    for handle in ("PAD", None):
        with pytest.warns(UserWarning, match="'pad', 'discard', 'roll_over'; samples"):
            iterator = NDArrayIter(X, Y, 4, last_batch_handle=handle)  # type: ignore[arg-type]
        for _ in range(2):
            assert labels(iterator) == [[0, 1, 2, 3], [4, 5, 6, 7]]
            iterator.reset()


def test_descriptions_have_mxnets_text() -> None:
    desc = DataDesc("data", (2, 3, 4))
    assert repr(desc) == "DataDesc[data,(2, 3, 4),<class 'numpy.float32'>,NCHW]"
    assert desc == ("data", (2, 3, 4)) and desc.layout == "NCHW"
    copy = pickle.loads(pickle.dumps(DataDesc("a", (1,), "int8", "N")))
    assert repr(copy) == "DataDesc[a,(1,),int8,N]"
    assert [DataDesc.get_batch_axis(each) for each in ("NTC", None, "CTN")] == [0, 0, 2]
    assert DataDesc.get_list([("a", (2,))], [("a", np.int32)])[0].dtype is np.int32
    assert DataDesc.get_list([("a", (2,))], None)[0].dtype is np.float32


def test_batches_have_mxnets_text() -> None:
    batch = DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones(2)])
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"
    assert (
        str(DataBatch([mx.nd.ones((2, 3))]))
        == "DataBatch: data shapes: [(2, 3)] label shapes: None"
    )
    with pytest.raises(AssertionError, match="Data must be list of NDArrays"):
        DataBatch(mx.nd.ones(2))
    with pytest.raises(AssertionError, match="Label must be list of NDArrays"):
        DataBatch([], mx.nd.ones(2))


def test_the_base_class_calls_the_methods_of_subclasses() -> None:
    class Once(DataIter):
        def iter_next(self) -> bool:
            self.batch_size -= 1
            return self.batch_size >= 0

        def getdata(self) -> list[mx.nd.NDArray]:
            return [mx.nd.ones(1)]

    [batch] = Once(1)
    assert (batch.data[0].shape, batch.label, batch.pad, batch.index) == ((1,), None, None, None)
    with pytest.raises(StopIteration):
        DataIter(4).next()


def test_shuffled_sparse_data_stay_sparse() -> None:
    np.random.seed(0)
    data = mx.nd.array(np.eye(4)).tostype("csr")
    batches = mx.io.NDArrayIter({"d": data}, np.arange(4), 2, True, last_batch_handle="discard")
    ((_, shuffled),) = batches.data
    assert shuffled.stype == "csr"
    assert shuffled.asnumpy().tolist() == np.eye(4)[[2, 3, 1, 0]].tolist()  # as MXNet 1.9.1
    assert [b.data[0].stype for b in batches] == ["default", "default"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
def test_shuffled_sparse_data_keep_their_dtype(dtype: str) -> None:
    """As in MXNet 1.9.1, where dense arrays become float32."""
    np.random.seed(0)
    dense = np.arange(24).reshape(6, 4) * (np.arange(24).reshape(6, 4) % 3 == 0)
    source = mx.nd.sparse.csr_matrix(dense, dtype=dtype)
    batches = mx.io.NDArrayIter({"d": source}, None, 4, True, last_batch_handle="discard")
    (described,), ((_, shuffled),) = batches.provide_data, batches.data
    (data,) = batches.next().data
    assert described.dtype == shuffled.dtype == data.dtype == np.dtype(dtype)
    order = batches.idx
    np.testing.assert_array_equal(shuffled.asnumpy(), dense[order])
    np.testing.assert_array_equal(data.asnumpy(), dense[order[:4]])
    source[:] = mx.nd.sparse.zeros("csr", source.shape, dtype=dtype)
    np.testing.assert_array_equal(batches.data[0][1].asnumpy(), dense[order])


def test_batches_of_shuffled_sparse_data_need_no_dense_matrix() -> None:
    """Dense, the matrix has 400 GB."""
    np.random.seed(0)
    rows, columns = 100_000, 1_000_000
    numbers = np.arange(rows)
    parts = (np.ones(rows), numbers % 7, np.arange(rows + 1))
    source = mx.nd.sparse.csr_matrix(parts, shape=(rows, columns))
    batches = mx.io.NDArrayIter(source, numbers, 2, True, last_batch_handle="discard")
    batch = batches.next()
    places = batch.data[0].argmax(axis=1).asnumpy()
    np.testing.assert_array_equal(places, batch.label[0].asnumpy() % 7)
    np.testing.assert_array_equal(batch.label[0].asnumpy(), batches.idx[:2])


def test_helpers_of_programs_that_copy_the_iterator() -> None:
    sparse = mx.nd.array([[1, 0], [0, 2], [3, 0]]).tostype("csr")
    named = [("a", mx.nd.array([[1], [2], [3]])), ("b", sparse)]
    assert mx.io._has_instance(named, mx.nd.sparse.CSRNDArray)
    assert not mx.io._has_instance(named[:1], mx.nd.sparse.CSRNDArray)
    (_, dense), (name, rows) = mx.io._getdata_by_idx(named, np.array([2, 0]))
    assert dense.asnumpy().tolist() == [[3], [1]]
    assert (name, rows.stype, rows.asnumpy().tolist()) == ("b", "csr", [[3, 0], [1, 0]])
    assert mx.nd._ndarray_cls(named[0][1]) is named[0][1]
