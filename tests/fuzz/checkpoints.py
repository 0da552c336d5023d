"""Checkpoints and files of Gluon: a symbol or a description of blocks, and parameters."""

from __future__ import annotations

from pathlib import Path

import mixnet as mx
from mixnet import gluon

FORMAT = "checkpoints"


def _network() -> gluon.HybridBlock:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.Dense(2, in_units=3))
    net.initialize(mx.init.One())
    return net


def corpus(folder: Path) -> list[Path]:
    """A checkpoint, the two files of ``Block.save``, and those of ``save_parameters``."""
    data = mx.sym.var("data", shape=(2, 2))
    symbol = mx.sym.FullyConnected(data, num_hidden=3, name="dense")
    weights = {"dense_weight": mx.nd.ones((3, 2)), "dense_bias": mx.nd.ones((3,))}
    mx.model.save_checkpoint(str(folder / "check"), 1, symbol, weights, {})
    net = _network()
    net.save(str(folder / "block"))
    net.save_parameters(str(folder / "own.params"))
    net.collect_params().save(str(folder / "flat.params"), strip_prefix=net.prefix)
    return sorted(folder.iterdir())


def load(path: Path) -> None:
    """Load with everything that takes the file."""
    if path.name.startswith("check"):
        prefix = str(path.parent / "check")
        mx.model.load_checkpoint(prefix, 1)
        block = gluon.SymbolBlock.imports(f"{prefix}-symbol.json", "data", f"{prefix}-0001.params")
        for each in block.collect_params().values():
            each.data()
    elif path.name.startswith("block"):
        _network().load(str(path.parent / "block"))
    else:
        net = _network()
        net.load_parameters(str(path))
        if path.name == "flat.params":
            net.collect_params().load(str(path), restore_prefix=net.prefix)
