"""ImageRecordIter: numbers and orders of MXNet 1.9.1, damage, and leaving early."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mixnet as mx
from mixnet.image import record_source
from mixnet.image.record_source import Records
from mixnet.io import ImageRecordIter
from mixnet.recordio import MXIndexedRecordIO
from tests import processes
from tests.each_record import each_record
from tests.image.files import write_records
from tests.interrupts import press
from tests.waiting import next_line

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
RECORDED = np.load(FIXTURES / "augment.npz")
CASES: dict[str, dict[str, Any]] = {
    "plain": {}, "resize20": {"resize": 20}, "resize40": {"resize": 40},
    "large": {"data_shape": (3, 40, 38)}, "wide": {"data_shape": (3, 20, 38)},
    "tall": {"data_shape": (3, 38, 18)}, "pad": {"pad": 3, "data_shape": (3, 32, 32)},
    "pad_fill": {"pad": 3, "fill_value": 7, "data_shape": (3, 32, 32)}, "rotate30": {"rotate": 30},
    "rotate30_fill": {"rotate": 30, "fill_value": 7, "data_shape": (3, 26, 30)},
    "rotate90": {"rotate": 90}, "scale15": {"max_random_scale": 1.5, "min_random_scale": 1.5},
    "scale05": {"max_random_scale": 0.5, "min_random_scale": 0.5}, "mirror": {"mirror": True},
    "grey": {"data_shape": (1, 20, 18)}, "mean": {"mean_r": 123.68, "mean_g": 116.779, "mean_b": 103.939},
    "meanstd": {"mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 3, "std_b": 4, "scale": 0.5},
    "mirror_mean": {
        "mirror": 1, "mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 3, "std_b": 4,
    },
    "std": {"std_r": 58.4, "std_g": 57.1, "std_b": 57.4}, "scale": {"scale": 1 / 255.0},
    "crop24": {"max_crop_size": 24, "min_crop_size": 24}, "minsize": {"min_img_size": 64},
    "maxsize": {"max_img_size": 12}, "uint8": {"dtype": "uint8", "resize": 40}, "int8": {"dtype": "int8"},
    **{f"resize_interp{k}": {"resize": 24, "inter_method": k, "data_shape": (3, 24, 20)}
       for k in (0, 1, 2, 3, 4, 9)},
    "resize_interp9_up": {"resize": 44, "inter_method": 9, "data_shape": (3, 24, 20)},
}  # fmt: skip


def augmented(**more: Any) -> mx.io.MXDataIter:
    path = str(FIXTURES / "augment.rec")
    return ImageRecordIter(
        **{"path_imgrec": path, "data_shape": (3, 20, 18), "batch_size": 3, **more}
    )


def test_records_count_from_the_chunk_that_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk is cut before the last record that begins in it, unless it reaches the end."""
    writer = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    for _ in range(10):
        writer.write(bytes(92))  # with its header, 100 bytes
    writer.close()
    monkeypatch.setattr(record_source, "_CHUNK", 450)
    records = Records(str(tmp_path / "a.rec"))
    numbers = []
    while records.take(3):
        numbers += records.numbers
    assert numbers == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    records.begin(1)
    records.take(2)
    assert records.numbers == [0, 1]


@each_record("case", CASES)
def test_pixels_are_those_of_mxnet(case: str) -> None:
    actual = augmented(**CASES[case]).next().data[0].asnumpy()
    assert actual.dtype == RECORDED[case].dtype
    np.testing.assert_array_equal(actual, RECORDED[case])


def test_a_mean_image_is_subtracted(tmp_path: Path) -> None:
    path = tmp_path / "mean.bin"
    actual = augmented(mean_img=str(path)).next().data[0].asnumpy()
    np.testing.assert_allclose(actual, RECORDED["mean_img"], atol=2e-5)
    mean = mx.nd.load(str(path))["mean_img"].asnumpy()
    np.testing.assert_allclose(mean, RECORDED["mean_file"], rtol=1e-6)
    again = augmented(mean_img=str(path)).next().data[0].asnumpy()
    np.testing.assert_array_equal(again, actual)
    theirs = augmented(mean_img=str(FIXTURES / "augment_mean.bin")).next().data[0].asnumpy()
    np.testing.assert_array_equal(theirs, RECORDED["mean_img2"])
    with pytest.raises(mx.base.ShapeError, match="mean of shape"):
        augmented(mean_img=str(path), data_shape=(3, 10, 10))


