"""Symbol files: networks, old files, loops with bodies."""

from __future__ import annotations

import shutil
from pathlib import Path

import mixnet as mx

FORMAT = "symbols"
_FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


def corpus(folder: Path) -> list[Path]:
    """Small networks of this writer, and files of MXNet."""
    data = mx.sym.var("data", shape=(2, 3, 8, 8))
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
    net = mx.sym.Pooling(mx.sym.BatchNorm(net, name="norm"), kernel=(2, 2), stride=(2, 2))
    net = mx.sym.Concat(*mx.sym.split(net, num_outputs=2, axis=1), dim=1)
    net = mx.sym.FullyConnected(mx.sym.reshape(net, shape=(0, -1)), num_hidden=3, name="dense")
    mx.sym.SoftmaxOutput(net * 2 + 1, name="softmax").save(str(folder / "net.json"))
    typed = mx.sym.var("ids", shape=(4,), dtype="int32", lr_mult=2)
    embedded = mx.sym.Embedding(typed, input_dim=5, output_dim=2, name="table")
    mx.sym.slice(embedded, begin=(0, None), end=(2, 2)).save(str(folder / "typed.json"))
    for name in ("mlp-symbol.json", "legacy-symbol.json", "foreach-symbol.json"):
        shutil.copyfile(_FIXTURES / name, folder / name)
    return sorted(folder.glob("*.json"))


def load(path: Path) -> None:
    """Ask the symbol for its names, shapes and dtypes, and write it again."""
    symbol = mx.sym.load(str(path))
    symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states()
    symbol.attr_dict()
    mx.sym.load_json(symbol.tojson())
    symbol.infer_type()
    symbol.infer_shape_partial()
