"""Safetensors files: arrays of all dtypes, without axes and without elements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mixnet import nd

FORMAT = "safetensors"


def corpus(folder: Path) -> list[Path]:
    """Files of this writer, and one with spaces and metadata as others write it."""
    dense = nd.array(np.arange(6).reshape(2, 3))
    small = {
        d: nd.array([1, 2], dtype=d) for d in ("float16", "uint8", "int64", "bool", "bfloat16")
    }
    nd.save(
        str(folder / "named.safetensors"),
        {"layer.weight": dense, "empty": nd.array(np.zeros((0, 3)))},
    )
    nd.save(str(folder / "dtypes.safetensors"), small)
    header = {
        "__metadata__": {"format": "pt"},
        "x": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    }
    text = json.dumps(header, indent=1).encode()
    content = len(text).to_bytes(8, "little") + text + b"\0\0\x80\x3f"
    (folder / "other.safetensors").write_bytes(content)
    return sorted(folder.glob("*.safetensors"))


def load(path: Path) -> None:
    """Read all numbers, from the file and from its bytes."""
    for arrays in (nd.load(str(path)), nd.load_frombuffer(path.read_bytes())):
        for array in arrays.values() if isinstance(arrays, dict) else arrays:
            array.asnumpy().sum()
