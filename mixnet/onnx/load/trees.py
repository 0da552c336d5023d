"""Readers of ensembles of trees of the domain ``ai.onnx.ml``.

All trees of an ensemble are walked at once, a level at a time: of each sample and tree, the number
of the node that it has reached. A leaf leads to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.learned import as_float, both_classes, label, labels_of, transformed
from mixnet.onnx.load.table import LEARNED, Call, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_COMPARISONS = {
    "BRANCH_LEQ": "_npi_less_equal",
    "BRANCH_LT": "_npi_less",
    "BRANCH_GTE": "_npi_greater_equal",
    "BRANCH_GT": "_npi_greater",
    "BRANCH_EQ": "_npi_equal",
    "BRANCH_NEQ": "_npi_not_equal",
}


def _listed(call: Call, name: str) -> list[Any]:
    """An attribute, which may be a tensor."""
    values = call.get(name)
    if values is None and call.get(f"{name}_as_tensor") is not None:
        from mixnet.onnx.package import onnx_package

        values = onnx_package().numpy_helper.to_array(call.get(f"{name}_as_tensor")).tolist()
    return [] if values is None else list(values)


class _Trees:
    """The nodes of all trees as arrays.

    Args:
        call: an ensemble.
        prefix: of the attributes with the leaves' weights.
        width: how many numbers an ensemble gives.
    """

    def __init__(self, call: Call, prefix: str, width: int):
        trees, ids = _listed(call, "nodes_treeids"), _listed(call, "nodes_nodeids")
        self.modes = [
            m.decode() if isinstance(m, bytes) else m for m in call.get("nodes_modes", [])
        ]
        place = {key: i for i, key in enumerate(zip(trees, ids, strict=True))}
        if not place or len(place) != len(self.modes):
            raise NotDefinedError("its nodes are listed twice, or not at all")
        unknown = {*self.modes} - {*_COMPARISONS, "LEAF"}
        if unknown:
            raise NotDefinedError(f"nodes with {', '.join(sorted(unknown))}")
        leaf = np.array([mode == "LEAF" for mode in self.modes])
        numbers = np.arange(len(ids))
        self.true, self.false = (
            np.array([
                i if leaf[i] else place[trees[i], to]
                for i, to in enumerate(_listed(call, f"nodes_{name}nodeids"))
            ])
            for name in ("true", "false")
        )  # fmt: skip
        self.features = np.where(leaf, 0, np.array(_listed(call, "nodes_featureids"), np.int64))
        self.values = np.array(_listed(call, "nodes_values"), np.float32)
        missing = _listed(call, "nodes_missing_value_tracks_true") or [0] * len(ids)
        self.missing = np.array(missing, bool)
        children = {*self.true[~leaf].tolist(), *self.false[~leaf].tolist()}
        self.roots = np.array([i for i in numbers if i not in children], np.int64)
        if not len(self.roots):
            raise NotDefinedError("every node is below another one")
        self.depth = self._levels(leaf)
        self.weights = np.zeros((len(ids), width), np.float32)
        keys = zip(
            _listed(call, f"{prefix}_treeids"), _listed(call, f"{prefix}_nodeids"),
            _listed(call, f"{prefix}_ids"), _listed(call, f"{prefix}_weights"), strict=True,
        )  # fmt: skip
        for tree, node, at, weight in keys:
            self.weights[place[tree, node], at] += weight

    def _levels(self, leaf: np.ndarray) -> int:
        """How many questions lead from a root to a leaf at most.

        Raises:
            NotDefinedError: a node is below itself.
        """
        level, reached = 0, self.roots
        while not leaf[reached].all():
            level += 1
            if level > len(leaf):
                raise NotDefinedError("a tree leads back to one of its own nodes")
            inner = reached[~leaf[reached]]
            reached = np.unique(np.concatenate([self.true[inner], self.false[inner]]))
        return level


def _leaves(g: Reading, x: object, trees: _Trees) -> Any:
    """The number of the leaf that each sample reaches in each tree."""
    rows = g.op("_contrib_arange_like", g.op("slice_axis", x, axis=1, begin=0, end=1), axis=0)
    rows = g.op("Reshape", rows, shape=(-1, 1))
    start = g.op("_npi_multiply_scalar", rows, scalar=0.0)
    at = g.op(
        "Cast",
        g.op("_npi_add", start, trees.roots.reshape(1, -1).astype(np.float32)),
        dtype="int64",
    )
    rows = g.op("Cast", rows, dtype="int64")
    for _ in range(trees.depth):
        feature = g.op("take", trees.features, at)
        places = g.op("stack", g.op("broadcast_like", rows, feature), feature, axis=0)
        value = g.op("gather_nd", x, places)
        at = g.op(
            "_npi_where",
            _decided(g, value, at, trees),
            g.op("take", trees.true, at),
            g.op("take", trees.false, at),
        )
    return at


def _decided(g: Reading, value: object, at: object, trees: _Trees) -> Any:
    """Whether the nodes' questions are true of the values."""
    ends = g.op("take", trees.values.astype(g.dtype(value)), at)
    modes = sorted({*trees.modes} - {"LEAF"})
    out = g.op(_COMPARISONS[modes[0]], value, ends)
    for mode in modes[1:]:
        has_mode = g.op("take", np.array([m == mode for m in trees.modes], np.int32), at)
        other = g.op(_COMPARISONS[mode], value, ends)
        out = g.op("_npi_where", g.op("_npi_not_equal_scalar", has_mode, scalar=0), other, out)
    if trees.missing.any():
        tracks = g.op("take", trees.missing.astype(np.float32), at)
        absent = g.op("Cast", g.op("_npi_isnan", value), dtype="float32")
        follows = g.op("_npi_not_equal_scalar", g.op("_npi_multiply", tracks, absent), scalar=0.0)
        out = g.op("_npi_where", follows, follows, out)
    return out


