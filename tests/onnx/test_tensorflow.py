"""Graphs in the forms that tf2onnx writes: channels last, computed shapes, strided slices, loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.runtime import onnx, run

RNG = np.random.default_rng(8)
make = onnx.helper.make_node


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype("float32")


def agree(
    nodes: list[Any], x: np.ndarray, outputs: list[str], path: Path, opset: int = 15, **arrays: Any
) -> Any:
    """Check that a graph with a dynamic batch computes what ONNX Runtime does; returns the block."""
    helper = onnx.helper
    graph = helper.make_graph(
        nodes,
        "tf2onnx",
        [helper.make_tensor_value_info("x:0", 1, ["unk__1", *x.shape[1:]])],
        [helper.make_tensor_value_info(each, 1, None) for each in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    expected = run(path, x)
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu(), input_shapes={"x:0": x.shape})
    result = block(mx.nd.array(x))
    for ours, theirs in zip(
        result if isinstance(result, list) else [result], expected, strict=True
    ):
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-4, atol=1e-5)
    return block


def test_a_convolutional_network_with_channels_last(tmp_path: Path) -> None:
    nodes = [
        make("Transpose", ["x:0"], ["t"], perm=[0, 3, 1, 2]),
        make("Pad", ["t", "around"], ["p"]),
        make(
            "Conv", ["p", "w", "b"], ["c"], strides=[2, 2], kernel_shape=[3, 3], pads=[0, 0, 1, 1]
        ),
        make("Clip", ["c", "zero", "six"], ["relu6"]),
        make("Conv", ["relu6", "depthwise"], ["d"], group=4, auto_pad="SAME_UPPER"),
        make("BatchNormalization", ["d", "g", "s", "m", "v"], ["n"], epsilon=1e-3),
        make(
            "MaxPool", ["n"], ["pool"], kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER"
        ),
        make("Transpose", ["pool"], ["last"], perm=[0, 2, 3, 1]),
        make("ReduceMean", ["last"], ["mean"], axes=[1, 2], keepdims=0),
        make("MatMul", ["mean", "dense"], ["product"]),
        make("Add", ["product", "shift"], ["logits"]),
        make("Softmax", ["logits"], ["y"], axis=-1),
    ]
    arrays = {
        "around": np.array([0, 0, 0, 0, 0, 0, 1, 1]), "w": floats(4, 3, 3, 3), "b": floats(4),
        "zero": np.float32(0), "six": np.float32(6), "depthwise": floats(4, 1, 3, 3), "g": floats(4),
        "s": floats(4), "m": floats(4), "v": np.abs(floats(4)), "dense": floats(4, 5), "shift": floats(5),
    }  # fmt: skip
    block = agree(nodes, floats(2, 9, 9, 3), ["y"], tmp_path / "net.onnx", **arrays)
    with mx.autograd.record():
        loss = (block(mx.nd.array(floats(2, 9, 9, 3)))[:, 0]).sum()
    loss.backward()
    assert block.collect_params()["dense"].grad().asnumpy().any()


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_a_recurrent_layer_with_states_of_a_computed_shape(
    kind: str, gates: int, tmp_path: Path
) -> None:
    units, width = 5, 3
    states = ["h"] if kind == "GRU" else ["h", "h"]
    options = {"linear_before_reset": 1} if kind == "GRU" else {}
    nodes = [
        make("Transpose", ["x:0"], ["time_major"], perm=[1, 0, 2]),
        make("Shape", ["x:0"], ["shape"]),
        make("Slice", ["shape", "at0", "at1"], ["batch"]),
        make("Concat", ["at1", "batch", "units"], ["shape_of_states"], axis=0),
        make("Expand", ["zero", "shape_of_states"], ["h"]),
        make(
            kind,
            ["time_major", "w", "r", "b", "", *states],
            ["all", "final"],
            hidden_size=units,
            **options,
        ),
        make("Squeeze", ["all", "at1"], ["steps"]),
        make("Transpose", ["steps"], ["sequence"], perm=[1, 0, 2]),
        # x[:, -1, :] as a strided slice: a slice whose axis is squeezed
        make("Slice", ["sequence", "begin", "end", "axes", "ones"], ["sliced"]),
        make("Squeeze", ["sliced", "at1"], ["y"]),
    ]
    arrays = {
        "at0": np.array([0]), "at1": np.array([1]), "units": np.array([units]),
        "zero": np.zeros((1, 1, 1), "f"),
        "w": floats(1, gates * units, width), "r": floats(1, gates * units, units),
        "b": floats(1, 2 * gates * units), "begin": np.array([0, -1, 0]),
        "end": np.array([2**31 - 1, 2**31 - 1, 2**31 - 1]), "axes": np.array([0, 1, 2]),
        "ones": np.array([1, 1, 1]),
    }  # fmt: skip
    agree(nodes, floats(2, 4, width), ["sequence", "y"], tmp_path / "net.onnx", **arrays)


def test_a_shape_that_is_computed_in_int32(tmp_path: Path) -> None:
    nodes = [
        make("Shape", ["x:0"], ["shape"]),
        make("Cast", ["shape"], ["short"], to=6),
        make("Slice", ["short", "at0", "at1"], ["first"]),
        make("Squeeze", ["first", "at0"], ["rows"]),
        make("Mul", ["rows", "two"], ["twice"]),
        make("Unsqueeze", ["twice", "at0"], ["part"]),
        make("Concat", ["part", "rest"], ["short_shape"], axis=0),
        make("Cast", ["short_shape"], ["long_shape"], to=7),
        make("Reshape", ["x:0", "long_shape"], ["flat"]),
        make("Slice", ["flat", "from_end", "to_begin", "at1", "back"], ["y"]),
    ]
    arrays = {
        "at0": np.array([0]), "at1": np.array([1]), "two": np.int32(2), "rest": np.array([-1], np.int32),
        "from_end": np.array([-1]), "to_begin": np.array([-(2**31)]), "back": np.array([-2]),
    }  # fmt: skip
    agree(nodes, floats(3, 4, 2), ["y"], tmp_path / "net.onnx", **arrays)


def test_a_loop_over_time_as_of_a_list_of_tensors(tmp_path: Path) -> None:
    helper = onnx.helper
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            make("Gather", ["time_major", "turn"], ["now"], axis=0),
            make("MatMul", ["now", "w"], ["part"]),
            make("Add", ["part", "state"], ["sum"]),
            make("Tanh", ["sum"], ["next"]),
            make("Identity", ["next"], ["row"]),
            make("Less", ["turn", "most"], ["again"]),
            make("Identity", ["going"], ["goes_on"]),
        ],
        "body",
        [info("turn", 7, []), info("going", 9, []), info("state", 1, None)],
        [info("goes_on", 9, []), info("next", 1, None), info("row", 1, None)],
    )
    nodes = [
        make("Transpose", ["x:0"], ["time_major"], perm=[1, 0, 2]),
        make("Shape", ["time_major"], ["shape"]),
        make("Gather", ["shape", "place"], ["turns"], axis=0),
        make("Loop", ["turns", "true", "start"], ["end", "rows"], body=body),
        make("Transpose", ["rows"], ["y"], perm=[1, 0, 2]),
    ]
    arrays = {
        "place": np.int64(0), "true": np.array(True), "start": floats(2, 5), "w": floats(3, 5),
        "most": np.int64(100),
    }  # fmt: skip
    agree(nodes, floats(2, 4, 3), ["end", "y"], tmp_path / "net.onnx", **arrays)
