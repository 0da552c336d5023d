"""The data that is read: arrays in memory, and record files of JPEG images, the same for all libraries."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

SIDE, CROP, IMAGES, IMAGE_BATCH = 256, 224, 512, 64
ROWS, COLUMNS, ROW_BATCH = 60000, 784, 128
MEAN, STD = (123.68, 116.779, 103.939), (58.393, 57.12, 57.375)
AHEAD = 16  # batches at least, that iterators make ahead
CASES = ("arrays", "arrays shuffled", "jpeg", "jpeg resized")


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Data and labels as large as MNIST."""
    draw = np.random.RandomState(0)
    return draw.rand(ROWS, COLUMNS).astype(np.float32), draw.randint(0, 10, ROWS)


def write_images(folder: str) -> None:
    """A record file and its parts: smooth noise, which compresses like photographs."""
    import cv2

    from mixnet.recordio import IRHeader, MXIndexedRecordIO, pack

    draw = np.random.RandomState(0)
    writer = MXIndexedRecordIO(f"{folder}/images.idx", f"{folder}/images.rec", "w")
    for i in range(IMAGES):
        rough = draw.randint(0, 255, (SIDE // 8, SIDE // 8, 3)).astype(np.uint8)
        pixels = cv2.resize(rough, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        pixels = np.clip(pixels + draw.randint(-12, 13, pixels.shape), 0, 255).astype(np.uint8)
        content = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
        writer.write_idx(i, pack(IRHeader(0, float(i % 10), i, 0), content))
        with open(os.path.join(folder, f"{i}.jpg"), "wb") as file:
            file.write(content)
    writer.close()


def record_parameters(case: str, folder: str, threads: int) -> dict[str, Any]:
    """Arguments of ImageRecordIter."""
    options: dict[str, Any] = {
        "path_imgrec": f"{folder}/images.rec", "path_imgidx": f"{folder}/images.idx",
        "data_shape": (3, CROP, CROP), "batch_size": IMAGE_BATCH, "shuffle": True,
        "rand_crop": True, "rand_mirror": True, "preprocess_threads": threads,
        **{f"mean_{c}": value for c, value in zip("rgb", MEAN, strict=False)},
        **{f"std_{c}": value for c, value in zip("rgb", STD, strict=False)},
    }  # fmt: skip
    if case == "jpeg resized":
        options |= {
            "rand_crop": False,
            "random_resized_crop": True,
            "min_random_area": 0.08,
            "max_random_area": 1.0,
            "min_aspect_ratio": 0.75,
            "max_aspect_ratio": 4 / 3,
        }
    return options