def _combined(g: Reading, call: Call, trees: _Trees) -> Any:
    """The numbers of the leaves of all trees as one row a sample."""
    x = as_float(g, call.x)
    weights = g.arrays.stored(trees.weights.astype(g.dtype(x)))
    kind = call.get("aggregate_function", "SUM")
    if kind not in ("SUM", "AVERAGE", "MIN", "MAX"):
        raise NotDefinedError(f"aggregate_function {kind!r} is not one of ONNX's")
    numbers = g.op("take", weights, _leaves(g, x, trees))
    out = g.op({"MIN": "min", "MAX": "max"}.get(kind, "sum"), numbers, axis=1)
    if kind == "AVERAGE":
        out = g.op("_npi_multiply_scalar", out, scalar=1 / len(trees.roots))
    base = _listed(call, "base_values")
    if base:
        shift = np.asarray(base, weights.dtype)[-trees.weights.shape[1] :][None]
        out = g.op("_npi_add", out, g.arrays.stored(shift))
    return out


@reads("TreeEnsembleRegressor", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    out = _combined(g, call, _Trees(call, "target", call.get("n_targets", 1)))
    return transformed(g, out, call.get("post_transform", "NONE"))


@reads("TreeEnsembleClassifier", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    labels, kind = labels_of(call), call.get("post_transform", "NONE")
    is_binary = len(labels) == 2 and len({*_listed(call, "class_ids")}) == 1
    trees = _Trees(
        _with_one_class(call) if is_binary else call, "class", 1 if is_binary else len(labels)
    )
    scores = _combined(g, call, trees)
    if not is_binary:
        return [label(g, scores, labels), transformed(g, scores, kind)]
    if kind == "NONE" and (trees.weights >= 0).all():  # a probability of the second class
        rest = g.op("_npi_add_scalar", g.op("negative", scores), scalar=1.0)
        both = g.op("Concat", rest, scores, dim=1)
    else:
        both = both_classes(g, scores, kind)
    return [label(g, both, labels), both]


def _with_one_class(call: Call) -> Call:
    """The node with its only class at place 0, whose number may be 0 or 1."""
    ids = [0] * len(_listed(call, "class_ids"))
    return Call(call.node, {**call.attributes, "class_ids": ids}, call.inputs)
