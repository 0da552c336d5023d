"""Parameter files: dense and sparse arrays, with and without names, of all versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from mixnet import nd

FORMAT = "params"
_FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


def corpus(folder: Path) -> list[Path]:
    """Files of this writer, and older ones of MXNet."""
    dense = nd.array(np.arange(6).reshape(2, 3))
    csr = nd.sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
    rows = nd.sparse.row_sparse_array((np.ones((2, 3)), [1, 4]), shape=(6, 3))
    small = [nd.array([1, 2], dtype=dtype) for dtype in ("float16", "uint8", "int64", "bool")]
    for name, data in (
        ("named.params", {"arg:weight": dense, "aux:mean": nd.zeros((3,))}),
        ("list.params", [dense, *small]),
        ("sparse.params", {"csr": csr, "rows": rows, "dense": dense}),
    ):
        nd.save(str(folder / name), data)
    for name in ("legacy_v0.params", "legacy_v1.params"):
        shutil.copyfile(_FIXTURES / name, folder / name)
    return sorted(folder.glob("*.params"))


def load(path: Path) -> None:
    """Read all numbers, from the file and from its bytes."""
    for result in (nd.load(str(path)), nd.load_frombuffer(path.read_bytes())):
        for array in result.values() if isinstance(result, dict) else result:
            for part in (array._data, *array._aux) if array._is_sparse else (array,):
                part.asnumpy().sum()
