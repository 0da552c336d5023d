"""Small image files for tests: image i is all 10 i, ``(30 + i, 40, 3)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from mixnet.recordio import IRHeader, MXIndexedRecordIO, pack, pack_img


def pixels(i: int) -> np.ndarray:
    return np.full((30 + i, 40, 3), 10 * i, np.uint8)


def write_records(
    folder: Path, count: int, width: int = 1, junk: int = -1, name: str = "a"
) -> dict:
    """A record file with an index; labels ``i, i + 0.5, ...``; record ``junk`` is no image."""
    paths = {"path_imgrec": str(folder / f"{name}.rec"), "path_imgidx": str(folder / f"{name}.idx")}
    writer = MXIndexedRecordIO(paths["path_imgidx"], paths["path_imgrec"], "w")
    for i in range(count):
        label: Any = float(i) if width == 1 else [i + 0.5 * j for j in range(width)]
        header = IRHeader(0, label, i, 0)
        packed = pack(header, b"junk") if i == junk else pack_img(header, pixels(i), 3, ".png")
        writer.write_idx(i, packed)
    writer.close()
    return paths


def write_files(folder: Path, count: int, width: int = 1) -> dict:
    """Image files and a list of them."""
    lines = []
    for i in range(count):
        cv2.imwrite(str(folder / f"{i}.png"), pixels(i))
        labels = "\t".join(str(i + 0.5 * j) for j in range(width))
        lines.append(f"{i}\t{labels}\t{i}.png\n")
    (folder / "a.lst").write_text("".join(lines))
    return {"path_imglist": str(folder / "a.lst"), "path_root": str(folder)}
