"""CSVIter, LibSVMIter, MNISTIter and the iterators over iterators, against MXNet 1.9.1's batches."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mixnet as mx

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
RECORDED = np.load(FIXTURES / "iterators.npz")


def rows(iterator: mx.io.DataIter) -> list:
    """Label, pad and index of the batches of an epoch."""
    results = []
    for batch in iterator:
        index = None if batch.index is None else batch.index.tolist()
        results.append((batch.label[0].asnumpy().tolist(), batch.pad, index))
    return results


@pytest.fixture
def csv(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "d.csv").write_text("".join(f"{2 * i},{2 * i + 1}\n" for i in range(7)))
    (tmp_path / "l.csv").write_text("\n".join(str(i) for i in range(7)))
    return {
        "data_csv": str(tmp_path / "d.csv"),
        "label_csv": str(tmp_path / "l.csv"),
        "data_shape": (2,),
        "batch_size": 3,
    }


def test_csv_batches_are_those_of_mxnet() -> None:
    path = str(FIXTURES / "data.csv")
    batches = list(mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=3))
    for i, batch in enumerate(batches):
        np.testing.assert_array_equal(batch.data[0].asnumpy(), RECORDED[f"csv:data{i}"])
        assert batch.label[0].asnumpy().tolist() == [0, 0, 0]
        assert batch.pad == RECORDED[f"csv:pad{i}"]
    assert i == 2


def test_an_epoch_begins_after_the_samples_that_padded_the_last_batch(csv: dict[str, Any]) -> None:
    iterator = mx.io.CSVIter(**csv)
    first = [([0, 1, 2], 0, [0, 1, 2]), ([3, 4, 5], 0, [3, 4, 5]), ([6, 0, 1], 2, [6, 0, 1])]
    assert rows(iterator) == first
    iterator.reset()
    assert rows(iterator) == [([2, 3, 4], 0, [2, 3, 4]), ([5, 6, 0], 1, [5, 6, 0])]
    iterator.reset()
    assert rows(iterator)[0][0] == [1, 2, 3]
    iterator.reset()
    next(iterator)
    iterator.reset()  # in the middle: from the start
    assert rows(iterator) == first
    iterator = mx.io.CSVIter(round_batch=False, **csv)
    for _ in range(2):
        assert [(label[:1], pad) for label, pad, _ in rows(iterator)] == [
            ([0], 0),
            ([3], 0),
            ([6], 2),
        ]
        iterator.reset()


def test_csv_arrays_have_the_requested_dtypes_and_shapes(csv: dict[str, Any]) -> None:
    iterator = mx.io.CSVIter(**{**csv, "data_shape": "(1, 2)"}, dtype="int64", data_name="x")
    assert repr(iterator.provide_data) == "[DataDesc[x,(3, 1, 2),<class 'numpy.int64'>,NCHW]]"
    assert next(iterator).data[0].dtype is np.int64
    assert isinstance(iterator, mx.io.MXDataIter)
    assert mx.io.CSVIter(**csv, label_shape=(1,)).provide_label[0].shape == (3,)
    with pytest.raises(mx.MXNetError, match=r"dtype=.float64. is not supported; use"):
        mx.io.CSVIter(**csv, dtype="float64")


def test_batches_can_be_read_by_iter_next(csv: dict[str, Any]) -> None:
    iterator = mx.io.CSVIter(**csv)
    count = 0
    while iterator.iter_next():
        count += 1
        assert iterator.getdata().shape == (3, 2) and iterator.getlabel().shape == (3,)
    assert count == 3
    with pytest.raises(mx.MXNetError, match="call next"):
        iterator.getdata()
    iterator.reset()
    first = next(iterator)
    iterator.debug_skip_load()
    assert next(iterator) is first and next(iterator) is first


def test_the_first_batch_can_be_read_before_next(csv: dict[str, Any]) -> None:
    iterator = mx.io.CSVIter(**csv)
    first = iterator.getdata().asnumpy().tolist()
    batches = [batch.data[0].asnumpy().tolist() for batch in iterator]
    assert len(batches) == 3
    assert batches[0] == first


def test_csv_lines_may_end_in_a_comma(csv: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "commas.csv").write_text("1,2,\n3,4,")
    iterator = mx.io.CSVIter(data_csv=str(tmp_path / "commas.csv"), data_shape=(2,), batch_size=2)
    assert next(iterator).data[0].asnumpy().tolist() == [[1, 2], [3, 4]]


def test_wrong_csv_files_are_errors(csv: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="No such file"):
        mx.io.CSVIter(**{**csv, "data_csv": str(tmp_path / "no.csv")})
    for text, line in (("1,2\n3\n", 2), ("1,2\nx,5\n", 2), ("1,2,3\n", 1)):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(mx.base.FileFormatError, match=f"bad.csv, line {line}: .* 2 number"):
            mx.io.CSVIter(**{**csv, "data_csv": str(tmp_path / "bad.csv")})
    (tmp_path / "short.csv").write_text("1\n2\n")
    with pytest.raises(mx.base.ShapeError, match=r"7 samples, .*short.csv has 2 labels"):
        mx.io.CSVIter(**{**csv, "label_csv": str(tmp_path / "short.csv")})


def test_wrong_parameters_are_refused_as_in_mxnet(csv: dict[str, Any]) -> None:
    with pytest.raises(mx.MXNetError, match=r"Required parameter data_shape of Shape\(tuple\)"):
        mx.io.CSVIter(data_csv=csv["data_csv"], batch_size=3)
    with pytest.raises(mx.MXNetError, match="batch_size='x' is not a whole number"):
        mx.io.CSVIter(**{**csv, "batch_size": "x"})
    with pytest.raises(TypeError, match="keyword arguments") as incomplete:
        mx.io.CSVIter(csv["data_csv"])
    with pytest.raises(TypeError, match="keyword arguments") as complete:
        mx.io.CSVIter("a.csv", **csv)
    with pytest.raises(TypeError, match="Required parameter batch_size") as missing:
        mx.io.CSVIter(data_csv=csv["data_csv"], data_shape=(2,))
    names = [type(each.value).__name__ for each in (incomplete, complete, missing)]
    assert names == ["MXNetError", "TypeError", "MXNetError"]  # as MXNet 1.9.1 names them
    with pytest.warns(UserWarning, match="CSVIter has no parameter shufle"):
        mx.io.CSVIter(**csv, shufle=True)
    with pytest.raises(mx.MXNetError, match="batch_size must be at least 1"):
        mx.io.CSVIter(**{**csv, "batch_size": 0})
    with pytest.raises(mx.MXNetError, match="no C handles"):
        mx.io.MXDataIter(object())


def test_libsvm_batches_are_those_of_mxnet() -> None:
    path = str(FIXTURES / "data.libsvm")
    iterator = mx.io.LibSVMIter(data_libsvm=path, data_shape=(4,), batch_size=2)
    for i, batch in enumerate(iterator):
        assert isinstance(batch.data[0], mx.nd.sparse.CSRNDArray)
        np.testing.assert_array_equal(batch.data[0].asnumpy(), RECORDED[f"libsvm:data{i}"])
        np.testing.assert_array_equal(batch.label[0].asnumpy(), RECORDED[f"libsvm:label{i}"])
    assert i == 1


def test_libsvm_files_are_read(tmp_path: Path) -> None:
    data, label = tmp_path / "d.svm", tmp_path / "l.svm"
    data.write_text("1 0:1.5 3:2\n0 1:0.5\n1 2:3 3:4\n0 0:1\n1 1:1\n")
    label.write_text("0 0:1\n0 1:2\n0 0:3 1:4\n0 0:0\n0 0:5\n")
    options: dict[str, Any] = {"data_libsvm": str(data), "data_shape": (4,), "batch_size": 2}
    iterator = mx.io.LibSVMIter(**options, label_libsvm=str(label), label_shape=(2,))
    assert rows(iterator) == [
        ([[1, 0], [0, 2]], 0, [0, 1]), ([[3, 4], [0, 0]], 0, [2, 3]), ([[5, 0], [1, 0]], 1, [4, 0]),
    ]  # fmt: skip
    iterator.reset()
    assert iterator.next().label[0].stype == "csr"
    assert len(rows(iterator)) == 1
    first = next(mx.io.LibSVMIter(**options)).data[0]
    assert first.indices.asnumpy().tolist() == [0, 3, 1]
    assert first.indptr.asnumpy().tolist() == [0, 2, 3]
    part = mx.io.LibSVMIter(**options, num_parts=2, part_index=1)
    assert next(part).label[0].asnumpy().tolist() == [0, 1]
    for bad in ("1 0:x\n", "1 4:1\n", "1 0 1\n"):
        data.write_text(bad)
        with pytest.raises(mx.base.FileFormatError, match="line 1"):
            mx.io.LibSVMIter(**options)
    with pytest.raises(mx.MXNetError, match="round_batch"):
        mx.io.LibSVMIter(**options, round_batch=False)


@pytest.mark.parametrize(
    ("line", "label", "row"),
    [
        ("2:3 0:1 3:4", 2, [1, 0, 0, 4]),  # MXNet takes what follows the label for a weight
        ("0:1 2:5", 0, [0, 0, 5, 0]),
        ("1 qid:3 1:2", 1, [0, 2, 0, 0]),
        ("-1.5e1\t1:.5 2:1e-1 # 3:9", -15, [0, 0.5, 0.1, 0]),
    ],
)
def test_weights_and_query_numbers_of_libsvm_files(
    tmp_path: Path, line: str, label: float, row: list[float]
) -> None:
    (tmp_path / "d.svm").write_text(f"{line}\n")
    batch = next(
        mx.io.LibSVMIter(data_libsvm=str(tmp_path / "d.svm"), data_shape=(4,), batch_size=1)
    )
    assert batch.label[0].asnumpy().tolist() == [label]
    np.testing.assert_allclose(batch.data[0].asnumpy(), [row], rtol=1e-6)


@pytest.fixture
def mnist(tmp_path: Path) -> dict[str, Any]:
    images = np.arange(10 * 28 * 28).reshape(10, 28, 28).astype("u1")
    (tmp_path / "img").write_bytes(struct.pack(">IIII", 2051, 10, 28, 28) + images.tobytes())
    (tmp_path / "lab").write_bytes(struct.pack(">II", 2049, 10) + bytes(range(10)))
    return {"image": str(tmp_path / "img"), "label": str(tmp_path / "lab"), "batch_size": 3}


def test_mnist_files_are_read(mnist: dict[str, Any], tmp_path: Path) -> None:
    iterator = mx.io.MNISTIter(**mnist, shuffle=False)
    batches = list(iterator)
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]
    pixels = batches[1].data[0].asnumpy()
    assert (pixels.shape, pixels.dtype) == ((3, 1, 28, 28), np.float32)
    assert pixels.ravel()[:4].tolist() == [0.1875, 0.19140625, 0.1953125, 0.19921875]
    assert next(mx.io.MNISTIter(**mnist, flat=True)).data[0].shape == (3, 784)
    part = mx.io.MNISTIter(**mnist, shuffle=0, num_parts=2, part_index=1)
    assert rows(part) == [([5, 6, 7], 0, [0, 0, 0])]
    packed = tmp_path / "img.gz"
    packed.write_bytes(gzip.compress(Path(mnist["image"]).read_bytes()))
    zipped = mx.io.MNISTIter(**{**mnist, "image": str(packed)}, shuffle=False)
    np.testing.assert_array_equal(next(zipped).data[0].asnumpy(), batches[0].data[0].asnumpy())


@pytest.mark.parametrize(
    ("seed", "order"), [(0, [0, 2, 3, 5, 9, 1, 6, 8, 4]), (1, [6, 9, 7, 2, 4, 1, 5, 3, 8])]
)
def test_mnist_is_shuffled_as_mxnet_does(mnist: dict[str, Any], seed: int, order: list) -> None:
    iterator = mx.io.MNISTIter(**mnist, seed=seed)
    for _ in range(2):
        assert [each for label, _, _ in rows(iterator) for each in label] == order
        iterator.reset()


@pytest.mark.parametrize(("part", "order"), [(0, [1, 0, 3, 2, 4]), (1, [6, 5, 8, 7, 9])])
def test_a_part_of_mnist_is_shuffled_by_itself(
    mnist: dict[str, Any], part: int, order: list
) -> None:
    iterator = mx.io.MNISTIter(**{**mnist, "batch_size": 1}, seed=1, num_parts=2, part_index=part)
    assert [label for (label,), _, _ in rows(iterator)] == order


def test_wrong_mnist_files_are_errors(mnist: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="No such file"):
        mx.io.MNISTIter(**{**mnist, "image": "no"})
    with pytest.raises(mx.base.FileFormatError, match="not an idx file of 3 axes"):
        mx.io.MNISTIter(**{**mnist, "image": mnist["label"]})
    path = Path(mnist["image"])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(mx.base.FileFormatError, match="10 x 28 x 28, there are 7835"):
        mx.io.MNISTIter(**mnist)


def arrays(count: int = 10, factor: int = 1, batch: int = 4) -> mx.io.NDArrayIter:
    data = factor * np.arange(2 * count).reshape(count, 2)
    return mx.io.NDArrayIter(data, np.arange(count), batch)


def firsts(iterator: mx.io.DataIter) -> list[float]:
    return [batch.label[0].asnumpy()[0] for batch in iterator]


def test_resize_iter_changes_the_length_of_an_epoch() -> None:
    iterator = mx.io.ResizeIter(arrays(), 5)
    assert iterator.provide_data == arrays().provide_data and iterator.batch_size == 4
    for _ in range(2):
        assert firsts(iterator) == [0, 4, 8, 0, 4]
        iterator.reset()
    iterator = mx.io.ResizeIter(arrays(), 2, reset_internal=False)
    results = []
    for _ in range(3):
        results.append(firsts(iterator))
        iterator.reset()
    assert results == [[0, 4], [8, 0], [4, 8]]
    assert iterator.getpad() == 2 and iterator.getdata()[0].shape == (4, 2)


def test_prefetching_iter_joins_iterators() -> None:
    iterator = mx.io.PrefetchingIter(arrays())
    for _ in range(2):
        assert firsts(iterator) == [0, 4, 8]
        iterator.reset()
    both = mx.io.PrefetchingIter(
        [arrays(), arrays(factor=2)],
        rename_data=[{"data": "a"}, {"data": "b"}],
        rename_label=[{"softmax_label": "c"}, {"softmax_label": "d"}],
    )
    assert [each.name for each in both.provide_data + both.provide_label] == ["a", "b", "c", "d"]
    batch = next(both)
    np.testing.assert_array_equal(batch.data[1].asnumpy(), 2 * batch.data[0].asnumpy())
    assert len(batch.label) == 2 and batch.pad == 0
    assert both.iter_next() and both.getpad() == 0


def test_prefetching_goes_on_after_an_error_or_an_interrupt() -> None:
    iterator = arrays()
    read, errors = iterator.next, [OSError("no connection"), KeyboardInterrupt()]

    def read_or_fail() -> mx.io.DataBatch:
        if errors:
            raise errors.pop(0)
        return read()

    iterator.next = read_or_fail
    prefetching = mx.io.PrefetchingIter(iterator)
    with pytest.raises(OSError, match="no connection"):
        next(prefetching)
    with pytest.raises((mx.MXNetError, KeyboardInterrupt)):
        next(prefetching)
    assert firsts(prefetching) == [0, 4, 8]
    errors.append(OSError("no connection"))
    prefetching.reset()
    prefetching.reset()  # whatever the work before has met
    assert firsts(prefetching) == [0, 4, 8]


def test_mismatched_iterators_are_refused() -> None:
    with pytest.raises(AssertionError):
        mx.io.PrefetchingIter([])
    uneven = mx.io.PrefetchingIter([arrays(), arrays(4)])
    next(uneven)
    with pytest.raises(AssertionError, match="different numbers of samples"):
        next(uneven)

    class Broken(mx.io.DataIter):
        provide_data: ClassVar = [("data", (4, 2))]
        provide_label: ClassVar[list] = []

        def next(self) -> mx.io.DataBatch:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        next(mx.io.PrefetchingIter(Broken()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n\xff,3\n", "line 2: this is not text in utf-8"),
        (b"1,2\n3,\x00\n", "line 2: a sample has 2"),
        (gzip.compress(b"1,2\n" * 5, mtime=0)[:-9], "the compressed content is damaged"),
        (b"1,1e\n", "line 1"),
    ],
)
def test_damaged_csv_files_are_errors(
    csv: dict[str, Any], tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(mx.base.FileFormatError, match=f"bad.csv.*{message}"):
        mx.io.CSVIter(**{**csv, "data_csv": str(tmp_path / "bad.csv")})


@pytest.mark.parametrize(
    "line", [b"1 \xff:1", b"1 0:\xff", b"1 9:1", b"1 -1:1", b"x", b"1 0:", b"1 0", b"1 0:1:1",
             b"1 99999999999999999999:1", b"1 " + b"9" * 5000 + b":1"]
)  # fmt: skip
def test_damaged_libsvm_files_are_errors(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "bad").write_bytes(b"1 0:1\n" + line + b"\n")
    with pytest.raises(mx.base.FileFormatError, match="bad, line 2"):
        mx.io.LibSVMIter(data_libsvm=str(tmp_path / "bad"), data_shape=(3,), batch_size=1)


def test_mnist_headers_that_say_too_much(mnist: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "huge.gz"
    for shape in ((1 << 30, 28, 28), ((1 << 32) - 1,) * 3, (1 << 31, 1 << 31, 4)):
        head = struct.pack(">IIII", 0x803, *shape)
        path.write_bytes(gzip.compress(head + bytes(100)))
        with pytest.raises(
            mx.base.FileFormatError, match=r"huge.gz is truncated: .* there are 100"
        ):
            mx.io.MNISTIter(**{**mnist, "image": str(path)})
    path.write_bytes(gzip.compress(struct.pack(">IIII", 0x803, 0, 28, 28)))
    labels = tmp_path / "none"
    labels.write_bytes(struct.pack(">II", 0x801, 0))
    with pytest.raises(mx.base.FileFormatError, match="no images"):
        mx.io.MNISTIter(**{**mnist, "image": str(path), "label": str(labels)})


def test_parts_of_a_csv_file_are_mxnets(tmp_path: Path) -> None:
    data, labels = tmp_path / "data.csv", tmp_path / "labels.csv"
    data.write_text("".join(f"{i},{i + 10}\n" for i in range(5)))
    labels.write_text("".join(f"{i * i}\n" for i in range(5)))
    options = {"data_csv": str(data), "data_shape": (2,), "label_csv": str(labels), "batch_size": 1}
    results = [
        [(batch.data[0].asnumpy()[0].tolist(), batch.label[0].asnumpy().item()) for batch in part]
        for part in (mx.io.CSVIter(**options, num_parts=2, part_index=i) for i in range(2))
    ]
    assert results == [
        [([0, 10], 0), ([1, 11], 1), ([2, 12], 4)],
        [([3, 13], 9), ([4, 14], 16)],
    ]
    with pytest.raises(mx.MXNetError, match="part_index 2 is not below num_parts 2"):
        mx.io.CSVIter(**options, num_parts=2, part_index=2)
