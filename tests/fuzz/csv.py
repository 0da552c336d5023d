"""CSV files, also gzipped."""

from __future__ import annotations

import gzip
from pathlib import Path

import mixnet as mx
from tests.fuzz.formats import Packing

FORMAT = "csv"


def corpus(folder: Path) -> list[Path]:
    """Numbers, whole numbers, and a gzipped file."""
    text = b"1,2.5,-3\n4e2,5,6\n\n.7,8,9\n"
    (folder / "floats.csv").write_bytes(text)
    (folder / "whole.csv").write_bytes(b"1,2,-3\r\n4,5,6\r\n")
    (folder / "packed.csv").write_bytes(gzip.compress(text, mtime=0))
    return sorted(folder.glob("*.csv"))


def packing(path: Path) -> Packing | None:
    """Damage below the checksum of what is gzipped."""
    return (gzip.decompress, gzip.compress) if path.name == "packed.csv" else None


def load(path: Path) -> None:
    """All batches."""
    dtype = "int32" if path.name == "whole.csv" else "float32"
    for batch in mx.io.CSVIter(data_csv=str(path), data_shape=(3,), batch_size=2, dtype=dtype):
        batch.data[0].asnumpy()
