"""Dtype inference for a node's inputs and outputs, from those of some of them."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

import numpy as np

from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.dtypes import FLOAT32


def infer_node_dtypes(
    node: Node,
    names: Sequence[str],
    dtypes: MutableMapping[Entry, np.dtype],
    without_any: bool = False,
) -> None:
    """Add to ``dtypes`` what follows from it for the inputs and outputs of one node.

    Args:
        node: an operation; its operator's ``dtypes`` are the rule.
        names: the array parameter of each input; may be shorter.
        dtypes: known dtypes; none is changed.
        without_any: whether an operator with its own inference of dtypes is called even if none is
            known.
    """
    known = [dtypes.get(entry) for entry in node.inputs]
    if any(dtype is not None for dtype in known) or (without_any and node.op.infers_dtypes):
        of_inputs, of_outputs = node.op.inferred_dtypes(node.statics, known)
        outputs = [Entry(node, i) for i in range(len(of_outputs))]
        for entry, dtype in zip(
            (*node.inputs[: len(of_inputs)], *outputs), (*of_inputs, *of_outputs), strict=True
        ):
            if dtype is not None:
                dtypes.setdefault(entry, dtype)
        if of_inputs:
            return
    rule = node.op.dtypes
    attributes = node.op.keywords(node.statics)
    own = rule.of_inputs(names, len(node.inputs))
    shared = [entry for i, entry in enumerate(node.inputs) if i not in own]
    for i, dtype in own.items():
        if dtype is not None:
            dtypes.setdefault(node.inputs[i], dtype)
    common = _common(dtypes, shared) or rule.when_unknown(attributes)
    if common is not None:
        for entry in shared:
            dtypes.setdefault(entry, common)
        if rule.statistics:
            _infer_statistics(node, dtypes)
    result = rule.of_result(attributes, common)
    if result is not None:
        dtypes.setdefault(Entry(node), result)
    if rule.others is not None:
        for i in range(1, node.op.num_outputs(node.statics, len(node.inputs))):
            dtypes.setdefault(Entry(node, i), np.dtype(rule.others))


def _common(dtypes: Mapping[Entry, np.dtype], entries: Sequence[Entry]) -> np.dtype | None:
    known = [dtypes[entry] for entry in entries if entry in dtypes]
    floats = [dtype for dtype in known if dtype.kind == "f" or dtype.name == "bfloat16"]
    return next(iter(floats or known), None)


def _infer_statistics(node: Node, dtypes: MutableMapping[Entry, np.dtype]) -> None:
    """Statistics of half-precision data are float32."""
    data = dtypes[node.inputs[0]]
    statistics = FLOAT32 if data.itemsize == 2 else data
    for entry in node.inputs[1:]:
        dtypes.setdefault(entry, statistics)
