"""Inference from partly known shapes, forward and backward, against MXNet 1.9.1.

mixnet never knows less than MXNet, nor anything else. It may know more: it goes back through
more operators, and leaves open what MXNet refuses because a check wants a whole shape.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

import mixnet as mx
from tests.parity.record_unknown_shapes import FIXTURE, answer, symbol_of

ROWS = json.loads(FIXTURE.read_text())
GROUPS = 24

# MXNet takes an unknown extent for 0 and goes on: extents of results that do not follow from anything.
COUNTS_UNKNOWN_AS_0 = {
    "BatchNorm", "Concat", "InstanceNorm", "Pad", "RNN", "_rnn_param_concat", "khatri_rao", "shape_array",
}  # fmt: skip
# Extents that MXNet knows and mixnet leaves open.
LESS = {"Convolution", "Correlation", "Reshape", "broadcast_like", "pick"}


def contradiction(ours: Any, theirs: Any) -> bool:
    """Whether two shapes differ in more than what one of them leaves open."""
    if not ours or not theirs:
        return False
    pairs = zip(ours, theirs, strict=False)
    return len(ours) != len(theirs) or any(a != b for a, b in pairs if a > 0 and b > 0)


def missing(ours: Any, theirs: Any) -> bool:
    """Whether MXNet knows a rank or an extent that mixnet leaves open."""
    if theirs and not ours:
        return True
    return any(b > 0 and a <= 0 for a, b in zip(ours or (), theirs or (), strict=False))


def difference(name: str, ours: Any, theirs: Any) -> str | None:
    """What is wrong with an answer; None if nothing is."""
    if theirs == "raises":
        return None
    if ours == "raises":
        return "refused"
    for mine, expected in zip(chain(*ours), chain(*theirs), strict=True):
        if name not in COUNTS_UNKNOWN_AS_0 and contradiction(mine, expected):
            return f"{mine} in place of {expected}"
        if name not in COUNTS_UNKNOWN_AS_0 | LESS and missing(mine, expected):
            return f"{mine} leaves open what is known: {expected}"
    return None


@pytest.mark.parametrize("group", range(GROUPS))
def test_partly_known_shapes_are_inferred_as_in_mxnet(group: int) -> None:
    wrong = []
    for row in ROWS[group::GROUPS]:
        name, attributes, shapes = row["case"]
        attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
        symbol, _ = symbol_of(mx, (name, attributes, shapes))
        for question, theirs in row["asked"]:
            ours = json.loads(json.dumps(answer(symbol, question, mx.MXNetError)))
            mismatch = difference(name, ours, theirs)
            if mismatch:
                wrong.append(f"{name} {attributes} of {question}: {mismatch}")
    assert not wrong, "\n".join(wrong)


def test_the_shape_of_a_result_says_that_of_the_data() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.expand_dims(mx.sym.transpose(mx.sym.exp(data), axes=(1, 0)), axis=0)
    arguments, outputs, _ = (net + mx.sym.Variable("other")).infer_shape(other=(1, 3, 2))
    assert arguments == [(2, 3), (1, 3, 2)] and outputs == [(1, 3, 2)]


@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_shapes_that_may_have_more_axes_stay_unknown() -> None:
    net = mx.sym.squeeze(mx.sym.Variable("data")) + mx.sym.Variable("other")
    assert net.infer_shape_partial(other=(2, 3))[0] == [(), (2, 3)]
    assert net.infer_shape(other=(2, 3)) == (None, None, None)
