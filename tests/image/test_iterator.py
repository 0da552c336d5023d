"""ImageIter: sources of images, epochs, overriding, and broken images."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import image
from tests.image.files import write_files, write_records

SHAPE = (3, 24, 20)
EPOCHS = {  # labels and pads of two epochs of 7 images in batches of 3, as MXNet gives them
    "pad": [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]] * 2,
    "discard": [[([0, 1, 2], 0), ([3, 4, 5], 0)]] * 2,
    "roll_over": [[([0, 1, 2], 0), ([3, 4, 5], 0)], [([6, 0, 1], 2), ([2, 3, 4], 0)]],
}


def epochs(iterator: image.ImageIter, count: int) -> list:
    results = []
    for _ in range(count):
        results.append([])
        for batch in iterator:
            data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            assert (data.shape[1:], data.dtype, label.dtype) == (SHAPE, np.float32, np.float32)
            first = label if label.ndim == 1 else label[:, 0]
            np.testing.assert_array_equal(data, 10 * first[:, None, None, None] + 0 * data)
            results[-1].append((first.tolist(), batch.pad))
        iterator.reset()
    return results


def listed(folder: Path) -> dict[str, Any]:
    write_files(folder, 7)
    return {"imglist": [[i, f"{i}.png"] for i in range(7)], "path_root": str(folder)}


def without_index(folder: Path) -> dict[str, Any]:
    return {"path_imgrec": write_records(folder, 7)["path_imgrec"]}


SOURCES = {
    "records": without_index,
    "indexed": lambda folder: write_records(folder, 7),
    "files": lambda folder: write_files(folder, 7),
    "list": listed,
}


@pytest.mark.parametrize("mode", EPOCHS)
@pytest.mark.parametrize("source", SOURCES)
def test_epochs_have_the_batches_of_mxnet(source: str, mode: str, tmp_path: Path) -> None:
    iterator = image.ImageIter(3, SHAPE, last_batch_handle=mode, **SOURCES[source](tmp_path))
    assert epochs(iterator, 2) == EPOCHS[mode]
    assert iterator.provide_data == [("data", (3, *SHAPE))]
    assert iterator.provide_label == [("softmax_label", (3,))]


def test_images_may_have_several_labels(tmp_path: Path) -> None:
    lists = (
        [[[i, i + 0.5], f"{i}.png"] for i in range(7)],
        [[i, i + 0.5, f"{i}.png"] for i in range(7)],
    )
    sources = [write_records(tmp_path, 7, 2), write_files(tmp_path, 7, 2)]
    sources += [{"imglist": each, "path_root": str(tmp_path)} for each in lists]
    for source in sources:
        iterator = image.ImageIter(3, SHAPE, label_width=2, **source)
        assert iterator.provide_label == [("softmax_label", (3, 2))]
        assert next(iterator).label[0].asnumpy().tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]]


def test_shuffling_draws_from_pythons_generator(tmp_path: Path) -> None:
    source = write_records(tmp_path, 7)
    random.seed(3)
    iterator = image.ImageIter(3, SHAPE, shuffle=True, **source)
    assert iterator.seq == [0, 2, 3, 6, 5, 4, 1]
    assert epochs(iterator, 2) == [
        [([0, 2, 3], 0), ([6, 5, 4], 0), ([1, 0, 2], 2)],
        [([6, 3, 2], 0), ([1, 0, 5], 0), ([4, 6, 3], 2)],
    ]
    random.seed(3)
    iterator = image.ImageIter(3, SHAPE, shuffle=True, last_batch_handle="roll_over", **source)
    assert epochs(iterator, 3) == [
        [([0, 2, 3], 0), ([6, 5, 4], 0)],
        [([1, 6, 3], 2), ([2, 1, 0], 0)],
        [([5, 4, 6], 1), ([4, 2, 1], 0), ([5, 3, 0], 0)],
    ]
    iterator.hard_reset()
    assert len(epochs(iterator, 1)[0]) == 2


def test_parts_divide_the_images(tmp_path: Path) -> None:
    source = write_records(tmp_path, 7)
    parts = [image.ImageIter(1, SHAPE, num_parts=3, part_index=i, **source).seq for i in range(3)]
    assert parts == [[0, 1], [2, 3], [4, 5]]


def test_a_list_gives_labels_for_records(tmp_path: Path) -> None:
    records = write_records(tmp_path, 7)
    files = write_files(tmp_path, 7)
    text = (tmp_path / "a.lst").read_text().replace("3.0\t", "30\t")
    (tmp_path / "a.lst").write_text(text)
    iterator = image.ImageIter(7, SHAPE, **records, path_imglist=files["path_imglist"])
    assert next(iterator).label[0].asnumpy().tolist() == [0, 1, 2, 30, 4, 5, 6]


def test_overridden_methods_are_called(tmp_path: Path) -> None:
    decoded = []

    class Halved(image.ImageIter):
        def imdecode(self, s: bytes) -> Any:
            pixels = super().imdecode(s)
            decoded.append((type(s), type(pixels), pixels.shape))
            return pixels

        def augmentation_transform(self, data: Any) -> Any:
            return super().augmentation_transform(data) / 2

    batch = next(Halved(2, SHAPE, **write_records(tmp_path, 2)))
    assert decoded == [(bytes, mx.nd.NDArray, (30, 40, 3)), (bytes, mx.nd.NDArray, (31, 40, 3))]
    assert batch.data[0].asnumpy().max(axis=(1, 2, 3)).tolist() == [0, 5]


def test_images_that_a_check_refuses_are_left_out(tmp_path: Path) -> None:
    class Bright(image.ImageIter):
        def check_valid_image(self, data: Any) -> None:
            if data.max().asscalar() < 15:
                raise RuntimeError("too dark")

    batch = next(Bright(2, SHAPE, **write_records(tmp_path, 4)))
    assert batch.label[0].asnumpy().tolist() == [2, 3]


def test_own_augmenters_get_arrays(tmp_path: Path) -> None:
    class Negative(image.Augmenter):
        def __call__(self, src: Any) -> Any:
            assert isinstance(src, mx.nd.NDArray)
            return 255 - src

    chain = [image.CenterCropAug((20, 24)), Negative()]
    batch = next(image.ImageIter(2, SHAPE, aug_list=chain, **write_records(tmp_path, 2)))
    assert batch.data[0].asnumpy().min(axis=(1, 2, 3)).tolist() == [255, 245]


def test_colours_of_whole_numbers_are_refused(tmp_path: Path) -> None:
    chain = [image.CenterCropAug((20, 24)), image.ContrastJitterAug(0.3)]
    iterator = image.ImageIter(2, SHAPE, aug_list=chain, **write_records(tmp_path, 2))
    with pytest.raises(mx.MXNetError, match=r"takes images of floats, not uint8; put CastAug\(\)"):
        next(iterator)


def test_labels_of_a_file_have_the_dtype(tmp_path: Path) -> None:
    iterator = image.ImageIter(2, SHAPE, dtype="float64", **write_files(tmp_path, 2))
    assert iterator.next_sample()[0].dtype == np.float64


@pytest.mark.parametrize("overridden", [False, True])
def test_broken_images_are_named(overridden: bool, tmp_path: Path) -> None:
    kind = type("Own", (image.ImageIter,), {"imdecode": lambda self, s: image.imdecode(s)})
    iterator = (kind if overridden else image.ImageIter)(
        2, SHAPE, **write_records(tmp_path, 5, junk=2)
    )
    next(iterator)
    with pytest.raises(RuntimeError, match="Broken image index: 2, Decoding failed"):
        next(iterator)
    mx.nd.waitall()


def test_wrong_arguments_are_errors(tmp_path: Path) -> None:
    records = write_records(tmp_path, 3)
    with pytest.raises(AssertionError, match="path_imgrec"):
        image.ImageIter(3, SHAPE)
    with pytest.raises(ValueError, match=r"\(3, height, width\), not \(24, 20\)"):
        image.ImageIter(3, (24, 20), **records)
    with pytest.raises(ValueError, match="3 channels"):
        image.ImageIter(3, (1, 24, 20), **records)
    with pytest.raises(AssertionError, match="path_imgidx"):
        image.ImageIter(3, SHAPE, path_imgrec=records["path_imgrec"], shuffle=True)
    with pytest.raises(AssertionError, match="uint8 label not supported"):
        image.ImageIter(3, SHAPE, dtype="uint8", **records)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        image.ImageIter(3, SHAPE, foo=1, **records)
    with pytest.raises(ValueError, match=r"has 1 label\(s\), but label_width is 3"):
        image.ImageIter(3, SHAPE, label_width=3, **records).next()
    with pytest.raises(ValueError, match=r"index: 0 has 2 label\(s\), but label_width is 1"):
        image.ImageIter(3, SHAPE, **write_records(tmp_path, 3, 2, name="b")).next()
    with pytest.raises(ValueError, match=r"data_shape is \(3, 24, 20\)"):
        image.ImageIter(3, SHAPE, aug_list=[], **records).next()
    with pytest.raises(FileNotFoundError):
        image.ImageIter(1, SHAPE, imglist=[[1, "no.png"]], path_root=str(tmp_path)).next()
    (tmp_path / "bad.lst").write_text("0\tx.png\n")
    with pytest.raises(mx.base.FileFormatError, match="line 1"):
        image.ImageIter(1, SHAPE, path_imglist=str(tmp_path / "bad.lst"), path_root=".")


class _Gray(image.ImageIter):
    """Batches of one channel, made of those of three, and described so."""

    def __init__(self, **sources: Any) -> None:
        super().__init__(3, SHAPE, **sources)
        self.provide_data = [("data", (3, 1, *SHAPE[1:]))]

    def next(self) -> mx.io.DataBatch:
        batch = super().next()
        return mx.io.DataBatch([batch.data[0].mean(axis=1, keepdims=True)], batch.label)


def test_subclasses_describe_what_they_make_of_batches(tmp_path: Path) -> None:
    (data,) = next(_Gray(**listed(tmp_path))).data
    assert data.shape == (3, 1, 24, 20)
    assert data[:, 0, 0, 0].asnumpy().tolist() == [0, 10, 20]


class _Mean(image.Augmenter):
    def __call__(self, src: mx.nd.NDArray) -> mx.nd.NDArray:
        return src.astype("float32").mean(axis=2, keepdims=True)


def test_an_image_of_one_channel_fills_all_channels(tmp_path: Path) -> None:
    augmenters = [*image.CreateAugmenter(SHAPE), _Mean()]
    iterator = image.ImageIter(3, SHAPE, aug_list=augmenters, **listed(tmp_path))
    (data,) = next(iterator).data
    assert data.shape == (3, *SHAPE)
    assert data[:, :, 0, 0].asnumpy().tolist() == [[0, 0, 0], [10, 10, 10], [20, 20, 20]]