@pytest.mark.parametrize(
    ("more", "recorded"),
    [
        ({}, [127, 0, 3, 53]),
        ({"mean_r": 10.5, "scale": 2, "max_random_contrast": 0.5}, [117, -11, -8, 42]),
        ({"mean_r": 20.4}, [108, -20, -17, 33]),
        ({"mean_r": -3.7}, [127, 4, 7, 57]),
    ],
)
def test_int8_is_the_pixel_minus_the_rounded_mean(
    tmp_path: Path, more: dict[str, Any], recorded: list
) -> None:
    path = str(tmp_path / "a.rec")
    records = mx.recordio.MXRecordIO(path, "w")
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[..., 2] = [[128, 0], [3, 53]]
    records.write(mx.recordio.pack_img((0, 0, 0, 0), pixels, img_fmt=".png"))
    records.close()
    options = {"path_imgrec": path, "data_shape": (3, 2, 2), "batch_size": 1}
    red = mx.io.ImageRecordInt8Iter(**options, **more).next().data[0][0, 0]
    assert red.asnumpy().ravel().tolist() == recorded
    if not more:
        image = str(tmp_path / "mean.bin")
        mx.nd.save(image, {"mean_img": mx.nd.full((3, 2, 2), 10.5)})
        red = mx.io.ImageRecordInt8Iter(**options, mean_img=image).next().data[0][0, 0]
        assert red.asnumpy().ravel().tolist() == [117, -11, -8, 42]


@pytest.mark.parametrize(
    ("case", "more"),
    [
        ("plain", {}), ("mirror", {"mirror": True}), ("discard", {"round_batch": False}),
        ("meanstd", {"mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 3, "std_b": 4,
                     "scale": 0.5}),
    ],
)  # fmt: skip
def test_epochs_are_those_of_mxnet(case: str, more: dict[str, Any]) -> None:
    recorded = np.load(FIXTURES / "iter.npz")
    path = str(FIXTURES / "iter.rec")
    batches = list(ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2, **more))
    assert len(batches) == 3
    for i, batch in enumerate(batches):
        # Without round_batch MXNet leaves in the last batch what was in the memory before.
        rows = 1 if case == "discard" and i == 2 else 2
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        np.testing.assert_array_equal(data[:rows], recorded[f"{case}:data{i}"][:rows])
        np.testing.assert_array_equal(label[:rows], recorded[f"{case}:label{i}"][:rows])
        assert batch.pad == (1 if i == 2 else 0)


@pytest.fixture
def ten(tmp_path: Path) -> dict[str, Any]:
    paths = write_records(tmp_path, 10)
    return {"path_imgrec": paths["path_imgrec"], "data_shape": (3, 8, 8), "batch_size": 4}


def labels(iterator: mx.io.MXDataIter, epochs: int = 2) -> list:
    results = []
    for _ in range(epochs):
        results.append([])
        for batch in iterator:
            label = batch.label[0].asnumpy()
            np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0, 0, 0] / 10, label)
            results[-1].append((label.astype(int).tolist(), batch.pad))
        iterator.reset()
    return results


