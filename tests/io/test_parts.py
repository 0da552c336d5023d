"""Parts of files for several workers: together they are the whole, and they begin where MXNet 1.9.1's do."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx

COUNT = 17
# How many records are in each part, by kind of file and number of parts; from MXNet 1.9.1.
SIZES = {
    "lines": {2: [9, 8], 3: [6, 6, 5], 5: [4, 3, 4, 4, 2], 6: [3, 3, 3, 3, 3, 2]},
    "mnist": {2: [8, 9], 3: [5, 6, 6], 5: [3, 3, 4, 3, 4], 6: [2, 3, 3, 3, 3, 3]},
    "images": {2: [9, 8], 3: [6, 6, 5], 5: [5, 2, 4, 3, 3], 6: [4, 2, 3, 3, 2, 3]},
    "images by index": {2: [9, 8], 3: [6, 6, 5], 5: [4, 4, 4, 4, 1], 6: [3, 3, 3, 3, 3, 2]},
    "boxes": {2: [9, 8], 3: [6, 6, 5], 5: [5, 2, 4, 3, 3], 6: [4, 2, 3, 3, 2, 3]},
    "boxes by index": {2: [9, 8], 3: [6, 6, 5], 5: [5, 2, 4, 3, 3], 6: [4, 2, 3, 3, 2, 3]},
}


def bitmap(pixels: np.ndarray) -> bytes:
    """A picture with the same bytes from every encoder; its width is a multiple of 4."""
    height, width, _ = pixels.shape
    content = pixels.tobytes()
    header = struct.pack("<HIIII", 0x4D42, 54 + len(content), 0, 54, 40)
    return (
        header
        + struct.pack("<iiHHIIiiII", width, height, 1, 24, 0, len(content), *[0] * 4)
        + content
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 17 records of different lengths; a record's label is its number."""
    folder = tmp_path_factory.mktemp("parts")
    pixels = np.random.RandomState(3).randint(0, 255, (COUNT, 40, 40, 3)).astype(np.uint8)
    rows = (" ".join(f"{j}:{j}" for j in range(1 + (i * 7) % 9)) for i in range(COUNT))
    (folder / "lines").write_text("".join(f"{i} {row}\n" for i, row in enumerate(rows)))
    for kind in ("images", "boxes"):
        records = mx.recordio.MXIndexedRecordIO(
            str(folder / f"{kind}.idx"), str(folder / f"{kind}.rec"), "w"
        )
        for i in range(COUNT):
            size = 8 + 4 * (i * 11 % 8)
            box = np.array([2, 5, i, 0.1, 0.1, 0.5, 0.5], np.float32)
            header = mx.recordio.IRHeader(0, float(i) if kind == "images" else box, i, 0)
            records.write_idx(i, mx.recordio.pack(header, bitmap(pixels[i, :size, :size])))
        records.close()
    (folder / "pixels").write_bytes(struct.pack(">IIII", 2051, COUNT, 28, 28) + bytes(COUNT * 784))
    (folder / "labels").write_bytes(struct.pack(">II", 2049, COUNT) + bytes(range(COUNT)))
    return folder


def numbers(folder: Path, kind: str, num_parts: int, part_index: int) -> list[int]:
    """The numbers of the records in a part."""
    options: dict[str, Any] = {"num_parts": num_parts, "part_index": part_index, "batch_size": 1}
    name, place = kind.partition(" ")[0], 0
    if kind == "lines":
        batches = mx.io.LibSVMIter(data_libsvm=str(folder / "lines"), data_shape=(9,), **options)
    elif kind == "mnist":
        batches = mx.io.MNISTIter(
            image=str(folder / "pixels"), label=str(folder / "labels"), shuffle=False, **options
        )
    else:
        options |= {"path_imgrec": str(folder / f"{name}.rec"), "data_shape": (3, 8, 8)}
        if "index" in kind:
            options["path_imgidx"] = str(folder / f"{name}.idx")
        if name == "images":
            batches = mx.io.ImageRecordIter(**options)
        else:
            batches, place = mx.io.ImageDetRecordIter(label_pad_width=12, **options), 6
    return [int(batch.label[0].asnumpy().ravel()[place]) for batch in batches]


@pytest.mark.parametrize("kind", SIZES)
def test_parts_are_those_of_mxnet(folder: Path, kind: str) -> None:
    for count, sizes in {1: [COUNT], **SIZES[kind]}.items():
        parts = [numbers(folder, kind, count, i) for i in range(count)]
        assert [len(part) for part in parts] == sizes, count
        assert [number for part in parts for number in part] == list(range(COUNT)), count


def test_lines_of_a_part_among_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"0 0:1\r\n\r\n# nothing\n1 0:1\n\n2 0:1")
    for count in range(1, 30):
        parts = []
        for i in range(count):
            part = mx.io.LibSVMIter(
                data_libsvm=str(tmp_path / "lines"), data_shape=(1,), batch_size=1,
                num_parts=count, part_index=i,
            )  # fmt: skip
            parts += [int(batch.label[0].asnumpy()[0]) for batch in part]
        assert parts == [0, 1, 2], count
