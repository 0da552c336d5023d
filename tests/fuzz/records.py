"""Record files: read one after another, by parts, shuffled, and as batches of images."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from mixnet.image.record_source import Records
from mixnet.io import ImageRecordIter
from mixnet.recordio import IRHeader, MXRecordIO, pack, pack_img, unpack, unpack_img

FORMAT = "records"
_MAGIC = b"\x0a\x23\xd7\xce"


def corpus(folder: Path) -> list[Path]:
    """Plain records, and images with one label or several."""
    paths = [folder / name for name in ("plain.rec", "images.rec", "labels.rec")]
    contents: list[list[bytes]] = [[b"a", b"", b"abcd" + _MAGIC + b"ef", b"x" * 100], [], []]
    for i in range(4):
        pixels = np.full((9 + i, 10, 3), 20 * i, np.uint8)
        contents[1].append(pack_img(IRHeader(0, float(i), i, 0), pixels, 3, ".png"))
        labels = pack(IRHeader(0, [1.0, float(i)], i, 0), cv2.imencode(".jpg", pixels)[1].tobytes())
        contents[2].append(labels)
    for path, records in zip(paths, contents, strict=True):
        writer = MXRecordIO(str(path), "w")
        for record in records:
            writer.write(record)
        writer.close()
    return paths


def load(path: Path) -> None:
    """Everything that can be done with records; the first error of each way does not end the others."""
    problems = []
    ways = (
        (_in_order, _by_parts) if path.name == "plain.rec" else (_in_order, _by_parts, _as_images)
    )
    for way in ways:
        try:
            way(path)
        except Exception as error:
            problems.append(error)
    for error in sorted(problems, key=lambda each: type(each).__module__ == "mixnet.base"):
        raise error


def _in_order(path: Path) -> None:
    reader = MXRecordIO(str(path), "r")
    try:
        while (record := reader.read()) is not None:
            if path.name != "plain.rec":
                unpack(record)
                unpack_img(record)
    finally:
        reader.close()


def _by_parts(path: Path) -> None:
    for options in ({"skip": True}, {"num_parts": 2, "part_index": 1}, {"shuffle": True}):
        records = Records(str(path), **options)
        records.begin(0)
        while records.take(2):
            pass


def _as_images(path: Path) -> None:
    width = 2 if path.name == "labels.rec" else 1
    images = ImageRecordIter(
        path_imgrec=str(path), data_shape=(3, 8, 8), batch_size=2, label_width=width,
        preprocess_threads=1, prefetch_buffer=1,
    )  # fmt: skip
    for batch in images:
        batch.data[0].asnumpy()
