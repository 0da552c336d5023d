"""Inference of the dtypes of a node's inputs and outputs from the known ones."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

import numpy as np

from mixnet.base import DTypeError
from mixnet.graph.node import Entry, Node, made_in
from mixnet.ops.schema.dtypes import FLOAT32


def infer_node_dtypes(
    node: Node,
    names: Sequence[str],
    dtypes: MutableMapping[Entry, np.dtype],
    only_dtypes: bool = False,
) -> None:
    """Add the dtypes of one node's inputs and outputs that follow from known ones.

    Args:
        node: an operation; its operator's ``dtypes`` is the rule.
        names: the array parameter of each input; may be shorter than the inputs.
        dtypes: known dtypes; entries are added, never changed.
        only_dtypes: whether only dtypes are requested. If so, an operator with dtype inference of its own
            is called even if no dtype is known, and contradictions are errors. Otherwise the operator
            itself reports contradictions, or accepts them.

    Raises:
        DTypeError: dtypes contradict each other.
    """
    known = [dtypes.get(entry) for entry in node.inputs]
    if any(dtype is not None for dtype in known) or (only_dtypes and node.op.infers_dtypes):
        of_inputs, of_outputs = node.op.inferred_dtypes(node.statics, known)
        outputs = [Entry(node, i) for i in range(len(of_outputs))]
        for entry, dtype in zip(
            (*node.inputs[: len(of_inputs)], *outputs), (*of_inputs, *of_outputs), strict=True
        ):
            if dtype is not None:
                dtypes.setdefault(entry, dtype)
        if of_inputs:
            return
    checked = only_dtypes and not node.op.is_numpys  # NumPy's operators promote
    for entry, dtype in _that_follow(node, names, dtypes).items():
        if dtypes.setdefault(entry, dtype) != dtype and checked:
            raise _contradiction(node, entry, dtypes[entry], dtype)


def _that_follow(
    node: Node, names: Sequence[str], dtypes: Mapping[Entry, np.dtype]
) -> dict[Entry, np.dtype]:
    rule, attributes = node.op.dtypes, node.op.keywords(node.statics)
    count = node.op.num_outputs(node.statics, len(node.inputs))
    of_inputs = rule.of_inputs(names, len(node.inputs))
    shared = [entry for i, entry in enumerate(node.inputs) if i not in of_inputs]
    of_results = rule.of_results(attributes, count)
    derived = 0  # the number of results whose dtype ``of_shared`` gives
    if rule.of_shared and of_results[0] is None:
        derived = count if rule.others_too else 1
    results = [Entry(node, i) for i in range(derived, count) if of_results[i] is None]
    common = (
        _common(dtypes, shared, node.op.is_numpys)
        or rule.when_unknown(attributes)
        or _common(dtypes, results)
    )
    follow = {node.inputs[i]: dtype for i, dtype in of_inputs.items() if dtype is not None}
    follow |= {Entry(node, i): dtype for i, dtype in enumerate(of_results) if dtype is not None}
    if common is not None:
        follow |= dict.fromkeys(shared, common) | dict.fromkeys(results, common)
        if rule.of_shared and derived:
            of_shared = np.dtype(rule.of_shared(common))
            follow |= {Entry(node, i): of_shared for i in range(derived)}
        if rule.statistics:
            # Parameters for half-precision data are float32.
            statistics = FLOAT32 if common.itemsize == 2 else common
            follow |= dict.fromkeys([*node.inputs[1:], *results[1:]], statistics)
        free = [e for name, e in zip(names, node.inputs, strict=False) if name in rule.free]
        follow |= {entry: dtypes.get(entry, common) for entry in free}
    return follow


def _common(
    dtypes: Mapping[Entry, np.dtype], entries: Sequence[Entry], promotes: bool = False
) -> np.dtype | None:
    """The dtype that arrays share: of the first float, or of the widest where an operator promotes.

    Without a float, of the first number, or of the widest that is not boolean.
    """
    known = [dtypes[entry] for entry in entries if entry in dtypes]
    floats = [dtype for dtype in known if dtype.kind == "f" or dtype.name == "bfloat16"]
    if promotes and known:
        return max(floats or known, key=lambda dtype: (dtype.kind != "b", dtype.itemsize))
    return next(iter(floats or known), None)


def _contradiction(node: Node, entry: Entry, known: np.dtype, follows: np.dtype) -> DTypeError:
    place = "its output" if entry.node is node else f"its input {entry.node.name!r}"
    return DTypeError(
        f"Node {node.name!r} ({node.op.name}): {place} has dtype {known.name}, but {follows.name} follows "
        f"from the others. Cast one of them, or give them one dtype.{made_in(node)}"
    )
