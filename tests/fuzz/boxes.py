"""Record files of images with boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mixnet as mx
from mixnet.image import ImageDetIter
from mixnet.recordio import IRHeader, MXRecordIO, pack_img

FORMAT = "boxes"


def corpus(folder: Path) -> list[Path]:
    """Images with one object, and with two."""
    path = folder / "boxes.rec"
    writer = MXRecordIO(str(path), "w")
    for i in range(3):
        label = [2, 5] + [i, 0.1, 0.1, 0.7, 0.8] * (1 + i % 2)
        pixels = np.full((9, 10, 3), 20 * i, np.uint8)
        writer.write(pack_img(IRHeader(0, label, i, 0), pixels, 3, ".png"))
    writer.close()
    return [path]


def load(path: Path) -> None:
    """Both iterators, with crops, padding and mirrors."""
    images = mx.io.ImageDetRecordIter(
        path_imgrec=str(path), data_shape=(3, 8, 8), batch_size=2, rand_crop_prob=0.5,
        rand_pad_prob=0.5, max_pad_scale=2.0, rand_mirror_prob=0.5, preprocess_threads=1,
        min_crop_overlaps=(0.1,), prefetch_buffer=1,
    )  # fmt: skip
    for batch in images:
        batch.label[0].asnumpy()
    for batch in ImageDetIter(
        2, (3, 8, 8), str(path), rand_crop=0.5, rand_pad=0.5, rand_mirror=True
    ):
        batch.label[0].asnumpy()