def test_orders_are_those_of_mxnet(ten: dict[str, Any]) -> None:
    index = ten["path_imgrec"].replace(".rec", ".idx")
    plain = [[([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)],
             [([2, 3, 4, 5], 0), ([6, 7, 8, 9], 0)]]  # fmt: skip
    seven = [[([5, 1, 6, 8], 0), ([2, 4, 9, 7], 0), ([0, 3, 7, 1], 2)],
             [([3, 2, 6, 0], 0), ([9, 8, 4, 5], 0)]]  # fmt: skip
    shuffled = [[([3, 4, 9, 2], 0), ([1, 6, 7, 0], 0), ([5, 8, 4, 0], 2)],
                [([8, 5, 7, 2], 0), ([1, 9, 6, 3], 0)]]  # fmt: skip
    assert labels(ImageRecordIter(**ten)) == plain
    assert labels(ImageRecordIter(**ten, path_imgidx=index)) == plain
    assert labels(ImageRecordIter(**ten, shuffle=True)) == shuffled
    assert labels(ImageRecordIter(**ten, shuffle=True, path_imgidx=index)) == shuffled
    assert labels(ImageRecordIter(**ten, shuffle=True, path_imgidx=index, seed=7)) == seven


def test_parts_divide_the_records(ten: dict[str, Any]) -> None:
    index = ten["path_imgrec"].replace(".rec", ".idx")

    def part(count: int, number: int, **more: Any) -> list:
        return labels(ImageRecordIter(**ten, num_parts=count, part_index=number, **more))

    assert part(2, 1, path_imgidx=index) == [
        [([5, 6, 7, 8], 0), ([9, 5, 6, 7], 3)], [([8, 9, 5, 6], 2)]]  # fmt: skip
    assert part(3, 2, path_imgidx=index) == [[([8, 9, 8, 9], 2)], []]
    drawn = [label for i in range(3) for batch, pad in part(3, i)[0] for label in batch[: 4 - pad]]
    assert sorted(drawn) == list(range(10))
    with pytest.raises(mx.MXNetError, match="part_index 2 is not below num_parts 2"):
        part(2, 2)


def test_random_augmentation_depends_on_the_seed_alone(ten: dict[str, Any]) -> None:
    options: dict[str, Any] = {
        "rand_crop": True, "rand_mirror": True, "max_rotate_angle": 20, "brightness": 0.3,
        "contrast": 0.3, "saturation": 0.3, "pca_noise": 0.1, "random_h": 10, "random_s": 10,
        "random_l": 10, "max_shear_ratio": 0.1, "max_aspect_ratio": 0.2, "shuffle": True,
        "max_random_contrast": 0.1, "max_random_illumination": 5, "data_shape": (3, 12, 10),
    }  # fmt: skip

    def epochs(**more: Any) -> np.ndarray:
        iterator = ImageRecordIter(**{**ten, **options, **more})
        results = [batch.data[0].asnumpy() for batch in iterator]
        iterator.reset()
        return np.stack(results + [batch.data[0].asnumpy() for batch in iterator])

    first = epochs(preprocess_threads=1)
    np.testing.assert_array_equal(first, epochs(preprocess_threads=4, prefetch_buffer=1))
    assert (first != epochs(seed_aug=3)).any()
    resized = epochs(
        rand_crop=False, random_resized_crop=True, max_aspect_ratio=1.3, min_random_area=0.2
    )
    assert resized.shape == first.shape


def test_records_may_have_several_labels(tmp_path: Path) -> None:
    path = write_records(tmp_path, 6, 2)["path_imgrec"]
    options: dict[str, Any] = {"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 4}
    iterator = ImageRecordIter(**options, label_width=2)
    assert iterator.provide_label[0].shape == (4, 2)
    assert iterator.next().label[0].asnumpy().tolist() == [[0, 0.5], [1, 1.5], [2, 2.5], [3, 3.5]]
    for width in (1, 3):
        with pytest.raises(mx.MXNetError, match=rf"has 2 label\(s\), but label_width is {width}"):
            ImageRecordIter(**options, label_width=width).next()
    listed = tmp_path / "a.lst"
    listed.write_text("".join(f"{i}\t{i + 100}\tx\n" for i in range(5)))
    iterator = ImageRecordIter(**options, path_imglist=str(listed))
    assert iterator.next().label[0].asnumpy().tolist() == [100, 101, 102, 103]
    with pytest.raises(mx.MXNetError, match=r"a.lst has no image 5"):
        iterator.next()


def test_iterators_of_integers_give_their_dtypes(ten: dict[str, Any]) -> None:
    for kind, dtype in (("UInt8Iter", np.uint8), ("Int8Iter", np.int8), ("UInt8Iter_v1", np.uint8)):
        iterator = getattr(mx.io, f"ImageRecord{kind}")(**ten)
        assert iterator.provide_data[0].dtype is dtype
        assert iterator.next().data[0].dtype is dtype
    assert mx.io.ImageRecordIter_v1(**ten).next().data[0].dtype is np.float32
    assert mx.io.io.ImageRecordIter is ImageRecordIter


def test_damaged_files_are_errors(ten: dict[str, Any], tmp_path: Path) -> None:
    path = Path(ten["path_imgrec"])
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    iterator = ImageRecordIter(**ten)
    iterator.next(), iterator.next()
    with pytest.raises(mx.base.FileFormatError, match="cut off"):
        iterator.next()
    with pytest.warns(UserWarning, match=r"1 record\(s\) skipped"):
        junk = ImageRecordIter(
            **{**ten, **write_records(tmp_path, 10, junk=2, name="j")}, corrupt="skip"
        )
        batches = list(junk)
    assert [batch.pad for batch in batches] == [1, 0, 2]
    assert batches[0].label[0].asnumpy().tolist() == [0, 1, 3, 0]
    assert junk.handle.skipped == 1
    strict = ImageRecordIter(**{**ten, **write_records(tmp_path, 10, junk=2, name="j")})
    with pytest.raises(mx.base.FileFormatError, match=r"j.rec, image 2: Decoding failed"):
        strict.next()
    mx.nd.waitall()


def test_broken_records_are_skipped_on_request(ten: dict[str, Any]) -> None:
    index = Path(ten["path_imgrec"].replace(".rec", ".idx")).read_text().split()
    offset = int(index[7])  # of record 3
    path = Path(ten["path_imgrec"])
    content = bytearray(path.read_bytes())
    content[offset : offset + 4] = b"oops"
    path.write_bytes(content)
    with pytest.raises(mx.base.FileFormatError, match=f"no record at byte {offset}"):
        ImageRecordIter(**ten).next()
    iterator = ImageRecordIter(**ten, corrupt="skip", round_batch=False)
    with pytest.warns(UserWarning, match=r"1 record\(s\) skipped"):
        batches = [(each.label[0].asnumpy().tolist(), each.pad) for each in iterator]
    assert batches == [([0, 1, 2, 4], 0), ([5, 6, 7, 8], 0), ([9, 0, 0, 0], 3)]
    assert iterator.handle.skipped == 1


def test_wrong_parameters_are_errors(ten: dict[str, Any]) -> None:
    with pytest.raises(mx.MXNetError, match="No such file"):
        ImageRecordIter(**{**ten, "path_imgrec": "no.rec"})
    with pytest.raises(mx.MXNetError, match="path_imgrec"):
        ImageRecordIter(data_shape=(3, 8, 8), batch_size=4)
    with pytest.raises(mx.MXNetError, match="data_shape"):
        ImageRecordIter(**{**ten, "data_shape": (8, 8)})
    with pytest.raises(mx.MXNetError, match="unknown dtype"):
        ImageRecordIter(**ten, dtype="float64")
    with pytest.raises(mx.MXNetError, match="aug_default"):
        ImageRecordIter(**ten, aug_seq="other")
    with pytest.raises(mx.MXNetError, match="conflicts with"):
        ImageRecordIter(**ten, random_resized_crop=True, rand_crop=True)
    with pytest.raises(ValueError, match="Unknown interp method 7"):
        ImageRecordIter(**ten, resize=9, inter_method=7).next()


def test_an_early_exit_leaves_no_threads_behind(ten: dict[str, Any]) -> None:
    def workers() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("mixnet io")}

    before = workers()
    with mx.engine.using("ThreadedEngine"):
        iterator = ImageRecordIter(**{**ten, "batch_size": 1}, prefetch_buffer=3)
        iterator.next()
        assert workers() > before
        reader = iterator._reader
        del iterator
        gc.collect()
        assert reader.generation > 1  # what is on its way does nothing
    assert workers() <= before


def test_the_naive_engine_gives_the_same(ten: dict[str, Any]) -> None:
    options = {**ten, "shuffle": True, "rand_crop": True, "rand_mirror": True}
    threaded = [batch.data[0].asnumpy() for batch in ImageRecordIter(**options)]
    with mx.engine.using("NaiveEngine"):
        naive = [batch.data[0].asnumpy() for batch in ImageRecordIter(**options)]
    np.testing.assert_array_equal(naive, threaded)


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_ends_the_iterator(ten: dict[str, Any], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import threading, mixnet as mx\n"
        f"iterator = mx.io.ImageRecordIter(**{ten!r})\n"
        "try:\n"
        "    while True:\n"
        "        for batch in iterator:\n"
        "            batch.data[0].wait_to_read()\n"
        "            print('batch', flush=True)\n"
        "        iterator.reset()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    command = [sys.executable, str(script)]
    root = str(Path(mx.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    process = processes.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert next_line(process) == "batch\n"
    output = press(process)
    assert output.endswith("interrupted\n")
    assert process.returncode == 0


@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX alone")
def test_forked_processes_read_independently(ten: dict[str, Any]) -> None:
    iterator = ImageRecordIter(**ten)
    first = next(iterator)
    child = os.fork()
    if not child:  # what fails here is seen by its exit status
        status = 1
        try:
            actual = ImageRecordIter(**ten).next().label[0].asnumpy()
            status = int(actual.tolist() != [0, 1, 2, 3])
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert first.label[0].asnumpy().tolist() == [0, 1, 2, 3]
    assert next(iterator).label[0].asnumpy().tolist() == [4, 5, 6, 7]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=12),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_record_is_in_one_part(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], parts: int, indexed: bool
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    path, index = str(folder / "a.rec"), str(folder / "a.idx")
    writer = MXIndexedRecordIO(index, path, "w")
    # The magic word inside makes records of several parts.
    contents = [each + b"\x0a\x23\xd7\xce" * (i % 3) for i, each in enumerate(contents)]
    for i, each in enumerate(contents):
        writer.write_idx(i, each)
    writer.close()
    results = []
    for part in range(parts):
        records = Records(path, index if indexed else "", num_parts=parts, part_index=part)
        records.begin(0)
        while content := records.take(3):
            results += content
    assert results == contents
