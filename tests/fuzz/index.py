"""Indices of record files, beside files that are whole."""

from __future__ import annotations

from pathlib import Path

from mixnet.gluon.data import RecordFileDataset
from mixnet.image.record_source import Records
from mixnet.recordio import MXIndexedRecordIO

FORMAT = "index"


def corpus(folder: Path) -> list[Path]:
    """An index with numbers, one with names."""
    paths = []
    for name, keys in (("numbers", [0, 1, 2, 7, 30]), ("names", ["a", "b", "d"])):
        path = folder / f"{name}.idx"
        kind = type(keys[0])
        writer = MXIndexedRecordIO(str(path), str(path.with_suffix(".rec")), "w", kind)
        for key in keys:
            writer.write_idx(key, b"x" * 30)
        writer.close()
        paths.append(path)
    return paths


def load(path: Path) -> None:
    """Read every record of the index, also by other ways that take one."""
    records = str(path.with_suffix(".rec"))
    kind = str if path.name == "names.idx" else int
    reader = MXIndexedRecordIO(str(path), records, "r", kind)
    try:
        for key in reader.keys:
            reader.read_idx(key)
    finally:
        reader.close()
    if kind is int:
        dataset = RecordFileDataset(records)
        for i in range(len(dataset)):
            dataset[i]
        dataset._record.close()
        source = Records(records, str(path), shuffle=True)
        source.begin(0)
        source.take(100)
