"""Detection: augmenters, ImageDetIter and ImageDetRecordIter, against MXNet 1.9.1."""

from __future__ import annotations

import inspect
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import mixnet as mx
from mixnet import image
from mixnet.recordio import IRHeader, MXIndexedRecordIO, pack_img
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
SOURCE = np.load(FIXTURES / "image_functions.npz")["source"]
DRAWN = json.loads((FIXTURES / "detection_augmenters.json").read_text())
RECORDED = np.load(FIXTURES / "detection_records.npz")
AUGMENTERS: dict[str, Callable[[], list[Any]]] = {
    "crop": lambda: [image.DetRandomCropAug()],
    "crop2": lambda: [image.DetRandomCropAug(0.5, (0.4, 2.5), (0.1, 1.0), 0.6, 20)],
    "pad": lambda: [image.DetRandomPadAug()],
    "pad2": lambda: [image.DetRandomPadAug((0.3, 3.0), (1.0, 5.0), 10, (1, 2, 3))],
    "flip": lambda: [image.DetHorizontalFlipAug(0.5)],
    "chain": lambda: image.CreateDetAugmenter(
        (3, 32, 40), resize=50, rand_crop=0.7, rand_pad=0.6, rand_mirror=True, rand_gray=0.3,
        mean=True, std=True, brightness=0.1, contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1,
        min_object_covered=[0.1, 0.5], area_range=(0.1, 2.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", AUGMENTERS)
def test_augmenters_draw_and_change_as_mxnet(key: str) -> None:
    cases = [each for each in DRAWN if each["augmenter"] == key]
    assert len(cases) == 8
    augmenters = AUGMENTERS[key]()  # once: a case begins with the order that the last one left
    for case in cases:
        label = np.array(case["given"], np.float32)
        pixels: Any = mx.nd.array(SOURCE, dtype="uint8")
        random.seed(case["seed"])
        np.random.seed(case["seed"])
        for each in augmenters:
            pixels, label = each(pixels, label)
        assert list(pixels.shape) == case["shape"]
        np.testing.assert_allclose(pixels.asnumpy().astype(float).mean(), case["mean"], rtol=1e-5)
        np.testing.assert_allclose(label, case["label"], rtol=1e-6)
        assert random.random() == case["next"]


def test_augmenters_are_dumped_as_in_mxnet() -> None:
    dumps = [each.dumps() for each in image.CreateDetAugmenter((3, 24, 24), rand_crop=0.5)]
    assert dumps == [
        ["detrandomselectaug", [
            '["detrandomcropaug", {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 1.33], '
            '"area_range": [0.05, 3.0], "min_eject_coverage": 0.3, "max_attempts": 50}]']],
        ["detborrowaug", '["forceresizeaug", {"size": [24, 24], "interp": 2}]'],
        ["detborrowaug", '["castaug", {"type": "float32"}]'],
    ]  # fmt: skip
    assert image.DetHorizontalFlipAug(0.6).dumps() == '["dethorizontalflipaug", {"p": 0.6}]'
    several = image.CreateMultiRandCropAugmenter([0.1, 0.5], max_attempts=[3, 4], skip_prob=0.2)
    assert [each.max_attempts for each in several.aug_list] == [3, 4]
    assert several.skip_prob == 0.2


def test_wrong_augmenters_are_errors() -> None:
    with pytest.raises(TypeError, match=r"takes an mx.image.Augmenter, not"):
        image.DetBorrowAug(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes DetAugmenters, not"):
        image.DetRandomSelectAug([image.CastAug()])
    with pytest.raises(AssertionError, match=r"\[3, 1, 2, 1, 1\]"):
        image.CreateMultiRandCropAugmenter([0.1, 0.5, 0.7], area_range=[(0.1, 0.5), (0.2, 0.3)])
    with pytest.raises(NotImplementedError):
        image.DetAugmenter()(None, None)  # type: ignore[arg-type]
    label = np.array([[0, 0.1, 0.1, 0.9, 0.9]], np.float32)
    for make in (
        lambda: image.DetRandomCropAug(0.5, (2, 1)),
        lambda: image.DetRandomCropAug(0.5, (1, 1), (0.9, 0.5)),
        lambda: image.DetRandomPadAug((1, 1), (0, 0.5)),
    ):
        with pytest.warns(UserWarning, match="invalid parameters"):
            broken = make()
        assert not broken.enabled
        assert broken(SOURCE, label) == (SOURCE, label) or broken(SOURCE, label)[0] is SOURCE


def objects(i: int) -> list[float]:
    second = [1, 0.3, 0.3, 0.8, 0.9] if i % 2 else []
    return [2, 5, i % 3, 0.1, 0.2, 0.5, 0.6, *second]


@pytest.fixture
def five(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Five images as records and as files; image i is all 10 i."""
    records, index = str(tmp_path / "a.rec"), str(tmp_path / "a.idx")
    writer = MXIndexedRecordIO(index, records, "w")
    lines = []
    for i in range(5):
        pixels = np.full((30 + i, 40, 3), 10 * i, np.uint8)
        cv2.imwrite(str(tmp_path / f"{i}.png"), pixels)
        writer.write_idx(i, pack_img(IRHeader(0, objects(i), i, 0), pixels, 3, ".png"))
        lines.append("\t".join(map(str, [i, *objects(i), f"{i}.png"])) + "\n")
    writer.close()
    (tmp_path / "a.lst").write_text("".join(lines))
    root = str(tmp_path)
    return {
        "records": {"path_imgrec": records},
        "indexed": {"path_imgrec": records, "path_imgidx": index},
        "files": {"path_imglist": str(tmp_path / "a.lst"), "path_root": root},
        "list": {"imglist": [[objects(i), f"{i}.png"] for i in range(5)], "path_root": root},
    }


def first_values(iterator: image.ImageDetIter) -> list:
    return [(batch.data[0].asnumpy()[:, 0, 0, 0].tolist(), batch.pad) for batch in iterator]


@pytest.mark.parametrize("source", ["records", "indexed", "files", "list"])
def test_image_det_iter_reads_images_and_boxes(five: dict[str, Any], source: str) -> None:
    iterator = image.ImageDetIter(2, (3, 24, 20), **five[source])
    assert iterator.provide_data == [("data", (2, 3, 24, 20))]
    assert iterator.provide_label == [("label", (2, 2, 5))]
    label = next(iterator).label[0].asnumpy()
    np.testing.assert_allclose(label[0], [[0, 0.1, 0.2, 0.5, 0.6], [-1] * 5], rtol=1e-6)
    np.testing.assert_allclose(
        label[1], [[1, 0.1, 0.2, 0.5, 0.6], [1, 0.3, 0.3, 0.8, 0.9]], rtol=1e-6
    )
    iterator.reset()
    assert first_values(iterator) == [([0, 10], 0), ([20, 30], 0), ([40, 0], 1)]
    assert not list(iterator.draw_next())  # the pass has ended, though its last batch was filled
    rolling = image.ImageDetIter(2, (3, 24, 20), last_batch_handle="roll_over", **five[source])
    assert first_values(rolling) == [([0, 10], 0), ([20, 30], 0)]
    rolling.reset()
    assert first_values(rolling) == [([40, 0], 1), ([10, 20], 0), ([30, 40], 0)]


@pytest.mark.parametrize("source", ["records", "indexed", "files", "list"])
def test_a_loop_over_full_batches_can_be_repeated(five: dict[str, Any], source: str) -> None:
    """As in MXNet, which begins again where the last sample came with the last place of a batch."""
    iterator = image.ImageDetIter(5, (3, 24, 20), **five[source])
    whole = [([0, 10, 20, 30, 40], 0)]
    assert first_values(iterator) == first_values(iterator) == whole
    assert len(list(iterator.draw_next())) == 5
    dropping = image.ImageDetIter(5, (3, 24, 20), last_batch_handle="discard", **five[source])
    assert first_values(dropping) == whole
    if source != "records":
        assert first_values(dropping) == []


def test_means_of_imagenet_are_dumped_as_they_are_written() -> None:
    last = image.CreateDetAugmenter((3, 8, 8), mean=True, std=True)[-1]
    assert '"mean": [123.68, 116.28, 103.53], "std": [58.395, 57.12, 57.375]' in str(last.dumps())


def test_the_room_for_objects_can_be_changed(five: dict[str, Any]) -> None:
    iterator = image.ImageDetIter(2, (3, 24, 20), **five["records"])
    iterator.reshape((3, 30, 30), (4, 5))
    assert iterator.provide_data == [("data", (2, 3, 30, 30))]
    assert iterator.provide_label == [("label", (2, 4, 5))]
    for shape, message in (
        ((1, 5), "fewer objects than before, 4"),
        ((5,), r"must be \(objects, width\)"),
        ((9, 6), "have width 5, not 6"),
    ):
        with pytest.raises(ValueError, match=message):
            iterator.reshape(label_shape=shape)
    other = image.ImageDetIter(2, (3, 24, 20), **five["records"])
    assert iterator.sync_label_shape(other, verbose=True) is other
    assert other.label_shape == (4, 5)
    assert next(other).label[0].shape == (2, 4, 5)
    with pytest.raises(AssertionError, match="takes an ImageDetIter, not int"):
        iterator.sync_label_shape(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([2, 5, 1, 2, 3], "Label shape is invalid"),
        ([1, 5, 1, 0.1, 0.2, 0.3, 0.4], "is inconsistent with annotation width 5"),
        ([float("nan"), 5, 1, 0.1, 0.2, 0.3, 0.4], "header of width nan"),
        ([2, float("inf"), 1, 0.1, 0.2, 0.3, 0.4], "annotation width inf"),
        ([-3, 5, 1, 0.1, 0.2, 0.3, 0.4], "header of width -3"),
        ([7, 5, 1, 0.1, 0.2, 0.3, 0.4], "header of width 7"),
        ([2, 5, 0, 0.5, 0.5, 0.2, 0.2], "No object of the label has an area"),
    ],
)
def test_invalid_labels_are_refused(five: dict[str, Any], label: list, message: str) -> None:
    root = five["files"]["path_root"]
    with pytest.raises(RuntimeError, match=message):
        image.ImageDetIter(1, (3, 24, 20), imglist=[[label, "0.png"]], path_root=root)


def test_labels_are_cleaned(five: dict[str, Any]) -> None:
    root = five["files"]["path_root"]

    def label_of(label: list) -> list:
        source = [[label, "0.png"]]
        iterator = image.ImageDetIter(1, (3, 24, 20), imglist=source, path_root=root)
        return next(iterator).label[0].asnumpy().round(3).tolist()[0]

    empty = [2, 5, 0, 0.1, 0.1, 0.9, 0.9, 0, 0.5, 0.5, 0.2, 0.2]
    np.testing.assert_allclose(label_of(empty), [[0, 0.1, 0.1, 0.9, 0.9]], rtol=1e-6)
    assert np.shape(label_of([2, 6, 1, 0.1, 0.2, 0.3, 0.4, 0.9])) == (1, 6)
    with pytest.warns(UserWarning, match="no valid object"), pytest.raises(StopIteration):
        label_of([2, 5, -1, 0.1, 0.1, 0.2, 0.2])


def test_boxes_are_drawn(five: dict[str, Any]) -> None:
    iterator = image.ImageDetIter(2, (3, 24, 20), mean=True, std=True, **five["records"])
    drawn = iterator.draw_next(
        color=(255, 0, 0), thickness=1, mean=True, std=True, id2labels={0: "a"}
    )
    assert inspect.isgenerator(drawn)
    pixels = list(drawn)
    assert [(each.shape, each.dtype) for each in pixels] == [((24, 20, 3), np.uint8)] * 5
    assert pixels[1][4, 5].tolist() == [255, 0, 0]
    assert abs(pixels[1][0, 0].astype(int) - 10).max() <= 1


CASES: dict[str, dict[str, Any]] = {
    "force": {},
    "fit": {"resize_mode": "fit"},
    "shrink": {"resize_mode": "shrink"},
    "shrink_large": {"resize_mode": "shrink", "data_shape": (3, 40, 50)},
    "fit_large": {"resize_mode": "fit", "data_shape": (3, 40, 50)},
    "force_large": {"data_shape": (3, 40, 50)},
    "fit_fill": {"resize_mode": "fit", "fill_value": 7},
    "resize": {"resize": 15},
    "mirror": {"rand_mirror_prob": 1.0},
    "inter2": {"inter_method": 2},
    "inter9": {"inter_method": 9},
    "mean": {
        "mean_r": 10,
        "mean_g": 20,
        "mean_b": 30,
        "std_r": 2,
        "std_g": 3,
        "std_b": 4,
        "scale": 0.5,
    },
    "meanonly": {"mean_r": 10, "mean_g": 20, "mean_b": 30},
    "stdonly": {"std_r": 2, "std_g": 3, "std_b": 4},
    "fit_tall": {"resize_mode": "fit", "data_shape": (3, 40, 18)},
}


def detection(**more: Any) -> mx.io.MXDataIter:
    path = str(FIXTURES / "detection_records.rec")
    options = {"path_imgrec": path, "data_shape": (3, 20, 18), "batch_size": 3}
    return mx.io.ImageDetRecordIter(**{**options, **more})


@each_record("case", CASES)
def test_records_are_those_of_mxnet(case: str) -> None:
    batch = detection(**CASES[case]).next()
    np.testing.assert_array_equal(batch.data[0].asnumpy(), RECORDED[case])
    np.testing.assert_array_equal(batch.label[0].asnumpy(), RECORDED[f"{case}:label"])
    assert batch.index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("mode", ["fit", "shrink"])
def test_pixels_around_a_smaller_image_are_black_before_the_mean_is_subtracted(mode: str) -> None:
    """As in MXNet: ``(0 - mean) / std`` there, 0 without a mean."""
    options: dict[str, Any] = {"resize_mode": mode, "data_shape": (3, 40, 18)}
    plain = detection(**options).next().data[0].asnumpy()
    data = detection(**options, mean_r=100, std_r=10, mean_g=50).next().data[0].asnumpy()
    around = (plain[0] == 0).all(axis=(0, 2))
    assert around[-1] and not around[0]
    assert (data[0][:, around] == np.reshape([-10, -50, 0], (3, 1, 1))).all()


@pytest.mark.parametrize("width", [-1, 0])
def test_the_longest_label_gives_the_width_unless_it_is_positive(width: int) -> None:
    label = detection(label_pad_width=width, label_width=-1).next().label[0]
    assert label.shape == detection().next().label[0].shape


def test_labels_are_padded() -> None:
    label = detection(label_pad_width=40, label_pad_value=-5).next().label[0].asnumpy()
    assert label.shape == (3, 44) and (label[0, 11:] == -5).all()
    with pytest.raises(mx.MXNetError, match="smaller than estimated width: 12"):
        detection(label_pad_width=5)
    with pytest.raises(mx.MXNetError, match="label_width is 7"):
        detection(label_width=7)


def test_random_augmentation_keeps_boxes_valid() -> None:
    options: dict[str, Any] = {
        "rand_crop_prob": 1.0, "num_crop_sampler": 2, "min_crop_scales": (0.3, 0.5),
        "max_crop_scales": 0.9, "min_crop_overlaps": (0.1, 0.3), "rand_pad_prob": 0.5,
        "max_pad_scale": 2.0, "rand_mirror_prob": 0.5, "max_random_hue": 10, "random_hue_prob": 1.0,
        "max_random_illumination": 10, "random_illumination_prob": 1.0, "max_random_contrast": 0.2,
        "random_contrast_prob": 1.0, "crop_emit_mode": "overlap",
    }  # fmt: skip
    batches = [detection(**options, seed=seed).next() for seed in (0, 0, 1)]
    pixels = [batch.data[0].asnumpy() for batch in batches]
    np.testing.assert_array_equal(pixels[0], pixels[1])
    assert (pixels[0] != pixels[2]).any()
    for batch in batches:
        for row in batch.label[0].asnumpy():
            boxes = row[6 : 4 + int(row[3])].reshape(-1, 5)
            assert len(boxes) and (boxes[:, 1:] >= 0).all() and (boxes[:, 1:] <= 1).all()
            assert (boxes[:, 3] > boxes[:, 1]).all() and (boxes[:, 4] > boxes[:, 2]).all()
    with pytest.raises(mx.MXNetError, match="num_crop_sampler is 2"):
        detection(rand_crop_prob=1, num_crop_sampler=2, min_crop_scales=(0.1, 0.2, 0.3))
    with pytest.raises(mx.MXNetError, match="is above max_crop_scales"):
        detection(rand_crop_prob=1, min_crop_scales=2)


def test_records_may_have_no_boxes() -> None:
    path = str(FIXTURES / "augment.rec")
    with warnings.catch_warnings(), pytest.raises(mx.MXNetError, match="is not a list of boxes"):
        detection(path_imgrec=path)


@pytest.mark.parametrize("start", [float("nan"), float("inf"), -3.0, 7.0])
def test_records_whose_labels_are_not_boxes_are_refused(tmp_path: Path, start: float) -> None:
    path = str(tmp_path / "a.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    label = [start, 5, 0, 0.1, 0.1, 0.9, 0.9]
    writer.write(mx.recordio.pack_img((0, label, 4, 0), np.zeros((8, 8, 3), np.uint8)))
    writer.close()
    with pytest.raises(mx.MXNetError, match=r"a.rec: the label of image 4 is not a list of boxes"):
        detection(path_imgrec=path)
