"""StableHLO programs of this writer, with parameters inside and beside; a file without its
checksum costs a process.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mixnet as mx

FORMAT = "stablehlo"


def corpus(folder: Path) -> list[Path]:
    """Two files, of one of which the parameters are in another."""
    dense = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="dense")
    net = mx.sym.softmax(dense)
    params = {"dense_weight": np.ones((3, 4), "float32"), "dense_bias": np.ones(3, "float32")}
    for place in ("inside", "beside"):
        mx.export.export_stablehlo(
            net, params, [(2, 4)], path=folder / f"{place}.stablehlo", platforms=["cpu"], parameters=place
        )  # fmt: skip
    return sorted(folder.glob("*.stablehlo"))


def load(path: Path) -> None:
    """Make a block of it."""
    mx.gluon.import_stablehlo(path, params=path.parent / "beside.safetensors")
