"""Lists of images, beside images that are whole."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import mixnet as mx
from mixnet.gluon.data.vision import ImageListDataset
from mixnet.image import ImageIter
from mixnet.tools.im2rec import read_list
from tests.image.files import write_files

FORMAT = "lists"


def corpus(folder: Path) -> list[Path]:
    """Lists with one label and with several."""
    write_files(folder, 3, 2)
    (folder / "a.lst").rename(folder / "two.lst")
    write_files(folder, 3)
    return [folder / "a.lst", folder / "two.lst"]


def load(path: Path) -> None:
    """All images, by the iterator and by the data set."""
    with contextlib.redirect_stdout(io.StringIO()):
        list(read_list(str(path)))
    dataset = ImageListDataset(str(path.parent), path.name)
    for i in range(len(dataset)):
        dataset[i]
    images = ImageIter(
        2, (3, 8, 8), 2 if path.name == "two.lst" else 1, path_imglist=str(path),
        path_root=str(path.parent), aug_list=[mx.image.CenterCropAug((8, 8))],
    )  # fmt: skip
    for batch in images:
        batch.label[0].asnumpy()
