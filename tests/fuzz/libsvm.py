"""LibSVM files."""

from __future__ import annotations

from pathlib import Path

import mixnet as mx

FORMAT = "libsvm"


def corpus(folder: Path) -> list[Path]:
    """Lines with labels, and a file of labels."""
    (folder / "data.libsvm").write_bytes(b"1 0:0.5 2:1.2\n0 1:-3 # words\n\n2\n1 0:1 1:2 2:3\n")
    (folder / "labels.libsvm").write_bytes(b"0 0:1 1:2\n0 1:3\n0 qid:1 0:4\n0:2 0:1 1:1\n")
    return sorted(folder.glob("*.libsvm"))


def load(path: Path) -> None:
    """All batches."""
    data = path.with_name("data.libsvm")
    batches = mx.io.LibSVMIter(
        data_libsvm=str(data), data_shape=(3,), label_libsvm=str(path.with_name("labels.libsvm")),
        label_shape=(2,), batch_size=2,
    )  # fmt: skip
    for batch in batches:
        batch.data[0].data.asnumpy(), batch.data[0].indptr.asnumpy(), batch.label[0].asnumpy()
    for batch in mx.io.LibSVMIter(data_libsvm=str(data), data_shape=(3,), batch_size=3):
        batch.label[0].asnumpy()
