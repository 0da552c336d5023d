"""ONNX files: a small network with parameters inside, one with them beside it, nodes that compute shapes from
open dimensions, and what sklearn learned.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx

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
    result = dict(zip(names, [*shapes, *states], strict=True))
    params = {n: np.ones(s, "float32") for n, s in result.items() if n != "data"}
    path = mx.onnx.export_model(
        net, params, [(1, 2, 4, 4)], onnx_file_path=str(folder / "net.onnx")
    )
    model = read_model(path)
    onnx.save_model(
        model,
        folder / "beside.onnx",
        save_as_external_data=True,
        location="beside.data",
        size_threshold=0,
    )
    for name in ("forest_of_two", "svc_of_two", "neighbors"):  # trees, kernels and a Scan
        shutil.copy(LEARNED / f"{name}.onnx", folder)
    write_model(_open_model(), folder / "open.onnx")
    return sorted(folder.glob("*.onnx"))


def _open_model() -> Any:
    """Batch and length are open; shapes, a state, positions and a count of turns are computed from them."""
    helper, tensors = onnx.helper, onnx.numpy_helper
    numbers = {"i0": 0, "i1": 1, "zero": [0], "one": [1], "width": [3], "all": [-1]}
    arrays = [tensors.from_array(np.asarray(a, np.int64), n) for n, a in numbers.items()]
    arrays.append(tensors.from_array(np.ones((3, 2), np.float32), "weight"))
    node = helper.make_node
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["carried", "carried"], ["doubled"]), node("Identity", ["going"], ["again"])],
        "body",
        [
            info("turn", onnx.TensorProto.INT64, []),
            info("going", onnx.TensorProto.BOOL, []),
            info("carried", onnx.TensorProto.FLOAT, None),
        ],
        [info("again", onnx.TensorProto.BOOL, []), info("doubled", onnx.TensorProto.FLOAT, None)],
    )
    nodes = [
        node("Shape", ["data"], ["shape"]),
        node("Gather", ["shape", "i0"], ["batch"]),
        node("Gather", ["shape", "i1"], ["length"]),
        node("Unsqueeze", ["batch", "zero"], ["batch1"]),
        node("Mul", ["batch", "length"], ["rows"]),
        node("Unsqueeze", ["rows", "zero"], ["rows1"]),
        node("Concat", ["rows1", "width"], ["flat"], axis=0),
        node("Reshape", ["data", "flat"], ["x"]),
        node("MatMul", ["x", "weight"], ["y"]),
        node("Concat", ["batch1", "all"], ["back"], axis=0),
        node("Reshape", ["y", "back"], ["z"]),
        node("Range", ["i0", "length", "i1"], ["positions"]),
        node("Cast", ["positions"], ["places"], to=1),
        node("ReduceSum", ["places", "zero"], ["total"], keepdims=1),
        node("Concat", ["batch1", "one"], ["column"], axis=0),
        node("ConstantOfShape", ["column"], ["start"]),
        node("Add", ["start", "total"], ["first"]),
        node("Loop", ["length", "", "first"], ["last"], body=body),
        node("Concat", ["z", "last"], ["out"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "open",
        [info("data", onnx.TensorProto.FLOAT, ["batch", "length", 3])],
        [info("out", onnx.TensorProto.FLOAT, None)],
        arrays,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def load(path: Path) -> None:
    """Ask for what it says of itself, read it, and infer the shapes of what was read."""
    mx.onnx.get_model_metadata(path)
    symbol, arguments, states = mx.contrib.onnx.import_model(path)
    symbol.tojson()
    shapes = {n: a.shape for n, a in {**arguments, **states}.items()}
    symbol.infer_shape_partial(**shapes)
    for name, attributes in symbol.attr_dict().items():
        if name not in shapes and "__shape__" in attributes:
            shapes[name] = tuple(e or 2 for e in ast.literal_eval(attributes["__shape__"]))
    symbol.infer_shape_partial(**shapes)
