"""Decoding, resizing, cropping, rotating and augmenters, against numbers of MXNet 1.9.1."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import image
from mixnet.image.augment import PCA_VALUES, PCA_VECTORS
from tests.each_record import each_record

RECORDED = np.load(Path(__file__).parents[1] / "parity" / "fixtures" / "image_functions.npz")
SOURCE = RECORDED["source"]  # (24, 31, 3) of uint8


def integers() -> mx.nd.NDArray:
    return mx.nd.array(SOURCE, dtype="uint8")


def floats() -> mx.nd.NDArray:
    return mx.nd.array(SOURCE)


def channels_first() -> mx.nd.NDArray:
    return floats().transpose((2, 0, 1)) / 255


def check(key: str, result: Any) -> None:
    if isinstance(result, tuple):
        assert list(result[1]) == RECORDED[f"{key}:place"].tolist()
        result = result[0]
    expected = RECORDED[key]
    actual = result.asnumpy()
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if actual.dtype == np.uint8:
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", ["jpg", "png"])
@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("to_rgb", [0, 1])
def test_images_are_decoded(kind: str, flag: int, to_rgb: int, tmp_path: Path) -> None:
    content = RECORDED[f"encoded_{kind}"]
    key = f"decode_{kind}_{flag}_{to_rgb}"
    for buffer in (
        content,
        content.tobytes(),
        bytearray(content),
        mx.nd.array(content, dtype="uint8"),
    ):
        check(key, image.imdecode(buffer, flag, to_rgb))
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content.tobytes())
    check(key, image.imread(str(path), flag=flag, to_rgb=to_rgb))
    out = mx.nd.zeros(RECORDED[key].shape, dtype="uint8")
    assert image.imdecode(content, flag=flag, to_rgb=to_rgb, out=out) is out
    check(key, out)


@pytest.mark.parametrize("interp", range(5))
def test_resized_images_are_those_of_opencv(interp: int) -> None:
    check(f"resize_uint8_{interp}", image.imresize(integers(), 20, 37, interp))
    check(f"resize_float32_{interp}", image.imresize(floats(), 20, 37, interp=interp))
    grey = image.imresize(integers()[:, :, :1], 20, 37, interp)
    assert grey.shape == (37, 20, 1)


def constant_border(pixels: Any) -> Any:
    return image.copyMakeBorder(pixels, 1, 2, 3, 4, values=(1.0, 2.0, 3.0))


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "resize_short": lambda: image.resize_short(integers(), 15),
    "fixed_crop": lambda: image.fixed_crop(integers(), 3, 4, 12, 10, (9, 17), 9),
    "random_crop": lambda: image.random_crop(integers(), (12, 9)),
    "random_crop_large": lambda: image.random_crop(integers(), (40, 30)),
    "center_crop": lambda: image.center_crop(integers(), (13, 8)),
    "random_size_crop": lambda: image.random_size_crop(integers(), (16, 14), (0.2, 1), (0.75, 1.33)),
    "random_size_crop_none": lambda: image.random_size_crop(integers(), (16, 14), (0.99, 1), (4, 5)),
    "border": lambda: constant_border(integers()),
    "border_1": lambda: image.copyMakeBorder(floats(), 1, 2, 3, 4, type=1),
    "rotate_": lambda: image.imrotate(channels_first(), 33),
    "rotate_zoom_in": lambda: image.imrotate(channels_first(), 33, zoom_in=True),
    "rotate_zoom_out": lambda: image.imrotate(channels_first(), 33, zoom_out=True),
    "rotate_batch": lambda: image.imrotate(
        mx.nd.stack(channels_first(), channels_first()), mx.nd.array([10, -100])
    ),
    "random_rotate": lambda: image.random_rotate(
        mx.nd.stack(channels_first(), channels_first()), (-30, 40)
    ),
    "chain": lambda: image.SequentialAug(
        image.CreateAugmenter(
            (3, 15, 17), resize=20, rand_crop=True, rand_resize=True, rand_mirror=True, mean=True,
            std=True, brightness=0.1, contrast=0.2, saturation=0.3, hue=0.1, pca_noise=0.1,
            rand_gray=0.5,
        )
    )(integers()),
}  # fmt: skip

AUGMENTERS: dict[str, tuple[Any, ...]] = {
    "ResizeAug": (15,), "ForceResizeAug": ((12, 13),), "RandomCropAug": ((12, 9),),
    "RandomSizedCropAug": ((12, 9), 0.2, (0.7, 1.4)), "CenterCropAug": ((12, 9),),
    "BrightnessJitterAug": (0.4,), "ContrastJitterAug": (0.4,), "SaturationJitterAug": (0.4,),
    "HueJitterAug": (0.4,), "ColorJitterAug": (0.3, 0.4, 0.2), "LightingAug": (0.1, PCA_VALUES, PCA_VECTORS),
    "ColorNormalizeAug": ([1, 2, 3], [2, 3, 4]), "RandomGrayAug": (1,), "HorizontalFlipAug": (1,),
    "CastAug": ("float16",),
}  # fmt: skip


@each_record("key", FUNCTIONS)
def test_functions_agree_with_mxnet(key: str) -> None:
    random.seed(5)
    np.random.seed(5)
    check(key, FUNCTIONS[key]())


@each_record("name", AUGMENTERS)
def test_augmenters_agree_with_mxnet(name: str) -> None:
    augmenter = getattr(image, name)(*AUGMENTERS[name])
    source = floats()
    for picture in (source, SOURCE.astype(np.float32)):
        random.seed(5)
        np.random.seed(5)
        transformed = augmenter(picture)
        assert isinstance(transformed, type(picture))
        check(f"aug_{name}", transformed if picture is source else mx.nd.array(
            transformed, dtype=transformed.dtype))  # fmt: skip


@pytest.mark.parametrize("name", [a for a in AUGMENTERS if "Jitter" in a or "Nor" in a])
def test_colours_change_in_place(name: str) -> None:
    augmenter = getattr(image, name)(*AUGMENTERS[name])
    source = floats()
    changed = augmenter(source)
    if isinstance(augmenter, image.HueJitterAug):
        np.testing.assert_array_equal(source.asnumpy(), SOURCE)
    else:
        assert changed is source


def test_sizes_are_computed_as_in_mxnet() -> None:
    cases = [
        ((640, 480), (720, 120)),
        ((360, 1000), (480, 500)),
        ((10, 10), (5, 5)),
        ((7, 9), (14, 10)),
    ]
    assert [image.scale_down(*each) for each in cases] == [(640, 106), (360, 375), (5, 5), (7, 5)]
    assert image.resize_short(floats().transpose((1, 0, 2)), 12).shape == (15, 12, 3)


def test_interpolation_codes_are_those_of_mxnet() -> None:
    crop = (3, 4, 12, 10)

    def same(size: tuple[int, int], code: int, as_code: int) -> bool:
        resized = [
            image.fixed_crop(integers(), *crop, size, each).asnumpy() for each in (code, as_code)
        ]
        return bool((resized[0] == resized[1]).all())

    assert same((24, 20), 9, 2) and same((6, 5), 9, 3) and same((6, 20), 9, 1)
    random.seed(1)
    drawn = image.fixed_crop(integers(), *crop, (24, 20), 10).asnumpy()
    random.seed(1)
    code = random.randint(0, 4)
    np.testing.assert_array_equal(
        drawn, image.fixed_crop(integers(), *crop, (24, 20), code).asnumpy()
    )
    for bad in (5, 15):
        with pytest.raises(ValueError, match=f"Unknown interp method {bad}"):
            image.fixed_crop(integers(), *crop, (24, 20), bad)


def test_augmenters_are_dumped_as_in_mxnet() -> None:
    chain = image.CreateAugmenter((3, 24, 24), brightness=0.1, mean=True)
    assert [each.dumps() for each in chain] == [
        '["centercropaug", {"size": [24, 24], "interp": 2}]',
        '["castaug", {"type": "float32"}]',
        ["colorjitteraug", ['["brightnessjitteraug", {"brightness": 0.1}]']],
        '["colornormalizeaug", {"mean": [123.68000030517578, 116.27999877929688, '
        '103.52999877929688], "std": null}]',
    ]
    dumped = image.Augmenter(a=1, b="x", c=mx.nd.array([1]), d=np.array([2.0])).dumps()
    assert json.loads(dumped) == ["augmenter", {"a": 1, "b": "x", "c": [1.0], "d": [2.0]}]


def test_results_are_numpy_arrays_in_numpy_mode() -> None:
    content = RECORDED["encoded_png"]
    with mx.np_array():
        decoded = image.imdecode(content)
        assert isinstance(decoded, mx.np.ndarray)
        assert isinstance(image.imresize(decoded, 5, 5), mx.np.ndarray)
    assert not isinstance(image.imdecode(content), mx.np.ndarray)


def test_wrong_arguments_are_errors(tmp_path: Path) -> None:
    with pytest.raises(mx.base.FileFormatError, match="empty"):
        image.imdecode(b"")
    with pytest.raises(mx.base.FileFormatError, match="not an image"):
        image.imdecode(RECORDED["encoded_jpg"].tobytes()[:100])
    with pytest.raises(ValueError, match="bytes"):
        image.imdecode("abc")
    with pytest.raises(mx.MXNetError, match="uint8"):
        image.imdecode(mx.nd.array(RECORDED["encoded_jpg"]))
    with pytest.raises(mx.MXNetError, match="couldn't open file: No such file"):
        image.imread(str(tmp_path / "no.jpg"))
    (tmp_path / "junk.jpg").write_bytes(b"junk")
    with pytest.raises(mx.base.FileFormatError, match=r"junk.jpg"):
        image.imread(str(tmp_path / "junk.jpg"))
    with pytest.raises(mx.MXNetError, match="Unknown interpolation method 25"):
        image.imresize(integers(), 5, 5, 25)
    with pytest.raises(mx.base.DTypeError, match="int32"):
        image.imresize(integers().astype("int32"), 5, 5)
    with pytest.raises(mx.base.ShapeError):
        image.imresize(integers()[:, :, 0], 5, 5)
    with pytest.raises(mx.base.ShapeError):
        image.imresize(integers(), 0, 5)
    with pytest.raises(ValueError, match="cannot be both True"):
        image.imrotate(channels_first(), 3, True, True)
    with pytest.raises(TypeError, match="float32"):
        image.imrotate(integers(), 3)
    with pytest.raises(TypeError, match="one number for a single image"):
        image.imrotate(channels_first(), mx.nd.array([3]))
    with pytest.raises(ValueError, match="rotation angles for"):
        image.imrotate(mx.nd.stack(channels_first()), mx.nd.array([3, 4]))
    with pytest.raises(mx.base.DTypeError, match=r"CastAug\(\) before"):
        image.ContrastJitterAug(0.4)(integers())
    with pytest.raises(AssertionError, match="foo"):
        image.random_size_crop(integers(), (3, 3), 0.5, (1, 2), foo=1)
    with pytest.warns(DeprecationWarning, match="min_area"):
        image.random_size_crop(integers(), (3, 3), 0.5, (1, 2), min_area=0.1)
    with pytest.raises(AssertionError, match="rand_crop"):
        image.CreateAugmenter((3, 5, 5), rand_resize=True)
    with pytest.raises(NotImplementedError):
        image.Augmenter()(integers())


@pytest.mark.parametrize("interp", [-1, 6, 7, 9, 10])
def test_interpolations_that_mxnet_does_not_know(interp: int) -> None:
    with pytest.raises(mx.MXNetError, match=f"Unknown interpolation method {interp}"):
        image.imresize(mx.nd.zeros((4, 3, 3), dtype="uint8"), 2, 2, interp=interp)
    assert image.imresize(mx.nd.zeros((4, 3, 3), dtype="uint8"), 2, 2, interp=5).shape == (2, 2, 3)


def test_integers_are_not_normalized_by_floats():
    with pytest.raises(mx.MXNetError, match="make the image float"):
        image.ColorNormalizeAug(mx.nd.ones(3), None)(mx.nd.ones((2, 2, 3), dtype="uint8"))


@pytest.mark.parametrize(
    "augmenter",
    [
        image.SaturationJitterAug(0.5),
        image.ContrastJitterAug(0.5),
        image.HueJitterAug(0.5),
        image.RandomGrayAug(1.0),
        image.LightingAug(0.5, np.ones(3), np.ones((3, 3))),
    ],
)
def test_colours_of_an_image_without_channels_are_refused(augmenter: image.Augmenter) -> None:
    with pytest.raises(mx.MXNetError, match=r"takes images of shape .* not \(4, 4\)"):
        augmenter(mx.nd.ones((4, 4)))
