"""im2rec: lists and records of a folder, as MXNet's tool makes them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from mixnet.recordio import MXIndexedRecordIO, MXRecordIO, unpack, unpack_img
from mixnet.tools import im2rec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """16 files in a folder and its sub-folders; one of them is not an image."""
    root = tmp_path / "img"
    (root / "dog" / "small").mkdir(parents=True)
    (root / "cat").mkdir()
    for i in range(5):
        pixels = np.full((40 + i * 3, 50 - 4 * i, 3), 10 * i, np.uint8)
        cv2.imwrite(str(root / "cat" / f"c{i}.jpg"), pixels)
        cv2.imwrite(str(root / "dog" / f"d{i}.png"), pixels)
        if i < 3:
            cv2.imwrite(str(root / "dog" / "small" / f"s{i}.JPEG"), pixels)
        if i < 2:
            cv2.imwrite(str(root / f"r{i}.jpeg"), pixels)
    (root / "cat" / "bad.jpg").write_bytes(b"junk")
    (root / "cat" / "x.txt").write_text("no image")
    return root


def run(*args: object) -> int:
    return im2rec.main([str(each) for each in args])


def numbers(path: Path) -> list[int]:
    return [int(line.split("\t")[0]) for line in path.read_text().splitlines()]


SHUFFLED = [11, 8, 13, 3, 9, 0, 15, 1, 10, 5, 6, 2, 12, 14, 7, 4]  # by MXNet's tool


def test_lists_of_images_are_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    prefix = tmp_path / "a"
    assert run("--list", "--recursive", prefix, folder) == 0
    assert capsys.readouterr().out == ". 0\ncat 1\ndog 2\ndog/small 3\n"
    assert numbers(tmp_path / "a.lst") == SHUFFLED
    assert (tmp_path / "a.lst").read_text().startswith("11\t2.000000\tdog/d3.png\n")
    run("--list", "--recursive", "--no-shuffle", tmp_path / "ns", folder)
    lines = (tmp_path / "ns.lst").read_text().splitlines()
    assert lines[:3] == ["0\t0.000000\tr0.jpeg", "1\t0.000000\tr1.jpeg", "2\t1.000000\tcat/bad.jpg"]
    assert lines[-1] == "15\t3.000000\tdog/small/s2.JPEG"
    run("--list", tmp_path / "flat", folder)
    assert (tmp_path / "flat.lst").read_text() == "1\t0.000000\tr1.jpeg\n0\t0.000000\tr0.jpeg\n"
    run("--list", "--recursive", "--exts", ".png", "--", tmp_path / "ex", folder)
    assert numbers(tmp_path / "ex.lst") == [2, 0, 4, 3, 1]


def test_lists_are_divided_into_parts(folder: Path, tmp_path: Path) -> None:
    run("--list", "--recursive", "--train-ratio", 0.5, "--test-ratio", 0.25, tmp_path / "t", folder)
    run("--list", "--recursive", "--chunks", 2, tmp_path / "c", folder)
    actual = {path.name: numbers(path) for path in tmp_path.glob("*.lst")}
    assert actual == {
        "t_test.lst": SHUFFLED[:4], "t_train.lst": SHUFFLED[4:12], "t_val.lst": SHUFFLED[12:],
        "c_0.lst": SHUFFLED[:8], "c_1.lst": SHUFFLED[8:],
    }  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_records_are_written(
    folder: Path, tmp_path: Path, threads: int, capsys: pytest.CaptureFixture
) -> None:
    run("--list", "--recursive", tmp_path / "a", folder)
    assert run("--resize", 30, "--num-thread", threads, tmp_path / "a", folder) == 0
    output = capsys.readouterr().out
    assert f"imread read blank (None) image for file: {folder / 'cat' / 'bad.jpg'}" in output
    assert "1 of 16 images could not be read and are left out." in output
    reader = MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "r")
    assert reader.keys == [each for each in SHUFFLED if each != 2]
    header, pixels = unpack_img(reader.read_idx(3))
    assert (header.label, header.id) == (1.0, 3)
    assert pixels.shape == (30, 37, 3)
    assert min(unpack_img(reader.read_idx(7))[1].shape[:2]) == 30


def test_images_can_be_stored_unchanged(folder: Path, tmp_path: Path) -> None:
    run("--list", "--recursive", "--no-shuffle", tmp_path / "a", folder)
    run("--pass-through", tmp_path / "a", folder)
    reader = MXRecordIO(str(tmp_path / "a.rec"), "r")
    contents = [unpack(each)[1] for each in iter(reader.read, None)]
    assert contents[0] == (folder / "r0.jpeg").read_bytes()
    assert contents[2] == b"junk" and len(contents) == 16


def test_images_are_cropped_made_grey_and_labelled(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.lst").write_text("4\t1\t2.5\tdog/d1.png\n7\t0\t-1\tcat/c2.jpg\n")
    run("--center-crop", "--color", 0, "--encoding", ".png", "--quality", 3, "--pack-label",
        tmp_path / "a", folder)  # fmt: skip
    reader = MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "r")
    header, pixels = unpack_img(reader.read_idx(4))
    assert header.label.tolist() == [1, 2.5]
    assert pixels.shape == (43, 43) and (pixels == 10).all()
    run(tmp_path / "a", folder)
    assert unpack(MXRecordIO(str(tmp_path / "a.rec"), "r").read())[0].label == 1.0


def test_missing_files_are_reported(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert run(tmp_path / "none", folder) == 1
    assert "Did not find and list file with prefix" in capsys.readouterr().out
    assert run("--list", tmp_path / "none", tmp_path / "no_folder") == 1
    (tmp_path / "a.lst").write_text("1\tx\n2\t1\tcat/c1.jpg\nthree\t1\tcat/c1.jpg\n")
    assert run(tmp_path / "a", folder) == 0
    output = capsys.readouterr().out
    assert "but only has 2 parts for ['1', 'x']" in output and "Parsing lst met error" in output
    assert (tmp_path / "a.idx").read_text() == "2\t0\n"
