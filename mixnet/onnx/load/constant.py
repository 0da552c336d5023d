"""Constant folding at import: shapes, indices, transposed weights."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.load.table import Call
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_RANDOM = ("Random", "Multinomial", "Bernoulli", "Dropout")
_MOST = 1 << 22
"""Elements of results that are computed so."""


def computed(reading: Reading, call: Call) -> Any:
    """Results of a node with constant inputs; None if it must be a part of the symbol."""
    node = call.node
    if node.op_type == "Constant":
        return _constant(call)
    if (
        node.op_type.startswith(_RANDOM)
        or not call.inputs
        or any(a.type in (5, 10) for a in node.attribute)
    ):
        return None
    if sum(each.size for each in call.inputs if each is not None) > _MOST:
        return None
    if node.op_type in ("ConstantOfShape", "Expand", "Tile") and not _is_small(call):
        return None
    return _by_reference(reading, call)


def _is_small(call: Call) -> bool:
    extents = call.inputs[-1].astype(np.float64)
    return bool(np.prod(extents) <= _MOST)


def _by_reference(reading: Reading, call: Call) -> Any:
    """Compute a node with the reference implementation of the package onnx."""
    onnx = onnx_package()
    from onnx.reference import ReferenceEvaluator

    names = [f"i{k}" if each is not None else "" for k, each in enumerate(call.inputs)]
    outputs = [f"o{k}" for k in range(len(call.node.output))]
    node = onnx.NodeProto()
    node.CopyFrom(call.node)
    del node.input[:]
    node.input.extend(names)
    del node.output[:]
    node.output.extend(outputs)
    graph = onnx.helper.make_graph(
        [node],
        "one",
        [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in names if n],
        [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in outputs],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", reading.opset)]
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            feeds = {n: each for n, each in zip(names, call.inputs, strict=True) if n}
            results = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # it has none for these inputs: the node is read as any other
        return None
    arrays = [np.asarray(each) for each in results]
    return None if any(each.dtype == object for each in arrays) else arrays


def _constant(call: Call) -> np.ndarray:
    numpy_helper = onnx_package().numpy_helper
    for name, value in call.attributes.items():
        if name == "value":
            return np.array(numpy_helper.to_array(value))
        if name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    raise ValueError("a constant without a value of numbers")
