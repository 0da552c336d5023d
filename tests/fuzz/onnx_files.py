"""ONNX files: a small network with parameters inside, one with them beside it, nodes that compute shapes, and
what sklearn learned.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import mixnet as mx
from mixnet.onnx.export.file import write_model
from mixnet.onnx.metadata import read_model

FORMAT = "onnx"
NEEDS = "onnx"
LEARNED = Path(__file__).parents[1] / "onnx" / "sklearn_models"


def corpus(folder: Path) -> list[Path]:
    """Files of this writer, one of them with its parameters in another file."""
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
    net = mx.sym.Pooling(mx.sym.BatchNorm(net, name="norm"), kernel=(2, 2), stride=(2, 2))
    net = mx.sym.reshape(mx.sym.slice_axis(net, axis=1, begin=0, end=1), shape=(0, -1))
    net = mx.sym.softmax(mx.sym.FullyConnected(net, num_hidden=3, name="dense"))
    shapes, _, states = net.infer_shape(data=(1, 2, 4, 4))
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    found = dict(zip(names, [*shapes, *states], strict=True))
    params = {n: np.ones(s, "float32") for n, s in found.items() if n != "data"}
    path = mx.onnx.export_model(
        net, params, [(1, 2, 4, 4)], onnx_file_path=str(folder / "net.onnx")
    )
    model = read_model(path)
    write_model(model, folder / "beside.onnx")
    for name in ("forest_of_two", "svc_of_two", "neighbors"):  # trees, kernels and a Scan
        shutil.copy(LEARNED / f"{name}.onnx", folder)
    return sorted(folder.glob("*.onnx"))


def load(path: Path) -> None:
    """Ask for what it says of itself, read it, and infer the shapes of what was read."""
    mx.onnx.get_model_metadata(path)
    symbol, arguments, states = mx.contrib.onnx.import_model(path)
    symbol.tojson()
    symbol.infer_shape_partial(**{n: a.shape for n, a in {**arguments, **states}.items()})
