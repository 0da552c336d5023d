"""Dtypes of a node's inputs and outputs, from those of some of them."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

import numpy as np

from mixnet.graph.node import Entry, Node

FLOAT32, INT8, INT32, INT64 = (np.dtype(name) for name in ("float32", "int8", "int32", "int64"))

# Most operators take and give one dtype. Of the others this table names the arrays that have a dtype of
# their own, None where any will do; asked of MXNet 1.9.1 operator by operator.
_OWN: dict[str, Mapping[str, np.dtype | None]] = {
    "CTCLoss": {"label": None, "data_lengths": None, "label_lengths": None},
    "Embedding": {"data": None},
    "batch_take": {"indices": INT32},
    "gather_nd": {"indices": None},
    "pick": {"index": None},
    "take": {"indices": None},
    "where": {"condition": None},
    "_contrib_quantize": {"data": FLOAT32},
    "_contrib_requantize": {"data": INT32},
    "_contrib_quantized_batch_norm": dict.fromkeys(
        ("gamma", "beta", "moving_mean", "moving_var"), FLOAT32
    ),
    "_contrib_quantized_conv": {"weight": INT8, "bias": INT8},
    "_contrib_quantized_embedding": {"data": None, "weight": INT8},
    "_contrib_quantized_fully_connected": {"weight": INT8, "bias": INT8},
    "_contrib_quantized_rnn": {"parameters": INT8, "state": FLOAT32, "state_cell": FLOAT32},
}

# The dtype of the first output, where it is not that of the inputs. All others of a quantized operator
# are the ends of its range.
_RESULT: dict[str, np.dtype] = {
    "shape_array": INT64,
    "size_array": INT64,
    "_contrib_dequantize": FLOAT32,
    "_contrib_quantized_batch_norm": INT8,
    "_contrib_quantized_conv": INT32,
    "_contrib_quantized_elemwise_add": INT32,
    "_contrib_quantized_elemwise_mul": INT32,
    "_contrib_quantized_embedding": INT8,
    "_contrib_quantized_fully_connected": INT32,
}

_NORMS = ("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm")
_RANGES = ("min", "max", "_min", "_max", "_scale", "_shift")


def infer_node_dtypes(
    node: Node, names: Sequence[str], dtypes: MutableMapping[Entry, np.dtype]
) -> None:
    """Add to ``dtypes`` what follows from it for the inputs and outputs of one node.

    Args:
        node: an operation.
        names: the array parameter of each input; may be shorter.
        dtypes: known dtypes; none is changed.
    """
    own = _own_dtypes(node, names)
    shared = [entry for i, entry in enumerate(node.inputs) if i not in own]
    for i, dtype in own.items():
        if dtype is not None:
            dtypes.setdefault(node.inputs[i], dtype)
    common = _common(dtypes, shared)
    if node.op.name == "Embedding":  # without data of its kind the table has the attribute's
        common = common or np.dtype(node.op.keywords(node.statics).get("dtype") or FLOAT32)
    if common is not None:
        for entry in shared:
            dtypes.setdefault(entry, common)
        if node.op.name in _NORMS:
            _norm_dtypes(node, dtypes)
    _result_dtypes(node, common, dtypes)


def usual_dtype(node: Node) -> np.dtype:
    """The dtype that shapes are inferred with where nothing says one of a node's inputs."""
    quantized = node.op.name.startswith(("_contrib_quantized_", "_contrib_dequantize"))
    return INT8 if quantized else FLOAT32


def _own_dtypes(node: Node, names: Sequence[str]) -> dict[int, np.dtype | None]:
    """Inputs that do not share the dtype of the others, by place."""
    table = _OWN.get(node.op.name, {})
    found = {i: table[name] for i, name in enumerate(names) if name in table}
    if "quantize" in node.op.name:
        for i, name in enumerate(names):
            if name.startswith(_RANGES[:2]) or name.endswith(_RANGES[2:]):
                found[i] = FLOAT32
    if node.op.name == "_contrib_quantized_concat":
        arrays = len(node.inputs) // 3
        found.update(dict.fromkeys(range(arrays, len(node.inputs)), FLOAT32))
    if node.op.name in _NORMS:
        found.update(dict.fromkeys(range(1, len(node.inputs))))
    if node.op.name in ("amp_cast", "amp_multicast"):
        found.update(dict.fromkeys(range(len(node.inputs))))
    return found


def _common(dtypes: Mapping[Entry, np.dtype], entries: Sequence[Entry]) -> np.dtype | None:
    known = [dtypes[entry] for entry in entries if entry in dtypes]
    floats = [dtype for dtype in known if dtype.kind == "f" or dtype.name == "bfloat16"]
    return next(iter(floats or known), None)


def _norm_dtypes(node: Node, dtypes: MutableMapping[Entry, np.dtype]) -> None:
    """Statistics of half-precision data are float32."""
    data = dtypes[node.inputs[0]]
    statistics = FLOAT32 if data.itemsize == 2 else data
    for entry in node.inputs[1:]:
        dtypes.setdefault(entry, statistics)


def _result_dtypes(
    node: Node, common: np.dtype | None, dtypes: MutableMapping[Entry, np.dtype]
) -> None:
    keywords = node.op.keywords(node.statics)
    result = common
    if keywords.get("dtype") and node.op.name != "Embedding":  # which gives the table's dtype
        result = np.dtype(keywords["dtype"])
    if "quantize" in node.op.name and keywords.get("out_type") in ("int8", "uint8"):
        result = np.dtype(keywords["out_type"])
    result = _RESULT.get(node.op.name, result)
    if keywords.get("enable_float_output"):
        result = FLOAT32
    if result is not None:
        dtypes.setdefault(Entry(node), result)
    if "quantize" in node.op.name:
        for i in range(1, node.op.num_outputs(node.statics, len(node.inputs))):
            dtypes.setdefault(Entry(node, i), FLOAT32)
