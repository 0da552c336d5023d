"""Files of the MNIST format, gzipped or not."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import mixnet as mx
from tests.fuzz.formats import Packing

FORMAT = "mnist"


def corpus(folder: Path) -> list[Path]:
    """Three images and their labels."""
    images = struct.pack(">IIII", 0x803, 3, 4, 5) + bytes(range(60))
    labels = struct.pack(">II", 0x801, 3) + b"\1\2\3"
    for name, content in (("images-idx3", images), ("labels-idx1", labels)):
        (folder / f"train-{name}-ubyte").write_bytes(content)
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
    return sorted(folder.iterdir())


def packing(path: Path) -> Packing | None:
    """Damage below the checksum of what is gzipped."""
    return (gzip.decompress, gzip.compress) if path.suffix == ".gz" else None


def load(path: Path) -> None:
    """The iterator, and the data set of Gluon."""
    images, labels = (
        path.parent / "train-images-idx3-ubyte",
        path.parent / "train-labels-idx1-ubyte",
    )
    if path.suffix == ".gz":
        images, labels = path.parent / "images-idx3.gz", path.parent / "labels-idx1.gz"
    for batch in mx.io.MNISTIter(image=str(images), label=str(labels), batch_size=2):
        batch.data[0].asnumpy()
    if path.suffix != ".gz":
        for i in range(len(digits := mx.gluon.data.vision.MNIST(str(path.parent)))):
            digits._data.shape, digits._label[i]
