"""Datasets of images; transforms against MXNet's numbers."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import data, nn
from mixnet.gluon.data import vision
from mixnet.gluon.data.vision import transforms as T
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[2] / "parity" / "fixtures"
PIXELS = np.random.RandomState(0).randint(0, 256, (12, 10, 3)).astype("uint8")
FLOATS = np.random.RandomState(1).rand(3, 9, 11).astype("float32")
WIDE = np.random.RandomState(0).randint(0, 256, (60, 80, 3)).astype("uint8")


def _idx(path: Path, values: np.ndarray, packed: bool) -> None:
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    with gzip.open(path, "wb") if packed else open(path, "wb") as file:
        file.write(head + values.tobytes())


def test_mnist_reads_raw_files(tmp_path: Path) -> None:
    draw = np.random.RandomState(0)
    pixels, labels = draw.randint(0, 256, (5, 28, 28)).astype("uint8"), np.arange(5, dtype="uint8")
    for part, count in (("train", 5), ("t10k", 3)):
        _idx(tmp_path / f"{part}-images-idx3-ubyte", pixels[:count], False)
        _idx(tmp_path / f"{part}-labels-idx1-ubyte", labels[:count], False)
    digits = vision.MNIST(str(tmp_path))
    image, label = digits[2]
    assert len(digits) == 5 and image.shape == (28, 28, 1) and image.dtype == np.uint8
    assert isinstance(label, np.int32) and label == 2
    np.testing.assert_array_equal(image.asnumpy()[..., 0], pixels[2])
    some, which = digits[1:4]
    assert some.shape == (3, 28, 28, 1) and which.tolist() == [1, 2, 3]
    test = vision.MNIST(str(tmp_path), train=False, transform=lambda d, y: (d / 255, y + 1))
    assert len(test) == 3 and test[0][1] == 1
    loader = data.DataLoader(digits.transform_first(T.ToTensor()), 4)
    assert [(x.shape, y.dtype) for x, y in loader] == [
        ((4, 1, 28, 28), np.int32),
        ((1, 1, 28, 28), np.int32),
    ]
    assert vision.FashionMNIST(str(tmp_path))[1][1] == 1


def test_a_file_that_is_not_there_says_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "none").as_uri())
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(mx.MXNetError, match=f"put it at {tmp_path}/train-labels"):
        vision.MNIST(str(tmp_path))


def test_a_download_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tmp_path / "server" / "gluon" / "dataset" / "mnist"
    server.mkdir(parents=True)
    _idx(server / "train-labels-idx1-ubyte.gz", np.zeros(2, "uint8"), True)
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "server").as_uri())
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(mx.MXNetError, match="SHA-1"):
        vision.MNIST(str(tmp_path / "root"))
    assert not list((tmp_path / "root").glob("*.gz"))


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\1\0\0\0\x09ab")
    with pytest.raises(mx.base.FileFormatError, match="truncated"):
        vision.MNIST(str(tmp_path))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"hello")
    with pytest.raises(mx.base.FileFormatError, match="not an idx file of 1 axes"):
        vision.MNIST(str(tmp_path))
    _idx(tmp_path / "train-labels-idx1-ubyte", np.zeros(2, "uint8"), False)
    _idx(tmp_path / "train-images-idx3-ubyte", np.zeros((3, 4, 5), "uint8"), False)
    with pytest.raises(mx.base.FileFormatError, match=r"has 3 images, .* has 2 labels"):
        vision.MNIST(str(tmp_path))
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)]:
        (tmp_path / name).write_bytes(b"12345")
    with pytest.raises(mx.base.FileFormatError, match="not a multiple of 3073"):
        vision.CIFAR10(str(tmp_path))


def test_cifar_reads_batches(tmp_path: Path) -> None:
    draw = np.random.RandomState(0)
    rows = draw.randint(0, 256, (10, 3073)).astype("uint8")
    for i in range(5):
        (tmp_path / f"data_batch_{i + 1}.bin").write_bytes(rows[2 * i : 2 * i + 2].tobytes())
    photos = vision.CIFAR10(str(tmp_path))
    image, label = photos[3]
    assert len(photos) == 10 and label == rows[3, 0] and photos._label.dtype == np.int32
    np.testing.assert_array_equal(
        image.asnumpy(), rows[3, 1:].reshape(3, 32, 32).transpose(1, 2, 0)
    )
    more = draw.randint(0, 256, (3, 3074)).astype("uint8")
    (tmp_path / "train.bin").write_bytes(more.tobytes())
    assert vision.CIFAR100(str(tmp_path))._label.tolist() == more[:, 0].tolist()
    assert vision.CIFAR100(str(tmp_path), True)._label.tolist() == more[:, 1].tolist()


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    import tarfile

    from mixnet.gluon.data.download import extract

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.bin").write_bytes(b"abc")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "in" / "train.bin", "cifar-100-binary/train.bin")
    extract(str(tmp_path / "a.tar.gz"), str(tmp_path), ["train.bin"])
    assert (tmp_path / "train.bin").read_bytes() == b"abc"
    with pytest.raises(mx.MXNetError, match=r"does not contain test\.bin"):
        extract(str(tmp_path / "a.tar.gz"), str(tmp_path), ["train.bin", "test.bin"])


def test_images_in_records_folders_and_lists(tmp_path: Path) -> None:
    records = vision.ImageRecordDataset(str(FIXTURES / "images.rec"))
    image, label = records[0]
    assert (len(records), image.shape, label) == (6, (12, 10, 3), 0.5)
    assert vision.ImageRecordDataset(str(FIXTURES / "images.rec"), 0)[1][0].shape == (12, 10, 1)
    import cv2

    for folder, name in (("b", "2.JPG"), ("a", "1.png")):
        (tmp_path / folder).mkdir()
        cv2.imwrite(str(tmp_path / folder / name), PIXELS[:, :, ::-1])
    (tmp_path / "a" / "note.txt").write_text("")
    (tmp_path / "readme").write_text("")
    with pytest.warns(UserWarning, match="is skipped") as caught:
        folders = vision.ImageFolderDataset(str(tmp_path))
    assert len(caught) == 2 and folders.synsets == ["a", "b"]
    assert folders.items == [(f"{tmp_path}/a/1.png", 0), (f"{tmp_path}/b/2.JPG", 1)]
    np.testing.assert_array_equal(folders[0][0].asnumpy(), PIXELS)
    assert folders[1][1] == 1
    (tmp_path / "all.lst").write_text("0\t3\ta/1.png\n1\t1\t2\tb/2.JPG\n")
    for listed in ("all.lst", [[3, "a/1.png"], [[1, 2], "b/2.JPG"]]):
        images = vision.ImageListDataset(str(tmp_path), listed)
        assert len(images) == 2 and images[0][1] == 3 and images[1][1].tolist() == [1, 2]
        np.testing.assert_array_equal(images[0][0].asnumpy(), PIXELS)
    (batch,) = data.DataLoader(folders.transform_first(T.ToTensor()), 2, num_workers=1)
    np.testing.assert_allclose(batch[0][0].asnumpy(), PIXELS.transpose(2, 0, 1) / 255, rtol=1e-6)


# ---- transforms ---------------------------------------------------------------------------------

# Shape, dtype, sum and first numbers, as MXNet 1.9.1 has them.
GOLD = [
    (T.Cast("float16"), PIXELS, (12, 10, 3), "float16", 43975.0, [172, 47, 117]),
    (T.ToTensor(), PIXELS, (3, 12, 10), "float32", 172.451, [0.6745, 0.7529, 0.7647]),
    (T.CenterCrop(6), PIXELS, (6, 6, 3), "uint8", 12781, [142, 99, 53]),
    (T.CenterCrop((4, 8)), PIXELS, (8, 4, 3), "uint8", 12812, [164, 53, 133]),
    (T.CenterCrop(20), PIXELS, (20, 20, 3), "uint8", 146031, [9, 148, 115]),
    (T.CenterCrop((20, 4), 2), PIXELS, (4, 20, 3), "uint8", 24005, [0, 135, 124]),
    (T.Resize(7), PIXELS, (7, 7, 3), "uint8", 18116, [132, 93, 141]),
    (T.Resize(7, True), PIXELS, (8, 7, 3), "uint8", 20554, [145, 80, 142]),
    (T.Resize((5, 9)), PIXELS, (9, 5, 3), "uint8", 16536, [170, 80, 179]),
    (T.Resize((5, 9), interpolation=0), PIXELS, (9, 5, 3), "uint8", 17657, [172, 47, 117]),
    (T.CropResize(1, 2, 5, 6), PIXELS, (6, 5, 3), "uint8", 10585, [114, 183, 28]),
    (T.CropResize(1, 2, 5, 6, (3, 4), 1), PIXELS, (4, 3, 3), "uint8", 4175, [91, 147, 72]),
    (T.Normalize(0.5, 0.25), FLOATS, (3, 9, 11), "float32", 11.195, [-0.3319, 0.8813]),
    (T.Normalize((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), FLOATS, (3, 9, 11), "float32", 194.135, [0.7926]),
    (T.Rotate(30), FLOATS, (3, 9, 11), "float32", 125.582, [0, 0, 0.0045]),
    (T.Rotate(30, True), FLOATS, (3, 9, 11), "float32", 150.489, [0.2277, 0.3033]),
    (T.Rotate(30, False, True), FLOATS, (3, 9, 11), "float32", 69.973, [0, 0]),
    (T.RandomApply(T.ToTensor(), 0.0), PIXELS, (12, 10, 3), "uint8", 43975, [172, 47]),
    (
        T.Compose([T.Resize(6), T.ToTensor(), T.Normalize(0, 1)]),
        PIXELS, (3, 6, 6), "float32", 50.149, [0.498, 0.8824, 0.5922],
    ),
]  # fmt: skip


def _facts(array: mx.nd.NDArray, count: int) -> tuple:
    host = array.asnumpy()
    return host.shape, host.dtype.name, float(host.astype("float64").sum()), host.ravel()[:count]


@each_record("gold", GOLD, ids=lambda g: type(g[0]).__name__)
def test_transforms_agree_with_mxnet(gold: tuple) -> None:
    block, inputs, shape, dtype, total, first = gold
    one = block(mx.nd.array(inputs, dtype=inputs.dtype))
    actual = _facts(one, len(first))
    assert actual[:2] == (shape, dtype)
    assert actual[2] == pytest.approx(total, rel=1e-5, abs=1e-3)
    np.testing.assert_allclose(actual[3], first, atol=1e-4)
    if not isinstance(block, (T.CenterCrop, T.RandomApply)):
        both = block(mx.nd.array(np.stack([inputs, inputs]), dtype=inputs.dtype))
        np.testing.assert_allclose(both[1].asnumpy(), one.asnumpy(), rtol=1e-6)


def test_random_crops_and_rotations_draw_as_mxnet() -> None:
    random.seed(5)
    np.random.seed(5)
    image = mx.nd.array(WIDE, dtype="uint8")
    sums = [_facts(T.RandomResizedCrop(8)(image), 0)[2] for _ in range(4)]
    assert sums == [23880, 24482, 23763, 24102]
    floats = mx.nd.array(FLOATS)
    sums = [_facts(T.RandomRotation((-40, 40))(floats), 0)[2] for _ in range(3)]
    np.testing.assert_allclose(sums, [125.725, 124.356, 139.772], atol=2e-3)
    random.seed(3)
    apply = T.RandomApply(lambda x: x + 1, 0.5)
    drawn = [int(apply(mx.nd.zeros((1,))).asscalar()) for _ in range(12)]
    assert drawn == [1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1]


@each_record(
    "block",
    [
        T.RandomFlipLeftRight(), T.RandomFlipTopBottom(), T.RandomBrightness(0.5),
        T.RandomContrast(0.5), T.RandomSaturation(0.5), T.RandomHue(0.1),
        T.RandomColorJitter(0.1, 0.2, 0.3, 0.4), T.RandomLighting(0.1), T.RandomGray(0.5),
        T.RandomCrop(6, pad=2), T.RandomCrop((6, 5)),
    ],
    ids=lambda block: type(block).__name__,
)  # fmt: skip
def test_random_transforms_change_some_images(block: nn.Block) -> None:
    image = mx.nd.array(PIXELS, dtype="uint8")
    mx.random.seed(1)
    results = [block(image).asnumpy() for _ in range(12)]
    assert {(each.dtype.name, each.ndim) for each in results} == {("uint8", 3)}
    assert len({each.tobytes() for each in results}) > 1


def test_ranges_of_random_changes() -> None:
    assert T.RandomBrightness(0.25)._args == (0.75, 1.25)
    assert T.RandomContrast(1.5)._args == (0, 2.5)
    same = T.RandomBrightness(0)(mx.nd.array(PIXELS, dtype="uint8"))
    np.testing.assert_array_equal(same.asnumpy(), PIXELS)
    for limits, more, message in (
        ((10, -10), {}, "give the lower first"),
        ((-10, 10), {"rotate_with_proba": 2}, "is not a probability"),
    ):
        with pytest.raises(ValueError, match=message):
            T.RandomRotation(limits, **more)
    with pytest.raises(TypeError, match="float32"):
        T.Rotate(30)(mx.nd.array(PIXELS, dtype="uint8"))


def test_compose_joins_what_can_be_hybridized() -> None:
    mixed = T.Compose([T.Resize(6), T.RandomResizedCrop(4), T.ToTensor(), T.Cast("float16")])
    assert [type(each).__name__ for each in mixed] == [
        "Resize",
        "RandomResizedCrop",
        "HybridSequential",
    ]
    assert repr(T.Compose([T.ToTensor()])) == "Compose(\n  (0): ToTensor(\n  \n  )\n)"
    image = mx.nd.array(PIXELS, dtype="uint8")
    assert mixed(image).dtype == np.float16
    assert T.Compose([])(image).shape == (12, 10, 3)
    assert T.HybridCompose([T.ToTensor(), T.Normalize(0, 1)])(image).shape == (3, 12, 10)
    with pytest.raises(ValueError, match="takes hybrid blocks"):
        T.HybridCompose([T.CenterCrop(3)])


def test_functions_among_transforms() -> None:
    mixed = T.Compose([T.Cast("float32"), lambda x: x + 1, T.Cast("float16")])
    changed = mixed(mx.nd.ones((2,), dtype="uint8"))
    assert changed.dtype == np.float16
    assert changed.asnumpy().tolist() == [2, 2]
    assert T.Compose([len])(mx.nd.ones((2,))) == 2


def test_transforms_can_be_part_of_a_network() -> None:
    net = nn.HybridSequential()
    net.add(T.ToTensor(), T.Normalize(0.5, 0.25), nn.Dense(2))
    net.initialize()
    image = mx.nd.array(PIXELS[None], dtype="uint8")
    expected = net(image).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(image).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert "_image_normalize" in net(mx.sym.Variable("data")).tojson()


def test_an_error_of_a_transform_names_it() -> None:
    with pytest.raises(mx.MXNetError, match=r"^normalize: "):
        T.Normalize(0.5)(mx.nd.array(PIXELS, dtype="uint8"))
    with pytest.raises(mx.MXNetError, match=r"RandomBrightness: brightness=-1\.5"):
        T.RandomBrightness(-1.5)(mx.nd.array(PIXELS, dtype="uint8"))


@pytest.mark.parametrize(
    "line", [b"1\t2", b"x\t1\ta.png", b"1\tx\ta.png", b"1\t2\t\xff", b"1\t\ta.png"]
)
def test_invalid_lines_of_lists_are_errors(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "bad.lst").write_bytes(b"0\t1\ta.png\n" + line + b"\n")
    with pytest.raises(mx.base.FileFormatError, match=r"bad.lst, line 2"):
        vision.ImageListDataset(str(tmp_path), "bad.lst")
    for name in (b"no.png", b"a\0.png", b"."):
        (tmp_path / "bad.lst").write_bytes(b"0\t1\t" + name + b"\n")
        with pytest.raises(mx.MXNetError, match="couldn't open file"):
            vision.ImageListDataset(str(tmp_path), "bad.lst")[0]


@pytest.mark.parametrize("floating", ["float32", "float64"])
def test_as_many_means_as_channels(floating: str) -> None:
    """Two numbers for three channels are refused also where they are the same, as in MXNet 1.9.1."""
    image = mx.nd.array(np.arange(12).reshape(3, 2, 2), dtype=floating)
    with pytest.raises(mx.MXNetError, match=r"1 or 3 number\(s\)"):
        T.Normalize((0.0, 0.0), (1.0, 1.0))(image)
    normalized = T.Normalize((1.0, 1.0, 1.0), 2.0)(image)
    np.testing.assert_allclose(normalized.asnumpy(), (image.asnumpy() - 1) / 2)


@pytest.mark.parametrize("transform", [T.Rotate(90), T.Compose([lambda image: image[0:2]])])
def test_the_result_of_a_transform_can_be_sliced(transform) -> None:  # type: ignore[no-untyped-def]
    """It may be a view of what was computed on the host."""
    image = mx.nd.arange(48).reshape((3, 4, 4)) / 48
    result = transform(image)
    np.testing.assert_array_equal(result[0].asnumpy(), result.asnumpy()[0])
    result[0] = 2
    assert result[0].asnumpy().min() == 2
    assert result[1].asnumpy().max() < 2
